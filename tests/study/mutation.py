"""Small edits of Python source that may change what it does, drawn at random from all places where one is possible."""

import ast
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from quarantine.client.parts import body_lines

_SWAPS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "//",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.And: "or",
    ast.Or: "and",
}


@dataclass(frozen=True)
class Mutant:
    """One edit of one file.

    Attributes:
        path: the file.
        line: where, from 1.
        in_body: whether the line belongs to a function body.
        edit: the old and the new text.
        content: the file's new content.
    """

    path: str
    line: int
    in_body: bool
    edit: str
    content: str


@dataclass(frozen=True)
class _Place:
    """Where an edit is possible: bytes `start` to `end` of a file may become `new`."""

    path: str
    line: int
    in_body: bool
    start: int
    end: int
    new: str


def mutants_of(files: dict[str, str], count: int, seed: int) -> list[Mutant]:
    """Return up to `count` mutants, half of them at module level where there are enough places.

    Every mutant still compiles. The choice depends on the files and the seed alone.
    """
    chooser = random.Random(seed)  # noqa: S311 - it must be repeatable, not secret
    places = [place for path in sorted(files) for place in _places(path, files[path])]
    chooser.shuffle(places)
    outside = list(islice(_made(files, (place for place in places if not place.in_body)), count // 2))
    inside = list(islice(_made(files, (place for place in places if place.in_body)), count - len(outside)))
    return outside + inside


def _made(files: dict[str, str], places: Iterable[_Place]) -> Iterator[Mutant]:
    for place in places:
        encoded = files[place.path].encode()
        content = (encoded[: place.start] + place.new.encode() + encoded[place.end :]).decode()
        old = encoded[place.start : place.end].decode()
        if content != files[place.path] and _compiles(content):
            yield Mutant(place.path, place.line, place.in_body, f"{old[:60]} -> {place.new[:60]}", content)


def _places(path: str, source: str) -> Iterator[_Place]:
    module = ast.parse(source)
    bodies = body_lines(module)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    for node in ast.walk(module):
        for target, new in _edits(node):
            start = starts[target.lineno - 1] + target.col_offset
            end = starts[(target.end_lineno or target.lineno) - 1] + (target.end_col_offset or 0)
            yield _Place(path, target.lineno, bool(bodies >> target.lineno & 1), start, end, new)


def _edits(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    if isinstance(node, ast.Constant) and not _is_docstring_like(node):
        yield node, _other_constant(node.value)
    elif isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp):
        new = _with_swapped_operator(node)
        if new:
            yield node, new
    elif isinstance(node, ast.If | ast.While):
        yield node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.Return) and node.value is not None:
        yield node, "return None"
    elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Raise) and not _is_text(node):
        yield node, "pass"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_docstring_like(node: ast.Constant) -> bool:
    """Long texts of several lines are documentation; editing them tests nothing."""
    return isinstance(node.value, str) and (node.end_lineno or node.lineno) > node.lineno


def _other_constant(value: object) -> str:
    others: list[tuple[type, Callable[..., str]]] = [
        (bool, lambda old: repr(not old)),
        (int, lambda old: repr(old + 1)),
        (float, lambda old: repr(old + 1.0)),
        (str, lambda old: repr(f"{old}x")),
        (bytes, lambda old: repr(old + b"x")),
    ]
    return next((new(value) for kind, new in others if isinstance(value, kind)), "1")


def _with_swapped_operator(node: ast.BinOp | ast.Compare | ast.BoolOp) -> str:
    operator = node.ops[0] if isinstance(node, ast.Compare) else node.op
    swapped = _SWAPS.get(type(operator))
    if swapped is None or (isinstance(node, ast.Compare) and len(node.ops) > 1):
        return ""
    operands = [node.left, node.comparators[0]] if isinstance(node, ast.Compare) else _operands(node)
    return "(" + f" {swapped} ".join(f"({ast.unparse(operand)})" for operand in operands) + ")"


def _operands(node: ast.BinOp | ast.BoolOp) -> list[ast.expr]:
    return [node.left, node.right] if isinstance(node, ast.BinOp) else node.values


def _compiles(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a mutant that only warns is as good as any
            compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True
