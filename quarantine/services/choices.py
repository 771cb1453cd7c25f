"""What a person can do about a test as it stands, so that nobody is offered what would be refused."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.policy.escalation import Case, assess_escalation, snoozes_left
from quarantine.services import naming, renames
from quarantine.services.app import App
from quarantine.services.standing_time import cases_of
from quarantine.store import aliases, histories, presence, projects, raised, standings
from quarantine.store.engine import reading
from quarantine.store.projects import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A possible regression that nobody has answered: its number, the verdict that raised it, and what that says."""

    number: int
    verdict: int
    at: datetime
    change: str | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What can be decided and answered about one test now. What is offered by it may be refused all the same.

    Attributes:
        test, name: its opaque id, and its name as people read it.
        observes: whether the project takes nothing out of the gating set.
        statuses: how it stands in each variant that has a standing.
        enters: variants in which it can be quarantined by hand; 0 when a rule or a broken variant forbids it.
        is_answerable: whether it is out by the clock of the ladder, so that an escalation can be answered.
        snoozes_left, snooze_days: how often it may be snoozed still, and for how long at most.
        own_days: for how long responsibility can be taken, no longer than somebody's that runs.
        responsible, responsible_until: who answers for it now; "" and None when nobody does.
        snoozed_until: until when nobody is told; None when that is over.
        doubts: open possible regressions, the oldest first.
        is_gone: whether trunk ran it once and no longer does, so that it may have been renamed.
        looks_like: names of the tests it looks like since.
        names: id and name of each name it was given by an alias, the latest first.
        mark: a few characters that are others once anything of this has been decided or answered.
    """

    test: str
    name: str
    observes: bool
    statuses: tuple[Status, ...]
    enters: int
    is_answerable: bool
    snoozes_left: int
    snooze_days: float
    own_days: float
    responsible: str
    responsible_until: datetime | None
    snoozed_until: datetime | None
    doubts: tuple[Doubt, ...]
    is_gone: bool
    looks_like: tuple[str, ...]
    names: tuple[tuple[str, str], ...]
    mark: str


def choices(app: App, slug: str, name: str) -> Choices:
    """Return what can be done about a test; raises NotFound when not exactly one test goes by the name."""
    with reading(app.engine) as connection:
        project, now = projects.by_slug(connection, slug), app.clock()
        test = naming.find(connection, project, name)
        rows = standings.of_test(connection, project.id, test["ordinal"])
        case = cases_of(connection, project, [test["ordinal"]])[test["ordinal"]]
        doubts = tuple(map(_doubt, raised.open_ones(connection, project.id, test["ordinal"])))
        enters = _enters(app, connection, project, test["ordinal"], rows)
        is_gone = _is_gone(connection, project, test["ordinal"])
        like = renames.proposed(connection, project) if is_gone else []
        names = _names(connection, project, test["ordinal"])
    ladder = app.people.of(slug).ladder
    found = assess_escalation(case, ladder, now)
    owned = found.responsible
    until = owned.until if owned is not None and owned.until is not None and owned.until > now else None
    own_days = ladder.own_days if until is None else min(ladder.own_days, (until - now) / timedelta(days=1))
    return Choices(
        test=naming.id_of(test),
        name=naming.display_of(test),
        observes=project.mode is Mode.OBSERVE,
        statuses=tuple(Status(row["status"]) for row in rows),
        enters=enters,
        is_answerable=found.is_quarantined and any(row["status"] == Status.QUARANTINED for row in rows),
        snoozes_left=snoozes_left(case, ladder, now),
        snooze_days=ladder.snooze_days,
        own_days=own_days,
        responsible=owned.by if owned is not None and until is not None else "",
        responsible_until=until,
        snoozed_until=found.snoozed_until,
        doubts=doubts,
        is_gone=is_gone,
        looks_like=tuple(one["present_name"] for one in like if one["former"] == naming.id_of(test)),
        names=names,
        mark=_mark(project, rows, case, doubts, names),
    )


def _enters(app: App, connection: Connection, project: Project, test: int, rows: Sequence[Mapping[str, Any]]) -> int:
    """Return in how many variants `decisions.quarantine` would take the test out."""
    if naming.never_reason(connection, project, app.policy, test) is not None:
        return 0
    stands = {row["variant_hash"]: row["status"] for row in rows}
    found = [
        stands.get(variant, Status.GATING)
        for variant in histories.variants_on_trunk(connection, project.id, [test])[test]
    ]
    return 0 if Status.BROKEN in found else sum(status != Status.QUARANTINED for status in found)


def _is_gone(connection: Connection, project: Project, test: int) -> bool:
    """Return whether trunk ran the test once and its last run does not tell of it."""
    if not histories.variants_on_trunk(connection, project.id, [test])[test]:
        return False
    return not presence.tests_of_trunk(connection, project.id, None, tests=project.tests)[test]


def _names(connection: Connection, project: Project, test: int) -> tuple[tuple[str, str], ...]:
    """Return (id, name) of the names that a test was given and still goes by, the latest first."""
    given = [row["name"] for row in aliases.of_test(connection, project.id, test) if row["ended_at"] is None]
    rows = aliases.own_rows(connection, project.id, given)
    return tuple((naming.id_of(rows[name]), naming.display_of(rows[name])) for name in given)


def _doubt(row: Mapping[str, Any]) -> Doubt:
    return Doubt(
        number=row["number"],
        verdict=row["verdict"],
        at=row["at"],
        change=row["change"],
        sentence=row["sentence"],
    )


def _mark(
    project: Project,
    rows: Sequence[Mapping[str, Any]],
    case: Case,
    doubts: Sequence[Doubt],
    names: Sequence[tuple[str, str]],
) -> str:
    stands = [(row["variant_hash"], row["status"], row["life"], row["expires_at"]) for row in rows]
    said = [(one.kind.value, one.at) for one in case.answers]
    stated = repr((project.mode.value, stands, said, [one.number for one in doubts], names))
    return hashlib.sha256(stated.encode()).hexdigest()[:16]
