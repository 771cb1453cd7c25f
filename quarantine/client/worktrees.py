"""Scratch worktrees of a clone, which several processes may share: git does not add two at the same time without fail.

Adding and removing wait for a lock on a file in the clone's git folder. The system takes it back from whoever dies.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quarantine.client.errors import TreeError
from quarantine.client.git import git, top_level

__all__ = ["LOCK_FILE", "add_worktree", "alone", "checkout", "remove_worktree"]

LOCK_FILE = "quarantine-worktrees.lock"


def add_worktree(repository: Path, folder: Path, commit: str) -> None:
    """Check a commit out in a new folder, on no branch; raises TreeError."""
    with alone(repository):
        git(repository, "worktree", "add", "--detach", "--force", str(folder), commit)


def remove_worktree(repository: Path, folder: Path) -> None:
    """Remove a worktree and git's record of it, and no other: `git worktree prune` would forget the user's own.

    Nothing is raised for what cannot be removed.
    """
    for _ in range(2):  # where a command has damaged the worktree git removes the record once the folder is gone
        with suppress(TreeError), alone(repository):
            git(repository, "worktree", "remove", "--force", "--force", str(folder))
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def alone(repository: Path) -> Iterator[None]:
    """Wait until nobody else changes the clone's worktrees, and keep them waiting while the block runs.

    Raises TreeError when there is no repository, or its git folder takes no file.
    """
    common = repository / os.fsdecode(git(repository, "rev-parse", "--git-common-dir").removesuffix(b"\n"))
    try:
        lock = (common / LOCK_FILE).open("ab")
    except OSError as error:
        raise TreeError(f"{common} cannot be written to: {error.strerror}.") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def checkout(repository: Path) -> Path:
    """Return the folder the repository is checked out in; a bare one is its own."""
    return top_level(repository) or repository
