"""Runs one command and answers for everything it leaves behind; started by `processes` as a script of its own.

It is the nearest "child subreaper" of all that the command starts (Linux), so that a process which moves into a session
of its own, or whose parent ends, becomes its child and is found. When the command ends, or when the control pipe says
so or closes because the harness died, every descendant is stopped, then killed, until none is left. It cannot be
traced, nor its pipes opened through /proc, by processes of the same user without privileges.

    python -I -S supervisor.py CONTROL_FD REPORT_FD LIMITS PROGRAM ARGUMENT...

LIMITS is `resource number:value` joined by commas, or `-`. The report is one line of JSON: `exit` (negative for a
signal, null when the command could not be started), `errno`, `left_behind` (how many processes had to be killed that
the command had left running) and `unkilled`. Standard library only, and little of it: this runs before every command.
"""

import json
import os
import select
import signal
import sys
from contextlib import suppress
from types import FrameType

_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36
_ROUNDS = 200
_ROUND_S = 0.02
_PROC = os.path.isdir("/proc/self")  # noqa: PTH112 - pathlib would take longer to load than all of this


def main(arguments: list[str]) -> None:
    """Run the command, clean up after it, report."""
    control, report = int(arguments[0]), int(arguments[1])
    os.set_inheritable(control, False)
    os.set_inheritable(report, False)
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_read, False)
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, _nothing)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _become_reaper()
    main_pid, errno = _start(arguments[3:], arguments[2])
    os.close(0)
    status = None if errno else _wait(main_pid, control, wake_read)
    told = status is None
    left_behind, unkilled, late = _clear(main_pid)
    status = late if status is None else status
    answer = {
        "exit": None if errno or status is None else os.waitstatus_to_exitcode(status),
        "errno": errno,
        "left_behind": 0 if told else left_behind,
        "unkilled": unkilled,
    }
    os.write(report, json.dumps(answer).encode() + b"\n")


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor says that a child ended."""


def _become_reaper() -> None:
    """Adopt orphaned descendants, and hide from same-user tracing; elsewhere than on Linux neither can be had."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - not to be had everywhere

        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _start(command: list[str], limits: str) -> tuple[int, int]:
    """Start the command in a session of its own; return its process id, and the errno when it can not be executed."""
    failed_read, failed_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(command, limits, failed_write)
    os.close(failed_write)
    said = os.read(failed_read, 16)
    os.close(failed_read)
    return pid, int(said or b"0")


def _become(command: list[str], limits: str, failed: int) -> None:
    """Turn this forked child into the command."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        _limit(limits)
        os.execvp(command[0], command)  # noqa: S606 - this is what the harness was asked to run
    except OSError as error:
        os.write(failed, str(error.errno).encode())
    finally:
        os._exit(127)


def _limit(limits: str) -> None:
    if limits != "-":
        import resource  # noqa: PLC0415 - not to be had everywhere

        for number, value in (pair.split(":") for pair in limits.split(",")):
            hard = resource.getrlimit(int(number))[1]
            most = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
            resource.setrlimit(int(number), (most, most))


def _wait(pid: int, control: int, wake: int) -> int | None:
    """Return the command's wait status; None when told, by the pipe or its end, to end it."""
    while True:
        ready = select.select([control, wake], [], [])[0]
        if control in ready:
            return None
        with suppress(BlockingIOError):
            os.read(wake, 4096)
        ended, _ = _reaped()
        if pid in ended:
            return ended[pid]


def _reaped() -> tuple[dict[int, int], bool]:
    """Return the wait statuses of children that have ended, and whether there are others."""
    ended: dict[int, int] = {}
    try:
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    except ChildProcessError:
        return ended, False
    return ended, True


def _clear(pid: int) -> tuple[int, int, int | None]:
    """Kill everything that descends from here; return how many there were, how many live on, and the command's status.

    All are stopped before any is killed, so that none forks away from under the search.
    """
    status: int | None = None
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        ended, _ = _reaped()
        stopped -= ended.keys()
        status = ended.get(pid, status)
        new = _descendants() - stopped
        _signal_all(new, signal.SIGSTOP)
        stopped |= new
        if not new:
            break
    count = len(stopped)
    for _ in range(_ROUNDS):
        _signal_all(_descendants(), signal.SIGKILL)
        if not _PROC:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        ended, more = _reaped()
        status = ended.get(pid, status)
        if not more:
            break
        select.select([], [], [], _ROUND_S)
    return count, len(_descendants()), status


def _signal_all(pids: set[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants() -> set[int]:
    """Return the process ids of all that live below this process; empty where there is no /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if _PROC else ():  # noqa: PTH208 - the same
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as stream:  # noqa: PTH123 - the same
                state, parent = stream.read().rpartition(b")")[2].split()[:2]
                if state not in {b"Z", b"X"}:
                    children.setdefault(int(parent), []).append(int(name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            found.add(child)
            waiting.append(child)
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
