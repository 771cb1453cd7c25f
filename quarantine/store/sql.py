"""What differs between the databases: the spelling of two statements, and the texts they hold."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

Row = Mapping[str, Any]
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """Return the text as both databases hold it: U+FFFD for NUL and for halves of surrogate pairs.

    A file name or an argument of the command line that is no UTF-8 brings such halves.
    """
    return _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


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
