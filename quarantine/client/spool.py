"""Uploads that could not be delivered, each in a folder of its own that holds everything needed to send it.

An entry is made whole in a hidden folder and then renamed, so that a crash leaves either all of it or nothing that is
looked at. The same upload spooled twice is one entry. Entries lie apart by daemon, project and token: a token decides
the lane, so what one token could not deliver is never sent with another.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.instants import wall_s
from quarantine.client.target import Target

__all__ = ["Spool", "SpoolEntry", "spool_folder"]

_PRIVATE_FOLDER = 0o700
_BUILD = "build.json"
_REPORTS = "reports"
_WAITING, _REFUSED = "waiting", "refused"
_NAME_CHARACTERS = 60
"""What is kept of a report's name: file systems bound the length of names."""
_READ_BYTES = 1024 * 1024


class SpoolEntry(NamedTuple):
    """One waiting upload: its folder, its build part, and its reports in the order they were given."""

    folder: Path
    build_part: dict[str, Any]
    reports: tuple[Path, ...]


class Spool:
    """The waiting uploads of one target.

    Args:
        target: to whom they go; its token's digest is part of where they lie, the token itself is not kept.
        folder: the root of all spools; None means `spool_folder()`.
    """

    def __init__(self, target: Target, folder: str | os.PathLike[str] | None = None) -> None:
        root = Path(folder) if folder is not None else spool_folder()
        key = f"{target.url}\n{target.project}\n{target.token or ''}"
        self.folder = root / hashlib.sha256(key.encode()).hexdigest()[:32]

    def add(self, build_part: Mapping[str, Any], reports: Sequence[Path]) -> Path:
        """Keep an upload and return its folder; raises OSError when the disk does not take it."""
        waiting = self.folder / _WAITING
        waiting.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        content = json.dumps(build_part).encode()
        digest = _digest(content, reports)
        known = next(waiting.glob(f"*-{digest}"), None)
        if known is not None:
            return known
        final = waiting / f"{int(wall_s() * 1e6):020d}-{digest}"
        draft = Path(tempfile.mkdtemp(dir=self.folder, prefix=".new-"))
        try:
            _fill(draft, content, reports)
            draft.rename(final)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return final

    def waiting(self) -> Iterator[SpoolEntry]:
        """Yield the entries, the oldest first. One that cannot be read is put with the refused ones."""
        folder = self.folder / _WAITING
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            try:
                build_part = json.loads((path / _BUILD).read_bytes())
                reports = tuple(sorted((path / _REPORTS).iterdir()))
            except FileNotFoundError:
                if path.is_dir() and any(path.iterdir()):
                    self.refuse(path, "It is not complete.")
                continue
            except (OSError, ValueError):
                self.refuse(path, "It cannot be read.")
                continue
            yield SpoolEntry(path, build_part, reports)

    def remove(self, folder: Path) -> None:
        """Forget an entry that was delivered; another process may have done so already."""
        shutil.rmtree(folder, ignore_errors=True)

    def refuse(self, folder: Path, sentence: str) -> None:
        """Put an entry that the daemon will never take aside, with the reason, where a person may look at it."""
        refused = self.folder / _REFUSED
        refused.mkdir(mode=_PRIVATE_FOLDER, exist_ok=True)
        try:
            folder.rename(refused / folder.name)
            (refused / folder.name / "reason.txt").write_text(f"{sentence}\n", encoding="utf-8")
        except OSError:  # another process was quicker, or a refused entry of that name is there already
            shutil.rmtree(folder, ignore_errors=True)


def spool_folder() -> Path:
    """Return `$QUARANTINE_SPOOL`, or `quarantine/spool` below `$XDG_STATE_HOME` or `~/.local/state`."""
    named = os.environ.get("QUARANTINE_SPOOL")
    if named:
        return Path(named)
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path("~/.local/state").expanduser()) / "quarantine" / "spool"


def _digest(build_part: bytes, reports: Sequence[Path]) -> str:
    digest = hashlib.sha256(build_part)
    for report in reports:
        digest.update(b"\0" + os.fsencode(report.name) + b"\0")
        with report.open("rb") as stream:
            while piece := stream.read(_READ_BYTES):
                digest.update(piece)
    return digest.hexdigest()[:32]


def _fill(draft: Path, build_part: bytes, reports: Sequence[Path]) -> None:
    """Write an entry; report files keep their names behind a number that keeps their order."""
    (draft / _REPORTS).mkdir()
    for number, report in enumerate(reports):
        copy = draft / _REPORTS / f"{number:04d}-{report.name[-_NAME_CHARACTERS:]}"
        shutil.copyfile(report, copy)
        _flush(copy)
    (draft / _BUILD).write_bytes(build_part)
    _flush(draft / _BUILD)


def _flush(path: Path) -> None:
    with path.open("rb") as stream:
        os.fsync(stream.fileno())


def report_name(path: Path) -> str:
    """Return the name a report had before it was spooled."""
    return path.name.partition("-")[2]
