"""The geometry of the drawings."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.stats.binomial import clopper_pearson
from quarantine.web import figures

RATES = st.floats(1e-12, 1.0)


@given(st.integers(1, 50), st.integers(50, 100_000), st.floats(1e-5, 0.05))
def test_an_interval_is_drawn_in_order_and_inside(seen: int, trials: int, p0: float) -> None:
    """Lower bound, rate and upper bound stand in that order, within the drawing, whatever the rate."""
    drawn = figures.interval_figure(clopper_pearson(seen, trials), seen / trials, p0)
    assert 0 <= drawn.low <= drawn.seen <= drawn.high <= 100
    assert 0 < drawn.tolerated < 100
    assert [tick.x for tick in drawn.ticks] == sorted(tick.x for tick in drawn.ticks)
    assert (drawn.ticks[0].x, drawn.ticks[-1].x) == (0, 100)


def test_equal_ratios_are_equally_far_apart() -> None:
    """The axis is logarithmic: 0.1 % and 1 % are as far from each other as 1 % and 10 %."""
    drawn = figures.interval_figure((0.001, 0.1), 0.01, 0.001)
    assert (drawn.low, drawn.seen, drawn.high, drawn.tolerated) == (25, 50, 75, 25)
    assert [tick.label for tick in drawn.ticks] == ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"]
    assert drawn.alternative == "seen 1 %, 95 % interval 0.1 % to 10 %, tolerated 0.1 %"


def test_a_lower_bound_of_nothing_is_drawn_at_the_start() -> None:
    """Zero has no place on a logarithmic axis."""
    assert figures.interval_figure((0.0, 0.5), 0.0, 0.001).low == 0


@given(st.floats(0, 1), st.floats(1e-12, 0.5))
def test_the_bar_of_the_evidence_passes_its_limit_exactly_when_the_p_value_does(p_value: float, limit: float) -> None:
    """Also for a p-value too small for a float."""
    drawn = figures.strength_figure(p_value, limit)
    assert 0 <= drawn.width <= 100
    assert 0 < drawn.limit <= 100
    assert drawn.is_reached == (p_value <= limit)
    if not math.isclose(p_value, limit, rel_tol=0.01):
        assert (drawn.width >= drawn.limit) == drawn.is_reached or drawn.limit < 0.5


@pytest.mark.parametrize(
    ("have", "need", "width"), [(0, 324, 0.0), (162, 324, 50.0), (324, 324, 100.0), (400, 324, 100.0), (0, 0, 100.0)]
)
def test_progress_is_the_share_of_what_is_needed(have: int, need: int, width: float) -> None:
    """Nothing needed is all there."""
    assert figures.Progress("x", have, need).width == width


@pytest.mark.parametrize(
    ("part", "whole", "width"), [(0, 10, 0.0), (1, 100_000, 1.0), (50, 100, 50.0), (10, 10, 100.0), (1, 0, 0.0)]
)
def test_a_small_share_can_still_be_seen(part: int, whole: int, width: float) -> None:
    """One quarantined test of a hundred thousand has its place in the bar."""
    assert figures.share_width(part, whole) == width


def test_a_strip_tells_each_build_by_shape_letter_and_words() -> None:
    """Colour alone says nothing: every kind has its letter or its shape, and its title."""
    build = {"build": "4102", "lane": "trunk", "received_at": "2026-01-05T16:00:00+00:00"}
    outcomes = ("P", "F", "E", "S", "-", "FP", "EP", "PF", "SP", "FS")
    strip = [
        {"build": number, "outcome": outcome, "lane": "trunk", "run": number % 2 == 0, "counted": outcome == "F"}
        for number, outcome in enumerate(outcomes)
    ]
    cells = figures.strip_cells(strip, {"1": build})
    assert [(cell.kind, cell.letter) for cell in cells] == [
        ("passed", ""), ("failed", "F"), ("errored", "E"), ("skipped", "S"), ("absent", ""), ("flaky", "R"),
        ("flaky", "R"), ("failed", "F"), ("passed", ""), ("skipped", "S"),
    ]  # fmt: skip
    assert cells[1].title == "build 4102: failed, trunk rerun, a counted trial, 2026-01-05 16:00"
    assert cells[0].title == "build 0: passed, trunk run"
    assert [cell.is_rerun for cell in cells[:2]] == [False, True]
    assert figures.strip_words(cells) == (
        "the last 10 builds, the oldest first: 2 passed, 2 failed, 1 errored, 2 passed on a retry, 2 skipped, "
        "1 in which it did not run"
    )
