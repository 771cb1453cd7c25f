"""The figures of the design: how many onsets and trials an entry takes."""

import math

import numpy as np
import pytest

from quarantine.stats.binomial import IntArray
from quarantine.stats.entry import nearest_window

P0 = 0.001
ALPHA = 1e-5
MOST = 64


def _onsets_to_entry(heads: IntArray) -> int:
    """Return the number of onsets at which entry first happens; it never goes back, so bisection finds it."""
    low, high = 2, MOST
    while low < high:
        middle = (low + high) // 2
        window = nearest_window(heads[:middle], np.arange(1, middle + 1), p0=P0, alpha=ALPHA)
        low, high = (low, middle) if window is not None and window.is_met else (middle + 1, high)
    return low


@pytest.mark.parametrize(
    ("clean", "rate", "onsets"),
    [
        (0, 0.3, 3),
        (0, 0.1, 4),
        (0, 0.05, 5),
        (0, 0.02, 7),
        (0, 0.01, 11),
        (5_000, 0.3, 4),
        (5_000, 0.1, 5),
        (5_000, 0.05, 7),
        (5_000, 0.02, 9),
        (5_000, 0.01, 13),
    ],
)
def test_median_onsets_and_trials_to_entry(clean: int, rate: float, onsets: int) -> None:
    """The median onsets are the design's, and the median trials stay near the information floor."""
    rng = np.random.default_rng(11)
    needed, trials = [], []
    for _ in range(400):
        heads = np.cumsum(rng.geometric(rate, MOST)).astype(np.int64)
        needed.append(_onsets_to_entry(heads + clean))
        trials.append(int(heads[needed[-1] - 1]))
    divergence = rate * math.log(rate / P0) + (1 - rate) * math.log((1 - rate) / (1 - P0))
    floor = math.log(1 / ALPHA) / divergence
    assert np.median(needed) == onsets
    low, high = (1.35, 1.75) if clean else (1.0, 1.3)
    assert low <= float(np.median(trials)) / floor <= high
