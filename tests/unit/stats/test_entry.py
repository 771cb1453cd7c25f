"""The entry test computes what its definition says, and moves in the promised direction."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quarantine.stats.binomial import IntArray
from quarantine.stats.entry import FRESH_WEIGHT, LOOK_BACK_COUNTS, LOOK_BACK_WEIGHT, nearest_window

P0 = 0.02
ALPHA = 0.05


def _ints(values: list[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _nearness(heads: list[int], onsets: list[int], ready: list[int] | None = None) -> float:
    window = nearest_window(
        _ints(heads), _ints(onsets), p0=P0, alpha=ALPHA, ready=None if ready is None else _ints(ready)
    )
    return math.inf if window is None else window.p_value / window.limit


def _definition(heads: list[int], onsets: list[int]) -> float:
    """The rule of the design, window by window, with the oracle for each p-value."""
    best = math.inf
    for m, start in enumerate([0, *heads]):
        after = [number for number in onsets if number > m]
        for k in range(2, len(after) + 1):
            if m > 0 and k not in (2, 3, 4, 6, 8, 12, 16, 24):
                continue
            n = heads[after[k - 1] - 1] - start
            p = stats.binomtest(k, n, P0, alternative="greater").pvalue
            limit = ALPHA * (0.5 if m == 0 else 0.3) / ((m + k) * (m + k - 1))
            best = min(best, p / limit)
    return best


@st.composite
def _evidence(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    gaps = draw(st.lists(st.integers(1, 200), min_size=1, max_size=14))
    heads = list(np.cumsum(gaps))
    onsets = [number for number in range(1, len(heads) + 1) if draw(st.booleans())]
    return [int(head) for head in heads], onsets


@settings(max_examples=150)
@given(_evidence())
def test_the_vectorised_windows_are_those_of_the_definition(evidence: tuple[list[int], list[int]]) -> None:
    """The nearest window found at once equals the least p / limit over all windows judged one by one."""
    heads, onsets = evidence
    assert _nearness(heads, onsets) == pytest.approx(_definition(heads, onsets), rel=1e-9)


@settings(max_examples=300)
@given(_evidence(), st.data())
def test_dropping_an_onset_never_brings_a_test_closer(
    evidence: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    """With one onset fewer, among the same heads, the nearest window is no nearer."""
    heads, onsets = evidence
    if not onsets:
        return
    dropped = data.draw(st.sampled_from(onsets))
    fewer = [number for number in onsets if number != dropped]
    assert _nearness(heads, fewer) >= _nearness(heads, onsets) * (1 - 1e-12)


@settings(max_examples=300)
@given(_evidence(), st.integers(0, 3_000), st.integers(1, 500))
def test_more_clean_trials_never_bring_a_test_closer(
    evidence: tuple[list[int], list[int]], after: int, clean: int
) -> None:
    """Clean trials put in anywhere only lengthen windows."""
    heads, onsets = evidence
    later = [head + clean if head > after else head for head in heads]
    assert _nearness(later, onsets) >= _nearness(heads, onsets) * (1 - 1e-12)


@settings(max_examples=200)
@given(_evidence(), st.data())
def test_conditions_only_hold_a_test_back(evidence: tuple[list[int], list[int]], data: st.DataObject) -> None:
    """Whatever the conditions, and the later they hold, the nearest window is no nearer than without them."""
    heads, onsets = evidence
    ready = data.draw(
        st.lists(st.integers(0, len(onsets)), min_size=len(heads) + 1, max_size=len(heads) + 1).map(sorted)
    )
    later = [min(position + 1, len(onsets)) for position in ready]
    free, held, longer = (_nearness(heads, onsets, r) for r in (None, ready, later))
    assert free <= held * (1 + 1e-12)
    assert held <= longer * (1 + 1e-12)


def test_the_weights_sum_to_one() -> None:
    """Half for the beginning, and 0.3 times 5/3 for the heads: exactly alpha in all."""
    fresh = FRESH_WEIGHT * math.fsum(1 / (k * (k - 1)) for k in range(2, 100_000))
    assert fresh == pytest.approx(0.5, abs=1e-5)
    assert math.fsum(1 / LOOK_BACK_COUNTS) == pytest.approx(5 / 3, abs=1e-11)
    for k in (2, 3, 12):
        assert math.fsum(1 / ((m + k) * (m + k - 1)) for m in range(1, 100_000)) == pytest.approx(1 / k, abs=2e-5)
    assert math.isclose(LOOK_BACK_WEIGHT * 5 / 3, 0.5)
    assert [int(k) for k in LOOK_BACK_COUNTS[:8]] == [2, 3, 4, 6, 8, 12, 16, 24]
    assert all(a < b for a, b in pairwise(LOOK_BACK_COUNTS))


def test_one_onset_is_never_enough() -> None:
    """A single confirmed onset has no window, however early it comes."""
    assert nearest_window(_ints([1]), _ints([1]), p0=1e-9, alpha=0.9) is None
    assert nearest_window(_ints([]), _ints([]), p0=1e-9, alpha=0.9) is None


def test_a_window_that_waits_for_its_conditions_says_what_it_saw() -> None:
    """Held until the fifth onset after its start, the window of four counts the trials up to there and says five."""
    heads = _ints([5_100, 5_101, 5_200, 5_300, 5_400, 5_500])
    window = nearest_window(heads, _ints([2, 3, 4, 5, 6]), p0=1e-4, alpha=ALPHA, ready=_ints([4] * 7))
    assert window is not None
    assert (window.start, window.count, window.seen, window.last, window.trials) == (1, 4, 5, 4, 400)
    assert window.charge == 5
    assert window.limit == pytest.approx(ALPHA * 0.3 / 20)
    assert window.is_met


def test_a_window_whose_conditions_never_hold_is_not_judged() -> None:
    """Conditions that hold at no onset leave nothing to judge."""
    assert nearest_window(_ints([1, 2]), _ints([1, 2]), p0=P0, alpha=ALPHA, ready=_ints([2, 2, 2])) is None


def test_a_test_that_became_flaky_does_not_hide_behind_clean_trials() -> None:
    """After 5,000 clean trials a 10 % flake is entered by its fifth onset; from the beginning alone it would not be."""
    heads = [5_000 + 10 * i for i in range(1, 6)]
    window = nearest_window(_ints(heads), _ints([1, 2, 3, 4, 5]), p0=0.001, alpha=1e-5)
    assert window is not None
    assert window.is_met
    assert (window.start, window.count, window.trials) == (1, 4, 40)
    assert stats.binomtest(5, heads[-1], 0.001, alternative="greater").pvalue > 0.1
