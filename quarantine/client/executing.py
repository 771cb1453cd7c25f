"""One execution of a suite's command: by the shell as CI did, bounded in time, nothing of it left running."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from quarantine.client.environment import named
from quarantine.client.instants import iso_instant, monotonic_s, wall_s
from quarantine.client.report_files import EVERY_XML, reads_like_junit, states, written_since
from quarantine.client.supervised import Stream, Supervised

__all__ = ["TIMEOUT_S", "Execution", "execute", "suite_environment"]

TIMEOUT_S = 3600.0
_NOT_PASSED_ON = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "QUARANTINE_TOKEN"}
)
_FIRST_SIGNAL, _KILLED = 128, 9


class Execution(NamedTuple):
    """What became of one execution.

    Attributes:
        exit_code: as a shell says it, so a signal n is 128 + n; None when it was killed because its time was up.
        seconds: how long it took.
        started_at: when it began, ISO 8601.
        reports: the report files it wrote.
        stale: files that came where reports are looked for, but are older than it.
    """

    exit_code: int | None
    seconds: float
    started_at: str
    reports: tuple[Path, ...]
    stale: tuple[Path, ...] = ()

    @property
    def timed_out(self) -> bool:
        """Whether it was killed because its time was up."""
        return self.exit_code is None


def execute(
    command: str,
    folder: Path,
    patterns: Sequence[str],
    *,
    environment: Mapping[str, str],
    timeout_s: float | None = TIMEOUT_S,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = subprocess.DEVNULL,
    stderr: Stream = subprocess.DEVNULL,
) -> Execution:
    """Run a command line in a folder by /bin/sh and return what came of it; nothing it started runs on.

    Args:
        command: one line for the shell.
        folder: where it runs.
        patterns: globs that find its reports; see `report_files.matching`. With `EVERY_XML` alone only what reads like
            JUnit counts.
        environment: the variables it sees.
        timeout_s: seconds after which it is killed with all it started; None waits for its end.
        stdin: what it reads.
        stdout: where its output goes.
        stderr: where its complaints go.
    """
    before = states(folder, patterns)
    started_s, began = wall_s(), monotonic_s()
    exit_code = _run(command, folder, environment, timeout_s, (stdin, stdout, stderr))
    seconds = monotonic_s() - began
    only_junit = tuple(patterns) == (EVERY_XML,)
    counts = reads_like_junit if only_junit else Path.is_file
    found = written_since(before, folder, patterns, started_s, counts=counts)
    return Execution(exit_code, seconds, iso_instant(started_s), found.written, found.stale)


def suite_environment(python: str | None) -> dict[str, str]:
    """Return the variables a suite sees: as here, but neither a token nor where git was told to look.

    Args:
        python: the interpreter that `python` must be in there; None leaves the PATH as it is.
    """
    variables = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    if python is not None:
        variables["PATH"] = f"{Path(named(python)).parent}{os.pathsep}{variables.get('PATH', '')}"
    return variables


def _run(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    timeout_s: float | None,
    streams: tuple[Stream, Stream, Stream],
) -> int | None:
    with Supervised(["/bin/sh", "-c", command], folder, environment, streams) as supervised:
        if not supervised.wait(timeout_s):
            return None
    report = supervised.report()
    if report is None:  # it killed the supervisor, and was killed for it
        return _FIRST_SIGNAL + _KILLED
    if report.errno or report.exit is None:
        raise OSError(report.errno, os.strerror(report.errno), "/bin/sh")
    return report.exit if report.exit >= 0 else _FIRST_SIGNAL - report.exit
