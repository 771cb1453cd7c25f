"""Running a command that is not trusted to end: a time-out, an output cap, and nothing of it left running afterwards.

What keeps it from living on, and what that does not catch, is in `quarantine.client.supervised`.
"""

import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from quarantine.client.instants import monotonic_s
from quarantine.client.supervised import CLOSING_S, Supervised
from quarantine.loop.errors import ProcessError

__all__ = ["Finished", "Limits", "run"]

_READ_BYTES = 256 * 1024


class Limits(NamedTuple):
    """What one process of the command may use; None for no limit.

    Attributes:
        memory_bytes: address space.
        file_bytes: the largest file it may write.
        cpu_s: seconds of processor.
    """

    memory_bytes: int | None = None
    file_bytes: int | None = None
    cpu_s: int | None = None

    def spelled(self) -> str:
        """Return them as the supervisor reads them."""
        import resource  # noqa: PLC0415 - not to be had everywhere

        numbers = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)
        return ",".join(f"{n}:{value}" for n, value in zip(numbers, self, strict=True) if value is not None) or "-"


class Finished(NamedTuple):
    """What became of a command.

    Attributes:
        exit_code: as in subprocess: negative for the signal that ended it.
        stdout, stderr: its output; where it was over the cap the middle is replaced by one line that says how much.
        stdout_bytes, stderr_bytes: how much it wrote in all.
        timed_out: it was killed because its time was up.
        flooded: it was killed because of its output.
        seconds: wall-clock duration.
        left_behind: processes it had left running when it ended by itself, which were killed.
        unkilled: processes that could not be killed, such as those of another user.
        lost: the supervisor was killed, which no honest command does; the exit code says nothing then.
    """

    exit_code: int
    stdout: bytes
    stderr: bytes
    stdout_bytes: int
    stderr_bytes: int
    timed_out: bool
    flooded: bool
    seconds: float
    left_behind: int
    unkilled: int
    lost: bool

    @property
    def killed(self) -> bool:
        """Whether it did not end by itself."""
        return self.timed_out or self.flooded or self.lost


