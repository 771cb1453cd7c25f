"""The functions of a Python file: their qualified names, and the lines that are their own.

A name is the dotted path of classes and functions that leads to it, such as `Totals.discount` and `outer.inner`. A
property's setter is told from its getter (`Totals.rate.setter`); whatever else shares a name with one before it in the
file has a number behind it, from `#2`. Code outside functions has the name `MODULE_LEVEL`.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from quarantine.client.parts import FunctionNode, function_lines

__all__ = ["MODULE_LEVEL", "Function", "functions_of"]

MODULE_LEVEL = "<module>"
_ACCESSORS = frozenset({"setter", "deleter"})


class Function(NamedTuple):
    """One function or method.

    Attributes:
        name: see the module's docstring.
        first, last: the lines it takes, its decorators included; from 1, both inclusive.
        lines: the lines of its body that lie in no function nested in it; bit n stands for line n.
        shared: of them the one that its header is on too, as in `def f(): return 1`: that it ran may mean no more than
            that the function was defined.
        node: its syntax.
    """

    name: str
    first: int
    last: int
    lines: int
    shared: int
    node: FunctionNode


def functions_of(module: ast.Module, content: bytes) -> list[Function]:
    """Return the functions of a file by the line they begin on, those nested in others included.

    Args:
        module: its syntax tree.
        content: the source that was parsed.
    """
    text = content.splitlines()
    found = sorted(_found(module), key=lambda one: (one[1].lineno, one[1].col_offset))
    count: Counter[str] = Counter()
    functions = []
    for name, node, nested in found:
        count[name] += 1
        lines = function_lines(node) & ~nested
        decorators = [decorator.lineno for decorator in node.decorator_list]
        functions.append(
            Function(
                name if count[name] == 1 else f"{name}#{count[name]}",
                min([node.lineno, *decorators]),
                node.end_lineno or node.lineno,
                lines,
                lines & _shared(node, text),
                node,
            )
        )
    return functions


def _found(module: ast.Module) -> Iterator[tuple[str, FunctionNode, int]]:
    """Yield every function with its name and the lines of the bodies nested directly in it, in no order."""
    waiting: list[tuple[ast.AST, str, list[int]]] = [(module, "", [])]
    functions: list[tuple[str, FunctionNode, list[int]]] = []
    while waiting:
        node, scope, bodies = waiting.pop()
        if isinstance(node, FunctionNode):
            bodies.append(function_lines(node))
            name = scope + _name(node)
            scope, bodies = f"{name}.", []
            functions.append((name, node, bodies))
        elif isinstance(node, ast.ClassDef):
            scope = f"{scope}{node.name}."
        waiting += [
            (child, scope, bodies)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
        ]
    for name, node, bodies in functions:
        nested = 0
        for body in bodies:
            nested |= body
        yield name, node, nested


def _name(node: FunctionNode) -> str:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Attribute) and decorator.attr in _ACCESSORS:
            return f"{node.name}.{decorator.attr}"
    return node.name


def _shared(node: FunctionNode, text: list[bytes]) -> int:
    first = node.body[0]
    before = text[first.lineno - 1][: first.col_offset] if first.lineno <= len(text) else b""
    return 1 << first.lineno if before.strip() else 0
