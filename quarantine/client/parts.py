"""The parts of a file that a test can reach apart, and the hash of each (algorithm `py-ast-1`).

A Python file has two parts:

- `body`: the bodies of all its functions and methods, with everything nested in them;
- `module`: everything else, which is what runs when the file is imported. Decorators, defaults, annotations, the names
  and signatures of functions, class bodies, and lambdas and comprehensions outside functions belong here.

Every other file, and Python that this interpreter cannot compile, is one part: `blob`. Only `pyproject.toml` is taken
apart into the tables that tools read, each under a path of its own: `pyproject.toml#project`,
`pyproject.toml#tool.pytest`, and so on.

Importing a file compiles all of it, so a body can break an import: where compiling gives a warning, which may be set to
be an error, the bodies count towards `module` too.

The hash of a Python part covers the abstract syntax, written out by a walk of our own that gives the same bytes on
every Python version: no comments, positions, string prefixes or redundant parentheses. A docstring is left out unless
a program may read it: it is kept (in `module`, because whoever reads it need not call the function) where the function
or class is decorated, where the class has bases, in methods of such classes, where it holds a doctest, and in any file
that mentions `__doc__`, `getdoc` or `doctest`. What is missed: a docstring that *another* file reads from a plain
function, and code that depends on its own line numbers or source text. Fingerprints built from this are triage, never
proof.
"""

import ast
import hashlib
import json
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quarantine.client.tree import FILE, LINK

__all__ = [
    "BLOB",
    "BODY",
    "HASH_ALG",
    "MODULE",
    "FunctionNode",
    "Part",
    "body_lines",
    "file_parts",
    "function_lines",
    "own_code",
    "parse_python",
]

HASH_ALG = "py-ast-1"
BODY, MODULE, BLOB = "body", "module", "blob"
HASH_DIGITS = 32
"""Hexadecimal digits of a part's hash: 128 bits of SHA-256."""

_IGNORED_FIELDS = frozenset({"ctx", "type_comment", "type_ignores", "kind"})
_DOC_READERS = (b"__doc__", b"getdoc", b"doctest")
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Part(NamedTuple):
    """One part of one file: what manifests list and what reach is made of.

    Attributes:
        path: from the root of the tree, with `/`.
        part: `body`, `module` or `blob`.
        hash: `HASH_DIGITS` hexadecimal digits; None where a comparison says that the part is gone.
    """

    path: str
    part: str
    hash: str | None


def parse_python(content: bytes) -> ast.Module | None:
    """Return the syntax tree of Python source; None when this interpreter cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's own invalid escapes are not ours to report
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _compiled_quietly(content: bytes) -> bool | None:
    """Return whether source compiles without a warning; None when it does not compile."""
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            compile(content, "source", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return not said


def is_python(path: str) -> bool:
    """Whether a file of this name is read as Python."""
    return path.endswith((".py", ".pyw"))


def file_parts(path: str, content: bytes, mode: str = FILE) -> list[Part]:
    """Return the parts of one file, sorted by path and part.

    Args:
        path: from the root of the tree, with `/`; its ending says how the content is read.
        content: the file's bytes; the target's text for a link.
        mode: as in `Entry`; a link is one blob whatever its name, and an executable file another one.
    """
    if mode != LINK and path.rpartition("/")[2] == "pyproject.toml":
        sections = _toml_sections(content)
        if sections is not None:
            return [Part(f"{path}#{name}", BLOB, _digest(sections[name])) for name in sorted(sections)]
    found = _python_parts(content) if mode != LINK and is_python(path) else None
    salt = b"" if mode == FILE else mode.encode() + b"\0"
    if found is None:
        return [Part(path, BLOB, _digest(salt + content))]
    return [Part(path, BODY, _digest(found[BODY])), Part(path, MODULE, _digest(salt + found[MODULE]))]


def body_lines(module: ast.Module) -> int:
    """Return the lines that hold code of function bodies, as a number whose bit n stands for line n."""
    mask = 0
    for node in ast.walk(module):
        if isinstance(node, FunctionNode):
            mask |= function_lines(node)
    return mask


def function_lines(function: FunctionNode) -> int:
    """Return the lines of one function's body, as `body_lines` does; what is nested in it is part of it."""
    first = min(_first_lines(function.body[0]))
    last = function.body[-1].end_lineno or function.body[-1].lineno
    return (1 << (last + 1)) - (1 << first)


def own_code(function: FunctionNode) -> bytes:
    """Return the body of one function written out as for hashes, without its docstring and the bodies nested in it."""
    docstrings = _Docstrings(keeps_all=False)
    _, body = docstrings.split(function, function.body)
    return b"".join(_written([body], docstrings, []))


