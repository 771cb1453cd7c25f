"""The exact content tested: every file that lies in a folder, by path, mode and bytes.

Nothing here believes git: not its index (`--assume-unchanged`, `--skip-worktree`), not its ignore rules (`.gitignore`,
`info/exclude`), not its configuration. Ignored files count too, because an `.env`, a `.pth` or an ignored module
changes what runs. Only this is left out, wherever it lies:

- folders named `.git` and the `.git` file of a submodule; the submodule's files are hashed as they lie there, which
  says more than its commit;
- in a folder named `__pycache__`, the bytecode that Python checks against its source before it runs it; everything
  else in there counts, such as bytecode marked "do not check". A forged time stamp is not noticed: whoever runs code
  that is not trusted sets PYTHONPYCACHEPREFIX to a fresh folder;
- in a folder whose name ends in `.egg-info`, the metadata that `pip install --editable` derives from the sources, by
  the names that setuptools gives to it. An `entry_points.txt` that offers more than commands counts, for plugins are
  found by it, and so does whatever else lies there;
- folders named `.pytest_cache`, `.mypy_cache`, `.ruff_cache`, `.hypothesis`, `.import_linter_cache` or `node_modules`;
- virtual environments: folders with a `pyvenv.cfg` that hold nothing but what an environment holds, so that dropping
  that file beside code hides nothing. What is installed belongs to the environment hash;
- coverage's data files: `.coverage`, and `.coverage.*`;
- what the caller names: the reports that are being uploaded, or the folder a build writes to.

Symbolic links count by the text of their target and are not followed. Sockets, pipes and devices have no content and
are left out, as are empty folders, which git does not keep either.
"""

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import TreeError

__all__ = ["Entry", "Tree", "read_tree"]

