"""The parts of a whole tree, and which of them differ from a commit or from another tree."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError
from quarantine.client.git import CommitEntry, blobs, commit_entries
from quarantine.client.parts import Part, file_parts
from quarantine.client.tree import LINK, Entry, Tree

__all__ = [
    "ChangedFile",
    "Manifest",
    "changed_files",
    "changed_since",
    "difference",
    "manifest_of_commit",
    "manifest_of_tree",
]

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class Manifest(NamedTuple):
    """The parts of a tree, sorted by path and part."""

    parts: tuple[Part, ...]

    @property
    def id(self) -> str:
        """64 hexadecimal digits: SHA-256 over one compact JSON array `[path, part, hash]` and a newline per part."""
        digest = hashlib.sha256()
        for part in self.parts:
            digest.update(json.dumps(part, separators=(",", ":")).encode() + b"\n")
        return digest.hexdigest()


class ChangedFile(NamedTuple):
    """A file that is there, and its content on the base; None where it is new or was a link."""

    path: str
    old: bytes | None
    new: bytes


def manifest_of_tree(tree: Tree) -> Manifest:
    """Return the parts of every file of a tree; raises TreeError when a file changed since the tree was read."""
    return _manifest(part for entry in tree.entries for part in _parts(tree, entry))


def manifest_of_commit(root: Path, commit: str) -> Manifest:
    """Return the parts of every file of a commit, below a folder; raises TreeError without that commit."""
    entries = list(commit_entries(root, commit))
    contents = _contents(root, entries)
    return _manifest(part for entry in entries for part in _commit_parts(entry, contents))


def difference(old: Manifest, new: Manifest) -> list[Part]:
    """Return the parts of `new` that differ from `old`, sorted; those that are gone have the hash None."""
    before = {part[:2]: part.hash for part in old.parts}
    after = {part[:2]: part.hash for part in new.parts}
    return [
        Part(*column, after.get(column))
        for column in sorted(before.keys() | after.keys())
        if before.get(column) != after.get(column)
    ]


def changed_since(tree: Tree, commit: str, repository: Path | None = None) -> list[Part]:
    """Return the parts of a tree that differ from a commit, sorted; those that are gone have the hash None.

    Only files whose bytes differ are read and parsed. What the tree leaves out (see `quarantine.client.tree`) counts
    as unchanged. Files that git-lfs has filled in, and on Windows files whose line ends alone were converted, count as
    what the commit holds.

    Raises:
        TreeError: the repository has no such commit, or a file changed since the tree was read.
    """
    pairs, contents = _differing(tree, commit, repository or tree.root)
    return difference(
        _manifest(part for old, _ in pairs if old for part in _commit_parts(old, contents)),
        _manifest(part for _, new in pairs if new for part in _parts(tree, new)),
    )


def changed_files(tree: Tree, commit: str, repository: Path | None = None) -> Iterator[ChangedFile]:
    """Yield the files of a tree that differ from a commit; not links, and not files that are gone. Raises TreeError."""
    pairs, contents = _differing(tree, commit, repository or tree.root)
    for old, new in pairs:
        if new is not None and new.mode != LINK:
            before = contents(old) if old is not None and old.mode != LINK else None
            yield ChangedFile(new.name, before, _content(tree, new))


_Pair = tuple[CommitEntry | None, Entry | None]
"""One path on both sides, None where it is not."""


def _differing(tree: Tree, commit: str, source: Path) -> tuple[list[_Pair], Callable[[CommitEntry], bytes]]:
    """Return the entries that are not the same in a commit and in a tree, and what gives the commit's contents."""
    old = {entry.path: entry for entry in commit_entries(source, commit)}
    new = {entry.path: entry for entry in tree.entries}
    gone = [path for path in old.keys() - new.keys() if not os.path.lexists(os.fsencode(tree.root) + b"/" + path)]
    differing = [
        path for path, entry in new.items() if path not in old or old[path][1:] != (entry.mode, entry.git_blob)
    ]
    contents = _contents(source, [old[path] for path in [*gone, *differing] if path in old])
    differing = [path for path in differing if not _is_converted(tree, new[path], old.get(path), contents)]
    return [(old.get(path), new.get(path)) for path in [*gone, *differing]], contents


def _manifest(parts: Iterable[Part]) -> Manifest:
    return Manifest(tuple(sorted(parts, key=lambda part: part[:2])))


def _parts(tree: Tree, entry: Entry) -> list[Part]:
    return file_parts(entry.name, _content(tree, entry), entry.mode)


def _content(tree: Tree, entry: Entry) -> bytes:
    """Return the content of an entry again; raises TreeError when it is no longer what the tree says."""
    path = os.fsencode(tree.root) + b"/" + entry.path
    try:
        if entry.mode == LINK:
            content = os.fsencode(os.readlink(path))  # noqa: PTH115 - paths are bytes here
        else:
            with open(path, "rb") as stream:  # noqa: PTH123 - the same
                content = stream.read()
    except OSError:
        content = None
    if content is None or hashlib.sha256(content).hexdigest() != entry.blob:
        raise TreeError(f"{entry.name} changed while the tree was read.", mend="Let nothing write to it meanwhile.")
    return content


def _contents(root: Path, entries: list[CommitEntry]) -> Callable[[CommitEntry], bytes]:
    """Return a function that gives the content of any of these entries, submodules' included."""
    found = blobs(root, [entry.oid for entry in entries])
    missing = [entry for entry in entries if entry.oid not in found]
    for folder in {_repository(root, entry) for entry in missing} - {root}:
        found |= blobs(folder, [entry.oid for entry in missing if _repository(root, entry) == folder])

    def content(entry: CommitEntry) -> bytes:
        if entry.oid not in found:
            name = entry.path.decode("utf-8", "backslashreplace")
            raise TreeError(f"The repository lacks the base's content of {name}.", mend="Fetch it without a filter.")
        return found[entry.oid]

    return content


def _repository(root: Path, entry: CommitEntry) -> Path:
    """Return the innermost submodule that a path lies in; the root for files of the repository itself."""
    for folder in (root / os.fsdecode(entry.path)).parents:
        if folder == root or (folder / ".git").exists():
            return folder
    return root


def _commit_parts(entry: CommitEntry, content: Callable[[CommitEntry], bytes]) -> list[Part]:
    return file_parts(entry.path.decode("utf-8", "backslashreplace"), content(entry), entry.mode)


def _is_converted(tree: Tree, entry: Entry, old: CommitEntry | None, content: Callable[[CommitEntry], bytes]) -> bool:
    """Whether a file differs from the commit only as git itself makes it differ when checking it out."""
    if old is None or old.mode != entry.mode or entry.mode == LINK:
        return False
    before = content(old)
    if before.startswith(_LFS_POINTER) and f"oid sha256:{entry.blob}\n".encode() in before:
        return True
    return os.linesep == "\r\n" and _content(tree, entry).replace(b"\r\n", b"\n") == before.replace(b"\r\n", b"\n")
