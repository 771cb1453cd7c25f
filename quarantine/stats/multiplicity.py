"""How the project's error budget B is shared among (test, variant) pairs, however many there come to be.

The first reserve holds R pairs (four times those of the first full trunk build) and shares B/2. When it is full, the
i-th overflow opens a reserve of `R * 4^i` pairs that shares `B / 2^(i+1)`. The shares of all reserves sum to
`B/2 + B/4 + ... = B`, and within a reserve equal shares sum to the reserve's: by the union bound, which needs no
independence, the expected number of tests below the tolerance that are ever quarantined is at most B.

**After an exit** the evidence restarts with `alpha / (r (r+1))` at the r-th exit, and the sum over r is alpha again. A
test that stays below the tolerance is *ever* quarantined only if its first entry happens, which costs alpha; the later
shares are spent only by tests that were quarantined before, rightly (then the first entry was no error, and the later
ones sum to alpha) or wrongly (then the test is counted already).
"""

__all__ = ["RESERVE_FACTOR", "pair_alpha", "reserve_size", "restarted_alpha", "streak_level"]

RESERVE_FACTOR = 4
"""How many times the pairs of the first full trunk build the first reserve holds; also the growth of each next one."""


def reserve_size(first_pairs: int) -> int:
    """Return R, the pairs that the first reserve holds, given those of the first full trunk build."""
    if first_pairs < 1:
        raise ValueError(f"a full trunk build has at least one (test, variant) pair, not {first_pairs}")
    return RESERVE_FACTOR * first_pairs


def pair_alpha(ordinal: int, *, budget: float, reserve: int) -> float:
    """Return alpha of the `ordinal`-th (test, variant) pair of a project, counted from 1 in order of first appearance.

    It is a chance, so it is never above 1, however large the budget of a small project.

    Args:
        ordinal: never reused and never changed once given.
        budget: B, the expected number of false quarantines the project accepts in all.
        reserve: R, fixed once by `reserve_size` when the first full trunk build arrives.
    """
    if ordinal < 1 or reserve < 1:
        raise ValueError(f"ordinals and reserves count from 1: ordinal {ordinal}, reserve {reserve}")
    overflow, size, room = 0, reserve, reserve
    while ordinal > room:
        overflow += 1
        size *= RESERVE_FACTOR
        room += size
    return float(min(1.0, budget / 2 ** (overflow + 1) / size))


def restarted_alpha(alpha: float, exits: int) -> float:
    """Return what a pair's evidence may spend when it restarts after its `exits`-th exit; all of `alpha` before any."""
    return alpha if exits == 0 else streak_level(alpha, exits)


def streak_level(alpha: float, ordinal: int) -> float:
    """Return `alpha / (r (r + 1))`, the share of the r-th attempt (r from 1); the shares sum to alpha."""
    if ordinal < 1:
        raise ValueError(f"attempts count from 1, not {ordinal}")
    return alpha / (ordinal * (ordinal + 1))
