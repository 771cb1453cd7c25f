"""The geometry of the drawings on a page. Places along a drawing are percent of its width, so that it fits any screen.

Widths and places go into SVG attributes: the pages' security policy forbids styles in the text.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarantine.policy.wording import percent, plural

_SMALLEST = 1e-300
_SEEN_SHARE = 1.0
"""Percent of its width that a bar takes when its share is above nothing but too small to be seen."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis; `anchor` keeps the first and the last label inside the drawing."""

    x: float
    label: str
    anchor: str


@dataclass(frozen=True, slots=True)
class IntervalFigure:
    """A rate and its interval beside the tolerated rate, on a logarithmic axis.

    Attributes:
        low, high, seen, tolerated: places of the bounds, of the rate seen and of p0.
        ticks: powers of ten, the smallest rate first.
        alternative: the drawing in words.
    """

    low: float
    high: float
    seen: float
    tolerated: float
    ticks: tuple[Tick, ...]
    alternative: str


def interval_figure(interval: Sequence[float], rate: float, p0: float) -> IntervalFigure:
    """Draw a rate with its (lower, upper) interval against `p0`; what lies below the axis is put at its start."""
    low, high = interval
    decades = max(4, 1 + math.ceil(-math.log10(p0)))

    def place(value: float) -> float:
        return _rounded(100 * (1 + math.log10(max(value, 10.0**-decades)) / decades))

    ticks = tuple(
        Tick(place(10.0**-power), percent(10.0**-power), {decades: "start", 0: "end"}.get(power, "middle"))
        for power in range(decades, -1, -1)
    )
    words = f"seen {percent(rate)}, 95 % interval {percent(low)} to {percent(high)}, tolerated {percent(p0)}"
    return IntervalFigure(place(low), place(high), place(rate), place(p0), ticks, words)


@dataclass(frozen=True, slots=True)
class StrengthFigure:
    """How far a p-value has come on the way to its limit, in orders of magnitude.

    Attributes:
        width: of the bar.
        limit: the place that the bar has to reach.
        is_reached: whether it does.
        alternative: the drawing in words.
    """

    width: float
    limit: float
    is_reached: bool
    alternative: str


