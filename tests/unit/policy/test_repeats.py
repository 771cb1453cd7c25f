"""What further tries inside a session are worth, and how a session's tries are shared out."""

from dataclasses import replace

import pytest

from quarantine.domain.outcome import Status
from quarantine.policy.criteria import Policy
from quarantine.policy.repeats import FailingTest, plan_session

POLICY = Policy()
PLAIN = FailingTest(name="plain")
BITES = FailingTest(name="bites", standing=Status.QUARANTINED, is_excusable=True, alarm_reruns=5)


def several_tests(number: int) -> list[FailingTest]:
    """Return so many failing tests."""
    return [replace(PLAIN, name=f"t{place:03}") for place in range(number)]


@pytest.mark.parametrize(
    ("test", "most", "code"),
    [
        (PLAIN, 2, "unsettled"),
        (replace(PLAIN, is_known=False), 2, "new"),
        (replace(PLAIN, completes=True, nearness=0.5), 2, "completes"),
        (replace(PLAIN, standing=Status.HELD), 2, "unsettled"),
        (replace(PLAIN, standing=Status.BROKEN), 0, "broken"),
        (BITES, 5, "quarantined"),
        (replace(BITES, alarm_reruns=99), 12, "quarantined"),
        (replace(BITES, is_excusable=False), 2, "unsettled"),
    ],
)
def test_a_test_is_worth_what_the_verdict_would_ask_for(test: FailingTest, most: int, code: str) -> None:
    """A gating test as many tries as show that it always fails, a quarantined one as many as its flaking explains."""
    [planned] = plan_session([test], POLICY).tests
    assert (planned.name, planned.most, planned.code) == (test.name, most, code)
    assert planned.why.endswith(".")


def test_the_knobs_of_the_verdict_hold() -> None:
    """More reruns for the verdict are more tries here, up to what one verdict asks for at most."""
    assert plan_session([PLAIN], Policy(verdict_reruns=4)).tests[0].most == 4
    assert plan_session([PLAIN], Policy(verdict_reruns=4, verdict_reruns_most=3)).tests[0].most == 3
    assert plan_session([PLAIN], Policy(session_reruns_most=0)).tests[0][1:3] == (0, "spent")


def test_each_gets_one_try_before_any_gets_another() -> None:
    """The second try of the valuable comes before the second of the others, and the rest is said to be left out."""
    policy = Policy(session_reruns_most=5)
    near = [replace(one, nearness=float(place)) for place, one in enumerate(several_tests(3))]
    plan = plan_session([*reversed(near), replace(BITES, alarm_reruns=9)], policy)
    assert {one.name: one.most for one in plan.tests} == {"t000": 2, "t001": 1, "t002": 1, "bites": 1}
    assert (plan.budget, plan.planned, plan.sentence) == (5, 5, "")


def test_what_may_decide_now_comes_first() -> None:
    """Then what gates, the nearest to an entry first; what is quarantined already comes last."""
    policy = Policy(session_reruns_most=1, storm_tests=2)
    several = [BITES, PLAIN, replace(PLAIN, name="near", nearness=3.0), replace(PLAIN, name="decides", completes=True)]
    for expected in ("decides", "near", "plain", "bites"):
        chosen = [one.name for one in plan_session(several, policy).tests if one.most]
        assert chosen == [expected]
        several = [one for one in several if one.name != expected]


def test_a_wide_failure_is_tried_by_a_few() -> None:
    """More failing tests than tries: as many as make a storm are tried, and the sentence says so."""
    plan = plan_session([*several_tests(300), replace(PLAIN, name="broken", standing=Status.BROKEN)], POLICY)
    assert [one.name for one in plan.tests if one.most] == [f"t{place:03}" for place in range(5)]
    assert plan.planned == 10
    assert {one.code for one in plan.tests[5:]} == {"wide", "broken"}
    assert plan.tests[7].why.startswith("300 tests failed at once, ")
    assert plan.sentence == "300 failing tests for 40 further tries: 5 of them are tried again."
    assert plan_session(several_tests(40), POLICY).planned == 40


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 64])
def test_workers_share_the_budget_of_one_session(workers: int) -> None:
    """Whatever each of them has to try, all together make no more tries than one process would."""
    plans = [plan_session(several_tests(20), POLICY, worker=worker, workers=workers) for worker in range(workers)]
    assert sum(plan.budget for plan in plans) == POLICY.session_reruns_most
    assert sum(plan.planned for plan in plans) <= POLICY.session_reruns_most
    assert all(plan.planned <= plan.budget for plan in plans)
    left_out = [one for plan in plans for one in plan.tests if not one.most]
    assert {one.code for one in left_out} <= {"wide", "spent"}


def test_nothing_is_left_out_where_nothing_is_worth_a_try() -> None:
    """A policy that has the head never rerun wants no tries either, whatever the budget."""
    plan = plan_session(several_tests(3), Policy(verdict_reruns_most=0))
    assert (plan.planned, plan.sentence) == (0, "")


def test_nothing_failing_is_nothing_to_plan() -> None:
    """An empty question has an empty answer."""
    assert plan_session([], POLICY).tests == ()
