"""Which file of a commit says who owns what, in the order in which the hosts look.

It is read from the commit and not from the folder: an uncommitted edit owns nothing.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError
from quarantine.client.git import git, is_repository

__all__ = ["OwnersSource", "owners_file"]

_MAX_BYTES = 3 * 1024 * 1024
_GITHUB = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
_GITLAB = ("CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_REGULAR = ("100644", "100755")


class OwnersSource(NamedTuple):
    """An owners' file.

    Attributes:
        path: where it lies, from the root of the repository.
        text: what it says; bytes that are no UTF-8 are replaced.
        dialect: `github` or `gitlab` when the CI system or the place tells; empty when only the text can.
        folder: where the folder that was asked about lies in its repository; empty at the root. Owners' patterns go
            from the root of the repository, the paths of a build from this folder.
    """

    path: str
    text: str
    dialect: str
    folder: str


def owners_file(root: Path, commit: str = "HEAD", variables: Mapping[str, str] = os.environ) -> OwnersSource | None:
    """Return the owners' file of a commit; None when there is none, or no such commit here.

    GitHub looks into `.github`, the root and `docs`, GitLab into the root, `docs` and `.gitlab`; the first one found
    counts. Where `variables` (of the environment) do not tell which host it is, GitHub's places come first. A link is
    no file to either.

    Raises:
        TreeError: the file is larger than the 3 MB that the hosts read.
    """
    dialect = _host(variables)
    places = {"github": _GITHUB, "gitlab": _GITLAB}.get(dialect, (*_GITHUB, _GITLAB[-1]))
    files = _files(root, commit, places)
    path = next((place for place in places if place in files), None)
    if path is None:
        return None
    oid, size = files[path]
    if size > _MAX_BYTES:
        raise TreeError(
            f"{path} of {commit} has {size:,} bytes; hosts read no owners' file of more than {_MAX_BYTES:,}.",
            mend="Join its lines by wildcards.",
        )
    text = git(root, "cat-file", "blob", oid).decode("utf-8", "replace")
    folder = git(root, "rev-parse", "--show-prefix").decode("utf-8", "surrogateescape").strip("\n").rstrip("/")
    return OwnersSource(path, text, dialect or _dialect_of_place(path), folder)


def _host(variables: Mapping[str, str]) -> str:
    if variables.get("GITLAB_CI"):
        return "gitlab"
    return "github" if variables.get("GITHUB_ACTIONS") else ""


def _dialect_of_place(path: str) -> str:
    return {".github/CODEOWNERS": "github", ".gitlab/CODEOWNERS": "gitlab"}.get(path, "")


def _files(root: Path, commit: str, places: tuple[str, ...]) -> dict[str, tuple[str, int]]:
    """Return the blob and the size of those places that hold a regular file."""
    if not is_repository(root):
        return {}
    try:
        listed = git(root, "ls-tree", "-l", "-z", "--full-tree", "--end-of-options", commit, *places)
    except TreeError:
        return {}
    files = {}
    for line in filter(None, listed.split(b"\0")):
        about, _, path = line.partition(b"\t")
        mode, _kind, oid, size = about.decode().split()
        if mode in _REGULAR:
            files[path.decode()] = (oid, int(size))
    return files
