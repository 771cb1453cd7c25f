"""Which edit changes which part of a file, and which line belongs to which part."""

import ast
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.client.parts import body_lines, file_parts, parse_python
from quarantine.client.tree import EXECUTABLE, LINK

SOURCE = '''\
"""A shop."""
import os
from decimal import Decimal as D

RATE = {"de": 0.19, "fr": 0.2}
KEY = lambda item: item.price
SQUARES = [n * n for n in range(3)]


def price(item, rate=RATE["de"], *, rounded: bool = True) -> D:
    """The price."""
    # with tax
    def inner(x=1):
        return x * 2
    return item * (1 + rate) + inner()


class Cart:
    """Holds items."""

    limit = 10

    def add(self, item):
        self.items.append(item)

    @property
    def total(self):
        """The sum."""
        return sum(self.items)


async def fetch(url):
    async with os.open(url) as stream:
        yield stream
'''

BOTH = {"body", "module"}
EDITS: list[tuple[str, str, str, set[str]]] = [
    ("a comment", "    # with tax\n", "", set()),
    ("blank lines", "\n\nclass", "\n\n\n\n\nclass", set()),
    ("quotes", '"de"', "'de'", set()),
    ("a number's spelling", "10", "0xA", set()),
    ("parentheses", "sum(self.items)", "(sum((self.items)))", set()),
    ("the module's docstring", "A shop.", "A mill.", set()),
    ("a function's docstring", '    """The price."""\n', "", set()),
    ("a class's docstring", "Holds items.", "Holds things.", set()),
    ("a docstring a decorator may read", "The sum.", "The total.", {"module"}),
    ("a docstring that becomes a doctest", "The price.", ">>> price(1)", {"module"}),
    ("a function's body", "1 + rate", "1 - rate", {"body"}),
    ("a nested function's body", "x * 2", "x * 3", {"body"}),
    ("a nested function's default", "inner(x=1)", "inner(x=2)", {"body"}),
    ("a nested function's name", "inner", "outer", {"body"}),
    ("a method's body", "append(item)", "append(item, 1)", {"body"}),
    ("an async body", "yield stream", "yield stream, 1", {"body"}),
    ("a constant", "0.19", "0.16", {"module"}),
    ("an import", "import os", "import sys as os", {"module"}),
    ("a lambda outside functions", "item.price", "item.cost", {"module"}),
    ("a comprehension outside functions", "n * n", "n + n", {"module"}),
    ("a default", 'RATE["de"]', 'RATE["fr"]', {"module"}),
    ("a keyword default", "bool = True", "bool = False", {"module"}),
    ("an annotation", "rounded: bool", "rounded: int", {"module"}),
    ("a return annotation", "-> D", "-> int", {"module"}),
    ("a decorator", "@property", "@staticmethod", {"module"}),
    ("a class attribute", "limit = 10", "limit = 11", {"module"}),
    ("a base class", "class Cart:", "class Cart(dict):", {"module"}),
    ("a class's name", "class Cart:", "class Basket:", {"module"}),
    ("a function's name", "def price", "def cost", {"module"}),
    ("a parameter's name", "def add(self, item):", "def add(self, thing):", {"module"}),
    ("a positional marker", "(item, rate=", "(item, /, rate=", {"module"}),
    ("sync for async", "async def fetch(url):\n    async with", "def fetch(url):\n    with", BOTH),
    ("an empty statement", "    return sum", "    pass\n        return sum", {"body"}),
    ("text becomes bytes", '"fr"', 'b"fr"', {"module"}),
    ("a number becomes text", "0.2}", '"0.2"}', {"module"}),
    ("a number becomes a float", "10", "10.0", {"module"}),
    ("a number becomes true", "limit = 10", "limit = True", {"module"}),
    ("one is not true", "x=1", "x=True", {"body"}),
]


def parts(content: str | bytes, path: str = "shop.py", mode: str = "100644") -> dict[str, str | None]:
    encoded = content.encode() if isinstance(content, str) else content
    return {part.part: part.hash for part in file_parts(path, encoded, mode)}


@pytest.mark.parametrize(("before", "after", "changed"), [edit[1:] for edit in EDITS], ids=[edit[0] for edit in EDITS])
def test_an_edit_changes_its_part(before: str, after: str, changed: set[str]) -> None:
    """Each kind of edit changes the part it belongs to, and only that."""
    assert before in SOURCE
    old, new = parts(SOURCE), parts(SOURCE.replace(before, after, 1))
    assert {part for part in BOTH if old[part] != new[part]} == changed


