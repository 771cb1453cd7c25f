"""Local time: when a channel may be spoken to, and which week is due for a report.

A wall time that a clock change leaves out (02:30 of a spring morning) is taken as late as the clock is put forward
(03:30); one that comes twice is its first coming, for what falls due, and both, for what lasts. Days and weeks are
those of the wall: a day may have 23 or 25 hours, and a few days of history are missing altogether.
"""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from quarantine.errors import BadConfiguration, BadInput

__all__ = [
    "MOST_PERIODS",
    "Period",
    "QuietHours",
    "WeeklySchedule",
    "due_periods",
    "instant_of",
    "zone_of",
]

MOST_PERIODS = 8
"""Missed weeks that are made good at most: older ones nobody would read."""

_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
_EVERY_DAY = frozenset(range(7))


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name in the tz database; raises BadConfiguration when there is none of that name."""
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise BadConfiguration(
            f"There is no time zone {name!r}.", mend="Name one as in Europe/Berlin, America/New_York or UTC."
        ) from error


def instant_of(day: date, at: time, zone: ZoneInfo) -> datetime:
    """Return the instant, in UTC, at which the wall clock of a zone first shows this.

    A wall time that is left out is moved forward by the length of the gap, so that it comes after all that precedes it.
    """
    return datetime.combine(day, at, tzinfo=zone).replace(fold=0).astimezone(UTC)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """When a channel is not spoken to. Raises BadConfiguration when it never would be.

    Attributes:
        start: wall time at which quiet begins, inclusive.
        end: wall time at which it ends, exclusive; not after `start` means on the next day.
        zone: whose wall clock it is.
        days: the weekdays on which quiet begins, Monday 0.
    """

    start: time
    end: time
    zone: ZoneInfo
    days: frozenset[int] = field(default=_EVERY_DAY)

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise BadConfiguration(
                f"Quiet hours from {self.start:%H:%M} to {self.end:%H:%M} never end.", mend="Name an end that differs."
            )
        if not self.days <= _EVERY_DAY:
            raise BadConfiguration("Quiet hours name no such weekday.", mend="Name them from 0, Monday, to 6, Sunday.")

    def is_quiet(self, now: datetime) -> bool:
        """Whether the wall clock shows a quiet hour; the hour that comes twice is quiet twice or not at all."""
        wall = now.astimezone(self.zone)
        today, clock = wall.weekday(), wall.time()
        if self.start < self.end:
            return today in self.days and self.start <= clock < self.end
        began_yesterday = (today - 1) % 7 in self.days and clock < self.end
        return began_yesterday or (today in self.days and clock >= self.start)

    def speaks_at(self, now: datetime) -> datetime:
        """Return the first instant, from `now` on, at which speaking is allowed; `now` itself when it is."""
        at = now
        while self.is_quiet(at):
            at = self._end_after(at)
        return at

    def _end_after(self, quiet: datetime) -> datetime:
        """Return the next instant that may end this quiet: its end on the wall, or a change of the clock before."""
        wall = quiet.astimezone(self.zone)
        ahead = datetime.combine(wall.date(), self.end) - wall.replace(tzinfo=None)
        end = quiet.astimezone(UTC) + (ahead if ahead > timedelta(0) else ahead + _DAY)
        return _first_change(quiet, end, self.zone) or end


@dataclass(frozen=True, slots=True)
class Period:
    """One week of a report.

    Attributes:
        key: its ISO week, as in 2026-W48; later weeks have greater keys.
        start: local Monday 00:00, inclusive.
        end: the next local Monday 00:00, exclusive.
        due_at: when its report falls due; never before its end.
    """

    key: str
    start: datetime
    end: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True)
class WeeklySchedule:
    """When the report of a week falls due. Raises BadConfiguration when there is no such time.

    The weeks are those of the wall calendar, Monday to Sunday, whatever day the report is due: so they neither overlap
    nor leave a day out when the schedule is changed.

    Attributes:
        zone: whose wall clock counts.
        weekday: the day after the week's end on which its report is due, Monday 0.
        hour, minute: the wall time on that day.
    """

    zone: ZoneInfo
    weekday: int = 0
    hour: int = 9
    minute: int = 0

    def __post_init__(self) -> None:
        if not (self.weekday in _EVERY_DAY and 0 <= self.hour < 24 and 0 <= self.minute < 60):  # noqa: PLR2004 - a clock
            raise BadConfiguration(
                f"There is no weekday {self.weekday} with a time {self.hour}:{self.minute:02}.",
                mend="Weekdays go from 0, Monday, to 6, Sunday; times from 0:00 to 23:59.",
            )

    def period_of(self, now: datetime) -> Period:
        """Return the last week whose report is due at `now`."""
        ended = self._monday(now)
        period = self._ending(ended)
        return period if period.due_at <= now else self._ending(ended - _WEEK)

    def next_after(self, now: datetime) -> Period:
        """Return the first week whose report falls due after `now`."""
        ended = self._monday(now)
        period = self._ending(ended)
        return period if period.due_at > now else self._ending(ended + _WEEK)

    def before(self, period: Period) -> Period:
        """Return the week before."""
        return self._ending(period.start.astimezone(self.zone).date())

    def period_named(self, key: str) -> Period:
        """Return the week of a key; raises BadInput when there is no such week."""
        try:
            year, week = key.split("-W")
            monday = date.fromisocalendar(int(year), int(week), 1)
            period = self._ending(monday + _WEEK)
        except (ValueError, OverflowError) as error:
            raise BadInput(f"There is no week {key!r}.", mend="Name one as in 2026-W48.") from error
        if period.key != key:
            raise BadInput(f"There is no week {key!r}.", mend=f"Did you mean {period.key}?")
        return period

    def _monday(self, now: datetime) -> date:
        today = now.astimezone(self.zone).date()
        return today - today.weekday() * _DAY

    def _ending(self, monday: date) -> Period:
        started = monday - _WEEK
        year, week, _ = started.isocalendar()
        return Period(
            key=f"{year:04}-W{week:02}",
            start=instant_of(started, time(0), self.zone),
            end=instant_of(monday, time(0), self.zone),
            due_at=instant_of(monday + self.weekday * _DAY, time(self.hour, self.minute), self.zone),
        )


def due_periods(
    schedule: WeeklySchedule, last_done: str | None, now: datetime, most: int = MOST_PERIODS
) -> tuple[Period, ...]:
    """Return the weeks whose report is due and was not made, oldest first.

    Args:
        schedule: when reports fall due.
        last_done: the greatest key whose report was made; None when none ever was, and then only the last week is due.
        now: a clock that was put back finds nothing due, for no week up to `last_done` is.
        most: missed weeks that are made good, the latest ones.
    """
    period = schedule.period_of(now)
    if last_done is None:
        return (period,)
    due: list[Period] = []
    while period.key > last_done and len(due) < most:
        due.append(period)
        period = schedule.period_of(period.due_at - timedelta(seconds=1))
    return tuple(reversed(due))


def _first_change(start: datetime, end: datetime, zone: ZoneInfo) -> datetime | None:
    """Return when the clock of a zone is first changed after `start` and up to `end`, at most a day apart; or None."""
    offset = start.astimezone(zone).utcoffset()
    if end.astimezone(zone).utcoffset() == offset:
        return None
    before, after = int(start.timestamp()), int(end.timestamp())
    while after - before > 1:
        middle = (before + after) // 2
        if datetime.fromtimestamp(middle, zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return datetime.fromtimestamp(after, UTC)
