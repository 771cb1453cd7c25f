"""A command below a supervisor (see there), in a session of its own: nothing it starts outlives it, nor this process.

When this process dies, even by kill -9, the supervisor kills what it runs. Not caught, and no wrapper of the same user
could: work handed to a service outside (`systemd-run`, `at`, a container daemon), programs that run as another user,
and a process that kills the supervisor after it has cleared its own environment. Where there is no /proc only the
command's own session is killed.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, Self

from quarantine.client import supervisor
from quarantine.client.instants import monotonic_s

__all__ = ["CLOSING_S", "MARK", "Report", "Stream", "Supervised"]

MARK = "RUN_MARK"
"""Variable that marks all that a command starts, to find it when its supervisor was killed."""
CLOSING_S = 10.0
"""Seconds the supervisor gets to end what it runs."""
_LOOK_S = 0.01

Stream = int | IO[bytes] | None
"""Where a stream goes, as subprocess takes it; None passes this process's own on."""


class Report(NamedTuple):
    """What the supervisor says at the end.

    Attributes:
        exit: as in subprocess: negative for a signal; None when the command was told to end, or could not be started.
        errno: why it could not be started; 0 when it was.
        left_behind: processes it had left running when it ended by itself, which were killed.
        unkilled: processes that could not be killed, such as those of another user.
    """

    exit: int | None
    errno: int
    left_behind: int
    unkilled: int


class Supervised:
    """A command at work; leaving the block ends it and all it started, whatever happened.

    Attributes:
        process: the supervisor, which has the command's streams.
        reporting: a descriptor that can be read once the command has ended.
    """

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        streams: tuple[Stream, Stream, Stream],
        *,
        limits: str = "-",
    ) -> None:
        """Start it.

        Args:
            words: a program with its arguments.
            folder: where it runs.
            environment: all the variables it sees, but for one of no meaning that marks it.
            streams: what it reads, where its output goes, and where its complaints go.
            limits: what each of its processes may use, as the supervisor reads it.

        Raises:
            OSError, ValueError: there is no such folder, or a word that no program can be given.
        """
        self._mark = uuid.uuid4().hex
        control_read, self._control = os.pipe()
        self.reporting, report_write = os.pipe()
        script = [sys.executable, "-I", "-S", "-B", supervisor.__file__]
        stdin, stdout, stderr = streams
        try:
            self.process = subprocess.Popen(
                [*script, str(control_read), str(report_write), limits, *words],
                cwd=folder,
                env={**environment, MARK: self._mark},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(control_read, report_write),
                start_new_session=True,
            )
        except (OSError, ValueError):
            os.close(self._control)
            os.close(self.reporting)
            raise
        finally:
            os.close(control_read)
            os.close(report_write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End what still runs, and wait for the supervisor."""
        with suppress(OSError):
            os.close(self._control)
        try:
            self.process.wait(CLOSING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until the command has ended, and all it started with it; return whether it did in time."""
        return bool(select.select([self.reporting], [], [], timeout_s)[0])

    def end(self) -> None:
        """Tell the supervisor to kill what it runs."""
        with suppress(BrokenPipeError):
            os.write(self._control, b".")

    def report(self) -> Report | None:
        """Return what it came to, once the block is left; None when the supervisor was killed.

        What the command had started is killed then all the same.
        """
        with os.fdopen(self.reporting, "rb") as stream:
            said = stream.read()
        if said.endswith(b"\n") and self.process.returncode == 0:
            return Report(**json.loads(said))
        _kill_marked(self._mark)
        return None


def _kill_marked(mark: str) -> None:
    """Kill what a command started, when the one who would have known was killed; return once nothing of it runs.

    A process may fork while the others are looked for, and is not gone the moment it is killed: so it is looked again,
    until none is found, for as long as a supervisor would get.
    """
    deadline = monotonic_s() + CLOSING_S
    while (found := _marked(f"{MARK}={mark}".encode())) and monotonic_s() < deadline:
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_LOOK_S)


def _marked(wanted: bytes) -> list[int]:
    """Return the processes that have this among their variables; one that has died has none."""
    found = []
    for variables in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in variables.read_bytes().split(b"\0"):
                found.append(int(variables.parent.name))
    return found