def strength_figure(p_value: float, limit: float) -> StrengthFigure:
    """Draw `log p / log limit`; a limit below 1."""
    come = math.log(max(p_value, _SMALLEST)) / math.log(max(limit, _SMALLEST))
    span = max(1.5, come)
    relation = "at most" if p_value <= limit else "above"
    return StrengthFigure(
        width=_rounded(100 * come / span),
        limit=_rounded(100 / span),
        is_reached=p_value <= limit,
        alternative=f"p-value {p_value:.2g}, {relation} the limit {limit:.2g}",
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """A count on the way to what is needed."""

    label: str
    have: int
    need: int

    @property
    def width(self) -> float:
        """The bar's width."""
        return 100.0 if self.have >= self.need else _rounded(100 * self.have / self.need)


def share_width(part: int, whole: int) -> float:
    """Return the width of a part of a bar; what is there can be seen, however small."""
    if part <= 0 or whole <= 0:
        return 0.0
    return _rounded(min(100.0, max(_SEEN_SHARE, 100 * part / whole)))


@dataclass(frozen=True, slots=True)
class Cell:
    """One build in a history strip.

    Attributes:
        kind: how it is drawn: passed, failed, errored, skipped, flaky or absent.
        letter: what is written in it; empty for what is of no interest.
        title: the build in words.
        lane: of the build.
        mark: what a failure in it is for the evidence: onset, pending or storm; empty for none of these.
    """

    kind: str
    letter: str
    is_counted: bool
    is_rerun: bool
    title: str
    lane: str = ""
    mark: str = ""


_KINDS = {"P": "passed", "F": "failed", "E": "errored", "S": "skipped", "-": "absent"}
_SHOWN_LETTERS = {"failed": "F", "errored": "E", "skipped": "S", "flaky": "R"}
_STRIP_WORDS = {"flaky": "passed on a retry"}


_MARKS = {"onset": "an onset", "pending": "a head, pending", "storm": "in a storm"}


def strip_cells(
    strip: Sequence[Mapping[str, Any]],
    builds: Mapping[str, Mapping[str, Any]],
    marks: Mapping[int, str] | None = None,
) -> tuple[Cell, ...]:
    """Return the strip of `services.explain` as cells, the oldest build first; `marks` are those of `company`."""
    return tuple(
        _cell(entry, builds.get(str(entry["build"]), {}), (marks or {}).get(entry["build"], "")) for entry in strip
    )


def _cell(entry: Mapping[str, Any], build: Mapping[str, Any], mark: str) -> Cell:
    began, ended = entry["outcome"][0], entry["outcome"][-1]
    kind = "flaky" if began in "FE" and ended == "P" else _KINDS[ended]
    said = _STRIP_WORDS.get(kind, kind) if kind != "absent" else "did not run"
    words = [
        f"build {build.get('build', entry['build'])}: {said}",
        f"{entry['lane']} {'run' if entry['run'] else 'rerun'}",
        *_accounted(entry, kind, mark),
        *([build["received_at"][:16].replace("T", " ")] if build else []),
    ]
    return Cell(
        kind, _SHOWN_LETTERS.get(kind, ""), entry["counted"], not entry["run"], ", ".join(words), entry["lane"], mark
    )


def _accounted(entry: Mapping[str, Any], kind: str, mark: str) -> list[str]:
    """Return what a cell is for the evidence, in words."""
    if mark:
        return [_MARKS[mark]]
    if entry["counted"]:
        return ["a counted trial"]
    is_failure = kind in ("failed", "errored", "flaky")
    return ["the change may explain it"] if is_failure and entry["run"] and entry["lane"] != "trunk" else []


_LANES = ("trunk", "review", "agent")


def by_lane(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """Return the cells of each lane that has any, trunk first."""
    rows = [(lane, [cell for cell in cells if cell.lane == lane]) for lane in _LANES]
    return [row for row in rows if row[1]]


def strip_words(cells: Sequence[Cell]) -> str:
    """Return a strip in words: how many builds came to what."""
    return f"the last {plural(len(cells), 'build')}, the oldest first: {strip_counts(cells)}"


def strip_counts(cells: Sequence[Cell]) -> str:
    """Return how many builds of a strip came to what."""
    words = {"absent": "in which it did not run", **_STRIP_WORDS}
    kinds = ("passed", "failed", "errored", "flaky", "skipped", "absent")
    counts = [(sum(cell.kind == kind for cell in cells), words.get(kind, kind)) for kind in kinds]
    return ", ".join(f"{count} {word}" for count, word in counts if count)


MOST_SQUARES = 16


@dataclass(frozen=True, slots=True)
class TriesFigure:
    """How a test did on one tree: a square for each try, those that failed first, for their order is not told.

    Attributes:
        failed, passed: squares of either kind. Of more than `MOST_SQUARES` tries they keep the share.
        words: the drawing in words, with the true counts.
    """

    failed: int
    passed: int
    words: str


def tries_figure(failed: int, passed: int) -> TriesFigure:
    """Draw the tries of a test on one tree; what happened at all has a square."""
    total = failed + passed
    words = f"failed {failed:,} of {total:,}" if failed else f"passed {passed:,} of {total:,}" if total else "not run"
    if total <= MOST_SQUARES:
        return TriesFigure(failed, passed, words)
    squares = min(max(round(MOST_SQUARES * failed / total), int(failed > 0)), MOST_SQUARES - int(passed > 0))
    return TriesFigure(squares, MOST_SQUARES - squares, words)


SHARES_HEIGHT = 160
"""Pixels from no share to all of it."""
MOST_ATTEMPTS = 12
_LEAST_ATTEMPTS = 4
_LABELS = 10.0
"""Percent of the width, on the left, that are left to the labels of the grid."""


@dataclass(frozen=True, slots=True)
class ShareBar:
    """One share as an upright bar: place and width in percent, top and height in pixels; what it says in words."""

    kind: str
    x: float
    width: float
    y: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class SharesFigure:
    """Two series of shares side by side, a pair of bars for each attempt.

    Attributes:
        bars: `ours` and `plain`, by attempt.
        ticks: the attempts' numbers.
        left_out: attempts beyond the last one drawn.
        alternative: the drawing in words.
    """

    bars: tuple[ShareBar, ...]
    ticks: tuple[Tick, ...]
    left_out: int
    alternative: str


def shares_figure(ours: Sequence[float], plain: Sequence[float]) -> SharesFigure:
    """Draw the share of tickets solved by attempt 1, 2, ... with flaky gating and without it; as many of each."""
    shown = min(len(ours), MOST_ATTEMPTS)
    group = (100 - _LABELS) / max(shown, _LEAST_ATTEMPTS)
    bars: list[ShareBar] = []
    for number, pair in enumerate(zip(ours[:shown], plain[:shown], strict=True)):
        for place, (kind, share) in enumerate(zip(("ours", "plain"), pair, strict=True)):
            height = round(SHARES_HEIGHT * min(1.0, max(0.0, share)), 1)
            x = _rounded(_LABELS + group * (number + 0.16 + 0.35 * place))
            how = "with" if kind == "ours" else "without"
            title = f"attempt {number + 1}, {how} flaky gating: {percent(share)}"
            bars.append(ShareBar(kind, x, _rounded(group * 0.33), SHARES_HEIGHT - height, height, title))
    ticks = tuple(
        Tick(_rounded(_LABELS + group * (number + 0.5)), str(number + 1), "middle") for number in range(shown)
    )
    words = "; ".join(bar.title for bar in bars)
    return SharesFigure(tuple(bars), ticks, len(ours) - shown, f"share of tickets solved by attempt: {words}")


def _rounded(place: float) -> float:
    return round(min(100.0, max(0.0, place)), 2)
