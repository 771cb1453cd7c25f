"""Folders that belong to a process, and who may remove those whose process died.

Such a folder holds a file `claim`, which its process keeps locked: the system takes the lock back from whoever dies, by
kill -9 too. The file says what the folder is for. Only folders of such a name, of this user, with a claim that says
so and that nobody holds, are ever removed.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError
from quarantine.client.git import git
from quarantine.client.removal import remove
from quarantine.client.worktrees import add_worktree, alone

__all__ = ["TREE", "Claim", "claim", "claimed", "discard", "scratch_folder", "scratch_worktree", "sweep", "taken_over"]

TREE = "tree"
"""What the worktree in a folder is called."""
_CLAIM = "claim"
_OURS = "quarantine-"
_SCRATCH = b"scratch"
_RERUN = f"{_OURS}rerun-"
_LONGEST = 10_000


class Claim(NamedTuple):
    """A folder that this process holds; `lock` is the open file that says so."""

    folder: Path
    lock: int


def claim(prefix: str, parent: Path, purpose: bytes) -> Claim:
    """Make a folder that belongs to this process; raises OSError.

    Args:
        prefix: what its name begins with.
        parent: where to make it.
        purpose: the git folder of the repository that its worktree is of, or another word.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
    lock = os.open(folder / _CLAIM, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.write(lock, purpose)  # only a claim that says what for is ever swept, so this comes after the lock
    return Claim(folder, lock)


def claimed(parent: Path, prefix: str, purpose: bytes) -> Iterator[Path]:
    """Yield the folders in a place that are claimed for a purpose, by the living or the dead."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and _purpose(folder) == purpose:
                yield folder.resolve()


def _purpose(folder: Path) -> bytes:
    number = os.open(folder / _CLAIM, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(number, "rb") as stream:
        return stream.read(_LONGEST)


def taken_over(folder: Path) -> Claim | None:
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


def discard(held: Claim, repository: Path | None = None) -> None:
    """Remove a folder that this process holds, its worktree, and git's record of that; raises OSError.

    The claim goes last, so that what a kill leaves of this is swept later.
    """
    trash = Path(tempfile.mkdtemp(prefix="trash-", dir=held.folder))
    if repository is not None:
        remove(str(held.folder / TREE), trash)
        with suppress(TreeError), alone(repository):  # git forgets a worktree whose folder is gone
            git(repository, "worktree", "remove", "--force", "--force", str(held.folder / TREE))
    for name in set(os.listdir(held.folder)) - {_CLAIM, trash.name}:  # noqa: PTH208 - names are wanted
        remove(f"{held.folder}/{name}", trash)
    shutil.rmtree(trash)
    (held.folder / _CLAIM).unlink(missing_ok=True)
    held.folder.rmdir()
    os.close(held.lock)


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """Make a folder of a name nobody knows, readable by this user alone, for as long as the block runs.

    What cannot be removed then stays for `sweep`. Raises OSError when none can be made.
    """
    held = claim(f"{_OURS}{name}-", Path(tempfile.gettempdir()), _SCRATCH)
    try:
        yield held.folder
    finally:
        _give_up(held)


@contextmanager
def scratch_worktree(repository: Path, commit: str) -> Iterator[Path]:
    """Check a commit out in a scratch folder for as long as the block runs; raises TreeError, OSError.

    Git is given no second record to lock: what a kill leaves is found by its claim.
    """
    held = claim(_RERUN, Path(tempfile.gettempdir()), os.fsencode(_git_folder(repository)))
    try:
        add_worktree(repository, held.folder / TREE, commit)
        yield held.folder / TREE
    finally:
        _give_up(held, repository)


def sweep(repository: Path | None = None) -> list[Path]:
    """Remove the scratch folders whose process died, and the scratch worktrees of a repository; return them.

    Nothing is raised for what cannot be removed, nor where there is no repository.
    """
    parent = Path(tempfile.gettempdir())
    found: list[tuple[Path, Path | None]] = [(folder, None) for folder in claimed(parent, _OURS, _SCRATCH)]
    with suppress(TreeError):
        if repository is not None:
            purpose = os.fsencode(_git_folder(repository))
            found += [(folder, repository) for folder in claimed(parent, _RERUN, purpose)]
    abandoned = [(held, whose) for folder, whose in found if (held := taken_over(folder)) is not None]
    return [held.folder for held, whose in abandoned if _give_up(held, whose)]


def _give_up(held: Claim, repository: Path | None = None) -> bool:
    """Remove a folder as far as it can be removed; return whether all of it is gone."""
    try:
        discard(held, repository)
    except OSError:
        with suppress(OSError):
            os.close(held.lock)
        return False
    return True


def _git_folder(repository: Path) -> Path:
    common = git(repository, "rev-parse", "--git-common-dir").removesuffix(b"\n")
    return (repository / os.fsdecode(common)).resolve()