def _first_lines(statement: ast.stmt) -> Iterator[int]:
    yield statement.lineno
    for decorator in getattr(statement, "decorator_list", ()):
        yield decorator.lineno


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:HASH_DIGITS]


def _python_parts(content: bytes) -> dict[str, bytes] | None:
    is_quiet = _compiled_quietly(content)
    module = parse_python(content) if is_quiet is not None else None
    if module is None:
        return None
    keeps_all = any(word in content for word in _DOC_READERS)
    bodies: list[object] = []
    outside = b"".join(_written([module], _Docstrings(keeps_all=keeps_all), bodies))
    inside = b"".join(_written(bodies, _Docstrings(keeps_all=keeps_all), None))
    return {MODULE: outside if is_quiet else outside + inside, BODY: inside}


class _Docstrings:
    """Which docstrings are left out, while a tree is walked from the outside in."""

    def __init__(self, *, keeps_all: bool) -> None:
        self._keeps_all = keeps_all
        self._kept: set[int] = set()

    def split(self, node: ast.AST, body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Return the docstring to keep, as no or one statement, and the body without any docstring."""
        if isinstance(node, ast.ClassDef) and (node.bases or node.keywords):
            self._kept.add(id(node))
            self._kept.update(id(child) for child in node.body if isinstance(child, FunctionNode))
        first = body[0] if body else None
        if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
            return [], body
        text = first.value.value
        if not isinstance(text, str):
            return [], body
        keeps = self._keeps_all or id(node) in self._kept or getattr(node, "decorator_list", []) or ">>>" in text
        return (body[:1] if keeps else []), body[1:]


def _written(roots: Iterable[object], docstrings: _Docstrings, bodies: list[object] | None) -> Iterator[bytes]:
    """Write trees out; where `bodies` is a list, the bodies of functions go there instead of being written."""
    stack = list(roots)[::-1]
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            yield item
        elif isinstance(item, list):
            yield b"["
            stack += [b"]", *item[::-1]]
        elif isinstance(item, ast.AST):
            yield b"(" + type(item).__name__.encode()
            stack.append(b")")
            for name, value in reversed(list(_fields(item, docstrings, bodies))):
                stack += [value, b" " + name.encode() + b"="]
        else:
            yield _constant(item)


def _fields(node: ast.AST, docstrings: _Docstrings, bodies: list[object] | None) -> Iterator[tuple[str, object]]:
    """Yield the fields that say something; absent ones are skipped, so that newer versions may add fields."""
    for name in node._fields:
        value = getattr(node, name, None)
        if name == "body" and isinstance(node, FunctionNode | ast.ClassDef | ast.Module):
            doc, value = docstrings.split(node, getattr(node, name))
            if doc:
                yield "doc", doc
            if bodies is not None and isinstance(node, FunctionNode):
                bodies.append(value)
                continue
        elif name == "values" and isinstance(node, ast.JoinedStr):
            value = _joined(node.values)
        elif name == "format_spec" and isinstance(value, ast.JoinedStr) and not _joined(value.values):
            continue
        if name not in _IGNORED_FIELDS and value is not None and value != []:
            yield name, value


def _joined(values: list[ast.expr]) -> list[ast.expr]:
    """Return the pieces of an f-string with neighbouring texts in one, which Python versions cut differently."""
    pieces: list[ast.expr] = []
    for value in values:
        last = pieces[-1] if pieces else None
        if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
            pieces.append(value)
        elif isinstance(last, ast.Constant) and isinstance(last.value, str):
            pieces[-1] = ast.Constant(last.value + value.value)
        elif value.value:
            pieces.append(value)
    return pieces


def _constant(value: object) -> bytes:
    """Write a constant so that no two different ones give the same bytes."""
    if isinstance(value, str):
        encoded = value.encode("utf-8", "surrogatepass")
        return b"s%d:" % len(encoded) + encoded
    if isinstance(value, bytes):
        return b"b%d:" % len(value) + value
    if isinstance(value, int) and not isinstance(value, bool):
        return b"i" + hex(value).encode()  # repr() refuses integers of thousands of digits
    return type(value).__name__.encode() + b":" + repr(value).encode()


def _toml_sections(content: bytes) -> dict[str, bytes] | None:
    try:
        table = tomllib.loads(content.decode())
    except (ValueError, RecursionError):
        return None
    tools = table.pop("tool", {})
    if not isinstance(tools, dict):
        return None
    sections = {**table, **{f"tool.{name}": value for name, value in tools.items()}}
    return {name: json.dumps(value, sort_keys=True, default=str).encode() for name, value in sections.items()}
