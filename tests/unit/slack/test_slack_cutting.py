"""What is made of any text fits Slack, and none of it is a field that Slack parses."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from quarantine.slack.cutting import BLOCKS, CHARACTERS, length, pieces
from quarantine.slack.messages import Block, Code, Message, Plain, Strong, bullets, context, header, paragraph
from quarantine.slack.text import cut, escaped

HOSTILE = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["<!channel>", "<@U1>", "&lt;!here&gt;", "<https://a.b|c>", ":fire:", "*b*\n> q", "\u202e<!\u200bhere>"]
    ),
    st.sampled_from([40, 1_100, 1_400]).map(lambda count: "<&>" * count),
)
SPANS = st.lists(st.one_of(HOSTILE.map(Plain), HOSTILE.map(Strong), HOSTILE.map(Code)), min_size=1, max_size=6)
BLOCK = st.one_of(
    SPANS.map(lambda spans: paragraph(*spans)),
    st.lists(SPANS, min_size=1, max_size=8).map(bullets),
    HOSTILE.map(header),
    st.lists(HOSTILE, min_size=1, max_size=12).map(lambda lines: context(*lines)),
)


def kinds(value: Any) -> set[str]:
    """Return every `type` in a block."""
    if isinstance(value, list):
        return {kind for item in value for kind in kinds(item)}
    if not isinstance(value, dict):
        return set()
    return {value.get("type", "")} | {kind for item in value.values() for kind in kinds(item)}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(BLOCK, max_size=6))
def test_every_piece_fits(blocks: list[Block]) -> None:
    """No piece has more blocks or characters than Slack takes, and no text is parsed as markup."""
    for piece in pieces(Message.of("x", *blocks)):
        assert len(piece.blocks) <= BLOCKS
        assert length(list(piece.blocks)) <= CHARACTERS
        assert kinds(list(piece.blocks)).isdisjoint({"mrkdwn", "link", "user", "broadcast", "emoji"})


@settings(max_examples=60, deadline=None, derandomize=True)
@given(HOSTILE)
def test_the_line_of_a_notification_holds_no_opening_and_no_torn_entity(text: str) -> None:
    """After escaping and cutting no `<` or `>` is left, and every `&` begins a whole entity."""
    line = Message.of(text).text
    assert len(line) <= 4_000
    assert "<" not in line
    assert ">" not in line
    bare = line.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "")
    assert "&" not in bare


def test_a_cut_says_how_much_is_left_out() -> None:
    """The count is that of the characters that are not shown."""
    shown = cut("a" * 500, 100)
    assert shown == "a" * 68 + "… (432 more characters)"
    assert escaped("a<b") == "a&lt;b"


def test_many_long_words_in_one_block_are_cut_together() -> None:
    """One paragraph, one line of a list and one row of small print each hold at most 3,000 characters."""
    long = [Plain("x" * 3_000)] * 6
    for block in (paragraph(*long), bullets([long]), context(*["y" * 3_000] * 10)):
        assert length(block) <= 3_000
