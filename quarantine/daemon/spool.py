"""A folder as a way in: entries are claimed by renaming them, taken in, and put aside with what became of them.

    DIR/NAME/            an entry: build.json and one or more reports; write it elsewhere, then rename it in
    DIR/NAME.xml         a bare report, taken once it has not changed for a few seconds; its build is named by its bytes
    DIR/claimed/NAME     being taken in; a daemon that starts takes up what an earlier one left here
    DIR/done/NAME        stored
    DIR/rejected/NAME    refused, with NAME.reason.txt beside it

A folder belongs to one project and one lane, as a token does.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from quarantine.clock import system_clock
from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, Busy, QuarantineError
from quarantine.junit import Document
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.build_part import MAX_BYTES, BuildPart, parse_build_part
from quarantine.services.ingest import ingest
from quarantine.store.tokens import Scope

BUILD_FILE = "build.json"
SETTLED = timedelta(seconds=2)
CLAIMED, DONE, REJECTED = "claimed", "done", "rejected"
_OURS = {CLAIMED, DONE, REJECTED}


@dataclass(frozen=True, slots=True)
class Spool:
    """One watched folder."""

    app: App
    directory: Path
    project: str
    lane: Lane

    def prepare(self) -> None:
        """Make the folders and put back what an earlier daemon had claimed and not finished."""
        for name in _OURS:
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        for left in sorted((self.directory / CLAIMED).iterdir()):
            left.rename(_free(self.directory / left.name))

    def take_one(self) -> bool:
        """Take the oldest entry in; return whether there was one. Leaves it waiting when the store is busy."""
        for waiting in self._waiting():
            claimed = self.directory / CLAIMED / waiting.name
            try:
                waiting.rename(claimed)
            except OSError:  # another daemon was quicker
                continue
            try:
                reason = self._take(claimed)
            except Busy:
                claimed.rename(_free(waiting))
                return False
            self._put_aside(claimed, reason)
            return True
        return False

    def _waiting(self) -> list[Path]:
        settled = system_clock() - SETTLED
        found = []
        for path in self.directory.iterdir():
            if path.name in _OURS or path.name.startswith("."):
                continue
            modified = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
            if path.is_dir() or modified <= settled:
                found.append((modified, path.name, path))
        return [path for *_, path in sorted(found)]

    def _take(self, claimed: Path) -> str | None:
        """Take one claimed entry in; return the reason when it is refused."""
        bearer = Bearer(f"spool {self.directory.name}", frozenset({Scope.REPORT}), lane=self.lane)
        try:
            with ExitStack() as opened:
                reports = list(_reports(claimed))
                part = _part(claimed)
                documents = [Document(path.name, opened.enter_context(path.open("rb"))) for path in reports]
                ingest(self.app, self.project, bearer, part, documents)
        except Busy:
            raise
        except QuarantineError as error:
            return str(error)
        except OSError as error:
            return f"The entry cannot be read: {error.strerror}."
        return None

    def _put_aside(self, claimed: Path, reason: str | None) -> None:
        target = _free(self.directory / (DONE if reason is None else REJECTED) / claimed.name)
        claimed.rename(target)
        if reason is not None:
            target.with_name(f"{target.name}.reason.txt").write_text(reason + "\n", encoding="utf-8")


def _free(path: Path) -> Path:
    """Return the path, or the first like it that nothing is at."""
    candidate, number = path, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def _reports(entry: Path) -> Iterator[Path]:
    """Yield the report files of an entry; links are refused, for they may lead anywhere."""
    if entry.is_symlink():
        raise BadInput("The entry is a symbolic link.", mend="Put the files themselves into the spool.")
    if entry.is_file():
        yield entry
        return
    for path in sorted(entry.iterdir()):
        if path.name == BUILD_FILE:
            continue
        if path.is_symlink() or not path.is_file():
            raise BadInput(
                f"{path.name!r} is no plain file.", mend="An entry holds build.json and reports, nothing else."
            )
        yield path


def _part(entry: Path) -> BuildPart:
    """Return the entry's build part; a bare report is a build of its own, named by its bytes."""
    if entry.is_file():
        with entry.open("rb") as opened:
            digest = hashlib.file_digest(opened, "sha256").hexdigest()
        return parse_build_part(json.dumps({"schema": 1, "build": f"spool:{digest[:32]}"}))
    path = entry / BUILD_FILE
    if path.is_symlink() or not path.is_file():
        raise BadInput(f"The entry has no {BUILD_FILE}.", mend="See docs/build-part.md for what belongs into it.")
    with path.open("rb") as opened:
        return parse_build_part(opened.read(MAX_BYTES + 1))


def sweep(directory: Path, older_than: datetime) -> None:
    """Delete entries that were done before this instant."""
    for path in (directory / DONE).iterdir():
        if datetime.fromtimestamp(path.lstat().st_mtime, UTC) < older_than:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
