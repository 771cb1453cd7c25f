"""The geometry of the chart of a weekly report. Places across are percent of its width, so that it fits any page."""

from collections.abc import Sequence
from dataclasses import dataclass

from quarantine.domain.chart import SizeChart, SizeWeek

__all__ = ["HEIGHT", "WIDTH", "Mark", "SizeDrawing", "drawn"]

WIDTH = 760
"""Pixels of a picture that stands by itself; on a page it is as wide as there is room."""
HEADROOM, SIZE_HEIGHT = 26.0, 150.0
"""Pixels above the highest line of the grid, where the last value stands, and from there down to no test."""
MARK_HEIGHT, MARKS_AT, CAPTION_AT = 26.0, 44.0, 30.0
"""Pixels that the highest mark takes; how far below the line of no test its tip may come, and its caption stands."""
HEIGHT = HEADROOM + SIZE_HEIGHT + MARKS_AT + 2 * MARK_HEIGHT + 26
_LEAST_SLOTS = 6
_MOST_LINES = 4
_FILLED = 0.72
"""Of a week's room, how much its bar takes."""
_EDGE = 96.0
"""Percent from which on the middle of a bar is too near the edge for half a label."""
_SEEN = 2.0
"""Pixels that a count above nothing takes at least."""
_THOUSAND = 1_000


@dataclass(frozen=True, slots=True)
class Mark:
    """One bar: place and width in percent, top and height in pixels."""

    x: float
    width: float
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class WeekDrawing:
    """One week: its three bars, and what they say in words."""

    size: Mark
    entered: Mark
    left: Mark
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a place; `anchor` says which end of it stands there."""

    x: float
    y: float
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class SizeDrawing:
    """The whole chart.

    Attributes:
        left, right: where the bars begin and end.
        grid: the lines that say how many, and the label of each.
        ticks: names of weeks.
        last: the value of the last week.
        caption: the height of the captions.
        captions: (kind, place, text) of what goes up and what goes down.
        middle: the line from which what entered goes up and what left goes down.
    """

    left: float
    right: float
    weeks: tuple[WeekDrawing, ...]
    grid: tuple[Label, ...]
    ticks: tuple[Label, ...]
    last: Label
    caption: float
    captions: tuple[tuple[str, float, str], ...]
    middle: float
    height: float


def drawn(chart: SizeChart, *, gutter: float, ticks: int, digit: float) -> SizeDrawing:
    """Draw the chart.

    Args:
        chart: what to draw.
        gutter: percent of the width, on the left, that are left to the labels of the grid.
        ticks: how many weeks may be named at most, two at least.
        digit: percent of the width that a digit of the last value takes.
    """
    base = HEADROOM + SIZE_HEIGHT
    levels = _levels(max(week.size for week in chart.weeks))
    moves = max(max(week.entered, week.left) for week in chart.weeks)
    middle = base + MARKS_AT + MARK_HEIGHT
    slot = (100 - gutter) / max(len(chart.weeks), _LEAST_SLOTS)

    def week_drawing(place: int, week: SizeWeek) -> WeekDrawing:
        x, width = gutter + slot * (place + (1 - _FILLED) / 2), slot * _FILLED
        size, up, down = (
            _height(week.size, levels[-1], SIZE_HEIGHT),
            _height(week.entered, moves, MARK_HEIGHT),
            _height(week.left, moves, MARK_HEIGHT),
        )
        return WeekDrawing(
            size=_mark(x, width, base - size, size),
            entered=_mark(x, width, middle - up, up),
            left=_mark(x, width, middle, down),
            title=f"{week.label}: {week.size:,} quarantined, {week.entered:,} entered, {week.left:,} left",
        )

    weeks = tuple(week_drawing(place, week) for place, week in enumerate(chart.weeks))
    grid = tuple(
        Label(gutter, round(base - _height(level, levels[-1], SIZE_HEIGHT), 1), _short(level), "end")
        for level in levels
    )
    return SizeDrawing(
        left=gutter,
        right=100.0,
        weeks=weeks,
        grid=grid,
        ticks=_ticks(chart.weeks, weeks, ticks, HEIGHT - 6),
        last=_last(chart.weeks[-1], weeks, digit),
        caption=base + CAPTION_AT,
        captions=_captions(chart.weeks[-1], gutter),
        middle=middle,
        height=HEIGHT,
    )


def _mark(x: float, width: float, y: float, height: float) -> Mark:
    return Mark(round(x, 2), round(width, 2), round(y, 1), round(height, 1))


def _height(count: int, top: int, room: float) -> float:
    return max(_SEEN, room * count / top) if count else 0.0


def _levels(most: int) -> list[int]:
    """Return 0 and the multiples of a round step, 1, 2 or 5 times a power of ten, up to no less than `most`."""
    step, factors = 1, (2.0, 2.5, 2.0)
    turn = 0
    while most > _MOST_LINES * step:
        step = round(step * factors[turn % 3])
        turn += 1
    return list(range(0, max(most, 2) + step, step))[: -(-max(most, 2) // step) + 1]


def _short(count: int) -> str:
    """Return a round number in at most five characters."""
    if count < 10 * _THOUSAND:
        return f"{count:,}"
    if count < _THOUSAND**2:
        return f"{count / _THOUSAND:g}k"
    return f"{count / _THOUSAND**2:g}M"


def _ticks(weeks: Sequence[SizeWeek], drawings: Sequence[WeekDrawing], most: int, y: float) -> tuple[Label, ...]:
    """Name the last week, and every n-th before it."""
    step = -(-len(weeks) // most)
    shown = range(len(weeks) - 1, -1, -step)
    return tuple(_tick(weeks[place].label, drawings[place].size, y) for place in reversed(shown))


def _tick(label: str, bar: Mark, y: float) -> Label:
    if bar.x + bar.width > _EDGE:
        return Label(100.0, y, label, "end")
    return Label(round(bar.x + bar.width / 2, 2), y, label, "middle")


def _last(week: SizeWeek, drawings: Sequence[WeekDrawing], digit: float) -> Label:
    """Put the last value above its bar, and above those beside it that it would run into."""
    text = f"{week.size:,}"
    own, width = drawings[-1].size, digit * len(text)
    if width <= own.width:
        return Label(round(own.x + own.width / 2, 2), round(own.y - 7, 1), text, "middle")
    right = own.x + own.width
    beside = [one.size for one in drawings if one.size.x + one.size.width > right - width]
    return Label(round(right, 2), round(min(bar.y for bar in beside) - 7, 1), text, "end")


def _captions(week: SizeWeek, gutter: float) -> tuple[tuple[str, float, str], ...]:
    return (
        ("entered", gutter, f"+{week.entered:,} entered"),
        ("left", gutter + (100 - gutter) / 2, f"\N{MINUS SIGN}{week.left:,} left"),
    )
