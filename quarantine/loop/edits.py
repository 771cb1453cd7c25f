"""What an agent changed in its folder, as a diff made by a git of our own.

The repository that compares lies outside of the folder and reads nothing of the folder's `.git`: what the agent did to
the index, `info/exclude` or the configuration in there, and to attributes anywhere, changes nothing of the diff. New
files that the *base's* ignore rules name are left out, and so is what tools leave behind whatever the rules say;
what is left out is said, is in no patch, and so is never tested nor merged.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError
from quarantine.client.git import blobs, git
from quarantine.loop.errors import BadPatch
from quarantine.loop.patch import MAX_BYTES, SEND

__all__ = ["Edits", "WatchedFolder"]

_ATTRIBUTES = "* -text -filter -ident -working-tree-encoding -eol !diff !merge\n"
_LEAVINGS = (
    *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".venv", "venv"),
    *("node_modules", "*.egg-info", "*.pyc", ".coverage", ".coverage.*", ".aider*", ".DS_Store"),
)
_LEFT = re.compile("|".join(map(translate, (*_LEAVINGS, ".git"))))
_MOST_BYTES, _MOST_FILES = 4 * MAX_BYTES, 10_000
"""What edits may add in all; more is never read. A diff of that much would be too big by far."""
_LARGE_BYTES = 256 * 1024
"""New files above this are not read when the base's rules ignore them."""
_DIFF = ("diff-tree", "-r", "-p", "-M", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")
_PREFIXES = ("--src-prefix=a/", "--dst-prefix=b/")
_IGNORE_FILE = ".gitignore"


class Edits(NamedTuple):
    """A diff, empty when nothing was changed, and the new files that are not in it."""

    diff: bytes
    left_out: tuple[str, ...]


class WatchedFolder:
    """A folder whose content was noted, so that what is changed later can be told."""

    def __init__(self, folder: Path, ours: Path) -> None:
        """Note a folder's content.

        Args:
            folder: what is watched.
            ours: an empty folder elsewhere for the repository that compares.

        Raises:
            TreeError: the folder cannot be read.
        """
        self._folder = folder
        self._place = os.lstat(folder).st_ino
        self._ours = ours / "compare.git"
        self._rules = ours / "rules"
        git(ours, "init", "--quiet", "--bare", "--template=", str(self._ours))
        for name, value in (("core.fileMode", "true"), ("core.symlinks", "true"), ("gc.auto", "0")):
            git(self._ours, "config", name, value)
        (self._ours / "info").mkdir()
        (self._ours / "info" / "attributes").write_text(_ATTRIBUTES)
        self._sizes = dict(_sizes(folder))
        self._before = self._noted()
        self._lay_rules()

    def _git(self, *words: str, stdin: bytes = b"", folder: Path | None = None) -> bytes:
        place = folder or self._folder
        return git(place, f"--git-dir={self._ours}", f"--work-tree={place}", *words, stdin=stdin)

    def _noted(self, besides: Iterable[str] = ()) -> str:
        """Put all of the folder but some files into the index, and return the tree's id."""
        leavings = [f":(exclude,glob)**/{name}{below}" for name in _LEAVINGS for below in ("", "/**")]
        wanted = [".", *leavings, *(f":(exclude,literal){path}" for path in besides)]
        spoken = b"".join(os.fsencode(word) + b"\0" for word in wanted)
        self._git("add", "--all", "--force", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=spoken)
        return self._git("write-tree").decode().strip()

    def _lay_rules(self) -> None:
        """Write the base's ignore rules where only they lie."""
        listed = self._git("ls-tree", "-r", "-z", self._before).split(b"\0")
        entries = [line.partition(b"\t") for line in listed if line]
        found = {os.fsdecode(path): head.decode().split() for head, _, path in entries}
        oids = {
            path: oid
            for path, (mode, _, oid) in found.items()
            if path.rpartition("/")[2] == _IGNORE_FILE and mode.startswith("100")
        }
        contents = blobs(self._ours, oids.values())
        self._rules.mkdir()
        for path, oid in oids.items():
            (self._rules / path).parent.mkdir(parents=True, exist_ok=True)
            (self._rules / path).write_bytes(contents[oid])

    def edits(self) -> Edits:
        """Return what was changed since.

        Raises:
            BadPatch: `escapes-worktree` when the folder is no longer there, `submodule` when a repository lies in it,
                `does-not-apply` when something in it cannot be read, `too-big` before what was added is read when it is
                more than a patch can hold.
        """
        try:
            status = os.lstat(self._folder)
        except FileNotFoundError:
            status = None
        if status is None or status.st_ino != self._place:
            raise BadPatch("escapes-worktree", "The folder to be edited was moved, removed or replaced.", SEND)
        try:
            large = self._measured()
            after = self._noted(large)
            new = self._git(
                "diff-tree", "-r", "-z", "--name-only", "--diff-filter=A", "--no-renames", self._before, after
            )
            ignored = self._ignored(new)
            if ignored:
                self._git("update-index", "--force-remove", "-z", "--stdin", stdin=b"".join(p + b"\0" for p in ignored))
                after = self._git("write-tree").decode().strip()
            diff = self._git(*_DIFF, *_PREFIXES, self._before, after)
        except TreeError as error:
            raise _unreadable(error) from error
        return Edits(diff, tuple(sorted({*large, *(os.fsdecode(path) for path in ignored)})))

    def _measured(self) -> list[str]:
        """Return the large new files that the base's rules ignore; raises BadPatch when the others are too much."""
        now = dict(_sizes(self._folder))
        new = b"".join(os.fsencode(path) + b"\0" for path in now.keys() - self._sizes.keys())
        ignored = {os.fsdecode(path) for path in self._ignored(new)}
        grown = {path: size - self._sizes.get(path, 0) for path, size in now.items() if path not in ignored}
        added = {path: size for path, size in grown.items() if size > 0 or path not in self._sizes}
        if len(added) > _MOST_FILES or sum(added.values()) > _MOST_BYTES:
            raise _too_much(added)
        return [path for path in ignored if now[path] > _LARGE_BYTES]

    def _ignored(self, new: bytes) -> Iterable[bytes]:
        """Return those of some paths that the base's rules ignore."""
        if not new:
            return ()
        try:
            listed = self._git("check-ignore", "--no-index", "-z", "--stdin", stdin=new, folder=self._rules)
        except TreeError:  # how git says that none is
            return ()
        return [path for path in listed.split(b"\0") if path]


def _unreadable(error: TreeError) -> BadPatch:
    if "does not have a commit checked out" in error.message:
        return BadPatch("submodule", "A repository of its own lies in the folder.", "Change files of this one only.")
    return BadPatch("does-not-apply", f"The edits cannot be read: {error.message}", SEND)


def _too_much(added: Mapping[str, int]) -> BadPatch:
    largest = max(added, key=lambda path: (added[path], path))
    return BadPatch(
        "too-big",
        f"The edits add {sum(added.values()):,} bytes to {len(added):,} files, {largest} the most; at most "
        f"{_MOST_BYTES:,} bytes and {_MOST_FILES:,} files are read.",
        "Change what mends the ticket only, and remove what a build or a run has written.",
    )


def _sizes(folder: Path) -> Iterator[tuple[str, int]]:
    """Yield the files of a folder, from there and with `/`, with their sizes; what tools leave behind is left out."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            entries = list(os.scandir(folder / below))
        except OSError:  # git says what is wrong with it
            continue
        for entry in entries:
            if _LEFT.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{below}{entry.name}/")
            elif stat.S_ISREG((status := entry.stat(follow_symlinks=False)).st_mode):
                yield f"{below}{entry.name}", status.st_size
