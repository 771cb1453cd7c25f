"""Long literals are cut so that the first difference stays in sight."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.record.literals import NOTE_CHARS, narrowed

LEFT = "x" * 3000 + "LEFT" + "y" * 3000
RIGHT = "x" * 3000 + "RIGHT" + "y" * 3000


@pytest.mark.parametrize(
    "lines",
    [
        [f"AssertionError: assert '{LEFT}' == '{RIGHT}'"],
        [f"AssertionError: '{LEFT}' != '{RIGHT}'"],
        ["Differs:", f"- {LEFT}", f"+ {RIGHT}"],
        [f"- {LEFT}", "?   ^^^^", f"+ {RIGHT}", "?   ^^^^^"],
        [f"Expected: '{LEFT}'", f"Received: '{RIGHT}'"],
        [f'  left: "{LEFT}"', f' right: "{RIGHT}"'],
        [f"expected: {LEFT}", f"     got: {RIGHT}"],
        [f"expected:<{LEFT}> but was:<{RIGHT}>"],
    ],
)
def test_the_first_difference_is_kept(lines: list[str]) -> None:
    """In a comparison on one line, and in a pair of lines that say expected and actual."""
    shown = "\n".join(narrowed(lines, 200))
    assert "xxLEFTyy" in shown
    assert "xxRIGHTyy" in shown
    assert len(shown) < 500
    assert "chars...]" in shown
    assert "^" not in shown


def test_what_differs_from_nothing_keeps_head_and_end() -> None:
    """And says how much is between."""
    [line] = narrowed([f"begin{'-' * 1000}end"], 100)
    assert line.startswith("begin")
    assert line.endswith("end")
    assert f"[...{1008 - (100 - NOTE_CHARS)} chars...]" in line


def test_two_sides_that_read_the_same_are_not_shown_at_length() -> None:
    """A tool that cut both sides itself left no difference to see."""
    side = "{'b': '" + "x" * 500 + "...'}"
    [line] = narrowed([f"{side} != {side}"], 400)
    assert len(line) <= 120


@given(st.lists(st.text(st.characters(exclude_categories=["C"]), max_size=300), max_size=8), st.integers(20, 200))
def test_no_line_is_lost_but_hints_and_none_is_much_too_long(lines: list[str], width: int) -> None:
    """A short line is never touched."""
    shown = narrowed(lines, width)
    assert len(shown) <= len(lines)
    assert all(len(line) <= width + 3 * NOTE_CHARS for line in shown)
    assert [line for line in lines if len(line) <= width and "?" not in line] == [
        line for line in shown if line in lines and len(line) <= width and "?" not in line
    ]
