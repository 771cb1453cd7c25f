"""The cap, the date of a flake, and how a quarantined test still bites."""

from dataclasses import replace

import pytest
from scipy import stats

from quarantine.policy.cap import assess_cap
from quarantine.policy.criteria import Policy
from quarantine.policy.regressions import alarm_reruns, assess_origin

POLICY = Policy()


@pytest.mark.parametrize(("tests", "limit"), [(0, 10), (499, 10), (500, 10), (550, 11), (549, 10), (12_345, 246)])
def test_the_cap_is_ten_or_two_percent(tests: int, limit: int) -> None:
    """Small suites have ten slots, large ones two in a hundred tests; the last slot is room, none left is not."""
    assert assess_cap(0, tests, POLICY).limit == limit
    assert assess_cap(limit - 1, tests, POLICY).has_room
    full = assess_cap(limit, tests, POLICY)
    assert not full.has_room
    assert full.sentence == f"{limit} of the {limit} slots for a suite of {tests:,} tests are taken."


def test_the_cap_is_a_knob() -> None:
    """One slot is the least there is."""
    assert assess_cap(0, 10, replace(POLICY, cap_slots=1)).sentence.startswith("0 of the 1 slot for a suite of 10")


def test_a_flake_is_dated_to_the_change_it_came_with() -> None:
    """Four onsets in forty trials after five hundred clean ones: no flake of that rate would have kept so still."""
    found = assess_origin(4, 40, 0, 500, POLICY)
    assert found.is_met
    assert found.lower == pytest.approx(stats.beta.ppf(0.05, 4, 37))
    assert found.chance == pytest.approx((1 - found.lower) ** 500)
    assert found.sentence.endswith("it became flaky with that change.")


@pytest.mark.parametrize(
    ("onsets", "trials", "earlier", "clean"), [(4, 40, 0, 30), (4, 40, 1, 5_000), (0, 40, 0, 5_000)]
)
def test_a_flake_that_may_be_older_has_no_date(onsets: int, trials: int, earlier: int, clean: int) -> None:
    """Too few clean trials before, an onset before, or none since: nobody is named."""
    assert not assess_origin(onsets, trials, earlier, clean, POLICY).is_met


def test_an_earlier_onset_is_said() -> None:
    """The sentence says that it flaked before."""
    assert assess_origin(4, 40, 2, 10, POLICY).sentence.startswith("It flaked 2 times before")


def test_alarms_of_a_quarantined_test_are_bounded() -> None:
    """The more it fails by itself, and the less is known of its reruns, the more failed reruns an alarm takes."""
    known = alarm_reruns(20, 5, 100, POLICY)
    assert known == 2
    assert 20 * stats.beta.ppf(0.95, 6, 95) ** known <= POLICY.alarms_per_week
    assert alarm_reruns(20, 50, 100, POLICY) > known
    assert alarm_reruns(0.2, 5, 100, POLICY) == 1
    assert 20 * 0.95 ** alarm_reruns(20, 0, 0, POLICY) <= POLICY.alarms_per_week
