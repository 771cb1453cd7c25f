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


@given(st.integers(0, 400), st.integers(0, 400))
def test_tries_are_squares_of_which_none_that_happened_is_lost(failed: int, passed: int) -> None:
    """As many squares as tries; of a great many the share is kept, and what happened once still has its square."""
    drawn = figures.tries_figure(failed, passed)
    total = failed + passed
    assert drawn.failed + drawn.passed == min(total, figures.MOST_SQUARES)
    assert (drawn.failed > 0, drawn.passed > 0) == (failed > 0, passed > 0)
    if total <= figures.MOST_SQUARES:
        assert (drawn.failed, drawn.passed) == (failed, passed)
    elif failed and passed:
        assert abs(drawn.failed / figures.MOST_SQUARES - failed / total) < 1 / figures.MOST_SQUARES


@pytest.mark.parametrize(
    ("tries", "words"),
    [((0, 0), "not run"), ((3, 0), "failed 3 of 3"), ((1, 1_999), "failed 1 of 2,000"), ((0, 1), "passed 1 of 1")],
)
def test_tries_are_told_in_words_with_the_true_counts(tries: tuple[int, int], words: str) -> None:
    """However few squares there are."""
    assert figures.tries_figure(*tries).words == words


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30))
def test_shares_are_pairs_of_bars_side_by_side(pairs: list[tuple[float, float]]) -> None:
    """Each as high as its share, none over another, all inside, the first attempts when there are too many."""
    drawn = figures.shares_figure([ours for ours, _ in pairs], [plain for _, plain in pairs])
    shown = pairs[: figures.MOST_ATTEMPTS]
    assert [bar.kind for bar in drawn.bars] == ["ours", "plain"] * len(shown)
    assert len(drawn.ticks) == len(shown)
    assert drawn.left_out == len(pairs) - len(shown)
    edges = [edge for bar in drawn.bars for edge in (bar.x, bar.x + bar.width)]
    assert edges == sorted(edges)
    assert all(0 < edge < 100 for edge in edges)
    for bar, share in zip(drawn.bars, (share for pair in shown for share in pair), strict=True):
        assert bar.height == pytest.approx(figures.SHARES_HEIGHT * share, abs=0.06)
        assert bar.y + bar.height == pytest.approx(figures.SHARES_HEIGHT)
    for number, tick in enumerate(drawn.ticks):
        ours, plain = drawn.bars[2 * number : 2 * number + 2]
        assert ours.x < tick.x < plain.x + plain.width
        assert tick.label == str(number + 1)


def test_shares_are_told_in_words() -> None:
    """Each bar says what it stands for, and the drawing says all of it."""
    drawn = figures.shares_figure([0.5, 0.75], [0.25, 0.5])
    assert [bar.title for bar in drawn.bars][:2] == [
        "attempt 1, with flaky gating: 50 %",
        "attempt 1, without flaky gating: 25 %",
    ]
    assert drawn.alternative == "share of tickets solved by attempt: " + "; ".join(bar.title for bar in drawn.bars)
