"""Which heads count: spacing, one per change, trunk before agent, confirmed and outside storms."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.policy.onsets import counted_onsets

POLICY = Policy()
START = datetime(2026, 3, 2, tzinfo=UTC)


def _head(number: int, hours: float, lane: Lane = Lane.TRUNK, change: str | None = None, **more: object) -> Head:
    at = START + timedelta(hours=hours)
    known = {"confirmed_at": at + timedelta(hours=1), "confirmed_by": f"r{number}", **more}
    return Head(
        number=number,
        index=10 * number,
        arrived_at=at,
        lane=lane,
        change=change,
        build=f"b{number}",
        tree=f"t{number}",
        fingerprint=number,
        **known,  # type: ignore[arg-type]  # keywords of Head, spelled by the test
    )


def _numbers(heads: Sequence[Head]) -> list[int]:
    return [onset.number for onset in counted_onsets(heads, POLICY)]


def test_pending_heads_and_storms_do_not_count() -> None:
    """A head without a pass of its own tree is no onset, nor is one that belongs to an incident."""
    heads = [_head(1, 0, confirmed_at=None), _head(2, 10, incident="storm"), _head(3, 20)]
    assert _numbers(heads) == [3]


def test_at_most_one_in_six_hours_by_arrival() -> None:
    """An onset keeps others out until exactly six hours have passed since its arrival, whatever the lane or host."""
    heads = [_head(1, 0), _head(2, 5.99), _head(3, 6), _head(4, 11, Lane.REVIEW, "pr-1"), _head(5, 12)]
    assert _numbers(heads) == [1, 3, 5]


def test_of_onsets_in_company_one_a_day_counts() -> None:
    """An outage that flaps for two days is two onsets, however often it hits; what fails alone goes on counting."""
    outage = [_head(number, 7 * (number - 1), company=49) for number in range(1, 8)]
    assert _numbers(outage) == [1, 5]
    between = [_head(1, 0, company=4), _head(2, 7), _head(3, 14, company=9), _head(4, 23.9, company=4), _head(5, 30)]
    assert _numbers(between) == [1, 2, 5]
    assert _numbers([_head(1, 0, company=3), _head(2, 7, company=3)]) == [1, 2]  # four tests that fail alike
    assert _numbers([_head(1, 0, company=4), _head(2, 24, company=4)]) == [1, 2]


@pytest.mark.parametrize("seed", range(30))
def test_company_only_ever_drops_onsets_of_a_quiet_trunk(seed: int) -> None:
    """Against a plain count: each in company a day after the one before, all that fail alone as they were."""
    rng = random.Random(seed)  # noqa: S311 - the same heads for the same seed
    heads, hour = [], 0.0
    for number in range(1, 40):
        hour += rng.uniform(6, 30)
        heads.append(_head(number, hour, company=rng.choice([0, 3, 4, 30])))
    counted = [onset.head for onset in counted_onsets(heads, POLICY)]
    crowd = [head for head in counted if head.company >= 4]
    assert all(later.arrived_at - earlier.arrived_at >= timedelta(days=1) for earlier, later in pairwise(crowd))
    assert [head for head in counted if head.company < 4] == [head for head in heads if head.company < 4]
    last = None
    for head in heads:
        if head.company >= 4 and (last is None or head.arrived_at - last >= timedelta(days=1)):
            assert head in counted
            last = head.arrived_at


def test_the_confirmation_does_not_decide_the_slot() -> None:
    """A slot begins when its head arrived, even if a later head was confirmed earlier."""
    heads = [_head(1, 0, confirmed_at=START + timedelta(days=2)), _head(2, 3), _head(3, 7)]
    assert _numbers(heads) == [1, 3]


def test_a_change_counts_once() -> None:
    """However often a change's builds flake, it speaks once; trunk may speak again and again."""
    heads = [
        _head(1, 0),
        _head(2, 10, Lane.AGENT, "t-7"),
        _head(3, 20),
        _head(4, 30, Lane.AGENT, "t-7"),
        _head(5, 40, Lane.REVIEW, "pr-1"),
        _head(6, 50),
        _head(7, 60, Lane.REVIEW, "pr-1"),
    ]
    assert _numbers(heads) == [1, 2, 3, 5, 6]


def test_other_lanes_are_never_the_majority() -> None:
    """Of any number of other lanes' onsets one is heard after each of trunk's, and none before the first."""
    others = [Lane.AGENT, Lane.REVIEW]
    heads = [_head(number, 10 * number, others[number % 2], f"change-{number}") for number in range(1, 21)]
    assert _numbers(heads) == []
    heads[9] = _head(10, 100)
    heads[14] = _head(15, 150)
    assert _numbers(heads) == [10, 11, 15, 16]


