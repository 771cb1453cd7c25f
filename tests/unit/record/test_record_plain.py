"""Text that cannot move a terminal, and ids that can be copied."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.record.plain import LONGEST_ID, one_line, plain, quoted_id


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\ufffd[31mred", "red"),
        ("\\x1b[31mred", "red"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("\tat x(\ty)\tz", "    at x(\\ty)\\tz"),
        ("expected: \t1\t", "expected:  1 "),
        ("nul\x00 bell\x07", "nul<U+0000> bell<U+0007>"),
        ("a\u202eb\u200bc\xa0d", "a<U+202E>b<U+200B>c<U+00A0>d"),
        ("ünï 日本", "ünï 日本"),
    ],
)
def test_terminal_sequences_go_and_what_is_not_printable_is_spelt_out(text: str, shown: str) -> None:
    """A reader sees what there is, and nothing acts on the reader's terminal."""
    assert plain(text) == shown


@given(st.text())
def test_plain_text_is_printable_but_for_line_feeds(text: str) -> None:
    """Whatever comes in."""
    assert plain(text).replace("\n", "").isprintable()
    assert "\n" not in one_line(text)


@pytest.mark.parametrize("name", ["a::b[1-x]", "tests/a.py::test_x['a']", "pkg/Test/sub#01", "ünï::日本"])
def test_an_id_without_blanks_stands_as_it_is(name: str) -> None:
    """Brackets, parameters, single quotes and letters of any script need no quoting."""
    assert quoted_id(name) == name


@pytest.mark.parametrize(
    "name", ["a b", "new\nline", 'quo"te', "back\\slash", "", "tab\t", "\x1b[31m", "nb\xa0sp", "\ud800"]
)
def test_any_other_id_is_a_json_string(name: str) -> None:
    """A JSON parser gives the id back, character for character."""
    shown = quoted_id(name)
    assert json.loads(shown) == name
    assert shown.isprintable()


@given(st.text(max_size=LONGEST_ID), st.text(max_size=LONGEST_ID))
def test_different_ids_are_never_written_alike(name: str, other: str) -> None:
    """Quoting is injective, and the way back is known from the first character."""
    assert (quoted_id(name) == quoted_id(other)) == (name == other)
    shown = quoted_id(name)
    assert (json.loads(shown) if shown.startswith('"') else shown) == name


def test_a_long_id_keeps_head_and_tail_and_is_still_told_from_its_like() -> None:
    """What is left out is counted and hashed."""
    name, other = (f"test_x[{'a' * 3000}{digit}{'b' * 3000}]" for digit in "12")
    assert quoted_id(name) != quoted_id(other)
    assert quoted_id(name).startswith("test_x[aaa")
    assert "5849_characters" in quoted_id(name)
    assert len(quoted_id(name)) < LONGEST_ID + 40
