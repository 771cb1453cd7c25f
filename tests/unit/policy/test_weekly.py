"""The weekly report's figures against a count hour by hour, its sentence, and the one thing it says to do."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from quarantine.policy.calendar import Period, WeeklySchedule
from quarantine.policy.escalation import Span, union
from quarantine.policy.weekly import (
    AGE_BINS,
    Page,
    Situation,
    WeekSize,
    advise,
    ages_at,
    binned,
    headline,
    week_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable

T0 = datetime(2026, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)
SCHEDULE = WeeklySchedule(ZoneInfo("UTC"))


def week(number: int) -> Period:
    """Return the week that begins so many weeks after the first Monday."""
    return SCHEDULE.period_of(T0 + (number + 1) * timedelta(days=7) + timedelta(hours=9))


def size(tests: int, *, key: str = "2026-W10", entered: int = 0, left: int = 0) -> WeekSize:
    return WeekSize(key=key, size=tests, entered=entered, left=left, median_days=None, oldest_days=None)


def random_spans(dice: random.Random) -> dict[int, tuple[Span, ...]]:
    """Return spans of some tests over six weeks, in whole hours."""
    spans = {}
    for test in range(dice.randint(0, 12)):
        found = []
        for _ in range(dice.randint(0, 4)):
            start = T0 + dice.randrange(6 * 7 * 24) * HOUR
            end = None if dice.random() < 0.3 else start + dice.randint(1, 500) * HOUR
            found.append(Span(start, end))
        spans[test] = union(found)
    return spans


def is_out(spans: tuple[Span, ...], hour: datetime) -> bool:
    """Whether a test is out in the hour that begins then."""
    return any(span.start <= hour and (span.end is None or hour < span.end) for span in spans)


@pytest.mark.parametrize("seed", range(40))
def test_sizes_are_those_of_a_count_hour_by_hour(seed: int) -> None:
    """Size, in, out and ages of each of six weeks, scanned."""
    spans = random_spans(random.Random(seed))  # noqa: S311 - the same spans for the same seed
    for number in range(6):
        period, found = week(number), week_size(spans, week(number))
        hours = [period.start + place * HOUR for place in range(-1, 7 * 24)]
        last = period.end - HOUR
        out = [test for test, theirs in spans.items() if is_out(theirs, last)]
        entered = left = 0
        for before, after in pairwise(hours):
            for theirs in spans.values():
                was, is_now = is_out(theirs, before), is_out(theirs, after)
                entered += is_now and not was
                left += was and not is_now
        assert (found.size, found.entered, found.left) == (len(out), entered, left)
        ages = []
        for test in out:
            hour = last
            while is_out(spans[test], hour - HOUR):
                hour -= HOUR
            ages.append((period.end - hour) / timedelta(days=1))
        assert found.median_days == (pytest.approx(median(ages)) if ages else None)
        assert found.oldest_days == (pytest.approx(max(ages)) if ages else None)
        assert sum(count for _, count in binned(ages)) == len(out)


@pytest.mark.parametrize("seed", range(40))
def test_a_week_is_the_one_before_and_what_moved(seed: int) -> None:
    """Nothing is lost between weeks: size now is size before, plus in, less out."""
    spans = random_spans(random.Random(seed))  # noqa: S311 - the same spans for the same seed
    sizes = [week_size(spans, week(number)) for number in range(-1, 7)]
    assert sizes[0].size == 0
    for before, after in pairwise(sizes):
        assert after.size == before.size + after.net


def test_the_end_of_a_week_belongs_to_the_next() -> None:
    """A move at Monday 00:00 is of the new week, and a test that leaves then was out when the old one ended."""
    monday = week(0).end
    spans = {1: (Span(monday, None),), 2: (Span(T0, monday),)}
    assert set(ages_at(spans, monday)) == {2}
    assert (week_size(spans, week(0)).entered, week_size(spans, week(0)).left) == (1, 0)
    assert (week_size(spans, week(1)).entered, week_size(spans, week(1)).left) == (1, 1)


@pytest.mark.parametrize(("days", "label"), [(0.0, 0), (6.99, 0), (7.0, 1), (29.9, 1), (30, 2), (89, 3), (4_000, 4)])
def test_ages_fall_into_bins(days: float, label: int) -> None:
    """Each bin begins where the one before it ends."""
    assert [count for _, count in binned([days])] == [int(place == label) for place in range(len(AGE_BINS))]


@pytest.mark.parametrize(
    ("now", "before", "begins"),
    [
        (
            size(9, entered=1, left=4),
            [size(12)],
            "Better: 9 tests in quarantine, 3 fewer than a week ago (1 in, 4 out).",
        ),
        (size(13), [size(9), size(12)], "Worse: 13 tests in quarantine, 1 more than a week ago"),
        (size(9), [size(20), size(9)], "Better: 9 tests in quarantine, as a week ago"),
        (size(9), [size(2), size(9)], "Worse: 9 tests in quarantine, as a week ago"),
        (size(9), [size(9), size(9)], "Unchanged: 9 tests"),
        (size(0), [size(0)], "The quarantine is empty, as it was a week ago."),
        (size(0, left=1), [size(1)], "Better: 0 tests in quarantine, 1 fewer than a week ago"),
        (size(1), [], "The first week: 1 test in quarantine, 0 in, 0 out."),
    ],
)
def test_the_sentence_says_whether_it_got_better(now: WeekSize, before: list[WeekSize], begins: str) -> None:
    """Than a week ago, and where that is no difference, than the weeks before."""
    assert headline(now, before, trunk_builds=7).startswith(begins)


def test_only_four_weeks_count() -> None:
    """What was long ago does not make a week look good."""
    before = [size(900), *[size(4)] * 4]
    assert headline(size(4), before, trunk_builds=7).startswith("Unchanged")
    assert "mean of the 4 weeks before was 4" in headline(size(4), before, trunk_builds=7)


def test_a_week_without_trunk_builds_claims_nothing() -> None:
    """Nothing could enter or leave, so it is neither better nor worse."""
    said = headline(size(3), [size(9)], trunk_builds=0)
    assert said == "No trunk build came in this week, so nothing was learned: 3 tests in quarantine."
    assert "yet this week" in headline(size(3), [], trunk_builds=0, is_over=False)
    assert "would be in quarantine" in headline(size(3), [size(9)], trunk_builds=1, observes=True)


EVERYTHING = Situation(
    trunk_builds=0,
    last_trunk_build=T0,
    observes=True,
    size=10,
    open_regressions=1,
    oldest_regression="test_a",
    held=1,
    shared=(4, "Connection reset"),
    overdue=3,
    oldest=("test_b", 61.5, "@acme/mail"),
    too_slow=2,
)


def test_advice_comes_in_order_of_what_it_costs_to_wait() -> None:
    """Mend the first thing and the next one is said, down to nothing."""
    steps: tuple[tuple[str, Page, Callable[[Situation], Situation]], ...] = (
        (
            "Answer 1 possible regression that nobody has looked at, first that of test_a.",
            Page.TEST,
            lambda of: replace(of, open_regressions=0),
        ),
        (
            "Find out why no trunk build has come in since 2026-01-05",
            Page.PROJECT,
            lambda of: replace(of, trunk_builds=9),
        ),
        (
            "Look through what would be quarantined and let the project enforce",
            Page.QUARANTINED,
            lambda of: replace(of, observes=False),
        ),
        (
            "Make room: 1 flaky test is held back and goes on rejecting good changes.",
            Page.HELD,
            lambda of: replace(of, held=0),
        ),
        (
            "Mend the one cause that 4 quarantined tests share: Connection reset.",
            Page.CAUSE,
            lambda of: replace(of, shared=None),
        ),
        (
            "Mend or delete test_b and 2 others: out for 30 days and more, the oldest for 62 days, owned by @acme/",
            Page.OLD,
            lambda of: replace(of, overdue=0),
        ),
        ("Run the suite more often on trunk", Page.QUARANTINED, lambda of: replace(of, too_slow=0)),
        ("Nothing needs a person this week.", Page.PROJECT, lambda of: of),
    )
    now = EVERYTHING
    for sentence, page, mended in steps:
        advice = advise(now)
        assert advice.sentence.startswith(sentence)
        assert advice.page is page
        now = mended(now)


@pytest.mark.parametrize(("tests", "out", "is_named"), [(2, 2, False), (3, 15, True), (3, 16, False), (40, 200, True)])
def test_a_cause_is_named_where_mending_it_moves_something(tests: int, out: int, is_named: bool) -> None:  # noqa: FBT001
    """At least three tests, and a fifth of all that are out."""
    of = Situation(trunk_builds=1, size=out, shared=(tests, "boom"))
    assert (advise(of).page is Page.CAUSE) == is_named


def test_nobody_is_said_to_own_what_nobody_owns() -> None:
    """One old test without an owner."""
    of = Situation(trunk_builds=1, size=1, overdue=1, oldest=("test_b", 31, ""))
    assert advise(of).sentence == (
        "Mend or delete test_b: out for 30 days and more, the oldest for 31 days, which nobody is known to own."
    )
