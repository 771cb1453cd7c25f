"""Predicted exits against the exit rule played forward, trial by trial and day by day."""

import math
from dataclasses import replace

import pytest

from quarantine.policy.criteria import Policy
from quarantine.policy.exit import Streak, assess_exit
from quarantine.policy.predicted_exit import Outlook, Pace, predict

POLICY = Policy()
ALPHA = 1e-4
STREAK = Streak(
    failures=5,
    trials=60,
    clean_trials=200,
    clean_days=2,
    failing_days=4,
    days=12,
    longest_gap_days=3,
    presence=1.0,
)


def played(streak: Streak, trials_a_day: int, *, every: int = 1) -> int:
    """Return after how many days the rule is met if the test runs clean so often, on every so-manyth day."""
    for day in range(1, 5_000):
        if day % every == 0:
            streak = replace(streak, clean_trials=streak.clean_trials + trials_a_day, clean_days=streak.clean_days + 1)
        if assess_exit(streak, ALPHA, POLICY).is_met:
            return day
    raise AssertionError("never")


@pytest.mark.parametrize("trials_a_day", [1, 3, 10, 100, 900])
@pytest.mark.parametrize("every", [1, 2, 7])
@pytest.mark.parametrize("ordinal", [1, 2, 5])
def test_the_day_is_that_of_the_rule_played_forward(trials_a_day: int, every: int, ordinal: int) -> None:
    """At any pace, with days between, and after broken streaks; to the day on which it runs."""
    streak = replace(STREAK, ordinal=ordinal)
    pace = Pace(days=28.0, trials=trials_a_day * 28 // every, trial_days=28 // every)
    found = predict(assess_exit(streak, ALPHA, POLICY), pace, longest_days=1e9)
    assert found.outlook is Outlook.ON_ITS_WAY
    assert found.days <= played(streak, trials_a_day, every=every) < found.days + every + 1e-6
    assert f"{math.ceil(found.days)} day" in found.sentence.replace(",", "")


def test_a_test_that_still_fails_has_to_be_mended() -> None:
    """The streak it has says nothing against its rate, and the rest it needs is next to impossible at that rate."""
    found = predict(
        assess_exit(replace(STREAK, clean_trials=10), ALPHA, POLICY),
        Pace(days=28, trials=280, trial_days=28),
        longest_days=90,
    )
    assert found.outlook is Outlook.FAILING
    assert math.isinf(found.days)
    assert "It failed 5 of 60 trunk trials before its present streak of 10" in found.sentence


@pytest.mark.parametrize("clean", range(0, 400, 7))
def test_what_looks_mended_is_on_its_way(clean: int) -> None:
    """From the streak on that its rate would give with a chance below 5 %."""
    leave = assess_exit(replace(STREAK, clean_trials=clean), ALPHA, POLICY)
    found = predict(leave, Pace(days=28, trials=2_800, trial_days=28), longest_days=90)
    looks_mended = (1 - 5 / 60) ** clean < 0.05
    assert (found.outlook is Outlook.ON_ITS_WAY) == looks_mended


def test_what_is_due_and_what_is_too_slow() -> None:
    """With the evidence there; at a pace that takes longer than the longest; not run at all; left out of builds."""
    met = replace(STREAK, clean_trials=9_000, clean_days=90)
    daily = Pace(days=28, trials=28, trial_days=28)
    assert predict(assess_exit(met, ALPHA, POLICY), daily, longest_days=90).outlook is Outlook.DUE
    slow = predict(assess_exit(STREAK, ALPHA, POLICY), Pace(days=28, trials=4, trial_days=4), longest_days=90)
    assert slow.outlook is Outlook.TOO_SLOW
    assert "at 1 trunk trials a week that takes" in slow.sentence
    none = predict(assess_exit(STREAK, ALPHA, POLICY), Pace(days=28, trials=0, trial_days=0), longest_days=90)
    assert none.outlook is Outlook.TOO_SLOW
    assert none.sentence.endswith("and has not run on trunk in 28 days.")
    absent = predict(assess_exit(replace(met, presence=0.5), ALPHA, POLICY), daily, longest_days=90)
    assert absent.outlook is Outlook.TOO_SLOW
    assert absent.sentence.endswith("left out of too many builds.")


def test_by_hand_without_a_failure_nothing_speaks_against_it() -> None:
    """A test that a person quarantined and that never failed is on its way from the first day."""
    streak = Streak(
        failures=0, trials=0, clean_trials=0, clean_days=0, failing_days=0, days=0, longest_gap_days=0, presence=1.0,
        by_hand=True,
    )  # fmt: skip
    found = predict(assess_exit(streak, ALPHA, POLICY), Pace(days=28, trials=560, trial_days=28), longest_days=90)
    assert found.outlook is Outlook.ON_ITS_WAY
