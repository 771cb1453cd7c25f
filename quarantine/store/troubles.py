"""What is stored that tells of trouble with the reports of trunk."""

from datetime import datetime, timedelta

from sqlalchemy import Connection, and_, or_, select

from quarantine.domain.outcome import Lane
from quarantine.store.tables import BUILD, REFUSED_REPORT, TOKEN


def last_reports(connection: Connection, project_id: int, back: timedelta) -> list[datetime]:
    """Return when trunk's builds came in, in order, within the time before the last one and that one included."""
    received = BUILD.c.received_at
    of_trunk = (BUILD.c.project_id == project_id, BUILD.c.lane == Lane.TRUNK.value, BUILD.c.kind == "run")
    last = connection.execute(select(received).where(*of_trunk).order_by(BUILD.c.seq.desc()).limit(1)).scalar()
    if last is None:
        return []
    query = select(received).where(*of_trunk, received >= last - back).order_by(received)
    return list(connection.execute(query).scalars())


def refused_since(connection: Connection, project_id: int, at: datetime | None, limit: int) -> list[str]:
    """Return why reports were refused after an instant, the newest first: trunk's, and those sent without a token."""
    join = and_(TOKEN.c.project_id == REFUSED_REPORT.c.project_id, TOKEN.c.id == REFUSED_REPORT.c.token_id)
    query = (
        select(REFUSED_REPORT.c.sentence)
        .outerjoin(TOKEN, join)
        .where(
            REFUSED_REPORT.c.project_id == project_id,
            or_(REFUSED_REPORT.c.token_id.is_(None), TOKEN.c.lane == Lane.TRUNK.value),
        )
    )
    if at is not None:
        query = query.where(REFUSED_REPORT.c.received_at > at)
    return list(connection.execute(query.order_by(REFUSED_REPORT.c.received_at.desc()).limit(limit)).scalars())
