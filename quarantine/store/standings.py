"""The present standing of tests, and the append-only transitions that led to it."""

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, func, select

from quarantine.store.sql import dicts, in_chunks, last_number, upsert
from quarantine.store.tables import STANDING, TRANSITION


def load(connection: Connection, project_id: int, variant_hash: str, tests: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the standing rows of these tests by ordinal; a test without a row is gating and never had a head."""
    found = {}
    for chunk in in_chunks(tests):
        query = select(STANDING).where(
            STANDING.c.project_id == project_id,
            STANDING.c.variant_hash == variant_hash,
            STANDING.c.test.in_(chunk),
        )
        found.update({row["test"]: dict(row) for row in connection.execute(query).mappings()})
    return found


def with_status(connection: Connection, project_id: int, *statuses: str) -> list[dict[str, Any]]:
    """Return every standing row that has one of these statuses, the longest-standing first."""
    query = select(STANDING).where(STANDING.c.project_id == project_id, STANDING.c.status.in_(statuses))
    query = query.order_by(STANDING.c.since, STANDING.c.test, STANDING.c.variant_hash)
    return dicts(connection, query)


def with_any(connection: Connection, project_id: int, tests: Iterable[int]) -> set[int]:
    """Return which of these tests have a standing row in any variant: those that ever had a head, or were moved."""
    found = set[int]()
    for chunk in in_chunks(tests):
        query = select(STANDING.c.test).where(STANDING.c.project_id == project_id, STANDING.c.test.in_(chunk))
        found.update(connection.execute(query.distinct()).scalars())
    return found


def of_test(connection: Connection, project_id: int, test: int) -> list[dict[str, Any]]:
    """Return one test's standing rows, one for each variant that has one."""
    query = select(STANDING).where(STANDING.c.project_id == project_id, STANDING.c.test == test)
    return [dict(row) for row in connection.execute(query.order_by(STANDING.c.variant_hash)).mappings()]


def save(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Store standing rows as given."""
    upsert(connection, STANDING, list(rows))


def record(connection: Connection, project_id: int, **values: Any) -> int:
    """Append a transition and return its number; the columns are those of `tables.TransitionRow`."""
    number = last_number(connection, TRANSITION, project_id) + 1
    connection.execute(TRANSITION.insert().values(project_id=project_id, number=number, **values))
    return number


def last_moves(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[tuple[int, str], dict[str, Any]]:
    """Return the newest transition of each (test, variant hash) of these tests."""
    newest = (
        select(func.max(TRANSITION.c.number))
        .where(TRANSITION.c.project_id == project_id)
        .group_by(TRANSITION.c.variant_hash, TRANSITION.c.test)
    )
    found = {}
    for chunk in in_chunks(tests):
        theirs = TRANSITION.c.test.in_(chunk)
        query = select(TRANSITION).where(
            TRANSITION.c.project_id == project_id, theirs, TRANSITION.c.number.in_(newest.where(theirs))
        )
        found.update({(row["test"], row["variant_hash"]): dict(row) for row in connection.execute(query).mappings()})
    return found


def transitions(
    connection: Connection, project_id: int, *, test: int | None = None, limit: int = 200
) -> list[dict[str, Any]]:
    """Return the newest transitions first, of one test or of the project."""
    query = select(TRANSITION).where(TRANSITION.c.project_id == project_id)
    if test is not None:
        query = query.where(TRANSITION.c.test == test)
    query = query.order_by(TRANSITION.c.number.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def newest_number(connection: Connection, project_id: int) -> int:
    """Return the number of the project's newest transition; 0 when there is none."""
    return last_number(connection, TRANSITION, project_id)


def since(connection: Connection, project_id: int, number: int, limit: int) -> list[dict[str, Any]]:
    """Return the transitions after the one of this number, in their order."""
    query = select(TRANSITION).where(TRANSITION.c.project_id == project_id, TRANSITION.c.number > number)
    return [dict(row) for row in connection.execute(query.order_by(TRANSITION.c.number).limit(limit)).mappings()]


def quarantined_before(
    connection: Connection, project_id: int, tests: Iterable[int], number: int
) -> set[tuple[int, str]]:
    """Return which (test, variant hash) of these tests entered quarantine in a transition up to this number."""
    found = set[tuple[int, str]]()
    for chunk in in_chunks(tests):
        query = select(TRANSITION.c.test, TRANSITION.c.variant_hash).where(
            TRANSITION.c.project_id == project_id,
            TRANSITION.c.test.in_(chunk),
            TRANSITION.c.to_status == "quarantined",
            TRANSITION.c.number <= number,
        )
        found.update((row.test, row.variant_hash) for row in connection.execute(query.distinct()))
    return found


def moves_of_tests(connection: Connection, project_id: int, tests: Iterable[int]) -> list[dict[str, Any]]:
    """Return every transition of these tests in its order, without its evidence."""
    columns = [column for column in TRANSITION.c if column.name != "evidence"]
    found = list[dict[str, Any]]()
    for chunk in in_chunks(tests):
        query = select(*columns).where(TRANSITION.c.project_id == project_id, TRANSITION.c.test.in_(chunk))
        found += [dict(row) for row in connection.execute(query.order_by(TRANSITION.c.number)).mappings()]
    return found
