"""Quiet hours and weeks, against a scan of the wall clock minute by minute."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest

from quarantine.errors import BadConfiguration, BadInput
from quarantine.policy.calendar import QuietHours, WeeklySchedule, due_periods, instant_of, zone_of

ZONES = [
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kathmandu"),
    *("Pacific/Apia", "UTC"),
]
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
START, END = datetime(2026, 1, 1, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)


def minutes(start: datetime, end: datetime, step: timedelta = MINUTE) -> Iterator[datetime]:
    while start < end:
        yield start
        start += step


@lru_cache
def changes(zone: str) -> tuple[datetime, ...]:
    """The instants at which the zone's clock is changed, to the minute."""
    at = ZoneInfo(zone)
    found = []
    for hour in minutes(START, END, HOUR):
        if hour.astimezone(at).utcoffset() != (hour + HOUR).astimezone(at).utcoffset():
            offset = hour.astimezone(at).utcoffset()
            found.append(
                next(one for one in minutes(hour, hour + 2 * HOUR) if one.astimezone(at).utcoffset() != offset)
            )
    return tuple(found)


@pytest.mark.parametrize("zone", ZONES)
def test_every_week_of_five_years_falls_due_once_when_the_wall_shows_it(zone: str) -> None:
    """Each minute scanned as a clock on the wall: the first one of a Monday, and the first at or after nine."""
    at = ZoneInfo(zone)
    mondays, nines = [], []
    last = START.astimezone(at)
    for quarter in minutes(START + HOUR / 4, END, HOUR / 4):
        wall = quarter.astimezone(at)
        if wall.weekday() == 0 and last.weekday() == 6:
            mondays.append(quarter)
        if wall.weekday() == 0 and last.time() < time(9) <= wall.time() and last.date() == wall.date():
            nines.append(quarter)
        last = wall
    assert len(mondays) == len(nines) > 255
    schedule = WeeklySchedule(at)
    for start, end, due in zip(mondays, mondays[1:], nines[1:], strict=False):
        period = schedule.period_of(due)
        assert (period.start, period.end, period.due_at) == (start, end, due)
        assert period.key == "{}-W{:02}".format(*start.astimezone(at).isocalendar()[:2])
        assert schedule.period_of(due - MINUTE).end == start
        assert schedule.next_after(due - MINUTE) == period
        assert schedule.next_after(due).start == end
        assert schedule.period_named(period.key) == period


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("hour", [0, 1, 2, 3])
def test_a_report_due_on_the_day_of_a_clock_change_is_due_once(zone: str, hour: int) -> None:
    """Daemons that tick every ten minutes through the night of the change make each week's report once."""
    for change in changes(zone):
        weekday = change.astimezone(ZoneInfo(zone)).weekday()
        schedule = WeeklySchedule(ZoneInfo(zone), weekday=weekday, hour=hour, minute=30)
        done, made = schedule.period_of(change - 3 * DAY).key, []
        for now in minutes(change - 3 * DAY, change + 3 * DAY, 10 * MINUTE):
            for period in due_periods(schedule, done, now):
                made.append(period.key)
                done = period.key
        assert len(made) == 1


