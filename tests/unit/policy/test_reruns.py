"""Which reruns are wanted, when, in which order, and when to stop."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.policy.reruns import Waiting, wanted_reruns

POLICY = Policy()
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HEAD = Waiting(test="a", variant="v", lane=Lane.TRUNK, tree="t", commit="c", failed_at=NOON)


@pytest.mark.parametrize(("reruns", "hours"), [(0, 0), (1, 1), (2, 24), (3, None), (9, None)])
def test_the_schedule_is_now_an_hour_and_a_day(reruns: int, hours: int | None) -> None:
    """Each failed rerun moves a head to the next time after its arrival, until the schedule is exhausted."""
    due = replace(HEAD, reruns=reruns).due_at(POLICY)
    assert due == (None if hours is None else NOON + timedelta(hours=hours))


def test_nothing_is_wanted_of_what_is_confirmed_or_lost() -> None:
    """A known pass ends it, and a tree nobody identified cannot be rerun."""
    assert replace(HEAD, is_confirmed=True).due_at(POLICY) is None
    assert replace(HEAD, tree="").due_at(POLICY) is None


def test_a_broken_candidate_is_rerun_at_once() -> None:
    """Its two reruns fall due when it fails; after those the head's own schedule goes on."""
    broken = replace(HEAD, proves_broken=True)
    assert [replace(broken, reruns=done).due_at(POLICY) for done in (0, 1, 2, 3)] == [
        NOON,
        NOON,
        NOON + timedelta(hours=24),
        None,
    ]


def test_only_what_is_due_is_wanted() -> None:
    """Up to and including the instant asked about."""
    later = replace(HEAD, reruns=1)
    assert wanted_reruns([later], NOON + timedelta(minutes=59), 0, POLICY) == ()
    assert len(wanted_reruns([later], NOON + timedelta(minutes=60), 0, POLICY)) == 1


def test_the_most_valuable_come_first() -> None:
    """What may decide now, then trunk, then the nearest to an entry, then the oldest, then other lanes."""
    waiting = [
        replace(HEAD, test="agent", tree="6", lane=Lane.AGENT),
        replace(HEAD, test="review", tree="5", lane=Lane.REVIEW, nearness=3.0),
        replace(HEAD, test="young", tree="4", failed_at=NOON + timedelta(seconds=1), nearness=9.0),
        replace(HEAD, test="old", tree="3", nearness=9.0),
        replace(HEAD, test="near", tree="2", nearness=2.0),
        replace(HEAD, test="completes", tree="1", nearness=0.5, completes=True),
        replace(HEAD, test="broken", tree="0", proves_broken=True),
        replace(HEAD, test="decides", tree="7", lane=Lane.AGENT, nearness=0.1, completes=True),
    ]
    wanted = wanted_reruns(waiting, NOON + timedelta(hours=1), 0, POLICY)
    assert [one.tests[0] for one in wanted] == [
        "completes",
        "broken",
        "decides",
        "near",
        "old",
        "young",
        "review",
        "agent",
    ]


def test_the_budget_of_the_day_bounds_them() -> None:
    """What was spent today counts; an exhausted budget wants nothing."""
    waiting = [replace(HEAD, test=f"t{i}", tree=f"tree{i}") for i in range(5)]
    few = replace(POLICY, reruns_per_day=3)
    assert len(wanted_reruns(waiting, NOON, 0, few)) == 3
    assert len(wanted_reruns(waiting, NOON, 2, few)) == 1
    assert wanted_reruns(waiting, NOON, 7, few) == ()


def test_one_rerun_serves_all_tests_of_a_tree_and_variant() -> None:
    """The command is rerun whole: one for each tree and variant, with every test that waits for it."""
    waiting = [
        replace(HEAD, test="b", commit=""),
        replace(HEAD, test="a", nearness=0.5, completes=True, commit=""),
        replace(HEAD, test="c"),
        replace(HEAD, test="a", variant="w"),
    ]
    first, second = wanted_reruns(waiting, NOON, 0, POLICY)
    assert (first.tests, first.variant, first.commit, first.due_at) == (("a", "b", "c"), "v", "c", NOON)
    assert (second.tests, second.variant) == (("a",), "w")
    assert first.why == "a, b and c wait for this tree: a pass would complete the evidence for quarantine."
    assert second.why == "a waits for this tree: a pass would make its failure an onset (rerun 1 of 3)."


def test_the_reason_of_a_broken_candidate_and_of_a_crowd() -> None:
    """The sentence counts reruns, and does not list dozens of tests."""
    crowd = [replace(HEAD, test=f"t{i}", proves_broken=True, reruns=1) for i in range(9)]
    (wanted,) = wanted_reruns(crowd, NOON, 0, POLICY)
    assert len(wanted.tests) == 9
    assert wanted.why == (
        "t0, t1, t2 and 6 others wait for this tree: rerun 2 of 2, if it fails too, shows that it is broken, not flaky."
    )