class _Kept:
    """The first and the last bytes of a stream."""

    def __init__(self, cap: int) -> None:
        self.cap = cap
        self.total = 0
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, piece: bytes) -> None:
        self.total += len(piece)
        room = max(0, self.cap // 2 - len(self._head))
        self._head += piece[:room]
        self._tail += piece[room:]
        if len(self._tail) > 2 * self.cap + _READ_BYTES:
            self._cut()

    def _cut(self) -> None:
        del self._tail[: len(self._tail) - (self.cap - self.cap // 2)]

    def content(self) -> bytes:
        if self.total <= self.cap:
            return bytes(self._head + self._tail)
        self._cut()
        return bytes(self._head) + b"\n[... %d bytes left out ...]\n" % (self.total - self.cap) + bytes(self._tail)


def run(
    command: str | Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    timeout_s: float,
    stdin: bytes = b"",
    max_output_bytes: int = 8_000_000,
    limits: Limits = Limits(),  # noqa: B008 - a frozen value
    kill_on_flood: bool = False,
) -> Finished:
    """Run a command, and return when it and all it started have ended.

    Args:
        command: a line for the shell, or a program with its arguments.
        cwd: the folder it runs in.
        env: all the variables it sees, but for one of no meaning that marks it.
        timeout_s: seconds until it is killed.
        stdin: what it can read; then the end of the file.
        max_output_bytes: how much of each of its two outputs is kept, half of it from the end.
        limits: what each of its processes may use.
        kill_on_flood: whether output over the cap ends it; otherwise the rest is read and forgotten.

    Raises:
        ProcessError: it can not be started.
    """
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    begun = monotonic_s()
    try:
        started = Supervised(
            words, cwd, env, (subprocess.PIPE, subprocess.PIPE, subprocess.PIPE), limits=limits.spelled()
        )
    except (OSError, ValueError) as error:
        raise ProcessError(f"{words[0]} cannot be run in {cwd}: {error}.") from error
    with started as supervised:
        outputs = _outputs(supervised, stdin, max_output_bytes, begun + timeout_s, kill_on_flood=kill_on_flood)
    report = supervised.report()
    if report is not None and report.errno:
        raise ProcessError(f"{words[0]} cannot be run: {os.strerror(report.errno)}.", mend="Is it installed?")
    return Finished(
        exit_code=-signal.SIGKILL if report is None or report.exit is None else report.exit,
        stdout=outputs.stdout.content(),
        stderr=outputs.stderr.content(),
        stdout_bytes=outputs.stdout.total,
        stderr_bytes=outputs.stderr.total,
        timed_out=outputs.ended_for == "time",
        flooded=outputs.ended_for == "flood",
        seconds=monotonic_s() - begun,
        left_behind=0 if report is None else report.left_behind,
        unkilled=0 if report is None else report.unkilled,
        lost=report is None,
    )


class _Outputs(NamedTuple):
    stdout: _Kept
    stderr: _Kept
    ended_for: str


def _outputs(supervised: Supervised, stdin: bytes, cap: int, deadline: float, *, kill_on_flood: bool) -> _Outputs:
    """Feed and read the command until the supervisor has reported, the time is up, or the cap is passed."""
    kept = {"stdout": _Kept(cap), "stderr": _Kept(cap)}
    ended_for = ""
    with selectors.DefaultSelector() as selector:
        _register(selector, supervised)
        feed = memoryview(stdin)
        while selector.get_map() and not (ended_for and monotonic_s() > deadline):
            ready = selector.select(max(0.0, deadline - monotonic_s()))
            reported = False
            for key, _ in ready:
                if key.data == "stdin":
                    feed = _fed(selector, key, feed)
                elif key.data == "report":
                    reported = True
                else:
                    _read(selector, key, kept[key.data])
            if reported and len(ready) == 1 + sum(key.data == "stdin" for key, _ in ready):
                break
            if not ended_for:
                flood = kill_on_flood and max(one.total for one in kept.values()) > cap
                ended_for = "flood" if flood else "time" if not reported and monotonic_s() >= deadline else ""
                if ended_for:
                    supervised.end()
                    deadline = monotonic_s() + CLOSING_S
    return _Outputs(kept["stdout"], kept["stderr"], ended_for)


def _register(selector: selectors.BaseSelector, supervised: Supervised) -> None:
    process = supervised.process
    for name, stream in (("stdin", process.stdin), ("stdout", process.stdout), ("stderr", process.stderr)):
        if stream is None:
            raise AssertionError(name)
        os.set_blocking(stream.fileno(), False)
        event = selectors.EVENT_WRITE if name == "stdin" else selectors.EVENT_READ
        selector.register(stream, event, name)
    selector.register(supervised.reporting, selectors.EVENT_READ, "report")


def _fed(selector: selectors.BaseSelector, key: selectors.SelectorKey, feed: memoryview) -> memoryview:
    """Write what the command will take; close its input when there is no more, or when it does not want it."""
    stream = _stream(key)
    try:
        feed = feed[os.write(stream.fileno(), feed) :] if feed else feed
    except BlockingIOError:
        return feed
    except OSError:
        feed = feed[:0]
    if not feed:
        selector.unregister(stream)
        stream.close()
    return feed


def _read(selector: selectors.BaseSelector, key: selectors.SelectorKey, kept: _Kept) -> None:
    stream = _stream(key)
    try:
        piece = os.read(stream.fileno(), _READ_BYTES)
    except BlockingIOError:
        return
    if piece:
        kept.add(piece)
    else:
        selector.unregister(stream)


def _stream(key: selectors.SelectorKey) -> IO[bytes]:
    stream: IO[bytes] = key.fileobj  # type: ignore[assignment]  # only streams are registered under these names
    return stream
