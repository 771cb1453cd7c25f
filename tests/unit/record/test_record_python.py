"""What pytest and unittest write is understood, in every style of traceback."""

from textwrap import dedent

import pytest

from quarantine.record.anatomy import Frame
from quarantine.record.places import repository_frames
from quarantine.record.reading import phase, read

LONG = """\
cart = [1, 2]

    def test_total(cart):
>       assert total(
            cart,
        ) == 4, "of the cart"
               ^^^^^^^^^^^

tests/test_cart.py:12:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
shop/cart.py:5: in total
    return add(cart)
           ^^^^^^^^^
/venv/lib/python3.11/site-packages/adder/core.py:9: in add
    raise_it(items)
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

items = [1, 2]

    def checked(items):
        # only sums of four
>       assert sum(items) == 4
E       AssertionError: sums to 3
E       assert 3 == 4
E        +  where 3 = sum([1, 2])

shop/checks.py:3: AssertionError
----------------------------- Captured stdout call -----------------------------
adding 1
adding 2
------------------------------ Captured log call -------------------------------
ERROR    shop:cart.py:4 not four
"""

CHAIN = """\
    def load(key):
>       return rows[key]
E       KeyError: 'a'

shop/rows.py:2: KeyError

The above exception was the direct cause of the following exception:

    def test_rows():
>       serve("a")

tests/test_rows.py:7:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
shop/rows.py:6: in serve
    raise RowError("no a") from error
E   shop.rows.RowError: no a
"""

NATIVE = """\
Traceback (most recent call last):
  File "/trees/1/tests/test_rows.py", line 7, in test_rows
    serve("a")
    ~~~~~^^^^^
  File "/trees/1/shop/rows.py", line 2, in load
    return rows[key]
  [Previous line repeated 970 more times]
shop.rows.RowError: no a
and a second line

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/python/lib/python3.11/unittest/case.py", line 57, in testPartExecutor
    yield
  File "/trees/1/tests/test_rows.py", line 9, in test_rows
    raise ValueError("other")
ValueError: other
"""

GROUP = """\
+ Exception Group Traceback (most recent call last):
  |   File "/trees/1/tests/test_p.py", line 15, in test_group
  |     raise ExceptionGroup("many", errors)
  | ExceptionGroup: many (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/trees/1/shop/rows.py", line 2, in load
    |     return rows[key]
    | KeyError: 'x'
    +---------------- 2 ----------------
    | Traceback (most recent call last):
    |   File "/trees/1/shop/rows.py", line 3, in load
    |     return rows[key]
    | KeyError: 'y'
    +------------------------------------
"""

UNITTEST = """\
Traceback (most recent call last):
  File "/trees/1/test_ut.py", line 5, in test_list
    self.assertEqual([1, 2, 3], [1, 2, 4])
AssertionError: Lists differ: [1, 2, 3] != [1, 2, 4]

First differing element 2:
3
4

- [1, 2, 3]
?        ^

+ [1, 2, 4]
?        ^

Stdout:
printed
"""


def inside(frames: tuple[Frame, ...], root: str = "/trees/1") -> list[str]:
    """Return the places in the repository."""
    return [frame.place for frame in repository_frames(frames, root, "tests.test_x::test_x")]


def test_pytests_long_style_gives_assertion_statement_frames_and_captured_sections() -> None:
    """The statement is whole, columns of carets and arguments go, frames of libraries are told apart."""
    [raised], outputs = read("", "AssertionError: sums to 3\nassert 3 == 4", LONG)
    assert raised.headline == "AssertionError: sums to 3"
    assert raised.details == ("assert 3 == 4", " +  where 3 = sum([1, 2])")
    assert inside(raised.frames) == ["tests/test_cart.py:12", "shop/cart.py:5", "shop/checks.py:3"]
    assert [frame.code for frame in raised.frames] == [
        'assert total( cart, ) == 4, "of the cart"',
        "return add(cart)",
        "raise_it(items)",
        "assert sum(items) == 4",
    ]
    assert [frame.function for frame in raised.frames] == ["test_total", "total", "add", "checked"]
    assert [(output.title, output.lines[0]) for output in outputs] == [
        ("captured stdout call", "adding 1"),
        ("captured log call", "ERROR    shop:cart.py:4 not four"),
    ]


def test_a_chain_in_mixed_styles_is_read_from_what_was_reported_to_its_root() -> None:
    """The reported exception first, what caused it after."""
    reported, cause = read("", "", CHAIN).chain
    assert (reported.headline, reported.relation) == ("shop.rows.RowError: no a", "")
    assert inside(reported.frames) == ["tests/test_rows.py:7", "shop/rows.py:6"]
    assert (cause.headline, cause.relation) == ("KeyError: 'a'", "caused by")
    assert cause.frames[-1].code == "return rows[key]"


def test_the_line_style_gives_the_assertion_without_frames() -> None:
    """`--tb=line` says no place; what is indented below the error belongs to it."""
    detail = "E   AssertionError: assert 'x' == 'y'\n      \n      - y\n      + x"
    [raised] = read("", "AssertionError: assert 'x' == 'y'\n  \n  - y\n  + x", detail).chain
    assert raised.headline == "AssertionError: assert 'x' == 'y'"
    assert [line for line in raised.details if line] == ["- y", "+ x"]


