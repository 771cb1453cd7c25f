"""What pages list: builds, reports and failures a page at a time, and what is said of many tests in one query."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, select

from quarantine.domain.outcome import Lane, Status
from quarantine.store.sql import CHUNK, dicts, in_chunks
from quarantine.store.tables import (
    AUDIT,
    BUILD,
    FAILURE,
    HEAD,
    INCIDENT,
    OUTCOMES,
    REFUSED_REPORT,
    REPORT,
    STANDING,
    TRANSITION,
)

_FAILURE_SHOWN = [column for column in FAILURE.c if column.name != "detail"]
_REFUSED_SHOWN = [column for column in REFUSED_REPORT.c if column.name != "body"]

Pair = tuple[str, int]
"""A test in a variant: the variant's hash and the test's ordinal."""


def _rows(connection: Connection, query: Select[Any]) -> list[dict[str, Any]]:
    return dicts(connection, query)


def _count(connection: Connection, of: Any, *which: ColumnElement[bool]) -> int:
    return int(connection.execute(select(func.count()).select_from(of).where(*which)).scalar_one())


def _standing_of(table: Table) -> ColumnElement[bool]:
    """Return what holds of a row's own standing."""
    c = table.c
    return and_(
        STANDING.c.project_id == c.project_id, STANDING.c.variant_hash == c.variant_hash, STANDING.c.test == c.test
    )


def _of_builds(project_id: int, lane: str | None) -> list[ColumnElement[bool]]:
    return [BUILD.c.project_id == project_id, *([BUILD.c.lane == lane] if lane else [])]


def builds(
    connection: Connection, project_id: int, *, lane: str | None, offset: int, limit: int
) -> list[dict[str, Any]]:
    """Return builds, of one lane or of all, the newest first."""
    query = select(BUILD).where(*_of_builds(project_id, lane)).order_by(BUILD.c.seq.desc())
    return _rows(connection, query.offset(offset).limit(limit))


def count_builds(connection: Connection, project_id: int, *, lane: str | None) -> int:
    """Return how many builds there are, of one lane or of all."""
    return _count(connection, BUILD, *_of_builds(project_id, lane))


def reports_of(connection: Connection, project_id: int, build_seq: int) -> list[dict[str, Any]]:
    """Return the accepted documents of a build, in order of arrival."""
    query = select(REPORT).where(REPORT.c.project_id == project_id, REPORT.c.build_seq == build_seq)
    return _rows(connection, query.order_by(REPORT.c.received_at, REPORT.c.name, REPORT.c.sha256))