@pytest.mark.parametrize(
    ("before", "after", "part"),
    [
        ("def f():\n    a()\ndef g():\n    b()\n", "def f():\n    b()\ndef g():\n    a()\n", "body"),
        ("def f():\n    a()\n    b()\n", "def f():\n    a()\nb()\n", "body"),
        ("f(a, b)\n", "f((a, b))\n", "module"),
        ("x = f'{a}{b}'\n", "x = f'{a!r}{b}'\n", "module"),
        ("x = f'{a:>3}'\n", "x = f'{a:>4}'\n", "module"),
        ("x = f'{a}b'\n", "x = f'{a}c'\n", "module"),
        ("x = 'ab', 'c'\n", "x = 'a', 'bc'\n", "module"),
        ("x = 1\n", "x = None\n", "module"),
        ("def f():\n    return\n", "def f():\n    return None\n", "body"),
        ("x = {**a}\n", "x = {a}\n", "module"),
        ("x: int\n", "(x): int\n", "module"),
        ("from . import a\n", "from .. import a\n", "module"),
        ("x = 1e999\n", "x = -1e999\n", "module"),
        ("x = ...\n", "x = 'Ellipsis'\n", "module"),
        ("class A(B):\n    def f(self):\n        'a'\n", "class A(B):\n    def f(self):\n        'b'\n", "module"),
        ("def f():\n    'a'\nprint(f.__doc__)\n", "def f():\n    'b'\nprint(f.__doc__)\n", "module"),
        ("def f():\n    def g():\n        '>>> a'\n", "def f():\n    def g():\n        '>>> b'\n", "body"),
        (f"x = 0x{'9' * 5000}\n", f"x = 0x{'9' * 4999}8\n", "module"),
        ("x = '\\ud800'\n", "x = '\\ud801'\n", "module"),
    ],
)
def test_sources_that_must_differ(before: str, after: str, part: str) -> None:
    """Sources that mean different things never share the hash of the part in which they differ."""
    assert parts(before)[part] != parts(after)[part]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 'a' f'{b}' 'c' 'd'\n", "x = f'a{b}cd'\n"),
        ("x = f'{a:}'\n", "x = f'{a}'\n"),
        ("x = u'a'\n", "x = 'a'\n"),
        ("x = 1 # type: int\n", "x = 1\n"),
        ("x = (\n    1\n)\n", "x = 1"),
        ("# coding: latin-1\nx = '\xe9'\n", "x = '\\xe9'\n"),
    ],
)
def test_sources_that_mean_the_same(before: str, after: str) -> None:
    """Spellings of one meaning have one hash."""
    assert parts(before.encode("latin-1")) == parts(after.encode())


def test_hashes_are_pinned() -> None:
    """The algorithm `py-ast-1` gives these hashes on every Python version: stored maps and manifests rely on it."""
    source = SOURCE + textwrap.dedent("""
        type_of = f"{RATE!r:>{10}}" "x" f"{{{KEY=}}}"
        match RATE:
            case {"de": x, **rest} if x > 1: pass
            case [1, *_] | None: pass
        try: pass
        except* ValueError as error: raise error from None
        def generic(a, /, b=1j, *c, d=b"x", **e): global RATE; return (yield)
    """)
    assert parts(source) == {"body": "a81020d120795f23f034929c6d17dfab", "module": "6ff58a0656d5d0ce7db9f31cecda7f4f"}


@pytest.mark.parametrize(
    "content", [b"def f(:\n", b"\x00", b"x = '\xff'\n", b"(" * 5000, b"\xef\xbb\xbf# coding: latin-1\n"]
)
def test_python_that_cannot_be_parsed_is_one_blob(content: bytes) -> None:
    """What this interpreter cannot parse is hashed by its bytes."""
    assert set(parts(content)) == {"blob"}
    assert parts(content) != parts(content + b"\n")


def test_a_body_that_does_not_compile_is_seen_by_importers() -> None:
    """Source that parses and does not compile breaks every import, so it is no longer two parts."""
    assert set(parts("def f():\n    nonlocal x\n")) == {"blob"}
    assert set(parts("def f():\n    break\n")) == {"blob"}


