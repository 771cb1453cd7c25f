"""What a change of standing is to people."""

from typing import Any

import pytest

from quarantine.domain.notice import NoticeKind
from quarantine.domain.outcome import Mode, Status
from quarantine.policy.causes import News, news_of
from quarantine.policy.transitions import LEGAL_MOVES

HEADS = [
    {"number": 1, "signature": "before the window"},
    {"number": 2, "signature": "a"},
    {"number": 3, "signature": "b"},
    {"number": 4, "signature": "b"},
]
ENTRY: dict[str, Any] = {"inputs": {"heads": HEADS}, "result": {"onsets": [2, 3, 4]}}


def said(before: Status, after: Status, mode: Mode = Mode.ENFORCE, **evidence: Any) -> list[tuple[News, NoticeKind]]:
    return [(move.news, move.kind) for move in news_of(before, after, mode, evidence, was_quarantined=False)]


def test_every_legal_move_is_news_while_the_project_enforces() -> None:
    """Nothing that changes what gates, or what trunk is, goes unsaid."""
    assert [move for move in LEGAL_MOVES if not said(*move)] == []


def test_while_it_observes_only_what_is_broken_is_news() -> None:
    """Nothing is taken out, so nothing is said of it; that trunk is broken holds all the same."""
    told = {move for move in LEGAL_MOVES if said(*move, mode=Mode.OBSERVE)}
    assert told == {move for move in LEGAL_MOVES if Status.BROKEN in move}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Status.HELD, Status.QUARANTINED, [(News.ENTERED, NoticeKind.ENTRIES), (News.LET_GO, NoticeKind.HELD)]),
        (Status.QUARANTINED, Status.HELD, [(News.HELD, NoticeKind.HELD), (News.RELEASED, NoticeKind.ENTRIES)]),
        (Status.HELD, Status.BROKEN, [(News.BROKE, NoticeKind.BROKEN), (News.LET_GO, NoticeKind.HELD)]),
        (Status.BROKEN, Status.GATING, [(News.MENDED, NoticeKind.BROKEN)]),
    ],
)
def test_what_ends_is_said_as_well_as_what_begins(
    before: Status, after: Status, expected: list[tuple[News, NoticeKind]]
) -> None:
    """A test that goes from one standing to another is news in both threads."""
    assert said(before, after) == expected


def test_a_test_that_was_quarantined_before_comes_back() -> None:
    """A second entry is called what it is."""
    [move] = news_of(Status.GATING, Status.QUARANTINED, Mode.ENFORCE, ENTRY, was_quarantined=True)
    assert move.news is News.RETURNED


def test_an_entry_is_grouped_by_what_most_of_its_onsets_share() -> None:
    """Heads outside the window say nothing about the cause; an entry on no failures has none."""
    [move] = news_of(Status.GATING, Status.QUARANTINED, Mode.ENFORCE, ENTRY, was_quarantined=False)
    assert move.cause == "b"
    [by_hand] = news_of(Status.GATING, Status.QUARANTINED, Mode.ENFORCE, {"kind": "by-hand"}, was_quarantined=False)
    assert by_hand.cause == ""


def test_tests_that_broke_in_one_range_share_a_cause() -> None:
    """The first failing commit names it, else the last passing one."""
    both = {"range": {"last_passing": "aaa", "first_failing": "bbb"}}
    [move] = news_of(Status.GATING, Status.BROKEN, Mode.ENFORCE, both, was_quarantined=False)
    assert move.cause == "bbb"
    half = {"range": {"last_passing": "aaa", "first_failing": None}}
    [move] = news_of(Status.GATING, Status.BROKEN, Mode.ENFORCE, half, was_quarantined=False)
    assert move.cause == "aaa"
