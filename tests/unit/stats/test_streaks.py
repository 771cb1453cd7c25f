"""Exit streaks: closed forms against scipy's oracles, and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quarantine.stats.streaks import (
    clean_days_needed,
    clean_trials_needed,
    failing_day_share,
    likelihood_ratio,
    rate_to_refute,
    straight_reruns_needed,
)


@pytest.mark.parametrize(("failures", "trials"), [(1, 30), (3, 400), (4, 20), (9, 9_000)])
def test_p1_is_the_clipped_beta_quantile(failures: int, trials: int) -> None:
    """P1 is beta.ppf(0.01, k, n-k+1), never below p0 and never above five percent."""
    raw = stats.beta.ppf(0.01, failures, trials - failures + 1)
    assert rate_to_refute(failures, trials, 0.001) == pytest.approx(float(np.clip(raw, 0.001, 0.05)))


def test_p1_without_failures_is_the_tolerance() -> None:
    """A window without trunk failures leaves only p0 to refute."""
    assert rate_to_refute(0, 100, 0.001) == 0.001


@settings(max_examples=200)
@given(st.floats(1e-4, 0.9), st.floats(1e-12, 0.9))
def test_clean_trials_are_the_least_that_binomtest_accepts(rate: float, level: float) -> None:
    """The count returned refutes the rate at the level, and one less does not."""
    needed = clean_trials_needed(rate, level)
    assert (1 - rate) ** needed <= level
    assert needed == 1 or (1 - rate) ** (needed - 1) > level
    oracle = stats.binomtest(0, needed, rate, alternative="less").pvalue
    assert oracle == pytest.approx((1 - rate) ** needed, rel=1e-9)


def test_clean_trials_of_the_common_case() -> None:
    """A 5 % flake in a project of 6,250 tests needs 283 clean trials in its first streak."""
    assert clean_trials_needed(0.05, 1e-6 / 2) == 283


def test_clean_days_follow_share_gap_and_bounds() -> None:
    """Seven days at least, three times the longest gap, what the share of failing days asks, ninety at most."""
    assert clean_days_needed(0.9, 0) == 7
    assert clean_days_needed(0.9, 4) == 12
    assert clean_days_needed(0.9, 40) == 90
    assert clean_days_needed(0.0, 1) == 90
    share = failing_day_share(4, 20)
    assert share == pytest.approx(stats.beta.ppf(0.05, 4, 17))
    assert clean_days_needed(share, 2) == math.ceil(math.log(0.05) / math.log(1 - share))


def test_a_release_of_a_flake_at_p1_is_as_rare_as_promised() -> None:
    """Exactly at p1, the chance of the needed streak is at most its level and above the level of one trial less."""
    rate, level = 0.02, 1e-3
    needed = clean_trials_needed(rate, level)
    assert stats.binom.pmf(0, needed, rate) <= level < stats.binom.pmf(0, needed - 1, rate)


def test_the_likelihood_ratio_and_its_overflow() -> None:
    """It is the ratio of the two binomial likelihoods, and infinite rather than an error when that overflows."""
    oracle = stats.binom.pmf(3, 40, 0.03) / stats.binom.pmf(3, 40, 0.001)
    assert likelihood_ratio(3, 40, likely=0.03, tolerated=0.001) == pytest.approx(oracle)
    assert likelihood_ratio(900, 900, likely=0.5, tolerated=0.001) == math.inf


def test_the_likelihood_ratio_reaches_one_hundred_rarely() -> None:
    """Under the tolerance itself, the ratio ever reaches 100 with chance at most one in a hundred (exact recursion)."""
    p0, q, trials = 0.05, 0.15, 200
    alive = np.array([1.0])
    reached = 0.0
    for n in range(1, trials + 1):
        alive = np.append(alive, 0.0) * (1 - p0) + np.insert(alive, 0, 0.0) * p0
        for k in range(n + 1):
            if alive[k] and likelihood_ratio(k, n, likely=q, tolerated=p0) >= 100:
                reached += alive[k]
                alive[k] = 0.0
    assert 0.001 < reached <= 0.01


@pytest.mark.parametrize(
    ("alarms", "failures", "refail", "reruns"), [(1, 10, 0.5, 4), (1, 8, 0.5, 3), (1, 0.5, 0.5, 1), (1, 100, 0.1, 2)]
)
def test_straight_reruns_hold_the_alarms(alarms: float, failures: float, refail: float, reruns: int) -> None:
    """As many reruns as bring the expected chance alarms of a week down to those allowed, and no more."""
    assert straight_reruns_needed(alarms, failures, refail) == reruns
    assert failures * refail**reruns <= alarms * (1 + 1e-9)


def test_rates_outside_the_open_interval_crash() -> None:
    """A rate of zero or one has no streak."""
    with pytest.raises(ValueError, match="rate lies strictly"):
        clean_trials_needed(0.0, 0.1)
    with pytest.raises(ValueError, match="level lies strictly"):
        clean_trials_needed(0.1, 1.0)
