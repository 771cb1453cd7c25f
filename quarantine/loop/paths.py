"""Paths as a patch spells them: what git's quotes mean, and which paths cannot lie in a worktree.

A path is refused on every machine when it is special on any: an agent's patch may be applied where case does not count
(macOS, Windows), where `.git ` and `git~1` mean `.git` (NTFS), or where invisible characters are ignored (HFS+).
"""

import re
import unicodedata

__all__ = ["obstacle", "quoted", "unquoted"]

MAX_PATH_BYTES, MAX_NAME_BYTES = 1024, 255
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(r'\\([0-3][0-7]{2}|[abtnvfr"\\])')
_PLAIN = re.compile(r"[A-Za-z0-9_./+@=,%~^-]+")
_GIT_NAMES = frozenset({".git", "git~1"})


def unquoted(name: str) -> str:
    """Return the path that git's spelling of it means, quoted as a C string or not."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):  # noqa: PLR2004 - the two quotes
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape").decode("latin-1")
    plain = _ESCAPED.sub(lambda m: chr(_ESCAPES[m[1]] if m[1] in _ESCAPES else int(m[1], 8)), raw)
    return plain.encode("latin-1").decode("utf-8", "surrogateescape")


def quoted(name: str) -> str:
    """Return a path as git reads it back, whatever its characters."""
    if _PLAIN.fullmatch(name):
        return name
    raw = name.encode("utf-8", "surrogateescape")
    return '"' + "".join(chr(b) if 0x20 <= b < 0x7F and b not in b'"\\' else f"\\{b:03o}" for b in raw) + '"'  # noqa: PLR2004 - ASCII


def obstacle(path: str) -> str | None:
    """Return why no file of a worktree may have this path, as the end of a sentence; None when one may."""
    raw = path.encode("utf-8", "surrogateescape")
    if not path or any(byte < 0x20 or byte == 0x7F for byte in raw):  # noqa: PLR2004 - the control characters of ASCII
        return "is empty or holds control characters"
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        return "is not relative to the root of the repository"
    return _obstacle_in(path.split("/"))


def _obstacle_in(names: list[str]) -> str | None:
    if any("\\" in name for name in names):
        return "holds a backslash; folders are parted by /"
    if not {"", ".", ".."}.isdisjoint(names):
        return "holds an empty name, `.` or `..`"
    sizes = [len(name.encode("utf-8", "surrogateescape")) for name in names]
    if sum(sizes) > MAX_PATH_BYTES or max(sizes) > MAX_NAME_BYTES:
        return "is longer than a file's name can be"
    if any(_folded(name) in _GIT_NAMES for name in names):
        return "lies in git's own folder"
    return None


def _folded(name: str) -> str:
    """Return a name as the most forgiving file systems understand it."""
    visible = "".join(c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) != "Cf")
    return visible.casefold().partition(":")[0].rstrip(" .")
