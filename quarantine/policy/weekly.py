"""The weekly quarantine-size report: how large the quarantine was, whether that got better, and the one thing to do.

A test is out while any of its variants is quarantined, so leaving in one variant of two is no release. A week is
compared with the four before it. What is best to do is the first of a fixed order that applies: what may hide a real
fault comes before what costs good patches, and that before what only takes room.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from statistics import mean, median

from quarantine.policy.calendar import Period
from quarantine.policy.escalation import Span
from quarantine.policy.wording import plural

__all__ = [
    "AGE_BINS",
    "Advice",
    "Page",
    "Situation",
    "WeekSize",
    "advise",
    "ages_at",
    "binned",
    "headline",
    "week_size",
]

COMPARED_WEEKS = 4
AGE_BINS: tuple[tuple[str, float], ...] = (
    ("under 7 days", 7.0),
    ("7 to 29 days", 30.0),
    ("30 to 59 days", 60.0),
    ("60 to 89 days", 90.0),
    ("90 days and more", float("inf")),
)
"""Labels and upper ends, in days, of the age histogram."""

_SHARED_TESTS, _SHARED_SHARE = 3, 0.2
"""A cause is worth naming first when it is shared by so many tests, and by such a share of all that are out."""

Spans = Mapping[int, Sequence[Span]]
"""By test: when it was out, in any variant, in order and without overlap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekSize:
    """The quarantine of one week, in tests.

    Attributes:
        key: its ISO week.
        size: tests that were out when it ended.
        entered, left: how often a test went out, and came back, in it; so `size` is that of the week before plus
            `entered` less `left`.
        median_days, oldest_days: how long those had been out at its end; None when there were none.
    """

    key: str
    size: int
    entered: int
    left: int
    median_days: float | None
    oldest_days: float | None

    @property
    def net(self) -> int:
        """By how many tests it grew."""
        return self.entered - self.left


def ages_at(spans: Spans, at: datetime) -> dict[int, float]:
    """Return for how many days each test that was out at an instant had been so without a break."""
    return {
        test: (at - span.start).total_seconds() / 86_400
        for test, theirs in spans.items()
        for span in theirs
        if span.start < at and (span.end is None or span.end >= at)
    }


def week_size(spans: Spans, period: Period) -> WeekSize:
    """Return the figures of one week. What happens at the very end of a week belongs to the next one."""
    ages = ages_at(spans, period.end)
    every = [span for theirs in spans.values() for span in theirs]
    return WeekSize(
        key=period.key,
        size=len(ages),
        entered=sum(period.start <= span.start < period.end for span in every),
        left=sum(span.end is not None and period.start <= span.end < period.end for span in every),
        median_days=median(ages.values()) if ages else None,
        oldest_days=max(ages.values(), default=None),
    )


def binned(days: Sequence[float]) -> tuple[tuple[str, int], ...]:
    """Return how many ages fall into each bin, with its label."""
    counts = [0] * len(AGE_BINS)
    for age in days:
        counts[next(place for place, (_, end) in enumerate(AGE_BINS) if age < end)] += 1
    return tuple((label, count) for (label, _), count in zip(AGE_BINS, counts, strict=True))


def headline(
    now: WeekSize, before: Sequence[WeekSize], *, trunk_builds: int, is_over: bool = True, observes: bool = False
) -> str:
    """Return one sentence that says whether it got better.

    Args:
        now: the week of the report.
        before: up to four weeks before it, the oldest first; empty when the project is that young.
        trunk_builds: how many trunk builds came in during the week; without any, nothing could change.
        is_over: whether the week is over; else it is what there is so far.
        observes: whether the project only observes, so that all this would have been.
    """
    size = f"{plural(now.size, 'test')} {'would be ' if observes else ''}in quarantine"
    if not trunk_builds:
        return f"No trunk build came in {'' if is_over else 'yet '}this week, so nothing was learned: {size}."
    moved = f"{now.entered:,} in, {now.left:,} out"
    if not before:
        return f"The first week: {size}, {moved}."
    last, usual = before[-1].size, mean(week.size for week in before[-COMPARED_WEEKS:])
    weeks = len(before[-COMPARED_WEEKS:])
    beside = f"; the mean of the {plural(weeks, 'week')} before was {usual:.3g}" if weeks > 1 else ""
    if now.size == last == 0 and not now.entered:
        return f"The quarantine {'would be' if observes else 'is'} empty, as it was a week ago."
    verdict = _verdict(now.size, last, usual)
    change = f"{abs(now.size - last):,} {'fewer' if now.size < last else 'more'} than" if now.size != last else "as"
    return f"{verdict}: {size}, {change} a week ago ({moved}){beside}."


