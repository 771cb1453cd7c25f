"""What every query needs: the statements that databases spell differently, the texts they hold, their bounds."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite

Row = Mapping[str, Any]
T = TypeVar("T")
CHUNK = 500
"""How many values one statement asks for: SQLite bounds the parameters of a statement."""
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Return the text as both databases hold it: U+FFFD for NUL and for halves of surrogate pairs.

    A file name or an argument of the command line that is no UTF-8 brings such halves.
    """
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def in_chunks(values: Iterable[T]) -> Iterator[Sequence[T]]:
    """Yield the values in their order, a statement's worth at a time."""
    wanted = list(values)
    for start in range(0, len(wanted), CHUNK):
        yield wanted[start : start + CHUNK]


def dicts(connection: Connection, query: Executable) -> list[dict[str, Any]]:
    """Return every row of a query by its column names; for thousands of rows, which mappings would name one by one."""
    result = connection.execute(query)
    names = tuple(result.keys())
    return [dict(zip(names, row, strict=True)) for row in result.all()]


def last_number(connection: Connection, table: Table, project_id: int) -> int:
    """Return the highest number of a project's rows in a table that numbers them; 0 when there is none."""
    query = select(func.coalesce(func.max(table.c.number), 0)).where(table.c.project_id == project_id)
    return int(connection.execute(query).scalar_one())


def insert_new(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert the rows none of whose unique keys is there yet, and leave the others as they are."""
    if rows:
        insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        connection.execute(insert(table).on_conflict_do_nothing(), [dict(row) for row in rows])


def insert_if_new(connection: Connection, table: Table, row: Row) -> bool:
    """Insert one row unless one of its unique keys is there already; return whether it was inserted."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(dict(row)).on_conflict_do_nothing()
    return connection.execute(statement, execution_options={"preserve_rowcount": True}).rowcount == 1


def upsert(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert the rows, or overwrite those whose primary key is there; all rows must have the same columns."""
    if not rows:
        return
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table)
    keys = [column.name for column in table.primary_key]
    values = {name: statement.excluded[name] for name in rows[0] if name not in keys}
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=values), [dict(row) for row in rows])
