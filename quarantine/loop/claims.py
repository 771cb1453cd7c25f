"""Which worktrees are those of workspaces, and what to do about the ones whose owner died.

A workspace lies in a folder that its process claims (see `quarantine.client.claims`). The worktree in it is registered
in the user's repository and locked there, so that git's own housekeeping leaves it alone, with a reason that names the
process. Only worktrees with such a reason, in folders of such a name, are ever removed; where it cannot be told whether
the owner lives they stay.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from quarantine.client.claims import TREE, claimed, discard, taken_over
from quarantine.client.errors import TreeError
from quarantine.client.git import git
from quarantine.client.worktrees import alone

__all__ = ["PREFIX", "reason", "recover"]

PREFIX = "quarantine-workspace-"
_REASON = "quarantine workspace"
_FIELDS = 5
_START_TIME = 19
"""Index of a process's start time among the fields of /proc/PID/stat that follow its name."""


def reason() -> str:
    """Return why git is to leave a worktree of this process alone."""
    return " ".join([f"{_REASON}:", *_identity()])


def recover(repository: Path, common: Path, parent: Path) -> list[str]:
    """Remove what workspaces of a repository have left whose process is gone; return their folders.

    Args:
        repository: the repository.
        common: its git folder.
        parent: where its workspaces are made.
    """
    found = []
    registered = list(_registered(repository))
    folders = {path.parent for path, _ in registered} | set(claimed(parent, PREFIX, os.fsencode(common)))
    for folder in sorted(folders):
        held = taken_over(folder)
        if held is not None:
            with suppress(OSError):  # what cannot be removed now stays registered, and is tried again next time
                discard(held, repository)
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
