"""Which report files one execution wrote: new or changed since its start, never those that lay there before.

A file that was put there with an old time stamp is no report of this execution either: it is named as stale.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "EVERY_XML",
    "Found",
    "States",
    "flaw",
    "matching",
    "old_reports",
    "reads_like_junit",
    "states",
    "written_since",
]

EVERY_XML = "**/*.xml"
"""The glob where nobody names one; what it finds counts only where it reads like JUnit."""
CLOCK_TOLERANCE_S = 2.0
"""A file may bear a time a little before its writing: file systems keep coarse times."""
_HEAD_BYTES = 64 * 1024
_JUNIT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?testsuites?[\s/>]")
_GLOB = re.compile(r"[*?\[]")

States = Mapping[Path, tuple[int, ...]]
"""Path to what changes whenever the file is written."""


class Found(NamedTuple):
    """What one execution left.

    Attributes:
        written: reports it wrote, sorted.
        stale: files that came there during it, but are older than it.
    """

    written: tuple[Path, ...]
    stale: tuple[Path, ...]


def matching(folder: Path, patterns: Sequence[str]) -> list[Path]:
    """Return the files that any of the patterns finds, sorted.

    A pattern is a glob below the folder, or an absolute path or glob; one without a wildcard may also be the name of a
    file that holds such characters.
    """
    return sorted({path for pattern in patterns for path in _of_pattern(folder, pattern) if path.is_file()})


def _of_pattern(folder: Path, pattern: str) -> list[Path]:
    named = folder / pattern
    if named.is_file() or not _GLOB.search(pattern):
        return [named]
    anchor = Path(Path(pattern).anchor)
    return list(anchor.glob(str(Path(pattern).relative_to(anchor))) if anchor.parts else folder.glob(pattern))


def states(folder: Path, patterns: Sequence[str]) -> States:
    """Return the files there are now, to tell later which of them were written since."""
    return {path: _state(path.stat()) for path in matching(folder, patterns)}


def _state(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def written_since(
    before: States,
    folder: Path,
    patterns: Sequence[str],
    started_s: float,
    *,
    counts: Callable[[Path], bool] = lambda _path: True,
) -> Found:
    """Return the reports that were written since `before` was taken, at `started_s` seconds since 1970."""
    new = [path for path in matching(folder, patterns) if before.get(path) != _state(path.stat()) and counts(path)]
    stale = tuple(path for path in new if path.stat().st_mtime < started_s - CLOCK_TOLERANCE_S)
    return Found(tuple(path for path in new if path not in stale), stale)


def reads_like_junit(path: Path) -> bool:
    """Whether a file begins as JUnit reports do, in whatever encoding of one or two bytes."""
    with path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    return _JUNIT.search(head.replace(b"\0", b"")) is not None


def old_reports(folder: Path, patterns: Sequence[str], known: frozenset[Path]) -> list[Path]:
    """Return what earlier executions left there: files like JUnit that no commit knows, no part of what is tested."""
    return [path for path in matching(folder, patterns) if path not in known and reads_like_junit(path)]


def flaw(path: Path, since_s: float | None = None) -> str:
    """Return why a file is no report of a run that began `since_s` seconds after 1970, as a sentence; empty if it is.

    Only what can be told without reading it: that it is there, holds something, and was written since.
    """
    try:
        status = path.stat()
    except OSError as error:
        return f"{path} cannot be read ({error.strerror}), so it counts as no report."
    if not status.st_size:
        return f"{path} is empty, so it counts as no report."
    if since_s is not None and status.st_mtime < since_s - CLOCK_TOLERANCE_S:
        return f"{path} was written before the run began, so it is the report of another run and counts as none."
    return ""
