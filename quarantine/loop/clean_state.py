"""What a worktree holds when it is clean, how to see what differs, and how to put it back.

Seeing what differs reads no content: a file is taken as untouched when its kind, mode, owner, size, times, device and
inode are the ones noted. That can be trusted because the change time (ctime) cannot be set: any write, link, rename or
change of mode sets it to the system's clock, and only a change of that clock could fake one (a privilege; two
changes would have to meet to the nanosecond). A file that changed within the same tick of the clock in which it was
noted would look untouched: so nothing is noted until the file system's clock has moved on, and what cannot be waited
for counts as changed always. A writable memory map of a file sets the time too, at the first write after it was noted,
for what we note we have written ourselves under a new inode. Not covered: root writing to the raw device or setting
the clock, and network file systems that serve old attributes. `content_hash` reads everything and believes no time.

Nothing is excepted: ignored and untracked files, `.git`, caches, empty folders, permission bits and kinds all count.
Owners and extended attributes are no content. Modification times are put back, but are not part of the hash.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError
from quarantine.client.git import blobs
from quarantine.client.instants import monotonic_s
from quarantine.client.removal import remove
from quarantine.client.tree import Tree
from quarantine.loop.errors import WorkspaceError

__all__ = ["CleanState", "Difference"]

_SETTLING_S = 2.5
"""The coarsest clock of a file system in use (FAT) moves every two seconds."""

Mark = tuple[int, ...]
"""What is compared of a file: mode, size, mtime and ctime in ns, inode, owner, group, device. Of a folder: mode, owner,
group, device. Empty: never equal to anything."""


class Content(NamedTuple):
    """What a file or link holds.

    Attributes:
        mode: kind and permission bits, as in `st_mode`.
        sha256: of the bytes, or of a link's target.
        blob: the id of a blob of the repository with these bytes; empty when it has none.
        target: of a link; empty for a file.
        mtime_ns: modification time, in ns.
    """

    mode: int
    sha256: str
    blob: str
    target: str
    mtime_ns: int


class Difference(NamedTuple):
    """Where a worktree is not clean; paths from its root, with `/`.

    Attributes:
        added: what is there and should not be; folders stand for all that lies in them.
        lost: files and links that changed or are gone.
        folders: folders that are gone, parents first.
    """

    added: list[str]
    lost: list[str]
    folders: list[str]


@dataclass(slots=True)
class CleanState:
    """The noted state of one worktree.

    Attributes:
        root: the worktree.
        repository: where blobs are read from.
        kept: a folder of copies of what the repository has no blob of, by SHA-256.
        trash: a folder for removing things, on the worktree's file system.
    """

    root: str
    repository: Path
    kept: Path
    trash: Path
    contents: dict[str, Content] = field(default_factory=dict)
    _folders: dict[str, dict[str, Mark]] = field(default_factory=dict)
    _root_mark: Mark = ()

    @classmethod
    def note(
        cls, tree: Tree, repository: Path, known_blobs: frozenset[str], *, kept: Path, trash: Path
    ) -> "CleanState":
        """Note the state of a worktree that is clean now.

        Args:
            tree: its files, just read.
            repository: its repository.
            known_blobs: ids of blobs that the repository has.
            kept: see the class.
            trash: see the class.

        Raises:
            WorkspaceError: it cannot be read.
        """
        state = cls(os.path.realpath(tree.root), repository, kept, trash)
        read = {os.fsdecode(entry.path): entry for entry in tree.entries}
        state._root_mark = _folder_mark(os.lstat(state.root))
        for path, status in state._walk():
            if stat.S_ISDIR(status.st_mode):
                continue
            full = state._full(path)
            if path in read:
                sha256, blob = read[path].blob, read[path].git_blob
            else:
                sha256, blob = _sha256(full, status.st_mode), ""
            target = os.readlink(full) if stat.S_ISLNK(status.st_mode) else ""  # noqa: PTH115 - plain strings here
            blob = blob if blob in known_blobs else ""
            state.contents[path] = Content(status.st_mode, sha256, blob, target, status.st_mtime_ns)
            if not blob and not target:
                state._keep(full, sha256)
        state._settle()
        return state

    def _walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield all below the root, and note its marks on the way."""
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            marks = self._folders[folder] = {}
            with os.scandir(self._full(folder)) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(path)
                        marks[entry.name] = _folder_mark(status)
                    else:
                        marks[entry.name] = _file_mark(status)
                    yield path, status

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}" if path else self.root

    def _keep(self, full: str, sha256: str) -> None:
        content = Path(full).read_bytes()
        (self.kept / sha256).write_bytes(content)

    def difference(self) -> Difference:
        """Return what differs; folders get their permission bits back on the way, so that they can be read.

        Raises WorkspaceError when something cannot be read.
        """
        try:
            return self._difference()
        except OSError as error:
            raise _unable("looked at", error) from error

    def _difference(self) -> Difference:
        found = Difference([], [], [])
        waiting = [""] if self._folder_stands("", self._root_mark) else []
        if not waiting:
            self._lose("", found)
        while waiting:
            waiting += self._differing(waiting.pop(), found)
        return found

    def _differing(self, folder: str, found: Difference) -> list[str]:
        """Add what differs in one folder; return the folders in it that are to be looked at."""
        marks = self._folders[folder]
        prefix = f"{folder}/" if folder else ""
        below: list[str] = []
        seen = 0
        with os.scandir(self._full(folder)) as entries:
            for entry in entries:
                mark = marks.get(entry.name)
                if mark is None:
                    found.added.append(prefix + entry.name)
                    continue
                seen += 1
                if len(mark) != _FOLDER_MARK:
                    if _file_mark(entry.stat(follow_symlinks=False)) != mark:
                        found.lost.append(prefix + entry.name)
                elif self._folder_stands(prefix + entry.name, mark):
                    below.append(prefix + entry.name)
                else:
                    found.added.append(prefix + entry.name)
                    self._lose(prefix + entry.name, found)
        if seen < len(marks):
            self._lose_missing(folder, found)
        return below

    def _lose_missing(self, folder: str, found: Difference) -> None:
        """Add what was noted in a folder and is not there."""
        for name in self._folders[folder].keys() - set(os.listdir(self._full(folder))):  # noqa: PTH208 - plain strings
            path = f"{folder}/{name}" if folder else name
            if len(self._folders[folder][name]) == _FOLDER_MARK:
                self._lose(path, found)
            else:
                found.lost.append(path)

    def _folder_stands(self, path: str, mark: Mark) -> bool:
        """Whether a folder is still one; its mode is put back when only that changed."""
        try:
            status = os.lstat(self._full(path))
        except FileNotFoundError:
            return False
        if not stat.S_ISDIR(status.st_mode):
            return False
        if status.st_mode != mark[0]:
            os.chmod(self._full(path), stat.S_IMODE(mark[0]))  # noqa: PTH101 - the same; it is a folder, no link
        return True

    def _lose(self, folder: str, found: Difference) -> None:
        """Add a noted folder that is gone, and all that was noted below it."""
        waiting = [folder]
        while waiting:
            gone = waiting.pop()
            found.folders.append(gone)
            for name, mark in self._folders[gone].items():
                path = f"{gone}/{name}" if gone else name
                (waiting if len(mark) == _FOLDER_MARK else found.lost).append(path)

    def put_back(self, difference: Difference) -> None:
        """Make the parts of the worktree that a difference names what was noted; raises WorkspaceError."""
        try:
            for path in difference.added:
                remove(self._full(path), self.trash)
            for folder in difference.folders:
                self._make_folder(folder)
            self._write(difference.lost)
            self._settle(difference.lost)
        except OSError as error:
            raise _unable("put back", error) from error

    def _make_folder(self, folder: str) -> None:
        parent, _, name = folder.rpartition("/")
        mark = self._folders[parent][name] if folder else self._root_mark
        remove(self._full(folder), self.trash)
        os.mkdir(self._full(folder))  # noqa: PTH102 - the same
        os.chmod(self._full(folder), stat.S_IMODE(mark[0]))  # noqa: PTH101 - the same

    def _write(self, paths: Iterable[str]) -> None:
        wanted = [(path, self.contents[path]) for path in paths]
        from_git = self._blobs({content.blob for _, content in wanted if content.blob})
        for path, content in wanted:
            full = self._full(path)
            remove(full, self.trash)
            if content.target:
                os.symlink(content.target, full)  # noqa: PTH211 - the same
            else:
                data = from_git[content.blob] if content.blob else _read_kept(self.kept / content.sha256)
                if hashlib.sha256(data).hexdigest() != content.sha256:
                    raise WorkspaceError(f"The kept copy of {path} was changed by someone.", mend=_OPEN_ANOTHER)
                _write_file(full, data, content)
            parent, _, name = path.rpartition("/")
            self._folders[parent][name] = _file_mark(os.lstat(full))

    def _blobs(self, ids: set[str]) -> Mapping[str, bytes]:
        try:
            found = blobs(self.repository, ids) if ids else {}
        except TreeError as error:
            raise WorkspaceError(f"The base cannot be read: {error}", mend=_OPEN_ANOTHER) from error
        if found.keys() != ids:
            raise WorkspaceError(
                f"{self.repository} has lost files of the base.", mend="Does `git fsck` find it whole?"
            )
        return found

    def _settle(self, paths: Iterable[str] | None = None) -> None:
        """Wait until the file system's clock has passed the marks just made; those it does not pass never count.

        Args:
            paths: whose marks are new; all when None.
        """
        new = self.contents if paths is None else paths
        places = [(self._folders[path.rpartition("/")[0]], path.rpartition("/")[2]) for path in new]
        newest = max((marks[name][_CTIME] for marks, name in places), default=0)
        now = _clock_past(newest, self.trash / "clock") if newest else 1
        for marks, name in places if now <= newest else ():
            if marks[name][_CTIME] >= now:
                marks[name] = ()

    def expected_hash(self) -> str:
        """Return the content hash of the state that was noted: 64 hexadecimal digits."""
        folders = {
            f"{folder}/{name}" if folder else name: mark[0]
            for folder, marks in self._folders.items()
            for name, mark in marks.items()
            if len(mark) == _FOLDER_MARK
        }
        files = {path: (content.mode, content.sha256) for path, content in self.contents.items()}
        return _digest({path: (mode, "") for path, mode in folders.items()} | files)

    def content_hash(self) -> str:
        """Return the hash of everything below the root as it is now, read anew; raises WorkspaceError."""
        found: dict[str, tuple[int, str]] = {}
        waiting = [""]
        try:
            while waiting:
                folder = waiting.pop()
                with os.scandir(self._full(folder)) as entries:
                    for entry in entries:
                        path = f"{folder}/{entry.name}" if folder else entry.name
                        mode = entry.stat(follow_symlinks=False).st_mode
                        found[path] = (mode, _sha256(entry.path, mode))
                        if stat.S_ISDIR(mode):
                            waiting.append(path)
        except OSError as error:
            raise _unable("read", error) from error
        return _digest(found)


