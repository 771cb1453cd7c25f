"""The overview of a project: its gate, the size of its quarantine day by day, and what needs a person now."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Status
from quarantine.services import listing, naming, plausibility, renames, troubles
from quarantine.services.app import App
from quarantine.store import builds, incidents, listings, projects, raised, roster, standings
from quarantine.store.engine import reading
from quarantine.store.projects import Project

SHOWN = 6
"""Tests shown of each standing; the page of the quarantined ones has them all."""
DAYS = 90
_LEAST_DAYS = 14
OLD_DAYS = 30
"""Days in quarantine after which a test needs its owner."""
_BUILDS, _MOVES, _INCIDENTS, _REFUSED = 10, 12, 3, 3
_ALARMS, _RENAMES = 5, 5


def overview(app: App, slug: str) -> dict[str, Any]:
    """Return everything that the page of a project shows, of bounded length; raises NotFound."""
    now = app.clock()
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = standings.with_status(connection, project.id, *listing.NOT_SIMPLY_GATING)
        by_status = {status: [row for row in rows if row["status"] == status] for status in listing.NOT_SIMPLY_GATING}
        shown = [row for status in listing.NOT_SIMPLY_GATING for row in by_status[status][:SHOWN]]
        return {
            **listing.head(project),
            "now": now.isoformat(),
            "policy_version": app.policy.version,
            "counts": listing.counts(connection, project, rows),
            "pairs": {status.value: len(found) for status, found in by_status.items()},
            "suspects": listing.suspects(connection, project),
            "standing": listing.told(connection, project, shown),
            "size": _size(connection, project, by_status[Status.QUARANTINED], now),
            "needs": _needs(connection, project, by_status[Status.QUARANTINED], now) | _renames(connection, project),
            "latest_builds": [listing.build_row(row) for row in builds.latest(connection, project.id, _BUILDS)],
            "transitions": listing.latest_moves(connection, project, _MOVES),
            "moves": listings.count_moves(connection, project.id),
            "incidents": [listing.incident_row(row) for row in incidents.latest(connection, project.id, _INCIDENTS)],
            "incident_count": listings.count_incidents(connection, project.id),
            "refused": [listing.refused_row(row) for row in builds.refused(connection, project.id, _REFUSED)],
            "refused_count": listings.count_refused(connection, project.id),
            "doubts": [asdict(doubt) for doubt in plausibility.doubts(connection, project)],
        }


def _size(
    connection: Connection, project: Project, quarantined: Sequence[Mapping[str, Any]], now: datetime
) -> list[dict[str, Any]]:
    """Return how many tests were quarantined, in any variant, at the end of each of the last days, the oldest first.

    Days (UTC) before the project was created are left out, but for the last fortnight.
    """
    today = now.date()
    begun = min(project.created_at.date(), today - timedelta(days=_LEAST_DAYS - 1))
    first = max(today - timedelta(days=DAYS - 1), begun)
    since = datetime.combine(first, datetime.min.time(), now.tzinfo)
    moves = listings.moves_of_quarantine(connection, project.id, since)
    pairs = {(row["variant_hash"], row["test"]) for row in quarantined}
    return [{"day": day.isoformat(), "tests": count} for day, count in sizes(pairs, moves, first, today)]


def sizes(
    pairs: Iterable[tuple[str, int]], moves: Sequence[Mapping[str, Any]], first: date, last: date
) -> list[tuple[date, int]]:
    """Return the number of tests quarantined at the end of each day from `first` to `last`.

    Args:
        pairs: the (variant hash, test) that are quarantined at the end of `last`.
        moves: every move into or out of quarantine since the beginning of `first`, in order.
        first: the first day.
        last: the last day, included.
    """
    variants = Counter(test for _, test in pairs)
    left = list(moves)
    found = []
    day = last
    while day >= first:
        while left and left[-1]["at"].date() > day:
            move = left.pop()
            variants[move["test"]] += -1 if move["to_status"] == Status.QUARANTINED else 1
        found.append((day, sum(count > 0 for count in variants.values())))
        day -= timedelta(days=1)
    return found[::-1]


def _needs(
    connection: Connection, project: Project, quarantined: Sequence[Mapping[str, Any]], now: datetime
) -> dict[str, Any]:
    old = [row for row in quarantined if (now - row["since"]).days >= OLD_DAYS]
    oldest = roster.rows(connection, project.id, [old[0]["test"]])[old[0]["test"]] if old else None
    return {
        "old": len({row["test"] for row in old}),
        "old_days": OLD_DAYS,
        "oldest": oldest
        and {"test": naming.id_of(oldest), "name": naming.display_of(oldest), "days": (now - old[0]["since"]).days},
        "alarms": _alarms(connection, project),
        "troubles": troubles.standing(connection, project.id),
    }


def _renames(connection: Connection, project: Project) -> dict[str, Any]:
    """Return the tests that look renamed and have something to lose by it, and how many others do."""
    found = renames.proposed(connection, project)
    losing = [one for one in found if one["at_stake"]]
    shown = losing[:_RENAMES]
    return {
        "renames": shown,
        "renames_left_out": len(losing) - len(shown),
        "other_renames": len(found) - len(losing),
    }


def _alarms(connection: Connection, project: Project) -> list[dict[str, Any]]:
    """Return the newest verdicts whose possible regressions nobody has answered and trunk has not passed since."""
    by_verdict: dict[int, list[Mapping[str, Any]]] = {}
    for row in reversed(raised.open_ones(connection, project.id)):
        by_verdict.setdefault(row["verdict"], []).append(row)
    newest = list(by_verdict.items())[:_ALARMS]
    tests = roster.rows(connection, project.id, {row["test"] for _, rows in newest for row in rows})
    return [
        {
            "number": verdict,
            "tests": list(dict.fromkeys(naming.display_of(tests[row["test"]]) for row in rows))[:_ALARMS],
            "at": rows[0]["at"].isoformat(),
        }
        for verdict, rows in newest
    ]
