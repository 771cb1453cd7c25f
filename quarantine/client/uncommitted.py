"""How the files of a tree differ from the commit that is checked out."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from quarantine.client.git import commit_entries, head_commit
from quarantine.client.tree import Tree

__all__ = ["Uncommitted", "uncommitted"]


class Uncommitted(NamedTuple):
    """Paths from the tree's root, sorted by their bytes.

    Attributes:
        edited: files of the commit whose bytes or mode are others here; so is what git-lfs filled in.
        stray: files that are in no commit, ignored ones too.
        gone: files of the commit that are not here.
    """

    edited: tuple[str, ...] = ()
    stray: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def uncommitted(tree: Tree, source: Path) -> Uncommitted:
    """Return what differs from the commit checked out in `source`; nothing where there is none."""
    head = head_commit(source)
    if head is None:
        return Uncommitted()
    known = {entry.path: (entry.mode, entry.oid) for entry in commit_entries(source, head)}
    here = {entry.path: (entry.mode, entry.git_blob) for entry in tree.entries}
    left_out = os.fsencode(tree.root) + b"/"
    return Uncommitted(
        edited=_names(path for path in here.keys() & known.keys() if here[path] != known[path]),
        stray=_names(here.keys() - known.keys()),
        gone=_names(path for path in known.keys() - here.keys() if not os.path.lexists(left_out + path)),
    )


def _names(paths: Iterable[bytes]) -> tuple[str, ...]:
    return tuple(path.decode("utf-8", "backslashreplace") for path in sorted(paths))