def _verdict(size: int, last: int, usual: float) -> str:
    """Return whether it got better: than a week ago, and where that is no difference than the weeks before."""
    against = last if size != last else usual
    return "Better" if size < against else "Worse" if size > against else "Unchanged"


class Page(StrEnum):
    """Where a reader goes on from the advice."""

    PROJECT = "project"
    QUARANTINED = "quarantined"
    CAUSE = "cause"
    OLD = "old"
    HELD = "held"
    TEST = "test"
    POLICY = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the advice is chosen from.

    Attributes:
        trunk_builds: builds of trunk in the week.
        last_trunk_build: when the last one came in, ever.
        observes: whether the project only observes.
        size: tests out.
        open_regressions: possible regressions that nobody has answered.
        oldest_regression: the test of the oldest of them.
        held: tests that would be quarantined but for the cap or a rule.
        shared: (tests, what such a failure says) of the cause that most tests share; None when none is shared.
        overdue: tests out for `overdue_days` or more.
        overdue_days: the days after which an owner is told.
        oldest: (test, days, owner or "") of the one out longest; None when none is out.
        too_slow: tests whose evidence for leaving will not come at the present pace.
    """

    trunk_builds: int
    last_trunk_build: datetime | None = None
    observes: bool = False
    size: int = 0
    open_regressions: int = 0
    oldest_regression: str = ""
    held: int = 0
    shared: tuple[int, str] | None = None
    overdue: int = 0
    overdue_days: float = 30.0
    oldest: tuple[str, float, str] | None = None
    too_slow: int = 0


@dataclass(frozen=True, slots=True)
class Advice:
    """The one thing to do, and the page that it is done from."""

    sentence: str
    page: Page


def advise(of: Situation) -> Advice:
    """Return the first thing that applies, by what it costs to leave it undone."""
    return next(advice for advice in (*_urgent(of), *_worthwhile(of), Advice(_QUIET, Page.PROJECT)) if advice)


_QUIET = "Nothing needs a person this week."


def _urgent(of: Situation) -> tuple[Advice | None, ...]:
    """Return what may hide a fault, or keeps anything from being learned."""
    since = f"since {of.last_trunk_build:%Y-%m-%d}" if of.last_trunk_build else "ever"
    raised = plural(of.open_regressions, "possible regression")
    return (
        Advice(
            f"Answer {raised} that nobody has looked at, first that of {of.oldest_regression}.",
            Page.QUARANTINED if of.open_regressions > 1 else Page.TEST,
        )
        if of.open_regressions
        else None,
        Advice(f"Find out why no trunk build has come in {since}: without them no test can leave.", Page.PROJECT)
        if not of.trunk_builds
        else None,
        Advice(
            "Look through what would be quarantined and let the project enforce: until then flaky tests go on "
            "rejecting good changes.",
            Page.QUARANTINED,
        )
        if of.observes and of.size
        else None,
    )


def _worthwhile(of: Situation) -> tuple[Advice | None, ...]:
    """Return what brings tests back."""
    is_shared = of.shared is not None and of.shared[0] >= max(_SHARED_TESTS, _SHARED_SHARE * of.size)
    held = "is held back and goes" if of.held == 1 else "are held back and go"
    return (
        Advice(f"Make room: {plural(of.held, 'flaky test')} {held} on rejecting good changes.", Page.HELD)
        if of.held
        else None,
        Advice(f"Mend the one cause that {of.shared[0]:,} quarantined tests share: {of.shared[1]}.", Page.CAUSE)
        if of.shared and is_shared
        else None,
        Advice(_overdue(of), Page.OLD) if of.overdue and of.oldest else None,
        Advice(
            f"Run the suite more often on trunk, at night say: at the present pace {plural(of.too_slow, 'test')} will "
            "not gather the evidence to leave.",
            Page.QUARANTINED,
        )
        if of.too_slow
        else None,
    )


def _overdue(of: Situation) -> str:
    name, days, owner = of.oldest or ("", 0.0, "")
    whose = f", owned by {owner}" if owner else ", which nobody is known to own"
    others = f" and {plural(of.overdue - 1, 'other')}" if of.overdue > 1 else ""
    oldest = f"the oldest for {days:.0f} days{whose}"
    return f"Mend or delete {name}{others}: out for {of.overdue_days:.0f} days and more, {oldest}."
