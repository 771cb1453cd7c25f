"""What trunk did lately: how often it ran, in which variants, and which tests come close to entry."""

from datetime import datetime

from sqlalchemy import Connection, and_, func, select

from quarantine.domain.outcome import Lane, Status
from quarantine.store.listings import Pair
from quarantine.store.tables import BUILD, HEAD, OUTCOMES, STANDING


def trunk_builds(connection: Connection, project_id: int, begin: datetime, end: datetime) -> int:
    """Return how many trunk builds, reruns left out, came in from `begin` until before `end`."""
    query = select(func.count()).where(
        BUILD.c.project_id == project_id,
        BUILD.c.lane == Lane.TRUNK.value,
        BUILD.c.kind == "run",
        BUILD.c.received_at >= begin,
        BUILD.c.received_at < end,
    )
    return int(connection.execute(query).scalar_one())


def last_trunk_build(connection: Connection, project_id: int, before: datetime) -> datetime | None:
    """Return when the last trunk build before an instant came in; None when there was none."""
    query = select(BUILD.c.received_at).where(
        BUILD.c.project_id == project_id, BUILD.c.lane == Lane.TRUNK.value, BUILD.c.received_at < before
    )
    found: datetime | None = connection.execute(query.order_by(BUILD.c.seq.desc()).limit(1)).scalar()
    return found


def trunk_runs(connection: Connection, project_id: int, since: datetime) -> dict[str, list[tuple[int, datetime]]]:
    """Return (build, arrival) of the trunk builds since an instant, reruns left out, in order, by variant hash."""
    query = (
        select(OUTCOMES.c.variant_hash, OUTCOMES.c.build_seq, BUILD.c.received_at)
        .distinct()
        .join(BUILD, and_(BUILD.c.project_id == OUTCOMES.c.project_id, BUILD.c.seq == OUTCOMES.c.build_seq))
        .where(
            OUTCOMES.c.project_id == project_id,
            OUTCOMES.c.lane == Lane.TRUNK.value,
            OUTCOMES.c.is_run.is_(True),
            BUILD.c.received_at >= since,
        )
        .order_by(OUTCOMES.c.build_seq)
    )
    found: dict[str, list[tuple[int, datetime]]] = {}
    for variant_hash, seq, at in connection.execute(query).all():
        found.setdefault(variant_hash, []).append((seq, at))
    return found


def suspected(connection: Connection, project_id: int, since: datetime, limit: int) -> list[Pair]:
    """Return which tests that gate have two confirmed heads or more, the last since an instant, the most first."""
    heads = func.count()
    query = (
        select(HEAD.c.variant_hash, HEAD.c.test)
        .join(
            STANDING,
            and_(
                STANDING.c.project_id == HEAD.c.project_id,
                STANDING.c.variant_hash == HEAD.c.variant_hash,
                STANDING.c.test == HEAD.c.test,
                STANDING.c.life == HEAD.c.life,
            ),
        )
        .where(
            HEAD.c.project_id == project_id,
            STANDING.c.status == Status.GATING.value,
            HEAD.c.confirmed_at.is_not(None),
            HEAD.c.incident.is_(None),
        )
        .group_by(HEAD.c.variant_hash, HEAD.c.test)
        .having(and_(heads > 1, func.max(HEAD.c.arrived_at) >= since))
        .order_by(heads.desc(), HEAD.c.test, HEAD.c.variant_hash)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in connection.execute(query).all()]
