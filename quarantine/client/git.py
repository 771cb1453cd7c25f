"""Reading a repository with git, without running anything that its configuration, its hooks or its files name.

No configuration of the system or the user is read; the repository's own can name no program that these commands would
start, fetch nothing, and replace no object by another. Nothing is written.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError

__all__ = [
    "CommitEntry",
    "blobs",
    "commit_entries",
    "commit_of",
    "git",
    "head_commit",
    "is_repository",
    "is_shallow",
    "merge_base",
    "top_level",
]

_SAFE = (
    *("-c", "safe.directory=*"),  # a checkout made by another user, as in containers; nothing of it is executed
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=false"),
    *("-c", "protocol.allow=never"),
    "--no-pager",
)
_KEPT_VARIABLES = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_SUBMODULE = "160000"


class CommitEntry(NamedTuple):
    """One file of a commit: its path below the folder asked about, its mode, and the id of its blob."""

    path: bytes
    mode: str
    oid: str


def git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Return what git prints when run in a folder; raises TreeError with git's own words when it fails."""
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "HOME": os.devnull,
        "LC_ALL": "C",
    }
    command = ["git", *_SAFE, *arguments]
    try:
        done = subprocess.run(command, cwd=root, env=environment, input=stdin, capture_output=True, check=False)
    except OSError as error:
        raise TreeError(f"git cannot be run: {error.strerror}.", mend="Install git, or state the commits.") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise TreeError(f"git {' '.join(arguments[:2])} failed in {root}: {said or done.returncode}.")
    return done.stdout


def is_repository(root: Path) -> bool:
    """Whether a folder lies in a repository that git can read."""
    try:
        git(root, "rev-parse", "--git-dir")
    except TreeError:
        return False
    return True


def top_level(folder: Path) -> Path | None:
    """Return the folder that a repository is checked out in, found from one below it; None where there is none."""
    try:
        return Path(os.fsdecode(git(folder, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
    except TreeError:
        return None


def head_commit(root: Path) -> str | None:
    """Return the full id of the commit checked out; None outside repositories and before the first commit."""
    return commit_of(root, "HEAD")


def merge_base(root: Path, one: str, other: str) -> str | None:
    """Return the newest commit that two revisions share; None when either is unknown here, as in a shallow clone."""
    commits = [commit_of(root, one), commit_of(root, other)]
    if None in commits:
        return None
    try:
        return git(root, "merge-base", *filter(None, commits)).decode().strip() or None
    except TreeError:
        return None


def is_shallow(root: Path) -> bool:
    """Whether a folder lies in a clone that was not given the whole history."""
    try:
        return git(root, "rev-parse", "--is-shallow-repository").strip() == b"true"
    except TreeError:
        return False


def commit_of(root: Path, revision: str) -> str | None:
    """Return the full id of the commit that a revision names; None when there is none of that name here."""
    try:
        found = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except TreeError:
        return None
    return found.decode().strip()


def commit_entries(root: Path, commit: str) -> Iterator[CommitEntry]:
    """Yield the files of a commit that lie below a folder of its repository, paths from that folder.

    The files of a submodule are listed where its repository is checked out and has the commit; otherwise left out.

    Raises:
        TreeError: the repository has no such commit.
    """
    listed = git(root, "ls-tree", "-r", "-z", "--end-of-options", commit)
    for line in filter(None, listed.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _kind, oid = about.decode().split()
        if mode != _SUBMODULE:
            yield CommitEntry(path, mode, oid)
        else:
            yield from _submodule_entries(root / os.fsdecode(path), path, oid)


def _submodule_entries(folder: Path, path: bytes, commit: str) -> Iterator[CommitEntry]:
    if (folder / ".git").exists() and commit_of(folder, commit) is not None:
        for entry in commit_entries(folder, commit):
            yield entry._replace(path=path + b"/" + entry.path)


def blobs(root: Path, oids: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of blobs by id, without any conversion; those this repository lacks are left out."""
    wanted = sorted(set(oids))
    output = git(root, "cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
    found: dict[str, bytes] = {}
    position = 0
    for oid in wanted:
        end = output.index(b"\n", position)
        header = output[position:end].split()
        position = end + 1
        if header[1:2] == [b"blob"]:
            size = int(header[2])
            found[oid] = output[position : position + size]
            position += size + 1
    return found
