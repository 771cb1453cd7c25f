"""When a test began to flake: the interval holds the truth as often as it says, and says nothing where it cannot."""

import math
import random

import pytest

from quarantine.policy.birth import ERROR, assess_birth
from quarantine.stats.binomial import lower_bound


@pytest.mark.parametrize("rate", [0.02, 0.05, 0.1, 0.3, 0.7])
def test_the_interval_holds_the_birth(rate: float) -> None:
    """Thousands of tests born at a known trial: outside of what is named in at most 1 % of those that are dated."""
    dice = random.Random(round(1000 * rate))  # noqa: S311 - the same tests for the same rate
    missed = dated = 0
    for _ in range(4_000):
        clean, after = dice.randrange(0, 2_000), dice.randrange(20, 400)
        wait = next(n for n in range(100_000) if dice.random() < rate)
        onsets = sum(dice.random() < rate for _ in range(after))
        found = assess_birth(onsets, after, clean + wait)
        if found.is_dated:
            dated += 1
            missed += wait > found.reach
    assert dated > 500
    assert missed / dated <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / dated)


@pytest.mark.parametrize(("onsets", "trials"), [(1, 100), (4, 30), (9, 1_000), (30, 30)])
def test_the_reach_is_the_least_that_will_do(onsets: int, trials: int) -> None:
    """At the bound of the rate the first onset comes later in at most half of the error; one trial less is too few."""
    found = assess_birth(onsets, trials, 10**9)
    assert found.rate == lower_bound(onsets, trials, ERROR / 2)
    assert (1 - found.rate) ** found.reach <= ERROR / 2 * (1 + 1e-9)
    assert found.reach == 1 or (1 - found.rate) ** (found.reach - 1) > ERROR / 2


def test_nothing_is_said_where_nothing_can_be() -> None:
    """After one onset, or where the clean past is shorter than the wait could have been."""
    assert not assess_birth(0, 500, 500).is_dated
    short = assess_birth(5, 50, 10)
    assert not short.is_dated
    assert short.sentence.endswith("so it may always have flaked.")
    assert assess_birth(5, 50, short.reach).is_dated
    assert not assess_birth(5, 50, short.reach - 1).is_dated
