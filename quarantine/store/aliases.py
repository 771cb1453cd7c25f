"""Aliases: which rows of the roster are names of one test, and how a row is told with all its names."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from quarantine.store import projects
from quarantine.store.alias_tables import ALIAS
from quarantine.store.projects import Project
from quarantine.store.sql import in_chunks, last_number
from quarantine.store.tables import TEST

Carriers = Mapping[int, int]
"""The ordinal of each row that is a further name of another test, and that test's."""

_NAME = ("suite", "classname", "name", "file", "line")


def carriers(connection: Connection, project_id: int) -> dict[int, int]:
    """Return every row that is a further name of another test at present, with that test; the newest alias first."""
    query = select(ALIAS.c.name, ALIAS.c.test).where(ALIAS.c.project_id == project_id, ALIAS.c.ended_at.is_(None))
    query = query.order_by(ALIAS.c.number.desc())
    return {row.name: row.test for row in connection.execute(query)}


def of_test(connection: Connection, project_id: int, test: int) -> list[dict[str, Any]]:
    """Return every alias of a test, those that have ended too, the newest first."""
    query = select(ALIAS).where(ALIAS.c.project_id == project_id, ALIAS.c.test == test)
    return [dict(row) for row in connection.execute(query.order_by(ALIAS.c.number.desc())).mappings()]


def add(connection: Connection, project: Project, *, test: int, name: int, at: datetime, by: str, reason: str) -> int:
    """Let the name of row `name` be the present name of `test` from now on, and return the alias's number."""
    number = last_number(connection, ALIAS, project.id) + 1
    values = {"project_id": project.id, "number": number, "test": test, "name": name, "at": at, "by": by}
    connection.execute(ALIAS.insert().values(values | {"reason": reason}))
    _settle(connection, project, test, name, carrier=test)
    return number


def end(connection: Connection, project: Project, row: Mapping[str, Any], *, at: datetime, by: str, why: str) -> None:
    """Let a name be a test of its own again."""
    this = (ALIAS.c.project_id == project.id, ALIAS.c.number == row["number"])
    connection.execute(update(ALIAS).where(*this).values(ended_at=at, ended_by=by, ended_why=why))
    _settle(connection, project, row["test"], row["name"], carrier=None)


def _settle(connection: Connection, project: Project, test: int, name: int, *, carrier: int | None) -> None:
    """Write into the roster, and into the project's numbers, what the aliases say now."""
    in_force = [row["name"] for row in of_test(connection, project.id, test) if row["ended_at"] is None]
    row = update(TEST).where(TEST.c.project_id == project.id)
    connection.execute(row.where(TEST.c.ordinal == name).values(carrier=carrier))
    connection.execute(row.where(TEST.c.ordinal == test).values(present=in_force[0] if in_force else None))
    projects.note_rename(connection, project, retired=len(carriers(connection, project.id)))


def told(connection: Connection, project_id: int, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of the roster as those of the tests they are names of, in the same order.

    A test that was renamed has its present name; `former` then holds the rows of its other names, the latest first,
    and `names` the digests of all of them. The rows of tests that never were are returned as they are.
    """
    renamed = {_test_of(row) for row in rows if row["carrier"] is not None or row["present"] is not None}
    if not renamed:
        return list(rows)
    whole = _whole(connection, project_id, renamed)
    return [whole.get(_test_of(row), row) for row in rows]


def _test_of(row: Mapping[str, Any]) -> int:
    return int(row["ordinal"] if row["carrier"] is None else row["carrier"])


def _whole(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, dict[str, Any]]:
    names = defaultdict(list)
    for name, test in carriers(connection, project_id).items():
        names[test].append(name)
    wanted = {test: [*names[test], test] for test in tests}
    rows = own_rows(connection, project_id, {name for several in wanted.values() for name in several})
    return {test: _one(rows[test], [rows[name] for name in several]) for test, several in wanted.items()}


def own_rows(connection: Connection, project_id: int, ordinals: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of these ordinals as they are stored, whatever they are names of."""
    rows: dict[int, dict[str, Any]] = {}
    for chunk in in_chunks(ordinals):
        query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.ordinal.in_(chunk))
        rows.update({row["ordinal"]: dict(row) for row in connection.execute(query).mappings()})
    return rows


def _one(carrier: dict[str, Any], names: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one row for a test and the rows of all its names."""
    present = next((row for row in names if row["ordinal"] == carrier["present"]), carrier)
    former = [row for row in names if row is not present]
    digests = [bytes(row["digest"]) for row in names]
    return {**carrier, **{key: present[key] for key in _NAME}, "former": former, "names": digests}
