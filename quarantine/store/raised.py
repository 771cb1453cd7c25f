"""Possible regressions of quarantined tests, and what became of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from quarantine.store.people_tables import RAISED
from quarantine.store.sql import insert_if_new, last_number


def note(connection: Connection, project_id: int, **values: Any) -> bool:
    """Store one, open, unless this verdict raised it before; the columns are those of `tables.RaisedRow`."""
    number = newest_number(connection, project_id) + 1
    row = {"project_id": project_id, "number": number, "state": "open", "closed_by": "", "closed_why": ""}
    return insert_if_new(connection, RAISED, row | values)


def newest_number(connection: Connection, project_id: int) -> int:
    """Return the number of the newest one; 0 when there is none."""
    return last_number(connection, RAISED, project_id)


def since(connection: Connection, project_id: int, number: int) -> list[dict[str, Any]]:
    """Return those of a higher number, in their order."""
    query = select(RAISED).where(RAISED.c.project_id == project_id, RAISED.c.number > number)
    return [dict(row) for row in connection.execute(query.order_by(RAISED.c.number)).mappings()]


def within(connection: Connection, project_id: int, begin: datetime, end: datetime) -> list[dict[str, Any]]:
    """Return those raised from `begin` until before `end`, in their order."""
    query = select(RAISED).where(RAISED.c.project_id == project_id, RAISED.c.at >= begin, RAISED.c.at < end)
    return [dict(row) for row in connection.execute(query.order_by(RAISED.c.number)).mappings()]


def open_ones(connection: Connection, project_id: int, test: int | None = None) -> list[dict[str, Any]]:
    """Return the open ones, of one test or of all, the oldest first."""
    query = select(RAISED).where(RAISED.c.project_id == project_id, RAISED.c.state == "open")
    if test is not None:
        query = query.where(RAISED.c.test == test)
    return [dict(row) for row in connection.execute(query.order_by(RAISED.c.number)).mappings()]


def close(
    connection: Connection, project_id: int, numbers: Sequence[int], *, state: str, by: str, why: str, now: datetime
) -> None:
    """Say what open ones were."""
    for number in numbers:
        at = (RAISED.c.project_id == project_id, RAISED.c.number == number, RAISED.c.state == "open")
        connection.execute(update(RAISED).where(*at).values(state=state, closed_by=by, closed_why=why, closed_at=now))
