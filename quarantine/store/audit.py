"""The append-only record of who did what."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from quarantine.store.sql import last_number, storable
from quarantine.store.tables import AUDIT


def record(connection: Connection, project_id: int, *, at: datetime, actor: str, action: str, detail: Any) -> None:
    """Append one row; `detail` must be JSON."""
    number = last_number(connection, AUDIT, project_id) + 1
    connection.execute(
        AUDIT.insert().values(
            project_id=project_id, number=number, at=at, actor=storable(actor)[:120], action=action, detail=detail
        )
    )


def latest(connection: Connection, project_id: int, limit: int = 100) -> list[dict[str, Any]]:
    """Return the newest rows first."""
    query = select(AUDIT).where(AUDIT.c.project_id == project_id).order_by(AUDIT.c.number.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def of_action(connection: Connection, project_id: int, action: str) -> list[dict[str, Any]]:
    """Return every row of one action, the oldest first."""
    query = select(AUDIT).where(AUDIT.c.project_id == project_id, AUDIT.c.action == action)
    return [dict(row) for row in connection.execute(query.order_by(AUDIT.c.number)).mappings()]
