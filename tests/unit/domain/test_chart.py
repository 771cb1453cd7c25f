"""The chart of a weekly report in numbers and words."""

import json

import pytest

from quarantine.domain.chart import MOST_WEEKS, SizeChart, SizeWeek

GROWN = SizeChart(
    "Ledger", (SizeWeek("5 Jan", 3, 3, 0), SizeWeek("12 Jan", 1_200, 1_199, 2), SizeWeek("19 Jan", 9, 1, 4))
)


def test_a_chart_comes_back_from_json() -> None:
    """What is stored is what is drawn later."""
    assert SizeChart.from_json(json.loads(json.dumps(GROWN.to_json()))) == GROWN


def test_a_chart_is_told_in_words() -> None:
    """Whoever does not see it learns how it began, what was most and how it stands."""
    assert GROWN.alternative == (
        "Ledger. 5 Jan to 19 Jan: 3 tests at first, at most 1,200 (12 Jan), 9 now; "
        "in the last week 1 entered and 4 left."
    )
    assert SizeChart("Ledger", GROWN.weeks[:1]).alternative == "Ledger. 5 Jan: 3 tests; 3 entered and 0 left."


@pytest.mark.parametrize(
    "weeks",
    [(), (SizeWeek("x", 1, 0, 0),) * (MOST_WEEKS + 1), (SizeWeek("x", 1, -1, 0),)],
    ids=["none", "many", "below"],
)
def test_what_cannot_be_drawn_is_refused(weeks: tuple[SizeWeek, ...]) -> None:
    """No week, more than half a year, or fewer than no test is a mistake of whoever made the chart."""
    with pytest.raises(ValueError, match="a chart"):
        SizeChart("x", weeks)
