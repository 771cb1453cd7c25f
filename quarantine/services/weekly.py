"""The weekly quarantine-size report: its figures, gathered once and kept, so that any past week is shown as it was.

Sizes, ages, and what went in and out are read from transitions, so they are those of the week's end however late the
report is made. What has no past (what would release a test, which files are reached, who owns what) is that of the
instant it was made, which it says.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.errors import NotFound
from quarantine.policy.calendar import Period, WeeklySchedule
from quarantine.policy.escalation import Span
from quarantine.policy.weekly import (
    COMPARED_WEEKS,
    Page,
    Situation,
    WeekSize,
    advise,
    binned,
    headline,
    week_size,
)
from quarantine.services import naming, weekly_figures
from quarantine.services.app import App
from quarantine.services.ownership import names_of_owners
from quarantine.services.standing_time import spans_out
from quarantine.services.weekly_figures import Weekly
from quarantine.store import builds, lately, listings, projects, raised, roster, standings, weeks
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project

SHOWN = 10
"""Tests of each kind that a report names."""
WEEKS_DRAWN = 12
LAST, RUNNING = "last", "running"
"""What the last week that was told is called, and the one that is not over yet."""


def report_of(app: App, slug: str, week: str = LAST) -> dict[str, Any]:
    """Return the report of a week: as it was kept, or, of a week that is over and has none, made now and kept.

    `LAST` is the last one told, and before there is any the running week so far; `RUNNING` is never kept.

    Raises:
        NotFound: there is no such project, or the week lies outside of its time.
        BadInput: no week is called so.
    """
    schedule = app.people.of(slug).weekly
    with reading(app.engine) as connection:
        project, now = projects.by_slug(connection, slug), app.clock()
        if week == LAST:
            week = weeks.last_issued(connection, project.id) or RUNNING
        kept = None if week == RUNNING else weeks.get(connection, project.id, week)
        if kept is not None:
            return kept
        period = running(schedule, now) if week == RUNNING else schedule.period_named(week)
        if period.start > now or period.end <= project.created_at:
            raise NotFound(
                f"{slug} has no report of {period.key}.",
                mend=f"Its weeks begin with that of {project.created_at:%Y-%m-%d}; the last one is `{RUNNING}`.",
            )
        made = gathered(app, connection, project, period, now)
    if period.end <= now:
        with writing(app.engine) as connection:
            if not weeks.keep(connection, project.id, period.key, made, now):
                return weeks.get(connection, project.id, period.key) or made
    return made


def listed_weeks(app: App, slug: str) -> list[str]:
    """Return the weeks that have a report, the latest first; raises NotFound when there is no such project."""
    with reading(app.engine) as connection:
        return weeks.kept(connection, projects.by_slug(connection, slug).id)


def running(schedule: WeeklySchedule, now: datetime) -> Period:
    """Return the week that is not over yet."""
    period = schedule.next_after(now)
    return period if period.end > now else schedule.next_after(period.due_at)


def gathered(app: App, connection: Connection, project: Project, period: Period, now: datetime) -> dict[str, Any]:
    """Return the report of a week, made now; of a week that is not over what there is so far."""
    schedule = app.people.of(project.slug).weekly
    ended = replace(period, end=min(period.end, now))
    moved = {row["test"] for row in listings.moves_of_quarantine(connection, project.id, project.created_at)}
    spans = spans_out(connection, project.id, moved)
    tests = roster.rows(connection, project.id, spans)
    week = Weekly(
        app,
        connection,
        project,
        ended,
        now,
        spans,
        _sizes(schedule, project, ended, spans),
        {test: (naming.id_of(row), naming.display_of(row)) for test, row in tests.items()},
        names_of_owners(app, connection, project, list(spans)),
    )
    return _report(week, is_over=period.end <= now, zone=str(schedule.zone))


def _sizes(
    schedule: WeeklySchedule, project: Project, period: Period, spans: Mapping[int, Sequence[Span]]
) -> tuple[WeekSize, ...]:
    """Return the figures of the weeks drawn; weeks that ended before the project was there are left out."""
    periods = [period]
    while len(periods) < WEEKS_DRAWN and (earlier := schedule.before(periods[-1])).end > project.created_at:
        periods.append(earlier)
    return tuple(week_size(spans, one) for one in reversed(periods))


def _report(week: Weekly, *, is_over: bool, zone: str) -> dict[str, Any]:
    connection, project, period = week.connection, week.project, week.period
    trunk_builds = lately.trunk_builds(connection, project.id, period.start, period.end)
    size, before = week.sizes[-1], week.sizes[:-1][-COMPARED_WEEKS:]
    suite = builds.last_trunk_size(connection, project.id)
    observes = project.mode is Mode.OBSERVE
    exits = weekly_figures.exits(week)
    causes = weekly_figures.causes(week)
    regressions = weekly_figures.regressions(week)
    situation = _situation(week, trunk_builds, exits["counts"]["too_slow"], causes)
    advice = advise(situation)
    return {
        "schema": 1,
        "project": project.slug,
        "week": period.key,
        "begin": period.start.isoformat(),
        "end": period.end.isoformat(),
        "zone": zone,
        "made_at": week.now.isoformat(),
        "is_over": is_over,
        "mode": project.mode.value,
        "policy_version": week.app.policy.version,
        "headline": headline(size, before, trunk_builds=trunk_builds, is_over=is_over, observes=observes),
        "advice": {
            "sentence": advice.sentence,
            "page": advice.page.value,
            "key": _key(advice.page, regressions, causes),
        },
        "trunk_builds": trunk_builds,
        "size": {
            "tests": size.size,
            "suite": suite,
            "share": size.size / suite if suite else None,
            "entered": size.entered,
            "left": size.left,
            "net": size.net,
        },
        "compared": _compared(size, before),
        "weeks": [_drawn(one) for one in week.sizes],
        "ages": {
            "median_days": size.median_days,
            "oldest_days": size.oldest_days,
            "bins": [{"label": label, "tests": tests} for label, tests in binned(list(week.ages.values()))],
            "oldest": _oldest(week),
        },
        "owners": _by_owner(week),
        "causes": causes,
        "moved": weekly_figures.moved(week),
        "strength": weekly_figures.strength(week),
        "saved": weekly_figures.saved(week),
        "regressions": regressions,
        "exits": exits,
        "suspects": weekly_figures.suspects(week),
    }


def _drawn(size: WeekSize) -> dict[str, Any]:
    return {
        "week": size.key,
        "tests": size.size,
        "entered": size.entered,
        "left": size.left,
        "median_days": size.median_days,
        "oldest_days": size.oldest_days,
    }


def _compared(size: WeekSize, before: Sequence[WeekSize]) -> dict[str, Any] | None:
    """Return the means of the weeks before; None in the first week."""
    if not before:
        return None
    ages = [one.median_days for one in before if one.median_days is not None]
    return {
        "weeks": len(before),
        "tests": sum(one.size for one in before) / len(before),
        "entered": sum(one.entered for one in before) / len(before),
        "left": sum(one.left for one in before) / len(before),
        "median_days": sum(ages) / len(ages) if ages else None,
        "change": size.size - before[-1].size,
    }


def _oldest(week: Weekly) -> list[dict[str, Any]]:
    oldest = sorted(week.ages.items(), key=lambda one: (-one[1], one[0]))[:SHOWN]
    return [weekly_figures.test_of(week, test) | {"days": days} for test, days in oldest]


def _by_owner(week: Weekly) -> list[dict[str, Any]]:
    """Return how many tests each owner has out, the most first; nobody's are those of the owner ""."""
    ages = week.ages
    counted = Counter(week.owners.get(test, "") for test in ages)
    oldest = {
        owner: max(days for test, days in ages.items() if week.owners.get(test, "") == owner) for owner in counted
    }
    return [
        {"owner": owner, "tests": tests, "oldest_days": oldest[owner]}
        for owner, tests in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    ]


