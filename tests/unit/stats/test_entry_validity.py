"""Proofs that the entry test keeps its level under endless looking, and that the naive variants do not."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from quarantine.stats.binomial import IntArray, upper_bound
from quarantine.stats.entry import nearest_window


def _enters(heads: list[int] | IntArray, onsets: list[int] | IntArray, p0: float, alpha: float) -> bool:
    window = nearest_window(np.asarray(heads, dtype=np.int64), np.asarray(onsets, dtype=np.int64), p0=p0, alpha=alpha)
    return window is not None and window.is_met


def _exact_chance(trials: int, p0: float, alpha: float) -> float:
    """P(ever enter) over all 2^trials onset paths, every onset confirmed at once; entered paths are not extended."""

    def chance(t: int, onsets: tuple[int, ...]) -> float:
        if t == trials:
            return 0.0
        hit = (*onsets, t + 1)
        entered = _enters(list(hit), list(range(1, len(hit) + 1)), p0, alpha)
        return p0 * (1.0 if entered else chance(t + 1, hit)) + (1 - p0) * chance(t + 1, onsets)

    return chance(0, ())


@pytest.mark.parametrize(
    ("trials", "p0", "alpha"), [(13, 0.05, 0.05), (13, 0.1, 0.5), (12, 0.2, 0.5), (12, 0.3, 0.9), (11, 0.02, 0.01)]
)
def test_exactly_no_more_than_alpha_ever_enters(trials: int, p0: float, alpha: float) -> None:
    """Summed over every path, without simulation, the chance of ever entering is positive and at most alpha."""
    chance = _exact_chance(trials, p0, alpha)
    assert 0 < chance <= alpha


@pytest.mark.parametrize(("p0", "alpha"), [(0.1, 0.5), (0.3, 0.9), (0.05, 0.1)])
def test_an_adversary_who_makes_heads_at_will_gains_nothing(p0: float, alpha: float) -> None:
    """The best adaptive choice at each trial, whether a failure that is no onset makes a head, stays within alpha.

    The adversary sees the whole past and may also withhold the chance of an onset: the exact value of the game.
    """
    trials = 8

    @cache
    def value(t: int, heads: tuple[int, ...], onsets: tuple[int, ...]) -> float:
        if t == trials:
            return 0.0
        head = (*heads, t + 1)
        onset = (*onsets, len(head))
        won = 1.0 if _enters(list(head), list(onset), p0, alpha) else value(t + 1, head, onset)
        lost = max(value(t + 1, heads, onsets), value(t + 1, head, onsets))
        return max(p0 * won + (1 - p0) * lost, lost)

    assert 0 < value(0, (), ()) <= alpha


def test_no_choice_or_order_of_confirmations_gives_more() -> None:
    """On every path, every subset of the true onsets enters only where all of them do.

    Whatever is confirmed, in whatever batches, the confirmed onsets are such a subset at each instant.
    """
    trials, p0, alpha = 8, 0.2, 0.6
    entered = 0
    for size in range(2, trials + 1):
        for heads in combinations(range(1, trials + 1), size):
            everything = _enters(list(heads), list(range(1, size + 1)), p0, alpha)
            entered += everything
            if everything:
                continue
            for part in range(2, size):
                for some in combinations(range(1, size + 1), part):
                    assert not _enters(list(heads), list(some), p0, alpha), (heads, some)
    assert entered > 20


TRIALS = 2_500
REPLICAS = 2_500


def _path(rng: np.random.Generator, p0: float, head_rate: float = 0.0) -> tuple[IntArray, IntArray]:
    """Heads (trial indices) and the numbers of those that are true onsets; P(onset | past) is exactly p0."""
    draws = rng.random(TRIALS)
    heads = np.nonzero(draws < p0 + head_rate)[0]
    return heads + 1, np.nonzero(draws[heads] < p0)[0] + 1


def _immediately(heads: IntArray, onsets: IntArray, p0: float, alpha: float) -> bool:
    return _enters(heads, onsets, p0, alpha)


def _late_in_batches(heads: IntArray, onsets: IntArray, p0: float, alpha: float) -> bool:
    """Confirmed every 500 trials, and assessed each time on the heads there are by then."""
    for now in range(500, TRIALS + 1, 500):
        known = int(np.searchsorted(heads, now, side="right"))
        if _enters(heads[:known], onsets[onsets <= known], p0, alpha):
            return True
    return False


def _selectively(heads: IntArray, onsets: IntArray, p0: float, alpha: float) -> bool:
    """Only onsets close to a neighbour are ever confirmed: an adversary who wants clusters."""
    at = heads[onsets - 1]
    gaps = np.diff(at, prepend=-TRIALS, append=3 * TRIALS)
    close = np.minimum(gaps[:-1], gaps[1:]) < 0.3 / p0
    return _enters(heads, onsets[close], p0, alpha)


def _newest_first(heads: IntArray, onsets: IntArray, p0: float, alpha: float) -> bool:
    """Confirmed at the end, the newest first, and assessed after each confirmation."""
    return any(_enters(heads, onsets[-size:], p0, alpha) for size in range(len(onsets), 1, -3))


@pytest.mark.parametrize("alpha", [0.05, 0.5])
@pytest.mark.parametrize("p0", [0.01, 0.001])
@pytest.mark.parametrize("pattern", [_immediately, _late_in_batches, _selectively, _newest_first])
@pytest.mark.parametrize("head_rate", [0.0, 0.02])
def test_at_the_tolerance_no_pattern_of_confirmation_enters_too_often(
    pattern: object, p0: float, alpha: float, head_rate: float
) -> None:
    """At p = p0 the 99.9 % upper limit of the share ever entered is below alpha, with and without real failures."""
    assert callable(pattern)
    rng = np.random.default_rng(20_240_611)
    entered = sum(bool(pattern(*_path(rng, p0, head_rate), p0, alpha)) for _ in range(REPLICAS))
    assert upper_bound(entered, REPLICAS, 0.001) <= alpha


def test_counting_at_the_confirmation_breaks_the_level() -> None:
    """The first trap: onsets indexed where their batch was confirmed look adjacent, and enter far too often."""
    rng = np.random.default_rng(5)
    p0, alpha, replicas, entered = 0.01, 0.05, 200, 0
    for _ in range(replicas):
        heads, _ = _path(rng, p0)
        batch = -(-heads // 500) * 500
        confirmed_at = batch + np.array([int(np.sum(batch[:i] == batch[i])) for i in range(len(batch))], dtype=np.int64)
        entered += _enters(confirmed_at, np.arange(1, len(heads) + 1), p0, alpha)
    assert entered / replicas > 0.8


def test_testing_after_every_report_breaks_the_level() -> None:
    """The second trap: binomtest at 1 % after each of 1000 reports ever rejects far more often than 1 % (exactly)."""
    p0, level, looks = 0.01, 0.01, 1_000
    alive, rejected = np.zeros(looks + 2), 0.0
    alive[0] = 1.0
    counts = np.arange(looks + 2)
    for n in range(1, looks + 1):
        moved = alive * p0
        alive -= moved
        alive[1:] += moved[:-1]
        rejects = stats.binom.sf(counts - 1, n, p0) <= level
        rejected += float(alive[rejects].sum())
        alive[rejects] = 0.0
    assert rejected > 3 * level
