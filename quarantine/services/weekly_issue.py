"""Issuing weekly reports: each due week is made, kept and told once, however many daemons there are.

That a week was issued is noted in the transaction that puts its message into the outbox, with the project locked. After
a time without a daemon the missed weeks are made good, and only the last of them is told.
"""

from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.notice import Notice, NoticeKind
from quarantine.policy.calendar import Period, due_periods
from quarantine.services import letters
from quarantine.services.app import App
from quarantine.services.news import Desk
from quarantine.services.weekly import gathered
from quarantine.services.weekly_letter import letter_of
from quarantine.services.weekly_notice import weekly_notice
from quarantine.store import projects, weeks
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project


def issue_due(app: App, slug: str) -> list[str]:
    """Issue the reports of a project that are due; return the weeks issued here. Raises NotFound."""
    with reading(app.engine) as connection:
        project, now = projects.by_slug(connection, slug), app.clock()
        made = {
            period.key: weeks.get(connection, project.id, period.key) or gathered(app, connection, project, period, now)
            for period in _due(app, connection, project, now)
        }
    if not made:
        return []
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        issued = [period.key for period in _due(app, connection, project, now) if period.key in made]
        for week in issued:
            weeks.keep(connection, project.id, week, made[week], now)
            weeks.issue(connection, project.id, week, now)
        if issued:
            kept = weeks.get(connection, project.id, issued[-1]) or made[issued[-1]]
            _tell(app, connection, project, kept, missed=issued[:-1], now=now)
    return issued


def _due(app: App, connection: Connection, project: Project, now: datetime) -> list[Period]:
    """Return the weeks that are due and were not issued, the oldest first; those before the project are nobody's."""
    schedule = app.people.of(project.slug).weekly
    due = due_periods(schedule, weeks.last_issued(connection, project.id), now)
    return [period for period in due if period.end > project.created_at]


def _tell(
    app: App, connection: Connection, project: Project, report: dict[str, Any], *, missed: list[str], now: datetime
) -> None:
    people = app.people.of(project.slug)
    notice = weekly_notice(report, missed=missed)
    if people.channel is not None:
        desk = Desk(app, connection, project, people, people.channel, now)
        thread = desk.thread_id(NoticeKind.WEEKLY, report["week"])
        desk.tell(thread, NoticeKind.WEEKLY, [], partial(_as_it_is, notice), mark="")
    if people.mail:
        letter = letter_of(report, address=app.people.address, missed=missed)
        letters.post(connection, project, people.mail, letter, key=f"weekly:{report['week']}", now=now)


def _as_it_is(notice: Notice, _day: str, _items: object) -> Notice:
    return notice
