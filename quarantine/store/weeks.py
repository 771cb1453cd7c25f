"""The quarantine-size reports of weeks, kept as they were made."""

import json
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select, update

from quarantine.store.people_tables import WEEK
from quarantine.store.sql import insert_if_new


def get(connection: Connection, project_id: int, week: str) -> dict[str, Any] | None:
    """Return the report of a week; None when none was made."""
    query = select(WEEK.c.body).where(WEEK.c.project_id == project_id, WEEK.c.week == week)
    body = connection.execute(query).scalar()
    return None if body is None else json.loads(zlib.decompress(body))


def keep(connection: Connection, project_id: int, week: str, report: Mapping[str, Any], now: datetime) -> bool:
    """Store the report of a week; return False, and leave it as it was, when there is one."""
    body = zlib.compress(json.dumps(report).encode())
    row = {"project_id": project_id, "week": week, "made_at": now, "issued_at": None, "body": body}
    return insert_if_new(connection, WEEK, row)


def issue(connection: Connection, project_id: int, week: str, now: datetime) -> None:
    """Note that the report of a week was told."""
    which = (WEEK.c.project_id == project_id, WEEK.c.week == week)
    connection.execute(update(WEEK).where(*which).values(issued_at=now))


def last_issued(connection: Connection, project_id: int) -> str | None:
    """Return the latest week whose report was told; None when none ever was."""
    query = select(func.max(WEEK.c.week)).where(WEEK.c.project_id == project_id, WEEK.c.issued_at.is_not(None))
    found: str | None = connection.execute(query).scalar()
    return found


def kept(connection: Connection, project_id: int) -> list[str]:
    """Return the weeks that have a report, the latest first."""
    query = select(WEEK.c.week).where(WEEK.c.project_id == project_id).order_by(WEEK.c.week.desc())
    return list(connection.execute(query).scalars())
