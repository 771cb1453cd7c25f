"""Heads: stored as they arrive, confirmed when the identical tree is known to pass."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, func, select, update

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.store.tables import BUILD, FAILURE, HEAD

_SIGN = 1 << 63


def signed(fingerprint: int) -> int:
    """Return the unsigned 64-bit fingerprint as the signed number that databases store."""
    return fingerprint - (1 << 64) if fingerprint >= _SIGN else fingerprint


def unsigned(stored: int) -> int:
    """Return the fingerprint that `signed` stored."""
    return stored + (1 << 64) if stored < 0 else stored


def insert(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store new heads."""
    if rows:
        connection.execute(HEAD.insert(), [dict(row) for row in rows])


def pending_of_tree(
    connection: Connection, project_id: int, variant_hash: str, tree: str, setting: str
) -> list[dict[str, Any]]:
    """Return the heads on this exact tree, in this variant and setting, that no pass has confirmed."""
    query = select(HEAD).where(
        HEAD.c.project_id == project_id,
        HEAD.c.variant_hash == variant_hash,
        HEAD.c.tree == tree,
        HEAD.c.setting == setting,
        HEAD.c.confirmed_at.is_(None),
    )
    return [dict(row) for row in connection.execute(query.order_by(HEAD.c.test, HEAD.c.life, HEAD.c.number)).mappings()]


def pending_of_build(
    connection: Connection, project_id: int, variant_hash: str, build_seq: int
) -> list[dict[str, Any]]:
    """Return the heads of one build in one variant that no pass has confirmed."""
    query = select(HEAD).where(
        HEAD.c.project_id == project_id,
        HEAD.c.build_seq == build_seq,
        HEAD.c.variant_hash == variant_hash,
        HEAD.c.confirmed_at.is_(None),
    )
    return [dict(row) for row in connection.execute(query.order_by(HEAD.c.test)).mappings()]


def _is(row: Mapping[str, Any]) -> Any:
    keys = ("project_id", "variant_hash", "test", "life", "number")
    return and_(*(HEAD.c[key] == row[key] for key in keys))


def confirm(connection: Connection, row: Mapping[str, Any], *, by: int, at: datetime) -> None:
    """Note that build `by` passed on the head's own tree."""
    connection.execute(update(HEAD).where(_is(row)).values(confirmed_at=at, confirmed_by=by))


def count_failed_rerun(connection: Connection, row: Mapping[str, Any], by: int = 1) -> None:
    """Note that the head's tree failed again when it was rerun."""
    connection.execute(update(HEAD).where(_is(row)).values(reruns_failed=HEAD.c.reruns_failed + by))


def note_company(connection: Connection, project_id: int, variant_hash: str, build_seq: int) -> None:
    """Note, of each head of a build, how many other tests failed with its signature there, in all of its parts."""
    alike = FAILURE.alias("alike")
    others = (
        select(func.count() - 1)
        .where(
            alike.c.project_id == HEAD.c.project_id,
            alike.c.build_seq == HEAD.c.build_seq,
            alike.c.variant_hash == HEAD.c.variant_hash,
            alike.c.signature == HEAD.c.signature,
        )
        .scalar_subquery()
    )
    which = and_(HEAD.c.project_id == project_id, HEAD.c.build_seq == build_seq, HEAD.c.variant_hash == variant_hash)
    connection.execute(update(HEAD).where(which).values(company=func.coalesce(others, 0)))


def assign_incident(connection: Connection, project_id: int, build_seqs: Iterable[int], incident: str) -> list[Any]:
    """Note that the heads of these builds belong to a storm; return the (variant, test) pairs concerned."""
    which = and_(HEAD.c.project_id == project_id, HEAD.c.build_seq.in_(list(build_seqs)))
    connection.execute(update(HEAD).where(which).values(incident=incident))
    return [tuple(row) for row in connection.execute(select(HEAD.c.variant_hash, HEAD.c.test).where(which).distinct())]


def of_test(connection: Connection, project_id: int, variant_hash: str, test: int, life: int) -> tuple[Head, ...]:
    """Return the heads of one test's present evidence, by number."""
    query = (
        select(HEAD, BUILD.c.runner)
        .join(BUILD, and_(BUILD.c.project_id == HEAD.c.project_id, BUILD.c.seq == HEAD.c.build_seq))
        .where(
            HEAD.c.project_id == project_id,
            HEAD.c.variant_hash == variant_hash,
            HEAD.c.test == test,
            HEAD.c.life == life,
        )
        .order_by(HEAD.c.number)
    )
    return tuple(_head(row) for row in connection.execute(query).mappings())


def pending(connection: Connection, project_id: int, since: datetime) -> list[dict[str, Any]]:
    """Return every unconfirmed head that arrived at `since` or later, with its build's commit, command and job."""
    query = (
        select(
            HEAD,
            *[BUILD.c[name] for name in ("commit", "command", "job", "environment_hash", "build", "stream", "runner")],
        )
        .join(BUILD, and_(BUILD.c.project_id == HEAD.c.project_id, BUILD.c.seq == HEAD.c.build_seq))
        .where(
            HEAD.c.project_id == project_id,
            HEAD.c.confirmed_at.is_(None),
            HEAD.c.arrived_at >= since,
            HEAD.c.incident.is_(None),
        )
        .order_by(HEAD.c.arrived_at, HEAD.c.test)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def _head(row: RowMapping) -> Head:
    return Head(
        number=row["number"],
        index=row["trial"],
        arrived_at=row["arrived_at"],
        lane=Lane(row["lane"]),
        change=row["change"],
        build=str(row["build_seq"]),
        tree=row["tree"] or "",
        fingerprint=unsigned(row["fingerprint"]),
        runner=row["runner"],
        signature=row["signature"],
        confirmed_at=row["confirmed_at"],
        confirmed_by=None if row["confirmed_by"] is None else str(row["confirmed_by"]),
        reruns_failed=row["reruns_failed"],
        trunk_trials=row["trunk_trials"],
        trunk_days=row["trunk_days"],
        incident=row["incident"],
        company=row["company"],
    )