def _situation(week: Weekly, trunk_builds: int, too_slow: int, causes: Sequence[Mapping[str, Any]]) -> Situation:
    connection, project, ages = week.connection, week.project, week.ages
    ladder = week.app.people.of(project.slug).ladder
    open_ones = raised.open_ones(connection, project.id)
    held = {row["test"] for row in standings.with_status(connection, project.id, Status.HELD)}
    oldest = max(ages, key=lambda test: ages[test], default=None)
    return Situation(
        trunk_builds=trunk_builds,
        last_trunk_build=lately.last_trunk_build(connection, project.id, week.period.end),
        observes=project.mode is Mode.OBSERVE,
        size=len(ages),
        open_regressions=len(open_ones),
        oldest_regression=naming.name_of(connection, project, open_ones[0]["test"]) if open_ones else "",
        held=len(held),
        shared=(causes[0]["tests"], causes[0]["message"]) if causes else None,
        overdue=sum(days >= ladder.first_days for days in ages.values()),
        overdue_days=ladder.first_days,
        oldest=None if oldest is None else (week.names[oldest][1], ages[oldest], week.owners.get(oldest, "")),
        too_slow=too_slow,
    )


def _key(page: Page, regressions: Mapping[str, Any], causes: Sequence[Mapping[str, Any]]) -> str:
    """Return which test or cause the advice is about; "" for a page of the whole project."""
    if page is Page.TEST:
        return str(regressions["open"][0]["test"])
    return str(causes[0]["signature"]) if page is Page.CAUSE else ""
