"""Binomial tails and bounds in closed form, vectorised; scipy.stats is their oracle and gives what people see."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

__all__ = [
    "FloatArray",
    "IntArray",
    "binomtest_p",
    "clopper_pearson",
    "lower_bound",
    "poisson_binomial_tail",
    "upper_bound",
    "upper_tail",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def upper_tail(k: IntArray, n: IntArray, p: float) -> FloatArray:
    """Return `P(Bin(n, p) >= k)` elementwise for 1 <= k <= n: the regularised incomplete beta `I_p(k, n - k + 1)`.

    Equals `scipy.stats.binomtest(k, n, p, alternative="greater").pvalue` and costs under a microsecond an element.
    """
    return np.asarray(special.betainc(k.astype(np.float64), (n - k + 1).astype(np.float64), p), dtype=np.float64)


def binomtest_p(k: int, n: int, p: float) -> float:
    """Return the one-sided p-value that people are shown: `binomtest(k, n, p, alternative="greater")`."""
    test: Any = stats.binomtest(k, n, p, alternative="greater")
    return float(test.pvalue)


def lower_bound(k: int, n: int, error: float) -> float:
    """Return the largest rate that `k` of `n` refutes at level `error`: `beta.ppf(error, k, n - k + 1)`, 0 for k = 0.

    Clopper and Pearson, Biometrika 26 (1934). A true rate lies below it with probability at most `error`.
    """
    _check_counts(k, n)
    return 0.0 if k == 0 else float(special.betaincinv(k, n - k + 1, error))


def upper_bound(k: int, n: int, error: float) -> float:
    """Return the upper bound matching `lower_bound`: `beta.ppf(1 - error, k + 1, n - k)`, 1 for k = n."""
    _check_counts(k, n)
    return 1.0 if k == n else float(special.betaincinv(k + 1, n - k, 1 - error))


def clopper_pearson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided interval (lower, upper) of a rate seen `k` times in `n` trials; (0, 1) for n = 0."""
    error = (1 - confidence) / 2
    return lower_bound(k, n, error), upper_bound(k, n, error)


def poisson_binomial_tail(rates: FloatArray, at_least: int) -> float:
    """Return `P(X >= at_least)`, X the number of successes among independent trials with the given `rates`.

    Those of the most frequent rate are one binomial number of successes; one pass over the others with `at_least` live
    states and an absorbing last one gives theirs, and `P(A + B >= s) = P(A >= s) + sum over a < s of P(A = a)
    P(B >= s - a)`. So small tails are summed rather than obtained by subtraction. Cost: one vector operation of length
    `at_least` for each rate that is not the most frequent one.
    """
    if at_least <= 0:
        return 1.0
    values, counts = np.unique(rates, return_counts=True)
    if not len(values):
        return 0.0
    common = int(np.argmax(counts))
    states = np.zeros(at_least + 1)
    states[0] = 1.0
    for rate, count in zip(np.delete(values, common), np.delete(counts, common), strict=True):
        for _ in range(count):
            moved = states[:-1] * rate
            states[:-1] -= moved
            states[1:] += moved
    enough = max(0, at_least - int(counts[common]))  # with fewer of the others even all of those are too few
    missing = np.arange(at_least - enough, 0, -1)
    rest = upper_tail(missing, np.full(len(missing), counts[common]), float(values[common]))
    return float(states[-1] + states[enough:-1] @ rest)


def _check_counts(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no count: it takes 0 <= k <= n")
