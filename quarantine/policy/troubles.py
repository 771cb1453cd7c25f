"""Which troubles of the daemon itself are worth a message: only such as last, and that nobody sees otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from quarantine.policy.wording import plural

__all__ = ["FINE_FOR", "LOOKED_BACK", "Streak", "Trouble", "failing", "parked", "refused", "silence", "spool_refusing"]

FINE_FOR = timedelta(hours=1)
"""A trouble is over once it has not been seen for so long: one that comes and goes is one."""

LOOKED_BACK = timedelta(days=28)
"""The time before the last trunk report that says how often trunk usually reports."""

_USUAL_DAYS = 5
_LEAST_SILENCE = timedelta(days=2)
_GAPS = 2
_IN_A_ROW = 3
_FAILING_FOR = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One trouble.

    Attributes:
        code: which it is; the same for as long as it is the same.
        title: a few words, to stand alone after the project's name.
        sentence: what is seen; it may quote names of files and folders.
        mend: what to do.
    """

    code: str
    title: str
    sentence: str
    mend: str


def silence(reports: Sequence[datetime], now: datetime) -> Trouble | None:
    """Return the trouble that trunk has stopped reporting, if it has.

    It has when nothing came for two days and for twice the longest pause there was among its reports, where reports
    came on five days or more; so a quiet week-end is none.

    Args:
        reports: when trunk's reports came in within `LOOKED_BACK` before the last one, in order.
        now: the present instant.
    """
    if len({at.date() for at in reports}) < _USUAL_DAYS:
        return None
    longest = max(later - earlier for earlier, later in pairwise(reports))
    quiet = now - reports[-1]
    if quiet <= max(_LEAST_SILENCE, _GAPS * longest):
        return None
    return Trouble(
        code="silence",
        title="no report from trunk",
        sentence=f"The last report from trunk came {plural(quiet.days, 'day')} ago, at {reports[-1]:%Y-%m-%d %H:%M} "
        f"UTC. Before that they came on {len({at.date() for at in reports})} days, {_pause(longest)} apart at most.",
        mend="See whether the job still runs and sends its reports: `quarantine report` keeps what it cannot deliver "
        "and says so. Until then nothing enters or leaves quarantine.",
    )


def _pause(time: timedelta) -> str:
    hours = max(1, round(time.total_seconds() / 3600))
    return plural(hours, "hour") if hours < 48 else plural(round(hours / 24), "day")  # noqa: PLR2004 - two days


def refused(count: int, last: str) -> Trouble | None:
    """Return the trouble that trunk's reports cannot be read, given how many in a row and why the last one."""
    if count < _IN_A_ROW:
        return None
    return Trouble(
        code="refused",
        title="reports from trunk cannot be read",
        sentence=f"The last {plural(count, 'report')} from trunk could not be read. The newest: {last}",
        mend="The page of reports shows what was refused, and `quarantine junit FILE` how a file is read.",
    )


def spool_refusing(name: str, count: int, last: str) -> Trouble | None:
    """Return the trouble that a spool's entries are refused, given how many in a row and why the last one."""
    if count < _IN_A_ROW:
        return None
    return Trouble(
        code=f"spool:{name}",
        title=f"the spool {name} refuses what comes in",
        sentence=f"The last {count:,} entries could not be taken in. The newest: {last}",
        mend="They are kept in its folder `rejected`, each with its reason. Put them back once the cause is mended.",
    )


class Streak(NamedTuple):
    """Failures of one piece of work in a row: how many, since when, and what the last one said."""

    times: int
    since: datetime
    last: str


def failing(job: str, host: str, streak: Streak, now: datetime) -> Trouble | None:
    """Return the trouble that a job of the daemon on `host` keeps failing, if it does."""
    if streak.times < _IN_A_ROW or now - streak.since < _FAILING_FOR:
        return None
    tried = f"tried it {plural(streak.times, 'time')} since {streak.since:%Y-%m-%d %H:%M} UTC"
    return Trouble(
        code=f"job:{job}@{host}",
        title=f"its work {job!r} keeps failing",
        sentence=f"The daemon on {host} has {tried}. The last time: {streak.last}",
        mend="The daemon's log says more.",
    )


def parked(channel: str, count: int, mend: str) -> Trouble:
    """Return the trouble that messages cannot reach a channel until somebody mends it."""
    return Trouble(
        code=f"parked:{channel}",
        title=f"{plural(count, 'message')} cannot reach {channel}",
        sentence=f"What is told in {channel} is parked. {mend}",
        mend="`quarantine slack parked` shows what waits, and sends it again with `--send`.",
    )
