"""Engines and transactions. SQLite runs in WAL with full synchronisation; a writer takes its lock when it begins.

A deferred SQLite transaction that first reads and then writes can lose the race for the write lock and fail at once,
however long the busy time-out is; `BEGIN IMMEDIATE` waits instead. PostgreSQL serialises the writers of one project by
a row lock that the services take (`projects.lock`).
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry

from quarantine.errors import BadConfiguration, Busy

BUSY_TIMEOUT_MS = 10_000
_WAL_WAITS_S = (0.001, 0.01, 0.1, 0.5, 1.0)


def open_engine(url: str, *, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> Engine:
    """Return an engine for `sqlite:///PATH` or `postgresql://...`; raises BadConfiguration for anything else.

    `busy_timeout_ms` is how long a writer waits for another one before it raises Busy.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(url, busy_timeout_ms)
    if parsed.get_backend_name() == "postgresql":
        return _postgresql(parsed, busy_timeout_ms)
    raise BadConfiguration(
        f"The database URL starts with {parsed.drivername!r}, which is neither SQLite nor PostgreSQL.", mend=_SPELLING
    )


_SPELLING = "Use sqlite:///PATH or postgresql://USER@HOST/NAME."


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError) as error:
        public = re.split(r"[?#]", url.rpartition("@")[2])[0]  # what comes before or after it may be a password
        raise BadConfiguration(f"{public!r} is no database URL.", mend=_SPELLING) from error


def _postgresql(url: URL, busy_timeout_ms: int) -> Engine:
    """Return an engine whose writers see, once they have their lock, what was committed while they waited for it."""
    url = url.set(drivername="postgresql+psycopg")
    try:
        engine = create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED")
    except ModuleNotFoundError as error:
        raise BadConfiguration(
            "The driver for PostgreSQL is not installed.", mend="Install quarantine-daemon[postgres]."
        ) from error

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        if not connection.get_execution_options().get("reads_only", False):
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(busy_timeout_ms)}")

    return engine


def _sqlite(url: str, busy_timeout_ms: int) -> Engine:
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": busy_timeout_ms / 1000})

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # we begin transactions ourselves, see _begin
        _use_write_ahead_log(connection)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", f"busy_timeout={busy_timeout_ms}"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        reads_only = connection.get_execution_options().get("reads_only", False)
        connection.exec_driver_sql("BEGIN" if reads_only else "BEGIN IMMEDIATE")

    return engine


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch to WAL. Of processes that switch a new file together SQLite fails some at once, whatever the time-out."""
    for wait_s in _WAL_WAITS_S:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY":
                raise
            time.sleep(wait_s)
        else:
            return
    connection.execute("PRAGMA journal_mode=WAL")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction that writes: committed on leaving, rolled back on an error; raises Busy when it cannot be had."""
    with translated(), engine.begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One transaction that only reads, from one consistent snapshot; raises Busy when it cannot be had."""
    options = _READS_ONLY[engine.dialect.name]
    with translated(), engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection


_READS_ONLY: dict[str, dict[str, Any]] = {
    "sqlite": {"reads_only": True},
    "postgresql": {"reads_only": True, "isolation_level": "REPEATABLE READ", "postgresql_readonly": True},
}
_BUSY_SIGNS = ("database is locked", "database or disk is full", "disk i/o error", "no space left", "could not extend")


@contextmanager
def translated() -> Iterator[None]:
    """Raise Busy for what the store could not do just now; let every other error of it through."""
    try:
        yield
    except PoolTimeout as error:
        raise _busy("all of its connections are in use") from error
    except DBAPIError as error:
        if getattr(error.orig, "sqlite_errorname", "") == "SQLITE_NOTADB":
            raise BadConfiguration("The database file is no SQLite database.", mend="Check its path.") from error
        if _may_pass(error):
            raise _busy(str(error.orig).strip()) from error
        raise


def _busy(said: str) -> Busy:
    return Busy(
        f"The database cannot take this now: {said}.", mend="Nothing of it was stored; send the same again later."
    )


def _may_pass(error: DBAPIError) -> bool:
    """Return whether the same statement may succeed later: the store failed it, not its text."""
    if any(sign in str(error.orig).lower() for sign in _BUSY_SIGNS):
        return True
    return isinstance(error, OperationalError) and getattr(error.orig, "sqlite_errorname", "") != "SQLITE_ERROR"
