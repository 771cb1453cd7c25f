"""Text that is shown: no terminal sequences, no characters that act."""

from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.junit import plain_text
from quarantine.junit.texts import BoundedText, clip, first_line, legal


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;196mred\x1b[K", "red"),
        ("\ufffd[31mred\ufffd[0m", "red"),
        ("\\x1b[31mred\\x1b[0m", "red"),
        ("#x1B[31mred#x1B[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("a\x07b\x00c\x7fd", "a\ufffdb\ufffdc\ufffdd"),
        ("a\tb\r\nc\rd", "a\tb\nc\nd"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("array[3] \\x1b [ok] \ufffd[a]", "array[3] \\x1b [ok] \ufffd[a]"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("ä 日本 😀 a\u200bb", "ä 日本 😀 a\u200bb"),
    ],
)
def test_plain_text(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.text())
def test_plain_text_holds_nothing_that_acts(text: str) -> None:
    plain = plain_text(text)
    assert not any(ord(character) < 32 and character not in "\t\n" for character in plain)
    assert "\x1b" not in plain
    assert "\u202e" not in plain


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_legal_text_is_what_xml_allows(text: str) -> None:
    escaped = legal(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert len(legal(text)) == len(text)
    expat.ParserCreate().Parse(f"<a>{escaped}</a>", True)


@given(st.lists(st.text(max_size=30)), st.integers(1, 20), st.integers(1, 20))
def test_pieces_are_kept_as_the_whole_would_be(pieces: list[str], head: int, tail: int) -> None:
    """Where a text is cut does not depend on the pieces it arrived in."""
    bounded = BoundedText(head, tail)
    for piece in pieces:
        bounded.append(piece)
    assert bounded.text() == clip("".join(pieces), head, tail)


def test_a_long_text_is_never_held_whole() -> None:
    bounded = BoundedText(100, 100)
    for _ in range(1_000):
        bounded.append("x" * 500)
        assert sum(map(len, bounded._pieces)) <= 1_300


@pytest.mark.parametrize(
    ("text", "line"), [("", ""), ("\n \n", ""), ("a", "a"), ("  a \n b", "a"), ("\n\na\r\nb", "a"), ("a\n", "a")]
)
def test_first_line(text: str, line: str) -> None:
    assert first_line(text) == line
