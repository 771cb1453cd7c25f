"""The shares of the error budget sum to no more than the budget, whatever is added."""

import math

import pytest

from quarantine.stats.multiplicity import pair_alpha, reserve_size, restarted_alpha, streak_level


@pytest.mark.parametrize("reserve", [1, 4, 40])
def test_the_shares_of_any_number_of_pairs_stay_within_the_budget(reserve: int) -> None:
    """Partial sums never pass B, and come close to it when the reserves fill."""
    total, largest = 0.0, 0.0
    for ordinal in range(1, 20_000):
        total += pair_alpha(ordinal, budget=0.5, reserve=reserve)
        largest = max(largest, total)
    assert largest <= 0.5 * (1 + 1e-12)
    assert largest > 0.45


def test_full_reserves_share_halves_of_what_is_left() -> None:
    """The first reserve gets B/2, the i-th overflow B/2^(i+1), each reserve four times the last."""
    reserve = 8
    ends = [8, 8 + 32, 8 + 32 + 128]
    sums = [math.fsum(pair_alpha(i, budget=0.5, reserve=reserve) for i in range(1, end + 1)) for end in ends]
    assert sums == pytest.approx([0.25, 0.25 + 0.125, 0.25 + 0.125 + 0.0625])
    assert pair_alpha(8, budget=0.5, reserve=8) == 0.25 / 8
    assert pair_alpha(9, budget=0.5, reserve=8) == 0.125 / 32


def test_a_project_of_six_thousand_pairs_has_the_alpha_of_the_design() -> None:
    """6,250 pairs in the first build give each an alpha of 1e-5."""
    assert pair_alpha(1, budget=0.5, reserve=reserve_size(6_250)) == pytest.approx(1e-5)


def test_restarts_after_exits_sum_to_alpha_again() -> None:
    """Before any exit alpha is whole; what restarts may spend sums to alpha over all exits."""
    assert restarted_alpha(1e-5, 0) == 1e-5
    assert restarted_alpha(1e-5, 1) == 0.5e-5
    spent = math.fsum(restarted_alpha(1e-5, r) for r in range(1, 5_000))
    assert 0.999e-5 < spent <= 1e-5


@pytest.mark.parametrize(("ordinal", "reserve"), [(0, 4), (1, 0)])
def test_counting_starts_at_one(ordinal: int, reserve: int) -> None:
    """A pair or a reserve numbered below one is a programmer's error."""
    with pytest.raises(ValueError, match="from 1"):
        pair_alpha(ordinal, budget=0.5, reserve=reserve)


def test_empty_builds_and_zeroth_attempts_crash() -> None:
    """A reserve from no pairs, or attempt zero, is a programmer's error."""
    with pytest.raises(ValueError, match="at least one"):
        reserve_size(0)
    with pytest.raises(ValueError, match="from 1"):
        streak_level(0.1, 0)
