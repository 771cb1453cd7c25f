"""Who is told about a project, where and when: the settings as services use them, made by bootstrap."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from quarantine.policy.calendar import QuietHours, WeeklySchedule, instant_of
from quarantine.policy.escalation import Ladder

_UTC = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPeople:
    """The people of one project.

    Attributes:
        zone: their time zone.
        channel: where messages go; None: nothing is said.
        mail: the addresses that reports are mailed to.
        digest: the local time at which everything that can wait is said; None: at once.
        quiet: hours in which nothing is said.
        ladder: after how many quarantined days whom is told.
        owners: Slack ids by owner as CODEOWNERS writes them, in lower case.
        weekly: when the report of a week is due, and whose weeks they are.
    """

    zone: ZoneInfo = _UTC
    channel: str | None = None
    mail: tuple[str, ...] = ()
    digest: time | None = None
    quiet: QuietHours | None = None
    ladder: Ladder = field(default_factory=Ladder)
    owners: Mapping[str, str] = field(default_factory=dict)
    weekly: WeeklySchedule = field(default_factory=lambda: WeeklySchedule(_UTC))

    def speaks_at(self, now: datetime, *, can_wait: bool) -> datetime:
        """Return the first instant from `now` on at which something may be said; what can wait waits for the digest."""
        at = self._next_digest(self.digest, now) if can_wait and self.digest is not None else now
        return at if self.quiet is None else self.quiet.speaks_at(at)

    def _next_digest(self, digest: time, now: datetime) -> datetime:
        today = now.astimezone(self.zone).date()
        days = (today + timedelta(days=days) for days in range(3))
        return next(at for at in (instant_of(day, digest, self.zone) for day in days) if at >= now)

    def today(self, now: datetime) -> str:
        """Return the date in the project's zone, such as 2026-11-30."""
        return now.astimezone(self.zone).date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """Everybody who is told anything.

    Attributes:
        projects: by slug; one that is not in it tells nobody.
        address: where people reach this server, without a slash at its end; empty when nobody said.
        admins: Slack ids of those who may release tests.
        members: Slack ids of those who may answer escalations; None: whoever is in the channel.
        signing_secret: what Slack signs presses of buttons with; None: none is believed.
    """

    projects: Mapping[str, ProjectPeople] = field(default_factory=dict)
    address: str = ""
    admins: frozenset[str] = frozenset()
    members: frozenset[str] | None = None
    signing_secret: str | None = field(default=None, repr=False)

    def of(self, slug: str) -> ProjectPeople:
        """Return the people of a project."""
        return self.projects.get(slug, _NOBODY)


_NOBODY = ProjectPeople()