def test_native_tracebacks_give_chain_frames_and_every_line_of_the_message() -> None:
    """`--tb=native` and unittest; frames of the standard library are outside."""
    reported, context = read("", "ValueError: other", NATIVE).chain
    assert (reported.headline, inside(reported.frames)) == ("ValueError: other", ["tests/test_rows.py:9"])
    assert (context.headline, context.relation) == ("shop.rows.RowError: no a", "raised while handling")
    assert context.details == ("and a second line",)
    assert inside(context.frames) == ["tests/test_rows.py:7", "shop/rows.py:2"]


def test_a_group_of_exceptions_gives_each_exception_in_it() -> None:
    """With its number and its own frames."""
    group, first, second = read("", "ExceptionGroup: many (2 sub-exceptions)", GROUP).chain
    assert group.headline == "ExceptionGroup: many (2 sub-exceptions)"
    assert (first.relation, first.headline, inside(first.frames)) == (
        "sub-exception 1",
        "KeyError: 'x'",
        ["shop/rows.py:2"],
    )
    assert (second.relation, second.headline, inside(second.frames)) == (
        "sub-exception 2",
        "KeyError: 'y'",
        ["shop/rows.py:3"],
    )


def test_unittests_difference_and_output_are_kept() -> None:
    """The difference is detail, what was printed is output."""
    [raised], [output] = read("AssertionError", "Lists differ: [1, 2, 3] != [1, 2, 4]", UNITTEST)
    assert raised.headline == "AssertionError: Lists differ: [1, 2, 3] != [1, 2, 4]"
    assert {"First differing element 2:", "- [1, 2, 3]", "+ [1, 2, 4]"} <= set(raised.details)
    assert (output.title, output.lines[0]) == ("captured stdout", "printed")


def test_a_missing_fixture_is_named_with_those_there_are() -> None:
    """The error is what is missing; the list follows."""
    detail = dedent("""\
        file /trees/1/tests/test_p.py, line 16
          def test_missing(nope): pass
        E       fixture 'nope' not found
        >       available fixtures: cache, capfd
        >       use 'pytest --fixtures [testpath]' for help on them.

        /trees/1/tests/test_p.py:16
        """)
    message = 'failed on setup with "file /trees/1/tests/test_p.py, line 16\n  def test_missing(nope): pass"'
    [raised] = read("", message, detail).chain
    assert raised.headline == "fixture 'nope' not found"
    assert raised.details[0] == "available fixtures: cache, capfd"
    assert inside(raised.frames) == ["tests/test_p.py:16"]
    assert phase(message) == "setup"


@pytest.mark.parametrize("name", ["setup", "teardown"])
def test_a_fixtures_failure_says_its_phase_and_its_message_only_once(name: str) -> None:
    """A fixture's error comes with its message wrapped."""
    detail = ">       rows['fix']\nE       KeyError: 'fix'\n\ntests/conftest.py:4: KeyError"
    message = f"failed on {name} with \"KeyError: 'fix'\""
    [raised] = read("", message, detail).chain
    assert (raised.headline, raised.details, phase(message)) == ("KeyError: 'fix'", (), name)


def test_a_collection_error_gives_the_import_that_failed() -> None:
    """The import machinery and pytest's hints go."""
    detail = dedent("""\
        ImportError while importing test module '/trees/1/tests/test_gone.py'.
        Hint: make sure your test modules/packages have valid Python names.
        Traceback:
        /opt/python/lib/python3.11/importlib/__init__.py:126: in import_module
            return _bootstrap._gcd_import(name[level:], package, level)
        tests/test_gone.py:1: in <module>
            from shop.carts import nothing
        E   ModuleNotFoundError: No module named 'shop.carts'
        """)
    [raised] = read("", "collection failure", detail).chain
    assert (raised.headline, raised.details) == ("ModuleNotFoundError: No module named 'shop.carts'", ())
    assert inside(raised.frames) == ["tests/test_gone.py:1"]


def test_a_syntax_error_gives_the_line_that_cannot_be_read() -> None:
    """The place of the mistake counts as the innermost frame."""
    detail = dedent("""\
        <frozen importlib._bootstrap>:1204: in _gcd_import
            ???
        /venv/lib/python3.11/site-packages/_pytest/assertion/rewrite.py:339: in _rewrite_test
            tree = ast.parse(source, filename=strfn)
        E     File "/trees/1/tests/test_syntax.py", line 1
        E       def x(:
        E             ^
        E   SyntaxError: invalid syntax
        """)
    [raised] = read("", "collection failure", detail).chain
    assert raised.headline == "SyntaxError: invalid syntax"
    assert "  def x(:" in raised.details
    assert inside(raised.frames) == ["tests/test_syntax.py:1"]


def test_a_tests_failure_and_its_fixtures_are_two_exceptions() -> None:
    """A report that joins both texts keeps the statement of each beside its own error."""
    detail = (
        "    def test_x(broken):\n>       assert False\nE       assert False\n\ntests/test_x.py:33: AssertionError\n\n"
        "    @pytest.fixture\n    def broken():\n        yield\n>       raise RuntimeError('teardown broke')\n"
        "E       RuntimeError: teardown broke\n\ntests/test_x.py:29: RuntimeError\n"
    )
    first, then = read("", "assert False", detail).chain
    assert (first.headline, inside(first.frames)) == ("assert False", ["tests/test_x.py:33"])
    assert (then.relation, then.headline, inside(then.frames)) == (
        "then",
        "RuntimeError: teardown broke",
        ["tests/test_x.py:29"],
    )
