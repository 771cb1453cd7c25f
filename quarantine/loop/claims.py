"""Whose folder a workspace is, and what to do about those whose owner died.

A workspace lies in a folder of its own beside a file `claim`, which its process keeps locked: the system takes the lock
back from whoever dies, by kill -9 too. The worktree in it is registered in the user's repository and locked there, so
that git's own housekeeping leaves it alone, with a reason that names the process. Only worktrees with such a reason,
in folders of such a name, are ever removed; where it cannot be told whether the owner lives they stay.
"""

import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError
from quarantine.client.git import git
from quarantine.client.worktrees import alone
from quarantine.loop.removal import remove

__all__ = ["TREE", "Claim", "claim", "discard", "reason", "recover"]

PREFIX = "quarantine-workspace-"
TREE = "tree"
_CLAIM = "claim"
_REASON = "quarantine workspace"
_FIELDS = 5
_START_TIME = 19
"""Index of a process's start time among the fields of /proc/PID/stat that follow its name."""


class Claim(NamedTuple):
    """A folder that this process holds; `lock` is the open file that says so."""

    folder: Path
    lock: int


def claim(parent: Path, common: Path) -> Claim:
    """Make a folder that belongs to this process and to a repository; raises OSError.

    Args:
        parent: where to make it.
        common: the git folder of the repository.
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).resolve()
    lock = os.open(folder / _CLAIM, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, os.fsencode(common))  # only a claim that says of what is ever swept, so this comes after the lock
    return Claim(folder, lock)


def reason() -> str:
    """Return why git is to leave a worktree of this process alone."""
    return " ".join([f"{_REASON}:", *_identity()])


def discard(repository: Path, held: Claim) -> None:
    """Remove a folder that this process holds, its worktree, and git's record of that; raises OSError.

    The claim goes last, so that what a kill leaves of this is swept later.
    """
    trash = Path(tempfile.mkdtemp(prefix="trash-", dir=held.folder))
    tree = held.folder / TREE
    remove(str(tree), trash)
    with suppress(TreeError), alone(repository):  # git forgets a worktree whose folder is gone
        git(repository, "worktree", "remove", "--force", "--force", str(tree))
    for name in set(os.listdir(held.folder)) - {_CLAIM, trash.name}:  # noqa: PTH208 - names are wanted
        remove(f"{held.folder}/{name}", trash)
    shutil.rmtree(trash)
    (held.folder / _CLAIM).unlink(missing_ok=True)
    held.folder.rmdir()
    os.close(held.lock)


def recover(repository: Path, common: Path, parent: Path) -> list[str]:
    """Remove what workspaces of a repository have left whose process is gone; return their folders.

    Args:
        repository: the repository.
        common: its git folder.
        parent: where its workspaces are made.
    """
    found = []
    registered = list(_registered(repository))
    folders = {path.parent for path, _ in registered} | set(_claimed(parent, common))
    for folder in sorted(folders):
        held = _abandoned(folder)
        if held is not None:
            with suppress(OSError):  # what cannot be removed now stays registered, and is tried again next time
                discard(repository, held)
                found.append(str(folder))
    for path, owner in registered:
        if not path.parent.exists() and _is_gone(owner):
            with suppress(TreeError), alone(repository):
                git(repository, "worktree", "remove", "--force", "--force", str(path))
                found.append(str(path.parent))
    return found


def _registered(repository: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the worktrees of workspaces that git knows of, and who their owners are."""
    listed = git(repository, "worktree", "list", "--porcelain", "-z").decode("utf-8", "surrogateescape")
    for entry in listed.split("\0\0"):
        lines = [line.partition(" ") for line in entry.split("\0")]
        about = {name: value for name, _, value in lines}
        path, why = Path(about.get("worktree", "")), about.get("locked", "")
        owner = why.removeprefix(f"{_REASON}: ").split(" ")
        ours = path.name == TREE and path.parent.name.startswith(PREFIX)
        if ours and why.startswith(f"{_REASON}: ") and len(owner) == _FIELDS:
            yield path, owner


def _claimed(parent: Path, common: Path) -> Iterator[Path]:
    """Yield the folders in a place that are claimed for a repository."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_uid == os.geteuid() and (folder / _CLAIM).read_bytes() == os.fsencode(common):
                yield folder.resolve()


def _abandoned(folder: Path) -> Claim | None:
    """Take over a folder whose owner is gone; None when it lives, or is not there."""
    try:
        lock = os.open(folder / _CLAIM, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_ino == (folder / _CLAIM).stat().st_ino:
            return Claim(folder, lock)
    except OSError:
        pass
    os.close(lock)
    return None


def _identity() -> list[str]:
    """Return machine, boot, process namespace, process and its start: what names a process for good."""
    namespace = boot = "-"
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - it is no path
    return [platform.node() or "-", boot, namespace, str(os.getpid()), _started(os.getpid())]


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the boot; `-` when it is gone or cannot be told."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()[_START_TIME].decode()
    except (OSError, IndexError):
        return "-"


def _is_gone(owner: list[str]) -> bool:
    """Whether a process is certainly gone; those of other machines are not."""
    machine, boot, namespace, pid, started = owner
    here = _identity()
    if machine != here[0] or "-" in {boot, started}:
        return False
    if boot != here[1]:
        return True
    return namespace == here[2] and pid.isdecimal() and _started(int(pid)) != started