def test_a_body_that_warns_is_seen_by_importers() -> None:
    """A warning while compiling may be an error of the import, so such a body belongs to both parts."""
    quiet, loud, louder = ("def f():\n    return x is " + right for right in ("None\n", "1\n", "2\n"))
    assert len({parts(source)["module"] for source in (quiet, loud, louder)}) == 3


def test_other_files_are_one_blob() -> None:
    """Any other file is one part, and its mode belongs to it."""
    assert set(parts("x = 1\n", "run.sh")) == {"blob"}
    assert parts("x", "run.sh") != parts("x", "run.sh", EXECUTABLE)
    assert parts("x", "run.sh") != parts("x", "run.sh", LINK)
    assert set(parts("shop.py", "link.py", LINK)) == {"blob"}
    assert parts("x = 1", "run.py")["module"] != parts("x = 1", "run.py", EXECUTABLE)["module"]


def sections(text: str) -> dict[str, str | None]:
    found = file_parts("sub/pyproject.toml", text.encode())
    assert {part.part for part in found} == {"blob"}
    return {part.path: part.hash for part in found}


def test_pyproject_is_hashed_by_section() -> None:
    """An edit of one tool's table changes that section alone; order and comments change nothing."""
    old = sections("[project]\nname = 'a'\n[tool.ruff]\nx = 1\n[tool.pytest]\ny = 2\n")
    new = sections("[tool.pytest]\ny = 2\n[tool.ruff]\nx = 2 # new\n[project]\nname = 'a'\n")
    names = {"project", "tool.ruff", "tool.pytest"}
    assert set(old) == set(new) == {f"sub/pyproject.toml#{name}" for name in names}
    assert {path for path in old if old[path] != new[path]} == {"sub/pyproject.toml#tool.ruff"}


@pytest.mark.parametrize("content", ["[project", "tool = 1\n", "\xff"])
def test_pyproject_that_cannot_be_read(content: str) -> None:
    """A pyproject.toml that is no TOML, or not as tools know it, is one blob."""
    (part,) = file_parts("pyproject.toml", content.encode("latin-1"))
    assert part[:2] == ("pyproject.toml", "blob")


def lines(source: str) -> set[int]:
    module = parse_python(source.encode())
    assert module is not None
    mask = body_lines(module)
    return {line for line in range(mask.bit_length()) if mask >> line & 1}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 1\n", set()),
        ("def f():\n    return 1\n", {2}),
        ("def f(): return 1\n", {1}),
        ("@d\ndef f(\n    a,\n):\n    'doc'\n\n    return (\n        1\n    )\n", {5, 6, 7, 8, 9}),
        ("class A:\n    x = 1\n    def f(self):\n        pass\n    y = 2\n", {4}),
        ("def f():\n    @d\n    def g():\n        pass\n", {2, 3, 4}),
        ("if x:\n    def f():\n        pass\nelse:\n    async def f():\n        pass\n", {3, 6}),
        ("x = lambda: 1\n", set()),
        ("def f():\n    'only a docstring'\n", {2}),
    ],
)
def test_lines_of_bodies(source: str, expected: set[int]) -> None:
    """The lines of function bodies, from the first statement or its decorator to the end of the last."""
    assert lines(source) == expected


NAMES = st.sampled_from(["a", "b", "c"])
EXPRESSIONS = st.recursive(
    NAMES | st.integers(0, 3).map(str) | st.sampled_from(["'a'", "b'a'", "None", "1.0", "..."]),
    lambda inner: (
        st.tuples(inner, inner).map("({0[0]}, {0[1]})".format)
        | inner.map("[{}]".format)
        | inner.map("lambda a: ({})".format)
        | st.tuples(inner, inner).map("({0[0]}).a({0[1]})".format)
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, EXPRESSIONS)
def test_hashes_agree_with_the_syntax_tree(left: str, right: str) -> None:
    """Two expressions share a hash exactly when Python's own dump of their trees is the same."""
    same = ast.dump(ast.parse(left)) == ast.dump(ast.parse(right))
    assert (parts(left)["module"] == parts(right)["module"]) is same
    function = "def f():\n    return {}\n"
    assert (parts(function.format(left))["body"] == parts(function.format(right))["body"]) is same
