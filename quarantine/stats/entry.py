"""The sequential entry test: binomial tests at onsets only, valid however often anyone looks.

**The hypothesis.** Trials t = 1, 2, ...; `X_t = 1` when trial t is an onset. H0: `P(X_t = 1 | past) <= p0` at every t.
Heads are numbered m = 1, 2, ... on arrival, confirmed or not, at trials s_m; s_0 = 0.

**The windows.** For the start m and the k-th confirmed onset after it, at trial tau: `n = tau - s_m`, `l = m + k`, and
`p = P(Bin(n, p0) >= k)`. The window is *met* when `p <= alpha * w / (l (l - 1))`, l >= 2, with

    w = 1/2 for m = 0 and every k >= 2;      w = 0.3 for m > 0 and k in K = {2, 3, 4, 6, 8, 12, 16, 24, ...}.

**Each p is super-uniform under H0.** s_m is a stopping time: whether trial t is the m-th head is known at t. Draw
`U_t` uniform and couple `X_t <= Y_t`, Y_t independent Bernoulli(p0); that is possible because the conditional chance of
an onset never exceeds p0. The wait W for the k-th onset after s_m is then no shorter than the wait V for the k-th Y: W
is dominated by a negative binomial. By definition `P(V <= n) = P(Bin(n, p0) >= k) = F(n)`, so p = F(W) >= F(V), and
`P(F(V) <= u) <= u` for any distribution function. Hence `P(p <= u) <= u`, though n was not chosen in advance.

**Endless looking is paid for once.** There is one p for each (m, k), not one for each look, so `P(ever met) <= sum of
levels`. With `sum over l >= a of 1/(l (l-1)) = 1/(a-1)`:

    m = 0:  1/2 * sum over k >= 2 of 1/(k (k-1))                        = 1/2
    m > 0:  0.3 * sum over k in K of (sum over l >= k+1 of 1/(l (l-1))) = 0.3 * sum over k in K of 1/k
            sum of 1/k over K = (1/2 + 1/4 + ...) + (1/3 + 1/6 + ...) = 1 + 2/3 = 5/3, and 0.3 * 5/3 = 1/2.

The weights sum to exactly one, so `P(ever met) <= alpha`.

**Who confirms what, and when, does not matter.** Confirmed onsets are a subset of the true ones at every instant, so
the k-th confirmed onset comes no earlier than the k-th true one; F is non-decreasing, so its p is no smaller. Any
window met on the confirmed onsets would be met on the true ones, whose chance is bounded above. The same holds for
onsets that a rule drops (one per six hours, one per change).

**Extra conditions** (72 hours, two onsets on trunk) keep this: a window is judged at the first onset at which it has k
onsets *and* the conditions hold, which is never earlier than its k-th. Judging it there, rather than discarding the
window when its k-th onset comes too soon, also keeps the test monotone: a dropped onset moves every such moment later
or leaves it, so it never brings a test closer to quarantine.

**Two traps**, each shown to break the test in tests/unit/stats/test_entry_validity.py:

1. Counting an onset at the trial of its *confirmation* instead of its head's. Failures confirmed in one batch then look
   adjacent, and the shorter wait is no longer dominated by anything.
2. Testing `binomtest(k, n)` after every report at a fixed level. The smallest p over a growing n is no p-value.
"""

from dataclasses import dataclass

import numpy as np

from quarantine.stats.binomial import IntArray, upper_tail

__all__ = ["FRESH_WEIGHT", "LOOK_BACK_COUNTS", "LOOK_BACK_WEIGHT", "Window", "nearest_window"]

FRESH_WEIGHT = 0.5
LOOK_BACK_WEIGHT = 0.3
LOOK_BACK_COUNTS: IntArray = np.sort(np.outer([2, 3], 2 ** np.arange(40, dtype=np.int64)).ravel())
"""K: the onset counts at which a window that starts at a head is judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One (start, count) window, judged.

    Attributes:
        start: m, the number of the head it starts after; 0 is the beginning of the evidence.
        count: k, the number of onsets it is judged by.
        last: the position (from 0) among the counted onsets of the one it is judged at.
        seen: counted onsets from its start to that one; at least `count`.
        trials: n, the trials after the start up to and including that onset.
        p_value: `P(Bin(n, p0) >= k)`.
        limit: the level it is charged, `alpha * w / (l (l - 1))`.
    """

    start: int
    count: int
    last: int
    seen: int
    trials: int
    p_value: float
    limit: float

    @property
    def charge(self) -> int:
        """L, the sum of start and count, by which the level shrinks."""
        return self.start + self.count

    @property
    def is_met(self) -> bool:
        """Whether the p-value reaches the limit."""
        return self.p_value <= self.limit


def nearest_window(
    heads: IntArray,
    onsets: IntArray,
    *,
    p0: float,
    alpha: float,
    ready: IntArray | None = None,
    judged_at: IntArray | None = None,
) -> Window | None:
    """Return the window with the smallest `p / limit`, or None while there is none to judge.

    Entry is due exactly when the window returned is met. Cost: one vectorised pass over starts times counts.

    Args:
        heads: int64[M], the trial indices s_1 < s_2 < ... of all heads, pending or not.
        onsets: int64[J], the numbers (from 1) of the heads that are counted onsets, increasing.
        p0: the tolerated chance of an onset per trial.
        alpha: the chance of a false entry that this (test, variant) may spend in all.
        ready: int64[M + 1], for each start 0..M the first position among `onsets` at which the extra conditions hold
            (J where they never do); None when there are none. Must not decrease when an onset is dropped.
        judged_at: int64[J + 1], for each position 0..J the first one from there on at which a window may be judged (J
            for none); None when any will do. A window that is judged later than its k-th onset stays valid.
    """
    if len(onsets) < 2:  # noqa: PLR2004 - the smallest count of any window
        return None
    before = np.searchsorted(onsets, np.arange(len(heads) + 1), side="right")
    start, count = _windows(before, len(onsets))
    last = before[start] + count - 1
    if ready is not None:
        last = np.maximum(last, ready[start])
        last = last if judged_at is None else judged_at[last]
        judged = last < len(onsets)
        start, count, last = start[judged], count[judged], last[judged]
        if not len(start):
            return None
    trials = heads[onsets[last] - 1] - np.concatenate(([0], heads))[start]
    charge = start + count
    limit = alpha * np.where(start == 0, FRESH_WEIGHT, LOOK_BACK_WEIGHT) / (charge * (charge - 1))
    p_value = upper_tail(count, trials, p0)
    best = int(np.argmin(p_value / limit))
    return Window(
        start=int(start[best]),
        count=int(count[best]),
        last=int(last[best]),
        seen=int(last[best] - before[start[best]] + 1),
        trials=int(trials[best]),
        p_value=float(p_value[best]),
        limit=float(limit[best]),
    )


def _windows(before: IntArray, total: int) -> tuple[IntArray, IntArray]:
    """Return the starts and counts to judge: every count from the beginning, the counts of K from each head."""
    fresh = np.arange(2, total + 1)
    counts = LOOK_BACK_COUNTS[: np.searchsorted(LOOK_BACK_COUNTS, total, side="right")]
    head, which = np.nonzero(counts[None, :] <= (total - before[1:])[:, None])
    start = np.concatenate((np.zeros(len(fresh), dtype=np.int64), head + 1))
    return start, np.concatenate((fresh, counts[which]))
