"""What people answered about quarantined tests, and which steps of the ladder were taken."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, select

from quarantine.store.people_tables import ANSWER, ESCALATION, PRESS
from quarantine.store.sql import in_chunks, insert_if_new, last_number


def _add(connection: Connection, table: Table, project_id: int, values: dict[str, Any]) -> int:
    number = last_number(connection, table, project_id) + 1
    connection.execute(table.insert().values(project_id=project_id, number=number, **values))
    return number


def add(connection: Connection, project_id: int, **values: Any) -> int:
    """Append an answer and return its number; the columns are those of `tables.AnswerRow`."""
    return _add(connection, ANSWER, project_id, values)


def escalated(connection: Connection, project_id: int, **values: Any) -> int:
    """Append a step that was taken and return its number; the columns are those of `tables.EscalationRow`."""
    return _add(connection, ESCALATION, project_id, values)


def of_tests(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the answers about each of these tests, the oldest first."""
    return _by_test(connection, ANSWER, project_id, tests)


def escalations_of(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the steps taken about each of these tests, the oldest first."""
    return _by_test(connection, ESCALATION, project_id, tests)


def _by_test(
    connection: Connection, table: Table, project_id: int, tests: Iterable[int]
) -> dict[int, list[dict[str, Any]]]:
    found = dict[int, list[dict[str, Any]]]()
    for chunk in in_chunks(tests):
        query = select(table).where(table.c.project_id == project_id, table.c.test.in_(chunk))
        for row in connection.execute(query.order_by(table.c.number)).mappings():
            found.setdefault(row["test"], []).append(dict(row))
    return found


def is_first_press(connection: Connection, project_id: int, digest: str, now: datetime) -> bool:
    """Note a signed request, from Slack or of a page, by its digest; return False when it was acted on before."""
    return insert_if_new(connection, PRESS, {"project_id": project_id, "digest": digest, "at": now})


def forget_press(connection: Connection, project_id: int, digest: str) -> None:
    """Forget that a request was acted on, because in the end it was not."""
    connection.execute(PRESS.delete().where(PRESS.c.project_id == project_id, PRESS.c.digest == digest))


def forget_presses(connection: Connection, before: datetime) -> int:
    """Forget requests so old that their timestamp is refused anyway; return how many."""
    return connection.execute(PRESS.delete().where(PRESS.c.at < before)).rowcount
