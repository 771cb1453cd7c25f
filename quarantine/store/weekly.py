"""The facts of past weekly reports."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from quarantine.store.people_tables import WEEKLY
from quarantine.store.sql import insert_if_new


def keep(connection: Connection, project_id: int, period: str, facts: Mapping[str, Any], now: datetime) -> bool:
    """Store the facts of a week unless they are there; return whether they were stored."""
    row = {"project_id": project_id, "period": period, "made_at": now, "facts": dict(facts)}
    return insert_if_new(connection, WEEKLY, row)


def get(connection: Connection, project_id: int, period: str) -> dict[str, Any] | None:
    """Return the facts of a week; None when no report was made of it."""
    query = select(WEEKLY.c.facts).where(WEEKLY.c.project_id == project_id, WEEKLY.c.period == period)
    found: dict[str, Any] | None = connection.execute(query).scalar()
    return found


def periods(connection: Connection, project_id: int) -> list[str]:
    """Return the weeks that reports were made of, the newest first."""
    query = select(WEEKLY.c.period).where(WEEKLY.c.project_id == project_id).order_by(WEEKLY.c.period.desc())
    return list(connection.execute(query).scalars())