@pytest.mark.parametrize("zone", [zone for zone in ZONES if zone not in {"UTC", "Asia/Kathmandu"}])
@pytest.mark.parametrize(
    ("begin", "end"), [((22, 0), (2, 30)), ((0, 15), (7, 0)), ((2, 10), (2, 50)), ((23, 30), (0, 10))]
)
def test_quiet_hours_end_when_the_wall_says_so(zone: str, begin: tuple[int, int], end: tuple[int, int]) -> None:
    """Around every clock change of five years, scanned minute by minute; where the zone has none, a year's end."""
    at = ZoneInfo(zone)
    quiet = QuietHours(time(*begin), time(*end), at)
    for change in changes(zone)[:4] or (datetime(2027, 1, 1, tzinfo=UTC),):
        scanned = list(minutes(change - 12 * HOUR, change + 40 * HOUR))
        walls = [one.astimezone(at).time() for one in scanned]
        first, last = time(*begin), time(*end)
        silent = [first <= wall < last if first < last else wall >= first or wall < last for wall in walls]
        allowed = [one for one, is_silent in zip(scanned, silent, strict=True) if not is_silent]
        for now in scanned[: 14 * 60]:
            assert quiet.is_quiet(now) == silent[(now - scanned[0]) // MINUTE]
            assert quiet.speaks_at(now) == allowed[bisect_left(allowed, now)]


def test_the_zones_that_change_their_clocks_are_tried() -> None:
    """The oracle has seen what it is there for."""
    assert [len(changes(zone)) for zone in ZONES] == [10, 10, 10, 10, 0, 0, 0]


def test_a_wall_time_left_out_moves_forward_and_a_doubled_one_comes_first() -> None:
    """02:30 on the two nights of Berlin's clock changes."""
    assert instant_of(date(2027, 3, 28), time(2, 30), BERLIN) == datetime(2027, 3, 28, 1, 30, tzinfo=UTC)
    assert instant_of(date(2027, 10, 31), time(2, 30), BERLIN) == datetime(2027, 10, 31, 0, 30, tzinfo=UTC)


def test_quiet_days_are_those_on_which_quiet_begins() -> None:
    """Friday's night reaches into Saturday; Saturday's evening is not quiet."""
    quiet = QuietHours(time(20), time(8), BERLIN, frozenset({4}))
    friday = datetime(2026, 12, 4, 21, tzinfo=BERLIN)
    assert quiet.speaks_at(friday) == datetime(2026, 12, 5, 8, tzinfo=BERLIN)
    assert quiet.is_quiet(datetime(2026, 12, 5, 7, 59, tzinfo=BERLIN))
    assert not quiet.is_quiet(datetime(2026, 12, 5, 21, tzinfo=BERLIN))
    assert not quiet.is_quiet(datetime(2026, 12, 4, 7, tzinfo=BERLIN))


def test_a_report_may_be_due_on_another_day() -> None:
    """Due on Friday, it is about the week that ended on Sunday."""
    schedule = WeeklySchedule(BERLIN, weekday=4, hour=16)
    period = schedule.period_of(datetime(2026, 12, 4, 16, tzinfo=BERLIN))
    assert period.key == "2026-W48"
    assert schedule.period_of(datetime(2026, 12, 4, 15, 59, tzinfo=BERLIN)).key == "2026-W47"


def test_missed_weeks_are_made_good_oldest_first_and_bounded() -> None:
    """Three weeks away: three reports. Half a year: the last eight. Never before: only the last."""
    schedule = WeeklySchedule(BERLIN)
    now = datetime(2027, 1, 12, tzinfo=UTC)
    assert [period.key for period in due_periods(schedule, "2026-W52", now)] == ["2026-W53", "2027-W01"]
    assert [period.key for period in due_periods(schedule, "2026-W20", now)] == [
        *(f"2026-W{week}" for week in range(47, 54)),
        "2027-W01",
    ]
    assert [period.key for period in due_periods(schedule, None, now)] == ["2027-W01"]


def test_a_clock_put_back_makes_no_report_twice() -> None:
    """What was done stays done, whatever the clock says."""
    schedule = WeeklySchedule(BERLIN)
    for back in (HOUR, 8 * DAY, 400 * DAY):
        assert due_periods(schedule, "2026-W48", datetime(2026, 11, 30, 9, tzinfo=UTC) - back) == ()


def test_what_no_calendar_has_is_refused() -> None:
    """Unknown zones, hours and weeks are named with a mend."""
    for name in ("Mars/Olympus", "", "../etc/passwd", "Europe", "x\0"):
        with pytest.raises(BadConfiguration) as caught:
            zone_of(name)
        assert caught.value.mend
    assert zone_of("Europe/Berlin") == BERLIN
    for wrong in ({"weekday": 7}, {"hour": 24}, {"minute": 60}, {"weekday": -1}):
        with pytest.raises(BadConfiguration):
            WeeklySchedule(BERLIN, **wrong)
    with pytest.raises(BadConfiguration):
        QuietHours(time(8), time(8), BERLIN)
    with pytest.raises(BadConfiguration):
        QuietHours(time(8), time(9), BERLIN, frozenset({7}))
    for key in ("2027-W53", "2026-48", "x", "2026-W8", "9999-W53"):
        with pytest.raises(BadInput):
            WeeklySchedule(BERLIN).period_named(key)
