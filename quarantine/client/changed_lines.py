"""Which lines a change touched, function by function: what a verdict names when no test reached them.

Lines are those of the tree under test. Of a Python file only what differs in its abstract syntax is told of a function:
comments, docstrings and moved lines are no change. Where lines were only taken away, the line that follows stands for
them. A file that is left out (binary, too large, unreadable as text) is told of by its parts alone.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from quarantine.client.functions import MODULE_LEVEL, Function, functions_of
from quarantine.client.manifest import ChangedFile, changed_files
from quarantine.client.parts import is_python, own_code, parse_python
from quarantine.client.tree import Tree

__all__ = ["ChangedLines", "changed_lines", "lines_of_file"]

ChangedLines = tuple[str, str | None, int, int]
"""(path, function, first line, last line): the function's qualified name, `<module>` for what lies in no function of a
Python file, None in any other file. From 1, both inclusive."""

MOST = 5_000
"""Files whose lines would make more than so many are left out."""
MOST_READ = 32 * 1024 * 1024
"""Files beyond so many bytes, old and new together, are left out: taking them apart takes seconds."""
_MOST_BYTES = 1024 * 1024
_MOST_CHARACTERS = 1_000
_MOST_COMPARED = 250_000
"""Runs of lines are aligned if the product of their lengths is not above this; else all of the newer one changed."""


def changed_lines(tree: Tree, commit: str, repository: Path | None = None) -> list[ChangedLines]:
    """Return the changed lines of a tree since a commit, by path; raises TreeError as `changed_since` does."""
    found: list[ChangedLines] = []
    read = 0
    for file in sorted(changed_files(tree, commit, repository), key=lambda file: file.path):
        read += len(file.new) + len(file.old or b"")
        if read > MOST_READ:
            break
        lines = lines_of_file(file)
        if len(found) + len(lines) <= MOST:
            found += lines
    return found


def lines_of_file(file: ChangedFile) -> list[ChangedLines]:
    """Return the changed lines of one file, those of its functions before those of its module level."""
    sources = [content for content in (file.old, file.new) if content is not None]
    if any(len(content) > _MOST_BYTES or b"\0" in content for content in sources) or not _is_sendable(file.path):
        return []
    module = parse_python(file.new) if is_python(file.path) else None
    if module is None:
        old, new = _numbered(file.old or b""), _numbered(file.new)
        return [(file.path, None, first, last) for first, last in _ranges(old, new)]
    places = list(_places(file, module))
    return [(file.path, *place) for place in places] if all(_is_sendable(place[0]) for place in places) else []


def _is_sendable(name: str) -> bool:
    """Whether a question may hold this name."""
    return 0 < len(name) <= _MOST_CHARACTERS and not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in name)  # noqa: PLR2004 - the control characters


def _places(file: ChangedFile, module: ast.Module) -> Iterator[tuple[str, int, int]]:
    before = parse_python(file.old) if file.old is not None else None
    old_lines, new_lines = _numbered(file.old or b""), _numbered(file.new)
    old_functions = functions_of(before, file.old) if before is not None and file.old is not None else []
    new_functions = functions_of(module, file.new)
    known = {function.name: function for function in old_functions}
    for function in new_functions:
        for first, last in _of_function(known.get(function.name), function, old_lines, new_lines):
            yield function.name, first, last
    for first, last in _ranges(_outside(old_functions, old_lines), _outside(new_functions, new_lines)):
        yield MODULE_LEVEL, first, last


_Numbered = Sequence[tuple[int, bytes]]
"""Lines with their numbers, from 1."""


def _numbered(content: bytes) -> _Numbered:
    return list(enumerate(content.splitlines(), 1))


def _of_function(
    old: Function | None, new: Function, old_lines: _Numbered, new_lines: _Numbered
) -> list[tuple[int, int]]:
    """Return the ranges of a function that changed: all of it when it is new, none when it means what it meant."""
    if old is None:
        return [(new.first, new.last)]
    if own_code(old.node) == own_code(new.node):
        return []
    return _ranges(_own(old, old_lines), _own(new, new_lines)) or [(new.first, new.last)]


def _own(function: Function, lines: _Numbered) -> _Numbered:
    return [line for line in lines[function.first - 1 : function.last] if function.lines >> line[0] & 1]


def _outside(functions: Iterable[Function], lines: _Numbered) -> _Numbered:
    bodies = 0
    for function in functions:
        bodies |= function.lines
    return [line for line in lines if not bodies >> line[0] & 1]


def _ranges(old: _Numbered, new: _Numbered) -> list[tuple[int, int]]:
    """Return the first and last numbers of each run of lines in `new` that `old` has otherwise, or has more in."""
    found = []
    for start, end in _differing([text for _, text in old], [text for _, text in new]):
        if start == end and new:
            at = new[min(start, len(new) - 1)][0]
            found.append((at, at))
        numbers = [number for number, text in new[start:end] if _says_something(text)]
        if numbers:
            found.append((numbers[0], numbers[-1]))
    return found


def _says_something(line: bytes) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith(b"#")


def _differing(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int]]:
    """Yield the runs of `new`, as start and end, that are not what `old` has there."""
    start = _common(old, new)
    tail = _common(old[start:][::-1], new[start:][::-1])
    old, end = old[start : len(old) - tail], len(new) - tail
    if not old and start == end:
        return
    if len(old) * (end - start) > _MOST_COMPARED:
        yield start, end
        return
    for tag, _, _, first, last in SequenceMatcher(None, old, new[start:end]).get_opcodes():
        if tag != "equal":
            yield start + first, start + last


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """Return how many lines both begin with."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