_FOLDER_MARK, _CTIME = 4, 3
_OPEN_ANOTHER = "Open another workspace; look at what runs there, for it reaches outside of its folder."


def _unable(verb: str, error: OSError) -> WorkspaceError:
    return WorkspaceError(
        f"{error.filename!r} of the worktree cannot be {verb}: {error.strerror}.",
        mend="Is something mounted there, or owned by another user? Remove it by hand.",
    )


def _file_mark(s: os.stat_result) -> Mark:
    return (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_uid, s.st_gid, s.st_dev)


def _folder_mark(s: os.stat_result) -> Mark:
    return (s.st_mode, s.st_uid, s.st_gid, s.st_dev)


def _sha256(full: str, mode: int) -> str:
    """Return the hash of a file's bytes or a link's target; empty for what has no content."""
    if stat.S_ISLNK(mode):
        return hashlib.sha256(os.fsencode(os.readlink(full))).hexdigest()  # noqa: PTH115 - the same
    if not stat.S_ISREG(mode):
        return ""
    with open(full, "rb") as stream:  # noqa: PTH123 - the same
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(entries: Mapping[str, tuple[int, str]]) -> str:
    digest = hashlib.sha256()
    for path, (mode, sha256) in sorted(entries.items()):
        digest.update(f"{mode:o} {sha256} ".encode() + os.fsencode(path) + b"\0")
    return digest.hexdigest()


def _write_file(full: str, data: bytes, content: Content) -> None:
    """Write a new file, with its mode and its modification time."""
    number = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(number, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fchmod(number, stat.S_IMODE(content.mode))
        os.utime(number, ns=(content.mtime_ns, content.mtime_ns))


def _read_kept(path: Path) -> bytes:
    """Return what a kept copy holds; nothing when something else lies in its place, such as a pipe."""
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(number, "rb") as stream:
        return stream.read() if stat.S_ISREG(os.fstat(number).st_mode) else b""


def _clock_past(newest: int, probe: Path) -> int:
    """Return the change time, in ns, that the file system gives now, once it is past another, or after a while."""
    deadline = monotonic_s() + _SETTLING_S
    number = os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        while True:
            os.utime(number)
            now = os.fstat(number).st_ctime_ns
            if now > newest or monotonic_s() > deadline:
                return now
    finally:
        os.close(number)
        probe.unlink()
