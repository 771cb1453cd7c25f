r"""The two pattern languages as regular expressions that never backtrack far.

GitHub's is that of gitignore less `!`, `[ ]` and `\#`; GitLab's is Ruby's `File.fnmatch` with FNM_PATHNAME and
FNM_DOTMATCH. Both are matched folder by folder: a run of folders between two `**` is searched once, from the left, for
an earlier find never spoils a later one; the same holds for the text between two `*` of one name. So each is an atomic
group, and the time is bounded by the length of the pattern times that of the path. (The regular expressions of the
`codeowners` package, which serve the tests as an oracle, take half a minute for `*a*a*a*a*a*a*a*ab` and 60 letters.)
"""

import re
from collections.abc import Iterator

from quarantine.errors import BadInput
from quarantine.owners.rules import Dialect

__all__ = ["expression"]

_ANY_FOLDERS = "**"
_NOTHING = r"(?!)"
_TOKENS = re.compile(r"\\(?P<escaped>.)|(?P<class>\[(?:\\.|[^\]\\])*\])|(?P<star>\*+)|(?P<plain>.)", re.DOTALL)
_ITEMS = re.compile(r"\\?(?P<low>.)(?:-\\?(?P<high>[^\]]))?", re.DOTALL)


def expression(pattern: str, dialect: Dialect) -> str:
    """Return the regular expression, for `re.match` with DOTALL, of the paths that a pattern matches.

    Paths go from the root of the repository, with `/` and without a leading one.

    Raises:
        BadInput: the pattern is empty, or the dialect has no such pattern.
    """
    if not pattern:
        raise BadInput("it has no pattern.", mend="Write the path before its owners.")
    return _github(pattern) if dialect is Dialect.GITHUB else _gitlab(pattern)


def _github(pattern: str) -> str:
    _check_github(pattern)
    segments = pattern.strip("/").split("/")
    if "/" not in pattern[:-1]:
        segments.insert(0, _ANY_FOLDERS)
    if pattern.endswith("/"):
        segments.append(_ANY_FOLDERS)
    is_file_only = pattern.endswith("/*")
    return _of_segments(segments, tail=r"\Z" if is_file_only else r"(?:/.*)?\Z")


def _check_github(pattern: str) -> None:
    if pattern.startswith("!"):
        raise BadInput("GitHub knows no `!`.", mend="Write the path without owners to leave it to nobody.")
    if pattern.startswith("\\#"):
        raise BadInput("GitHub does not take `\\#` for a name that starts with `#`.", mend="Write `?` for the `#`.")
    if not pattern.strip("/"):
        raise BadInput("`/` matches no file on GitHub.", mend="Write `*` for every file.")
    if any(token["class"] or token["plain"] == "[" for token in _TOKENS.finditer(pattern)):
        raise BadInput("GitHub knows no `[ ]`.", mend="Write `?` or `*` instead, or one line for each name.")


def _gitlab(pattern: str) -> str:
    path = pattern.removeprefix("\\") if pattern.startswith("\\#") else pattern
    segments = path.removeprefix("/").split("/")
    if not path.startswith("/"):
        segments.insert(0, _ANY_FOLDERS)
    if path.endswith("/"):
        segments[-1:] = [_ANY_FOLDERS, "*"]
    if segments[-1] == _ANY_FOLDERS:  # fnmatch takes it for `*` unless a slash follows
        segments[-1] = "*"
    return _of_segments(segments, tail=r"\Z", has_classes=True)


def _of_segments(segments: list[str], *, tail: str, has_classes: bool = False) -> str:
    first, *others = _runs(segments, has_classes=has_classes)
    if not others:
        return first + tail
    *middle, last = others
    found = "".join(f"(?>(?:[^/]*+/)*?{run}/)" for run in middle)
    rest = rf"(?:[^/]*+/)*?{last}{tail}" if last else r".+\Z"
    return (f"{first}/" if first else "") + found + rest


def _runs(segments: list[str], *, has_classes: bool) -> list[str]:
    """Return the expressions of the runs of names before, between and after the `**`; only the ends may be empty."""
    runs: list[list[str]] = [[]]
    for position, segment in enumerate(segments):
        if segment != _ANY_FOLDERS:
            runs[-1].append(_of_name(segment, has_classes=has_classes))
        elif runs[-1] or position == 0:
            runs.append([])
    return ["/".join(run) for run in runs]


def _of_name(name: str, *, has_classes: bool) -> str:
    pieces = [""]
    for piece in _pieces(name, has_classes=has_classes):
        if piece is None:
            pieces.append("")
        else:
            pieces[-1] += piece
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    found = "".join(f"(?>[^/]*?{piece})" for piece in middle)
    return f"{first}{found}[^/]*{last}" if last else f"{first}{found}[^/]*+"


def _pieces(name: str, *, has_classes: bool) -> Iterator[str | None]:
    """Yield the expression of each character of a name, and None for a run of `*`."""
    for token in _TOKENS.finditer(name):
        if token["star"]:
            yield None
        elif token["class"] and has_classes:
            yield _of_class(token["class"][1:-1])
        elif token["plain"] == "?":
            yield "[^/]"
        elif token["plain"] == "[" and has_classes:
            raise BadInput("its `[` has no `]`, so that it matches no file.", mend="Close the bracket, or escape it.")
        else:
            yield re.escape(token["escaped"] or token["class"] or token["plain"])


def _of_class(inside: str) -> str:
    is_negated = inside[:1] in ("!", "^")
    ranges = [(item["low"], item["high"] or item["low"]) for item in _ITEMS.finditer(inside[is_negated:])]
    members = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in ranges if low <= high)
    if not members:
        return "[^/]" if is_negated else _NOTHING
    return f"(?!/)[{'^' if is_negated else ''}{members}]"
