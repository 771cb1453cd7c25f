"""What a person can do about a test as it stands, so that nobody is offered what would be refused."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.policy.escalation import Case, assess_escalation, snoozes_left
from quarantine.services import naming
from quarantine.services.app import App
from quarantine.services.standing_time import cases_of
from quarantine.store import histories, projects, raised, standings
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
        mark=_mark(project, rows, case, doubts),
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


def _doubt(row: Mapping[str, Any]) -> Doubt:
    return Doubt(
        number=row["number"],
        verdict=row["verdict"],
        at=row["at"],
        change=row["change"],
        sentence=row["sentence"],
    )


def _mark(project: Project, rows: Sequence[Mapping[str, Any]], case: Case, doubts: Sequence[Doubt]) -> str:
    stands = [(row["variant_hash"], row["status"], row["life"], row["expires_at"]) for row in rows]
    said = [(one.kind.value, one.at) for one in case.answers]
    stated = repr((project.mode.value, stands, said, [one.number for one in doubts]))
    return hashlib.sha256(stated.encode()).hexdigest()[:16]
