"""Storms, kept as one incident each."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from quarantine.store.sql import upsert
from quarantine.store.tables import INCIDENT


def save(connection: Connection, **values: Any) -> None:
    """Store an incident, or what has become of it; the columns are those of `tables.Incident`."""
    upsert(connection, INCIDENT, [values])


def latest(connection: Connection, project_id: int, limit: int = 20) -> list[dict[str, Any]]:
    """Return the newest incidents first."""
    query = select(INCIDENT).where(INCIDENT.c.project_id == project_id)
    query = query.order_by(INCIDENT.c.last_at.desc(), INCIDENT.c.id).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def since(connection: Connection, project_id: int, at: datetime | None) -> list[dict[str, Any]]:
    """Return the incidents that builds joined after an instant, or all, in the order of their newest build."""
    query = select(INCIDENT).where(INCIDENT.c.project_id == project_id)
    if at is not None:
        query = query.where(INCIDENT.c.last_at > at)
    return [dict(row) for row in connection.execute(query.order_by(INCIDENT.c.last_at, INCIDENT.c.id)).mappings()]


def sentence_of(connection: Connection, project_id: int, incident: str) -> str | None:
    """Return what is said of an incident; None when there is none of this id."""
    query = select(INCIDENT.c.sentence).where(INCIDENT.c.project_id == project_id, INCIDENT.c.id == incident)
    found: str | None = connection.execute(query).scalar()
    return found


def first_seen(connection: Connection, project_id: int, incident: str) -> datetime | None:
    """Return when the incident was first seen; None when it is new."""
    query = select(INCIDENT.c.first_at).where(INCIDENT.c.project_id == project_id, INCIDENT.c.id == incident)
    found: datetime | None = connection.execute(query).scalar()
    return found
