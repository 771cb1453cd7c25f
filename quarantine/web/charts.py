"""The drawing of a count over days, and of ages as bars. Places are percent of the width, as in `figures`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from quarantine.policy.wording import plural
from quarantine.web.figures import Tick, share_width

SIZE_HEIGHT = 112
"""Pixels from no test to the top of the grid."""
_OVERLAP = 0.08
"""Percent by which bars overlap, so that no seam is seen between two days."""
_EDGE, _MIDDLE = 12.0, 88.0
_STEPS = (1, 2, 5)
_BETWEEN = 8.0
_AGE_SCALE = 90


@dataclass(frozen=True, slots=True)
class DayBar:
    """One day: place and width in percent, top and height in pixels; what it says in words."""

    x: float
    width: float
    y: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class SizeFigure:
    """A count at the end of each day.

    Attributes:
        bars: one for each day, the oldest first.
        grid: (top in pixels, label) of the lines that say how many.
        ticks: the months.
        alternative: the drawing in words.
        change: now beside the first day, in words.
    """

    bars: tuple[DayBar, ...]
    grid: tuple[tuple[float, str], ...]
    ticks: tuple[Tick, ...]
    alternative: str
    change: str


def size_figure(size: Sequence[Mapping[str, Any]]) -> SizeFigure:
    """Draw (`day`, `tests`) of consecutive days, at least one."""
    days = [(date.fromisoformat(one["day"]), int(one["tests"])) for one in size]
    counts = [count for _, count in days]
    top = _round_top(max(counts))
    width = 100 / len(days)
    bars = tuple(
        DayBar(
            x=round(place * width, 3),
            width=round(min(width + _OVERLAP, 100 - place * width), 3),
            y=round(SIZE_HEIGHT * (1 - count / top), 1),
            height=round(SIZE_HEIGHT * count / top, 1),
            title=f"{_said(day)}: {plural(count, 'test')}",
        )
        for place, (day, count) in enumerate(days)
    )
    levels = (top, top // 2) if top % 2 == 0 else (top,)
    grid = tuple((round(SIZE_HEIGHT * (1 - level / top), 1), f"{level:,}") for level in (*levels, 0))
    most = max(days, key=lambda one: one[1])
    words = (
        f"{_said(days[0][0])} to {_said(days[-1][0])}: {counts[0]:,} at first, "
        f"at most {most[1]:,} on {_said(most[0])}, {counts[-1]:,} now"
    )
    return SizeFigure(bars, grid, _months(days[0][0], days[-1][0]), words, _change(counts, days[0][0]))


def _round_top(count: int) -> int:
    """Return the least of 1, 2, 5, 10, 20, 50, ... that is no less than the count, 2 at least."""
    power: int = 10 ** max(0, math.ceil(math.log10(max(count, 1))) - 1)
    return next(step * power for step in (*_STEPS, 10, 20) if step * power >= max(count, 2))


def _months(first: date, last: date) -> tuple[Tick, ...]:
    """Return a tick where each month begins, those too close to an end left out, and one for each end."""
    span = (last - first).days + 1
    ticks = [Tick(0, _said(first), "start")]
    for offset in range(1, span):
        day = first + timedelta(days=offset)
        x = round(100 * offset / span, 2)
        if day.day == 1 and _EDGE + _BETWEEN < x < _MIDDLE - _BETWEEN:
            ticks.append(Tick(x, f"{day:%b}", "middle"))
    return (*ticks, Tick(100, "today", "end")) if span > 1 else tuple(ticks)


def _said(day: date) -> str:
    return f"{day.day} {day:%b}"


def _change(counts: Sequence[int], first: date) -> str:
    by = counts[-1] - counts[0]
    if len(counts) == 1 or by == 0:
        return f"as many as on {_said(first)}" if len(counts) > 1 else "counted from today on"
    return f"{abs(by):,} {'more' if by > 0 else 'fewer'} than on {_said(first)}"


@dataclass(frozen=True, slots=True)
class AgeBar:
    """How long something has stood, on a scale that a whole list shares.

    Attributes:
        width: of the bar.
        limit: the place of the days after which it is old; None where that is beyond the scale.
        is_old: whether it is.
        words: the age in words.
    """

    width: float
    limit: float | None
    is_old: bool
    words: str


def age_bar(days: int, oldest: int, old: int) -> AgeBar:
    """Draw an age in days beside the oldest of the list; a young list is drawn on a scale of 90 days."""
    scale = max(oldest, _AGE_SCALE)
    return AgeBar(
        width=share_width(max(days, 1), scale),
        limit=share_width(old, scale) if old <= scale else None,
        is_old=days >= old,
        words=plural(days, "day"),
    )
