"""Leaving quarantine, and probation after it."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quarantine.policy.criteria import Policy
from quarantine.policy.evidence import recompute
from quarantine.policy.exit import Streak, assess_exit
from quarantine.policy.probation import assess_probation

POLICY = Policy()
ALPHA = 1e-5
MENDED = Streak(
    failures=6,
    trials=60,
    clean_trials=600,
    clean_days=20,
    failing_days=5,
    days=8,
    longest_gap_days=2,
    presence=1.0,
)


def test_a_mended_test_is_let_out_with_its_numbers() -> None:
    """P1, its limit and the chance of the streak are those of the design, binomtest agreeing."""
    found = assess_exit(MENDED, ALPHA, POLICY)
    assert found.is_met
    assert found.rate == pytest.approx(min(0.05, stats.beta.ppf(0.01, 6, 55)))
    assert found.share == pytest.approx(stats.beta.ppf(0.05, 5, 4))
    assert found.level == pytest.approx(ALPHA / 10 / 2)
    assert found.p_value == pytest.approx(stats.binomtest(0, 600, found.rate, alternative="less").pvalue)
    assert found.p_value <= found.level
    assert found.lacking == ()
    assert "600 clean trunk trials on 20 clean days in a row" in found.sentence


def test_what_is_lacking_is_counted_in_one_sentence() -> None:
    """Trials, days and presence are named with their numbers."""
    found = assess_exit(replace(MENDED, clean_trials=100, clean_days=1, presence=0.5), ALPHA, POLICY)
    assert not found.is_met
    more = found.trials_needed - 100
    assert found.lacking == (
        f"{more} more clean trunk trials",
        "8 more clean days",
        "a place in 66.7 % of the trunk builds (it ran in 50 %)",
    )
    assert found.sentence.startswith(
        f"Has 100 clean trunk trials on 1 clean day; needs {more} more clean trunk trials, "
    )


def test_the_thresholds_are_sharp() -> None:
    """One trial or one day less keeps it in; two thirds of the builds exactly lets it out."""
    found = assess_exit(MENDED, ALPHA, POLICY)
    just = replace(MENDED, clean_trials=found.trials_needed, clean_days=found.days_needed, presence=2 / 3)
    assert assess_exit(just, ALPHA, POLICY).is_met
    for short in (
        replace(just, clean_trials=just.clean_trials - 1),
        replace(just, clean_days=just.clean_days - 1),
        replace(just, presence=0.66),
    ):
        assert not assess_exit(short, ALPHA, POLICY).is_met


def test_leaving_takes_stronger_evidence_than_entering() -> None:
    """The chance of a streak that lets a test out is below a tenth of what its entry might spend, at every streak."""
    for ordinal in range(1, 30):
        found = assess_exit(replace(MENDED, ordinal=ordinal), ALPHA, POLICY)
        assert found.level <= ALPHA / 10 / 2
        assert (1 - found.rate) ** found.trials_needed <= found.level < ALPHA


def test_by_hand_refutes_five_percent() -> None:
    """Somebody's word leaves no record to learn a rate from."""
    by_hand = Streak(
        failures=0,
        trials=0,
        clean_trials=0,
        clean_days=0,
        failing_days=0,
        days=0,
        longest_gap_days=0,
        presence=1.0,
        by_hand=True,
    )
    found = assess_exit(by_hand, ALPHA, POLICY)
    assert found.rate == 0.05
    assert found.trials_needed == 283


def test_counts_that_disagree_do_not_stop_an_ingest() -> None:
    """More failures than trials, or failing days than days, read as all of them; p1 stays at its ceiling."""
    odd = assess_exit(replace(MENDED, failures=61, failing_days=9), ALPHA, POLICY)
    all_failed = assess_exit(replace(MENDED, failures=61, trials=61, failing_days=9, days=9), ALPHA, POLICY)
    assert (odd.rate, odd.share, odd.days_needed) == (0.05, all_failed.share, all_failed.days_needed)


@settings(max_examples=200)
@given(st.integers(0, 3_000), st.integers(0, 120), st.integers(1, 5), st.integers(1, 500), st.integers(1, 60))
def test_a_longer_streak_never_hinders_and_a_later_one_never_helps(
    clean: int, days: int, ordinal: int, more: int, more_days: int
) -> None:
    """More clean trials and days keep a release; a higher streak number never makes one."""
    now = replace(MENDED, clean_trials=clean, clean_days=days, ordinal=ordinal)
    longer = replace(now, clean_trials=clean + more, clean_days=days + more_days)
    later = replace(now, ordinal=ordinal + 1)
    released = assess_exit(now, ALPHA, POLICY).is_met
    assert assess_exit(longer, ALPHA, POLICY).is_met >= released
    assert assess_exit(later, ALPHA, POLICY).is_met <= released


def test_exit_evidence_recomputes() -> None:
    """What is stored with the decision gives it again, and shows what was changed."""
    stored = json.loads(json.dumps(assess_exit(MENDED, ALPHA, POLICY).to_json()))
    assert recompute(stored) == ()
    stored["inputs"]["streak"]["clean_trials"] = 10
    assert any(phrase.startswith("is_met") for phrase in recompute(stored))


def test_a_streak_of_a_still_flaky_test_is_as_rare_as_stated() -> None:
    """At a 10 % flake, whole streaks that suffice come up less often than alpha_exit plus the one percent of p1."""
    rng = np.random.default_rng(3)
    released, replicas, rate, loose = 0, 4_000, 0.1, 0.05
    for _ in range(replicas):
        trials = int(rng.negative_binomial(4, rate)) + 4
        needed = assess_exit(replace(MENDED, failures=4, trials=trials, clean_trials=0), loose, POLICY).trials_needed
        released += rng.random() < (1 - rate) ** needed
    assert released / replicas <= loose / 10 + 0.01


@pytest.mark.parametrize(
    ("onsets", "trials", "days", "rate", "met", "over"),
    [
        (0, 10, 1, 0.05, False, False),
        (1, 10, 1, 0.05, False, False),
        (2, 10, 1, 0.05, True, False),
        (1, 1_500, 40, 0.05, False, True),
        (0, 60, 30, 0.05, False, True),
        (0, 59, 30, 0.05, False, False),
        (0, 60, 29, 0.05, False, False),
        (2, 2_000, 40, 0.05, False, True),
        (5, 30, 3, 0.001, True, False),
    ],
)
def test_probation(onsets: int, trials: int, days: int, rate: float, *, met: bool, over: bool) -> None:
    """Two onsets in ten trials send a 5 % flake back; thirty days and 3/p1 clean trials end its probation."""
    found = assess_probation(onsets, trials, days, rate, POLICY)
    assert (found.is_met, found.is_over) == (met, over)
    q, p0 = max(rate, 0.003), 0.001
    assert found.ratio == pytest.approx((q / p0) ** onsets * ((1 - q) / (1 - p0)) ** (trials - onsets))
    assert recompute(json.loads(json.dumps(found.to_json()))) == ()


def test_by_hand_without_a_failing_day_asks_for_the_least_clean_days() -> None:
    """There is no pattern of failing days to wait out; with one failing day there is."""
    fresh = replace(MENDED, by_hand=True, failures=0, trials=0, failing_days=0, days=0, longest_gap_days=0)
    assert assess_exit(fresh, 0.01, POLICY).days_needed == POLICY.exit_days
    once = replace(fresh, failures=1, trials=10, failing_days=1, days=5)
    assert assess_exit(once, 0.01, POLICY).days_needed > POLICY.exit_days
