"""A folder as a way in: entries are claimed by renaming them, taken in, and put aside with what became of them.

    DIR/NAME/            an entry: build.json and its reports, none where build.json says how the runner ended; write it
                         elsewhere, then rename it in
    DIR/NAME.xml         a bare report, taken once it has not changed for a few seconds; its build is named by its bytes
    DIR/.NAME            left alone: somebody is still writing it
    DIR/claimed/NAME     being taken in
    DIR/done/NAME        stored; deleted after a week
    DIR/rejected/NAME    refused, with NAME.reason.txt beside it; deleted after thirty days

A folder belongs to one project and one lane, as a token does. Of several daemons on one folder one works at a time: it
holds a lock that the system takes back when it dies, so whoever has the lock and finds something claimed takes it up.
"""

import fcntl
import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from quarantine.clock import system_clock
from quarantine.domain.outcome import Lane
from quarantine.errors import BadConfiguration, BadInput, Busy, QuarantineError
from quarantine.junit import Document
from quarantine.policy.troubles import Trouble, spool_refusing
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.build_part import MAX_BYTES, BuildPart, parse_build_part
from quarantine.services.ingest import ingest
from quarantine.store import projects
from quarantine.store.engine import reading
from quarantine.store.tokens import Scope

log = logging.getLogger("quarantine.daemon")
BUILD_FILE = "build.json"
SETTLED = timedelta(seconds=2)
DONE_KEPT = timedelta(days=7)
REJECTED_KEPT = timedelta(days=30)
CLAIMED, DONE, REJECTED = "claimed", "done", "rejected"
_OURS = (CLAIMED, DONE, REJECTED)
_LOCK = ".lock"
_NAME_BYTES = 200
"""What is kept of an entry's name: file systems bound the length of names, and ours get longer."""
_REASON_CHARACTERS = 500
_LINK = "Put the files themselves into the spool."


