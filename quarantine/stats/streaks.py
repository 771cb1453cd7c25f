"""What a clean streak must be worth before a test is let back in.

H0 of an exit: still flaky at rate p1 or more. A streak of m clean trials has chance `(1 - p1)^m` under it at most,
which is `binomtest(0, m, p1, alternative="less").pvalue`. p1 is itself a lower bound, above the true rate with
probability `RATE_ERROR`: the error of a release is therefore alpha_exit *plus about one percent*.
"""

import math

from quarantine.stats.binomial import lower_bound

__all__ = [
    "DAYS_ERROR",
    "RATE_CEILING",
    "RATE_ERROR",
    "clean_days_needed",
    "clean_trials_needed",
    "failing_day_share",
    "likelihood_ratio",
    "rate_to_refute",
    "straight_reruns_needed",
]

RATE_ERROR = 0.01
DAYS_ERROR = 0.05
RATE_CEILING = 0.05
"""The largest p1: no test is released on fewer clean trials than a 5 % flake would need."""


def rate_to_refute(failures: int, trials: int, p0: float) -> float:
    """Return `p1 = min(0.05, max(p0, beta.ppf(0.01, k, n - k + 1)))`, k failed of n trunk trials before the streak."""
    return min(RATE_CEILING, max(p0, lower_bound(failures, trials, RATE_ERROR)))


def clean_trials_needed(rate: float, level: float) -> int:
    """Return the smallest m >= 1 with `(1 - rate)^m <= level`, for 0 < rate < 1 and 0 < level < 1."""
    _check_open("rate", rate)
    _check_open("level", level)
    guess = max(1, math.floor(math.log(level) / math.log1p(-rate)) - 1)
    while (1 - rate) ** guess > level:
        guess += 1
    return guess


def failing_day_share(failing_days: int, days: int) -> float:
    """Return d1, the lower 95 % bound of the share of days (with trunk trials) on which the test failed."""
    return lower_bound(failing_days, days, DAYS_ERROR)


def clean_days_needed(
    share: float, longest_gap_days: int, *, at_least: int = 7, gaps: int = 3, at_most: int = 90
) -> int:
    """Return D: `(1 - share)^D <= 0.05`, at least `max(at_least, gaps * longest_gap_days)`, at most `at_most`.

    Args:
        share: d1, in [0, 1).
        longest_gap_days: the longest gap between two failing days, in days; 0 when there was only one.
        at_least: the floor, in days.
        gaps: how many times the longest gap has to pass in silence.
        at_most: the ceiling, in days.
    """
    patience = clean_trials_needed(share, DAYS_ERROR) if share > 0 else at_most
    return min(at_most, max(at_least, gaps * longest_gap_days, patience))


def likelihood_ratio(k: int, n: int, *, likely: float, tolerated: float) -> float:
    """Return `(q/p0)^k ((1-q)/(1-p0))^(n-k)`: how much better rate q = `likely` explains k of n than p0 = `tolerated`.

    Under p0 it reaches c with probability at most 1/c, ever (Ville's inequality); infinite when it overflows.
    """
    _check_open("likely", likely)
    _check_open("tolerated", tolerated)
    log_ratio = k * math.log(likely / tolerated) + (n - k) * (math.log1p(-likely) - math.log1p(-tolerated))
    return math.exp(log_ratio) if log_ratio < math.log(1e300) else math.inf


def straight_reruns_needed(alarms: float, failures: float, refail: float) -> int:
    """Return `r = ceil(ln(A / lambda) / ln c)`, at least 1: failed reruns in a row before a quarantined test is raised.

    With lambda = `failures` expected in a week, each rerun failing again with chance at most c = `refail` (below 1), r
    in a row happen by chance at most A = `alarms` times a week.
    """
    _check_open("refail", refail)
    if alarms >= failures:
        return 1
    return max(1, math.ceil(math.log(alarms / failures) / math.log(refail) - 1e-12))


def _check_open(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} lies strictly between 0 and 1, not at {value}")
