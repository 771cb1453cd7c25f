"""How Alembic runs here: always on a live engine that the caller hands over, in one transaction."""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection, Engine
from sqlalchemy.types import DateTime, LargeBinary, String
from sqlmodel.sql.sqltypes import AutoString, UTCDateTime

from quarantine.store import tables

TURN = 0x71_75_61_72
"""The advisory lock that upgrades of one PostgreSQL database wait for; SQLite's writers wait for each other anyway."""


def render_item(kind: str, item: Any, _autogen_context: Any) -> str | Literal[False]:
    """Write plain SQLAlchemy types into migrations, which must not change when SQLModel does."""
    if kind == "type" and isinstance(item, AutoString):
        return f"sa.String(length={item.length})" if item.length else "sa.String()"
    if kind == "type" and isinstance(item, UTCDateTime):
        return "sa.DateTime(timezone=True)"
    return False


def compare_type(_context: Any, _column: Any, _metadata_column: Any, inspected: Any, wanted: Any) -> bool | None:
    """Treat the types that SQLModel wraps as what they are in the database."""
    if isinstance(wanted, UTCDateTime):
        return not isinstance(inspected, DateTime)
    if isinstance(wanted, AutoString):
        return not (isinstance(inspected, String) and inspected.length == wanted.length)
    if isinstance(wanted, LargeBinary):
        return not isinstance(inspected, LargeBinary)
    return None


def run(connection: Connection) -> None:
    """Run the migrations on this connection, in one transaction, while nobody else runs them.

    SQLite enforces no foreign keys meanwhile, and they are checked after: batch mode recreates tables, and with foreign
    keys on, dropping the old parent would empty its children.
    """
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        _raw(connection, "PRAGMA foreign_keys=OFF")
    context.configure(
        connection=connection,
        target_metadata=tables.metadata,
        render_as_batch=True,
        render_item=render_item,
        compare_type=compare_type,
        transaction_per_migration=False,
        transactional_ddl=True,  # SQLite's too: our engine begins its transactions itself
    )
    try:
        with context.begin_transaction():
            if not sqlite:
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({TURN})")
            context.run_migrations()
            if sqlite and (broken := connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()):
                raise RuntimeError(f"the migration left rows without their parents: {broken[:5]}")
    finally:
        if sqlite:
            _raw(connection, "PRAGMA foreign_keys=ON")


def _raw(connection: Connection, statement: str) -> None:
    """Execute outside any transaction, where alone this pragma has an effect."""
    driver: Any = connection.connection.driver_connection
    driver.execute(statement)


engine: Engine = context.config.attributes["engine"]
with engine.connect() as live:
    run(live)