def test_trunk_takes_the_slot_over_from_an_agent() -> None:
    """The agent's onset is dropped, its change may speak later, and the slot then begins at the trunk head."""
    heads = [
        _head(1, 0),
        _head(2, 10, Lane.AGENT, "t-7"),
        _head(3, 15),
        _head(4, 20.5, Lane.AGENT, "t-7"),
        _head(5, 21, Lane.AGENT, "t-7"),
    ]
    assert _numbers(heads) == [1, 3, 5]
    assert _numbers(heads[:2]) == [1, 2]


def test_trunk_does_not_take_a_review_slot() -> None:
    """Only an agent's onset gives way."""
    assert _numbers([_head(1, 0), _head(2, 10, Lane.REVIEW, "pr-1"), _head(3, 15)]) == [1, 2]


def test_an_agent_cannot_keep_trunk_from_being_counted() -> None:
    """Agent heads just before every trunk head leave every trunk onset in place."""
    trunk = [_head(2 * i + 2, 12 * i + 1) for i in range(6)]
    agent = [_head(2 * i + 1, 12 * i, Lane.AGENT, f"t-{i}") for i in range(6)]
    mixed = sorted([*trunk, *agent], key=lambda head: head.number)
    assert _numbers(mixed) == [head.number for head in trunk]


@st.composite
def _histories(draw: st.DrawFn, *, trunk_only: bool = False) -> list[Head]:
    hours, heads = 0.0, []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        hours += draw(st.floats(0, 15))
        lane = Lane.TRUNK if trunk_only else draw(st.sampled_from(Lane))
        change = None if lane is Lane.TRUNK else f"{lane}-{draw(st.integers(1, 4))}"
        confirmed = START + timedelta(hours=hours) if draw(st.booleans()) else None
        heads.append(_head(number, hours, lane, change, confirmed_at=confirmed))
    return heads


@settings(max_examples=300)
@given(_histories())
def test_what_counts_is_confirmed_spaced_and_of_distinct_changes(heads: list[Head]) -> None:
    """Whatever the history, counted onsets are confirmed heads, six hours apart, no change twice, in order."""
    onsets = counted_onsets(heads, POLICY)
    assert all(onset.head in heads and onset.head.is_confirmed for onset in onsets)
    for one, two in pairwise(onsets):
        assert one.number < two.number
        assert two.arrived_at - one.arrived_at >= POLICY.onset_spacing
    changes = [onset.head.change for onset in onsets if onset.head.change]
    assert len(changes) == len(set(changes))


@settings(max_examples=300)
@given(_histories(trunk_only=True), st.data())
def test_on_trunk_a_confirmation_never_makes_fewer_or_later_onsets(heads: list[Head], data: st.DataObject) -> None:
    """With one more head confirmed, the j-th onset comes no later, for every j: earliest-first stays ahead."""
    which = data.draw(st.integers(0, len(heads) - 1))
    more = [replace(h, confirmed_at=h.arrived_at) if at == which else h for at, h in enumerate(heads)]
    before, after = counted_onsets(heads, POLICY), counted_onsets(more, POLICY)
    assert len(after) >= len(before)
    assert all(new.index <= old.index for old, new in zip(before, after, strict=False))


@pytest.mark.parametrize(
    ("heads", "dropped", "before", "after"),
    [
        (
            [(0, Lane.TRUNK), (5, Lane.TRUNK), (10, Lane.TRUNK), (11, Lane.TRUNK), (16, Lane.TRUNK)],
            0,
            [1, 3, 5],
            [2, 4],
        ),
        (
            [(0, Lane.TRUNK), (20, Lane.AGENT), (25, Lane.TRUNK), (30, Lane.TRUNK)],
            2,
            [1, 3],
            [1, 2, 4],
        ),
    ],
)
def test_an_onset_may_displace_a_later_one(
    heads: list[tuple[float, Lane]], dropped: int, before: list[int], after: list[int]
) -> None:
    """Known limits of the spacing rule, harmless for validity: a head that counts begins a slot others fall into.

    In the first case a window that starts after head 1 sees its second onset sooner without head 1; in the second a
    trunk head takes over an agent's slot and keeps the next trunk head out.
    """
    made = [
        _head(number, hours, lane, None if lane is Lane.TRUNK else "t-1")
        for number, (hours, lane) in enumerate(heads, start=1)
    ]
    assert _numbers(made) == before
    made[dropped] = replace(made[dropped], confirmed_at=None)
    assert _numbers(made) == after
