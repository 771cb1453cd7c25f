"""Closed forms against scipy's oracles, and identities that hold without any oracle."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quarantine.stats.binomial import (
    binomtest_p,
    clopper_pearson,
    lower_bound,
    poisson_binomial_tail,
    upper_bound,
    upper_tail,
)

COUNTS = [(1, 1), (1, 50), (2, 2), (2, 9), (3, 700), (5, 40), (7, 7), (12, 5_000), (40, 100_000)]


@pytest.mark.parametrize("p0", [1e-5, 0.001, 0.05, 0.4])
def test_the_tail_equals_binomtest(p0: float) -> None:
    """Every vectorised tail is the p-value that binomtest gives, down to the smallest."""
    k, n = np.array(COUNTS, dtype=np.int64).T
    oracle = [stats.binomtest(int(a), int(b), p0, alternative="greater").pvalue for a, b in COUNTS]
    np.testing.assert_allclose(upper_tail(k, n, p0), oracle, rtol=1e-9)
    np.testing.assert_allclose([binomtest_p(a, b, p0) for a, b in COUNTS], oracle, rtol=0)


@pytest.mark.parametrize(("k", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (3, 4_000)])
def test_the_interval_is_that_of_clopper_and_pearson(k: int, n: int) -> None:
    """The interval agrees with binomtest's exact one, and its ends with the beta quantiles of the design."""
    oracle = stats.binomtest(k, n).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose(clopper_pearson(k, n), (oracle.low, oracle.high), atol=1e-9)
    if k:
        assert lower_bound(k, n, 0.01) == pytest.approx(stats.beta.ppf(0.01, k, n - k + 1))
    if k < n:
        assert upper_bound(k, n, 0.01) == pytest.approx(stats.beta.ppf(0.99, k + 1, n - k))


def test_nothing_tried_says_nothing() -> None:
    """Without a trial the rate may be anything."""
    assert clopper_pearson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize(("k", "n"), [(2, 1), (-1, 5)])
def test_impossible_counts_crash(k: int, n: int) -> None:
    """More successes than trials is a programmer's error."""
    with pytest.raises(ValueError, match="no count"):
        lower_bound(k, n, 0.05)


@settings(max_examples=100)
@given(st.integers(1, 400), st.data())
def test_the_lower_bound_is_what_the_count_just_refutes(n: int, data: st.DataObject) -> None:
    """At the bound itself, seeing k or more of n has exactly the error's chance."""
    k = data.draw(st.integers(1, n))
    bound = lower_bound(k, n, 0.01)
    assert stats.binom.sf(k - 1, n, bound) == pytest.approx(0.01, rel=1e-6)


def test_the_poisson_binomial_tail_by_enumeration() -> None:
    """The tail equals the sum over all outcomes of seven unequal coins, at every count."""
    rates = np.array([0.01, 0.2, 0.2, 0.5, 0.03, 0.9, 0.0])
    exact = np.zeros(len(rates) + 1)
    for outcome in product((0, 1), repeat=len(rates)):
        exact[sum(outcome)] += float(np.prod(np.where(outcome, rates, 1 - rates)))
    for at_least in range(len(rates) + 1):
        assert poisson_binomial_tail(rates, at_least) == pytest.approx(exact[at_least:].sum(), abs=1e-15)
    assert poisson_binomial_tail(rates, len(rates) + 1) == 0


def test_the_poisson_binomial_tail_of_equal_rates_is_binomial() -> None:
    """Equal rates give the binomial tail, also where it is far below the rounding of 1."""
    assert poisson_binomial_tail(np.full(300, 1e-4), 9) == pytest.approx(stats.binom.sf(8, 300, 1e-4), rel=1e-9)