CACHE_FOLDERS = frozenset(
    {".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".import_linter_cache", "node_modules"}
)
ENVIRONMENT_LAYOUT = frozenset(
    {"pyvenv.cfg", "bin", "Scripts", "lib", "lib64", "Lib", "libs", "include", "Include", "share", "etc", "man", "doc"}
    | {".gitignore", ".lock", "CACHEDIR.TAG", "pip-selfcheck.json", "pyvenv.cfg.bak"}
)

METADATA = frozenset(
    {"PKG-INFO", "SOURCES.txt", "dependency_links.txt", "requires.txt", "top_level.txt", "not-zip-safe", "zip-safe"}
    | {"namespace_packages.txt", "native_libs.txt", "eager_resources.txt", "depends.txt"}
)
_ENTRY_POINTS = "entry_points.txt"
_COMMANDS = frozenset({"[console_scripts]", "[gui_scripts]"})
"""Kinds of entry points that change nothing in a process that is already running."""

FILE, EXECUTABLE, LINK = "100644", "100755", "120000"
_READ_BYTES = 1024 * 1024
_PYC_HEADER_BYTES = 8
_PYC_UNCHECKED_FLAGS = (0b01,)
"""Flags of bytecode that Python runs without a look at its source (PEP 552)."""


class Entry(NamedTuple):
    """One file of a tree.

    Attributes:
        path: from the root, with `/`; the bytes of the name, because a name need not be text.
        mode: `100644`, `100755` or `120000`, as in git.
        blob: SHA-256 of the content, 64 hexadecimal digits; of the target's text for a link.
        git_blob: what git calls the same bytes, for comparing with a commit: 40 hexadecimal digits of SHA-1.
    """

    path: bytes
    mode: str
    blob: str
    git_blob: str

    @property
    def name(self) -> str:
        """The path as text; bytes that are not UTF-8 are shown by a backslash, `x` and their hexadecimal value."""
        return self.path.decode("utf-8", "backslashreplace")


class Tree(NamedTuple):
    """The files of a folder, sorted by the bytes of their paths."""

    root: Path
    entries: tuple[Entry, ...]

    @property
    def hash(self) -> str:
        """64 hexadecimal digits: SHA-256 over `mode blob path NUL` of every entry, in order."""
        digest = hashlib.sha256()
        for entry in self.entries:
            digest.update(f"{entry.mode} {entry.blob} ".encode() + entry.path + b"\0")
        return digest.hexdigest()


def read_tree(root: Path, *, leave_out: Iterable[Path] = ()) -> Tree:
    """Read every file below a folder; see the module's docstring for what counts.

    Args:
        root: the folder.
        leave_out: files and folders that do not count, such as the reports of this build.

    Raises:
        TreeError: the folder cannot be read, or a file changed or vanished while it was read.
    """
    if not root.is_dir():
        raise TreeError(f"{root} is not a folder.")
    skipped = {os.fsencode(path.resolve()) for path in leave_out}
    base = os.fsencode(root.resolve())
    try:
        entries = [_entry(base, path) for path in _paths(base, skipped)]
    except OSError as error:
        raise TreeError(
            f"{error.filename!r} could not be read: {error.strerror}.",
            mend="Take the tree's hash while nothing writes to it, as a user who may read all of it.",
        ) from error
    return Tree(root, tuple(sorted(entry for entry in entries if entry is not None)))


def _paths(folder: bytes, skipped: Collection[bytes]) -> Iterator[bytes]:
    """Yield the files and links below a folder that count, in no order."""
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as found:
            entries = list(found)
        for entry in entries:
            if entry.path in skipped or _is_left_out(entry):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                yield entry.path


def _is_left_out(entry: os.DirEntry[bytes]) -> bool:
    name = os.fsdecode(entry.name)
    if name == ".git":
        return True
    if entry.is_symlink():
        return False
    if entry.is_dir():
        return name in CACHE_FOLDERS or _is_environment(entry.path)
    if name == ".coverage" or name.startswith(".coverage."):
        return True
    return (name.endswith(".pyc") and _is_checked_bytecode(entry.path)) or _is_metadata(entry.path, name)


def _is_environment(folder: bytes) -> bool:
    if not os.path.lexists(os.path.join(folder, b"pyvenv.cfg")):  # noqa: PTH118 - paths are bytes here
        return False
    return {os.fsdecode(name) for name in os.listdir(folder)} <= ENVIRONMENT_LAYOUT  # noqa: PTH208 - the same


def _is_checked_bytecode(path: bytes) -> bool:
    """Whether this is bytecode in `__pycache__` that Python compares with its source before running it."""
    if os.path.basename(os.path.dirname(path)) != b"__pycache__":  # noqa: PTH119, PTH120 - paths are bytes here
        return False
    with open(path, "rb") as stream:  # noqa: PTH123 - the same
        header = stream.read(_PYC_HEADER_BYTES)
    return len(header) == _PYC_HEADER_BYTES and int.from_bytes(header[4:], "little") not in _PYC_UNCHECKED_FLAGS


def _is_metadata(path: bytes, name: str) -> bool:
    """Whether this file of an `.egg-info` folder only repeats what the sources of the distribution say."""
    if not os.path.dirname(path).endswith(b".egg-info"):  # noqa: PTH120 - paths are bytes here
        return False
    return name in METADATA or (name == _ENTRY_POINTS and _offers_commands_only(path))


def _offers_commands_only(path: bytes) -> bool:
    with open(path, "rb") as stream:  # noqa: PTH123 - paths are bytes here
        content = stream.read(_READ_BYTES + 1)
    lines = map(str.strip, content.decode("utf-8", "replace").splitlines())  # as importlib.metadata reads it
    return len(content) <= _READ_BYTES and {line for line in lines if line.startswith("[")} <= _COMMANDS


def _entry(base: bytes, path: bytes) -> Entry | None:
    """Return the entry of one file; None for what has no content."""
    status = os.lstat(path)
    name = path[len(base) :].lstrip(b"/") if os.sep == "/" else path[len(base) :].lstrip(b"\\").replace(b"\\", b"/")
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink(path))  # noqa: PTH115 - paths are bytes here
        return Entry(name, LINK, hashlib.sha256(target).hexdigest(), git_blob(target))
    if not stat.S_ISREG(status.st_mode):
        return None
    mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else FILE
    return Entry(name, mode, *_hashes(path, status.st_size))


def _hashes(path: bytes, size: int) -> tuple[str, str]:
    ours = hashlib.sha256()
    gits = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    read = 0
    with open(path, "rb") as stream:  # noqa: PTH123 - paths are bytes here
        while piece := stream.read(_READ_BYTES):
            read += len(piece)
            ours.update(piece)
            gits.update(piece)
    if read != size:
        raise OSError(0, "it changed while it was read", path)
    return ours.hexdigest(), gits.hexdigest()


def git_blob(content: bytes) -> str:
    """Return the name git (with SHA-1) gives to a file of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