def reports(connection: Connection, project_id: int, *, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return accepted documents with the names of their builds, those of the newest build first."""
    query = (
        select(REPORT, BUILD.c.build, BUILD.c.job, BUILD.c.lane)
        .join(BUILD, and_(BUILD.c.project_id == REPORT.c.project_id, BUILD.c.seq == REPORT.c.build_seq))
        .where(REPORT.c.project_id == project_id)
        .order_by(REPORT.c.build_seq.desc(), REPORT.c.sha256)
    )
    return _rows(connection, query.offset(offset).limit(limit))


def count_reports(connection: Connection, project_id: int) -> int:
    """Return how many documents were accepted."""
    return _count(connection, REPORT, REPORT.c.project_id == project_id)


def refused(connection: Connection, project_id: int, *, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return refused documents without their bytes, the newest first."""
    query = select(*_REFUSED_SHOWN).where(REFUSED_REPORT.c.project_id == project_id)
    query = query.order_by(REFUSED_REPORT.c.received_at.desc(), REFUSED_REPORT.c.sha256)
    return _rows(connection, query.offset(offset).limit(limit))


def count_refused(connection: Connection, project_id: int) -> int:
    """Return how many refused documents are still known."""
    return _count(connection, REFUSED_REPORT, REFUSED_REPORT.c.project_id == project_id)


def failures_of_build(connection: Connection, project_id: int, build_seq: int, *, limit: int) -> list[dict[str, Any]]:
    """Return failed runs of a build without their details, by test; at most `limit`."""
    query = select(*_FAILURE_SHOWN).where(FAILURE.c.project_id == project_id, FAILURE.c.build_seq == build_seq)
    return _rows(connection, query.order_by(FAILURE.c.test, FAILURE.c.variant_hash).limit(limit))


def count_failures(connection: Connection, project_id: int, build_seq: int) -> int:
    """Return how many failed runs a build had."""
    return _count(connection, FAILURE, FAILURE.c.project_id == project_id, FAILURE.c.build_seq == build_seq)


def heads_of_build(connection: Connection, project_id: int, build_seq: int) -> dict[Pair, dict[str, Any]]:
    """Return the heads that came with a build by (variant hash, test)."""
    query = select(HEAD).where(HEAD.c.project_id == project_id, HEAD.c.build_seq == build_seq)
    return {(row["variant_hash"], row["test"]): row for row in _rows(connection, query)}


def moves_before(
    connection: Connection, project_id: int, tests: Sequence[int], before: datetime
) -> dict[Pair, dict[str, Any]]:
    """Return the last transition of each of these tests, in each variant, that was decided before an instant."""
    found: dict[Pair, dict[str, Any]] = {}
    shown = [TRANSITION.c[name] for name in ("variant_hash", "test", "to_status", "at", "mode")]
    for chunk in in_chunks(tests):
        query = select(*shown).where(
            TRANSITION.c.project_id == project_id,
            TRANSITION.c.test.in_(chunk),
            TRANSITION.c.at < before,
        )
        rows = _rows(connection, query.order_by(TRANSITION.c.number))
        found.update({(row["variant_hash"], row["test"]): row for row in rows})
    return found


def incident(connection: Connection, project_id: int, incident_id: str) -> dict[str, Any] | None:
    """Return one incident; None when there is none of this id."""
    query = select(INCIDENT).where(INCIDENT.c.project_id == project_id, INCIDENT.c.id == incident_id)
    return next(iter(_rows(connection, query)), None)


def incidents(connection: Connection, project_id: int, *, offset: int, limit: int) -> list[dict[str, Any]]:
    """Return incidents, the newest first."""
    query = select(INCIDENT).where(INCIDENT.c.project_id == project_id)
    query = query.order_by(INCIDENT.c.last_at.desc(), INCIDENT.c.id)
    return _rows(connection, query.offset(offset).limit(limit))


def count_incidents(connection: Connection, project_id: int) -> int:
    """Return how many incidents there have been."""
    return _count(connection, INCIDENT, INCIDENT.c.project_id == project_id)


def moves_of_quarantine(connection: Connection, project_id: int, since: datetime) -> list[dict[str, Any]]:
    """Return (at, variant_hash, test, to_status) of every move into or out of quarantine from `since` on, in order."""
    shown = [TRANSITION.c[name] for name in ("at", "variant_hash", "test", "to_status")]
    query = select(*shown).where(
        TRANSITION.c.project_id == project_id,
        TRANSITION.c.at >= since,
        (TRANSITION.c.from_status == Status.QUARANTINED.value) | (TRANSITION.c.to_status == Status.QUARANTINED.value),
    )
    return _rows(connection, query.order_by(TRANSITION.c.number))


def count_moves(connection: Connection, project_id: int) -> int:
    """Return how many transitions there have been."""
    return _count(connection, TRANSITION, TRANSITION.c.project_id == project_id)


def failures_since_window(
    connection: Connection, project_id: int, status: str, tests: Sequence[int]
) -> dict[Pair, list[tuple[int, datetime]]]:
    """Return (build, arrival) of the failed trunk trials of these tests since the window of each standing began.

    Only standings of this status count; one without such a failure is left out.
    """
    query = (
        select(FAILURE.c.variant_hash, FAILURE.c.test, FAILURE.c.build_seq, FAILURE.c.received_at)
        .join(STANDING, _standing_of(FAILURE))
        .where(
            STANDING.c.project_id == project_id,
            STANDING.c.status == status,
            FAILURE.c.build_seq >= func.coalesce(STANDING.c.window_build, 0),
            FAILURE.c.is_trunk.is_(True),
            FAILURE.c.trial.is_not(None),
        )
    )
    found: dict[Pair, list[tuple[int, datetime]]] = defaultdict(list)
    for chunk in in_chunks(tests):
        part = query.where(FAILURE.c.test.in_(chunk))
        for variant_hash, test, build_seq, received_at in connection.execute(part).all():
            found[variant_hash, test].append((build_seq, received_at))
    for failures in found.values():
        failures.sort()
    return found


def failures_counted(connection: Connection, project_id: int, status: str) -> dict[Pair, tuple[int, int]]:
    """Return, for each standing of this status, its failed trunk trials since the entry and the last failing build.

    One whose failures are all older than the entry counts 0, one that never failed is left out.
    """
    since = func.coalesce(STANDING.c.entry_build, 0)
    on_trunk = and_(FAILURE.c.build_seq > since, FAILURE.c.is_trunk.is_(True), FAILURE.c.trial.is_not(None))
    query = (
        select(FAILURE.c.variant_hash, FAILURE.c.test, func.count().filter(on_trunk), func.max(FAILURE.c.build_seq))
        .join(STANDING, _standing_of(FAILURE))
        .where(STANDING.c.project_id == project_id, STANDING.c.status == status)
        .group_by(FAILURE.c.variant_hash, FAILURE.c.test)
    )
    return {(row[0], row[1]): (row[2], row[3]) for row in connection.execute(query).all()}


def trunk_runs(connection: Connection, project_id: int, variant_hash: str, after_seq: int) -> list[int]:
    """Return the trunk builds, reruns left out, that ran in the variant after a build, in order."""
    c = OUTCOMES.c
    query = (
        select(c.build_seq)
        .distinct()
        .where(
            c.project_id == project_id,
            c.variant_hash == variant_hash,
            c.lane == Lane.TRUNK.value,
            c.is_run.is_(True),
            c.build_seq > after_seq,
        )
    )
    return sorted(connection.execute(query).scalars())


def _onsets(project_id: int, status: str) -> Select[Any]:
    """Return the query for the signatures of the onsets that the standings of this status rest on."""
    return (
        select(HEAD.c.signature, HEAD.c.variant_hash, HEAD.c.test)
        .join(STANDING, and_(_standing_of(HEAD), STANDING.c.life == HEAD.c.life))
        .where(
            STANDING.c.project_id == project_id,
            STANDING.c.status == status,
            HEAD.c.confirmed_at.is_not(None),
            HEAD.c.incident.is_(None),
            HEAD.c.signature != "",
            HEAD.c.build_seq >= func.coalesce(STANDING.c.window_build, 0),
        )
    )


def common_signatures(connection: Connection, project_id: int, status: str, limit: int) -> list[dict[str, Any]]:
    """Return the signatures that onsets of several tests share: `signature`, `tests`, the most shared first."""
    onsets = _onsets(project_id, status).subquery()
    tests = func.count(onsets.c.test.distinct()).label("tests")
    query = select(onsets.c.signature, tests).group_by(onsets.c.signature).having(tests > 1)
    return _rows(connection, query.order_by(tests.desc(), onsets.c.signature).limit(limit))


def failing_like(connection: Connection, project_id: int, status: str, signature: str) -> set[Pair]:
    """Return which standings of this status rest on an onset with this signature."""
    query = _onsets(project_id, status).where(HEAD.c.signature == signature)
    return {(row[1], row[2]) for row in connection.execute(query)}


def message_like(connection: Connection, project_id: int, signature: str) -> str:
    """Return what a failure with this signature said, in its first lines; empty when none is known."""
    query = (
        select(func.substr(FAILURE.c.message, 1, 400))
        .join(
            HEAD,
            and_(
                HEAD.c.project_id == FAILURE.c.project_id,
                HEAD.c.build_seq == FAILURE.c.build_seq,
                HEAD.c.variant_hash == FAILURE.c.variant_hash,
                HEAD.c.test == FAILURE.c.test,
            ),
        )
        .where(HEAD.c.project_id == project_id, HEAD.c.signature == signature)
        .limit(1)
    )
    return str(connection.execute(query).scalar() or "")


def signatures_in(
    connection: Connection, project_id: int, build_seqs: Sequence[int], limit: int
) -> list[dict[str, Any]]:
    """Return the signatures of failures in these builds: `signature`, `failures`, `message`, the most frequent first.

    The message is that of one such failure, in its first lines.
    """
    failures = func.count().label("failures")
    message = func.min(func.substr(FAILURE.c.message, 1, 400)).label("message")
    query = (
        select(FAILURE.c.signature, failures, message)
        .where(FAILURE.c.project_id == project_id, FAILURE.c.build_seq.in_(build_seqs))
        .group_by(FAILURE.c.signature)
        .order_by(failures.desc(), FAILURE.c.signature)
    )
    return _rows(connection, query.limit(limit))


def failing_with(
    connection: Connection, project_id: int, test: int, build_seqs: Sequence[int]
) -> list[tuple[int, int]]:
    """Return (test, builds) for the tests that failed in these builds too, in how many of them, the most first."""
    shared = func.count(FAILURE.c.build_seq.distinct())
    query = (
        select(FAILURE.c.test, shared)
        .where(FAILURE.c.project_id == project_id, FAILURE.c.build_seq.in_(build_seqs), FAILURE.c.test != test)
        .group_by(FAILURE.c.test)
        .order_by(shared.desc(), FAILURE.c.test)
        .limit(CHUNK)
    )
    return [(row[0], row[1]) for row in connection.execute(query)]


def traces_of(
    connection: Connection, project_id: int, variant_hash: str, test: int, *, builds: Sequence[int], characters: int
) -> dict[int, str]:
    """Return the beginning of the trace of a test's failure in each of these builds."""
    query = select(FAILURE.c.build_seq, func.substr(FAILURE.c.detail, 1, characters)).where(
        FAILURE.c.project_id == project_id,
        FAILURE.c.build_seq.in_(builds),
        FAILURE.c.variant_hash == variant_hash,
        FAILURE.c.test == test,
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def audit_without(connection: Connection, project_id: int, actions: Sequence[str], limit: int) -> list[dict[str, Any]]:
    """Return the newest rows of the audit whose action is none of these, the newest first."""
    query = select(AUDIT).where(AUDIT.c.project_id == project_id, AUDIT.c.action.not_in(actions))
    return _rows(connection, query.order_by(AUDIT.c.number.desc()).limit(limit))