@dataclass(frozen=True, slots=True)
class Spool:
    """One watched folder."""

    app: App
    directory: Path
    project: str
    lane: Lane

    def prepare(self) -> None:
        """Make the folders; raises BadConfiguration when they cannot be made or written to.

        Raises NotFound when there is no such project: then nothing is made.
        """
        with reading(self.app.engine) as connection:
            projects.by_slug(connection, self.project)
        try:
            for name in _OURS:
                (self.directory / name).mkdir(parents=True, exist_ok=True)
            with _alone(self.directory):
                pass
        except OSError as error:
            raise BadConfiguration(
                f"The spool {self.directory} cannot be used: {error.strerror}.",
                mend="Name a folder that this user can write to.",
            ) from error

    def drain(self, is_stopping: Callable[[], bool] = lambda: False) -> int:
        """Take in what waits, the oldest first, and return how many entries were stored or refused.

        It ends early when the store is busy, which leaves the rest waiting, and between two entries when it is told to
        stop. It does nothing while another daemon works on the folder. Raises OSError when the folder cannot be used.
        """
        with _alone(self.directory) as alone:
            if not alone:
                return 0
            self._take_up()
            taken = 0
            for waiting in self._waiting():
                if is_stopping() or not self._take(waiting):
                    break
                taken += 1
            return taken

    def sweep(self) -> None:
        """Delete what was stored more than `DONE_KEPT` ago, and what was refused more than `REJECTED_KEPT` ago."""
        with _alone(self.directory) as alone:
            for name, kept in ((DONE, DONE_KEPT), (REJECTED, REJECTED_KEPT)) if alone else ():
                _sweep(self.directory / name, before=system_clock() - kept)

    @property
    def name(self) -> str:
        """What people call it: the folder's own name."""
        return self.directory.name[:60]

    def seen(self) -> dict[str, Trouble | None]:
        """Return what the folder tells of trouble, by code: whether entries were refused, one after the other.

        What was refused before the last entry that was stored says nothing any more.
        """
        stored = max((_modified(path) for path in (self.directory / DONE).iterdir()), default=None)
        reasons = sorted(
            (_modified(path), path)
            for path in (self.directory / REJECTED).glob("*.reason.txt")
            if stored is None or _modified(path) > stored
        )
        if not reasons:
            return {f"spool:{self.name}": None}
        last = reasons[-1][1].read_text(encoding="utf-8", errors="replace")[:_REASON_CHARACTERS].strip()
        trouble = spool_refusing(self.name, len(reasons), last)
        return {} if trouble is None else {trouble.code: trouble}

    def _take_up(self) -> None:
        """Put back what a daemon that ended in the middle had claimed: taking it in again counts nothing twice."""
        for left in sorted((self.directory / CLAIMED).iterdir()):
            left.rename(_free(self.directory / left.name))

    def _waiting(self) -> list[Path]:
        settled = system_clock() - SETTLED
        found = []
        for path in self.directory.iterdir():
            if path.name in _OURS or path.name.startswith("."):
                continue
            try:
                modified = _modified(path)
            except FileNotFoundError:  # whoever put it there took it away again
                continue
            if path.is_dir() or modified <= settled:
                found.append((modified, path.name, path))
        return [path for *_, path in sorted(found)]

    def _take(self, waiting: Path) -> bool:
        """Claim an entry, take it in and put it aside; return False when the store is busy and it still waits."""
        claimed = self.directory / CLAIMED / waiting.name
        try:
            waiting.rename(claimed)
        except FileNotFoundError:  # whoever put it there took it away again
            return True
        except OSError as error:
            log.warning("%s cannot be moved, so it is not taken in: %s.", waiting, error.strerror)
            return True
        try:
            reason = self._refusal(claimed)
        except Busy as busy:
            log.warning("The spool %s waits: %s", self.directory, busy)
            claimed.rename(_free(waiting))
            return False
        self._put_aside(claimed, reason)
        return True

    def _refusal(self, claimed: Path) -> str | None:
        """Take one claimed entry in; return the reason when it is refused, None when it is stored."""
        bearer = Bearer(f"spool {self.directory.name}", frozenset({Scope.REPORT}), lane=self.lane)
        try:
            with ExitStack() as opened:
                reports = list(_reports(claimed))
                part = _part(claimed)
                documents = [Document(_shown(path), opened.enter_context(path.open("rb"))) for path in reports]
                ingest(self.app, self.project, bearer, part, documents)
        except Busy:
            raise
        except QuarantineError as error:
            return str(error)
        except OSError as error:
            return f"The entry cannot be read: {error.strerror}."
        except Exception as error:
            log.exception("The entry %s of the spool %s could not be taken in", claimed.name, self.directory)
            return f"The daemon failed on it ({type(error).__name__}); its log says more."
        return None

    def _put_aside(self, claimed: Path, reason: str | None) -> None:
        name = os.fsdecode(os.fsencode(claimed.name)[:_NAME_BYTES])
        target = _free(self.directory / (DONE if reason is None else REJECTED) / name)
        if reason is not None:
            _reason_of(target).write_text(reason + "\n", encoding="utf-8", errors="backslashreplace")
        claimed.rename(target)
        with suppress(PermissionError):  # somebody else's file
            os.utime(target, follow_symlinks=False)  # its age in `done` counts from now


@contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Lock the folder while the block runs; say whether it could be had, for another daemon may hold it."""
    with (directory / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _sweep(folder: Path, *, before: datetime) -> None:
    for path in folder.iterdir():
        if _modified(path) < before:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _modified(path: Path) -> datetime:
    return datetime.fromtimestamp(path.lstat().st_mtime, UTC)


def _free(path: Path) -> Path:
    """Return the path, or the first like it that nothing is at, nor at its reason."""
    candidate, number = path, 1
    while os.path.lexists(candidate) or os.path.lexists(_reason_of(candidate)):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate


def _reason_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.reason.txt")


def _shown(path: Path) -> str:
    """Return a file's name as text; bytes that are not UTF-8 are written out."""
    return os.fsencode(path.name).decode("utf-8", "backslashreplace")


def _reports(entry: Path) -> Iterator[Path]:
    """Yield the report files of an entry; links are refused, for they may lead anywhere."""
    if entry.is_symlink():
        raise BadInput("The entry is a symbolic link.", mend=_LINK)
    if entry.is_file():
        yield entry
        return
    for path in sorted(entry.iterdir()):
        if path.name == BUILD_FILE:
            continue
        if path.is_symlink() or not path.is_file():
            raise BadInput(
                f"{_shown(path)!r} is no plain file.", mend="An entry holds build.json and reports, nothing else."
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
        raise BadInput(
            f"The entry has no {BUILD_FILE}.",
            mend="See docs/build-part.md for what belongs into it; write an entry elsewhere, then rename it in.",
        )
    with path.open("rb") as opened:
        return parse_build_part(opened.read(MAX_BYTES + 1))
