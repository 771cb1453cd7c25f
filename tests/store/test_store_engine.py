import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, insert, select, text
from sqlalchemy.exc import DBAPIError, StatementError

from quarantine.errors import BadConfiguration, Busy
from quarantine.store import projects
from quarantine.store.engine import open_engine, reading, writing
from quarantine.store.projects import Project
from quarantine.store.tables import PROJECT as TABLE
from tests.world import PROJECT, START

THREADS, INCREMENTS = 4, 60


def test_no_update_is_lost(engine: Engine, project: Project) -> None:
    """Threads that read a counter and write it back one higher lose none of their increments."""

    def increment(_thread: int) -> None:
        for _ in range(INCREMENTS):
            with writing(engine) as connection:
                now = projects.by_slug(connection, PROJECT, lock=True)
                projects.set_counters(connection, now, pairs=0, tests=0, builds=now.builds + 1, uploads=0, reserve=None)

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(increment, range(THREADS)))
    with reading(engine) as connection:
        assert projects.by_slug(connection, PROJECT).builds == project.builds + THREADS * INCREMENTS


def test_a_writer_that_waits_too_long_is_told_to_come_again(database_url: str, engine: Engine) -> None:
    """While another transaction holds the project, a writer gets Busy and nothing of it is stored."""
    hasty = open_engine(database_url, busy_timeout_ms=20)
    with writing(engine) as holder:
        projects.create(holder, "held", START)
    with writing(engine) as holder:
        projects.by_slug(holder, "held", lock=True)
        with pytest.raises(Busy, match=r"cannot take this now: .*(locked|lock timeout)"), writing(hasty) as connection:
            projects.by_slug(connection, "held", lock=True)
    with writing(hasty) as connection:
        projects.by_slug(connection, "held", lock=True)
    hasty.dispose()


def test_readers_do_not_wait_for_a_writer(engine: Engine, project: Project) -> None:
    """What a writer has not committed is neither seen nor waited for."""
    with writing(engine) as writer:
        projects.set_counters(writer, project, pairs=0, tests=0, builds=7, uploads=0, reserve=None)
        with reading(engine) as reader:
            assert projects.by_slug(reader, PROJECT).builds == 0
    with reading(engine) as reader:
        assert projects.by_slug(reader, PROJECT).builds == 7


def test_a_reader_sees_one_snapshot(engine: Engine, project: Project) -> None:
    """What is committed while a reader is at work does not change what it reads next."""
    with reading(engine) as reader:
        before = projects.by_slug(reader, PROJECT)
        with writing(engine) as writer:
            projects.set_counters(writer, project, pairs=0, tests=0, builds=7, uploads=0, reserve=None)
            projects.create(writer, "later", START)
        assert projects.by_slug(reader, PROJECT) == before
        assert [one.slug for one in projects.every(reader)] == [PROJECT]


def test_an_error_undoes_the_transaction(engine: Engine) -> None:
    """Whatever is raised inside a writing transaction, nothing of it is stored."""

    def written_then_failed() -> None:
        with writing(engine) as connection:
            projects.create(connection, "half", START)
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        written_then_failed()
    with reading(engine) as connection:
        assert projects.every(connection) == []


def test_our_own_mistakes_are_not_called_busy(engine: Engine) -> None:
    """A statement about a table that does not exist can never succeed later, so it is not called Busy."""
    with pytest.raises(DBAPIError, match="nowhere"), reading(engine) as connection:
        connection.execute(text("SELECT * FROM nowhere"))


def test_connections_that_never_come_free_are_busy(engine: Engine) -> None:
    """When every connection of the pool is taken, the next caller is told to come again."""
    impatient = engine.execution_options()
    impatient.pool._timeout = 0.01  # type: ignore[attr-defined]  # a pool of queues has it
    taken = [engine.connect() for _ in range(15)]
    try:
        with pytest.raises(Busy, match="all of its connections are in use"), reading(engine):
            pass
    finally:
        for connection in taken:
            connection.close()


def test_a_database_that_cannot_be_opened_is_busy(tmp_path: Path) -> None:
    """A folder that is not there yet may be there later, so it is Busy and no crash."""
    engine = open_engine(f"sqlite:///{tmp_path}/missing/quarantine.db")
    with pytest.raises(Busy, match="unable to open"), reading(engine):
        pass


@pytest.mark.parametrize("url", ["mysql://host/name", "quarantine.db", ""])
def test_other_databases_are_refused(url: str) -> None:
    """A URL of another database, or of none, is refused with the spelling that works."""
    with pytest.raises(BadConfiguration, match="sqlite:///PATH or postgresql://"):
        open_engine(url)


def test_sqlite_is_durable_and_checks_foreign_keys(sqlite_url: str) -> None:
    """WAL, full synchronisation, foreign keys and a time-out are on in every connection."""
    engine = open_engine(sqlite_url, busy_timeout_ms=1234)
    connections = [engine.connect() for _ in range(3)]
    try:
        for connection in connections:
            pragmas = {
                name: connection.connection.driver_connection.execute(f"PRAGMA {name}").fetchone()[0]  # type: ignore[union-attr]  # it is connected
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            }
            assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 1234}
    finally:
        for connection in connections:
            connection.close()
        engine.dispose()


def test_processes_that_open_a_new_file_together(tmp_path: Path) -> None:
    """Switching a new file to WAL together fails nobody, though SQLite itself gives up at once."""

    def opened(number: int) -> bool:
        engine = open_engine(f"sqlite:///{tmp_path}/{number // 6}.db")
        try:
            with writing(engine) as connection:
                connection.execute(text("CREATE TABLE IF NOT EXISTS new (number INTEGER)"))
            return True
        finally:
            engine.dispose()

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(opened, range(60)))


INSTANTS = [
    datetime(2026, 3, 29, 1, 30, tzinfo=UTC),
    datetime(2026, 1, 5, 23, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    datetime(2026, 1, 5, 0, 0, 0, 1, tzinfo=timezone(timedelta(hours=-11))),
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC),
]


@pytest.mark.parametrize("at", INSTANTS, ids=str)
def test_an_instant_comes_back_as_itself_in_utc(engine: Engine, at: datetime) -> None:
    """Whatever offset an instant is given with, it comes back aware, in UTC, to the microsecond."""
    with writing(engine) as connection:
        created = projects.create(connection, PROJECT, at)
    with reading(engine) as connection:
        found = projects.by_slug(connection, PROJECT)
    assert created.created_at == found.created_at == at
    assert found.created_at.utcoffset() == timedelta(0)


def test_a_naive_instant_is_refused(engine: Engine) -> None:
    """An instant without an offset is a mistake of ours and fails, on either database."""
    with pytest.raises(StatementError, match="timezone"), writing(engine) as connection:
        projects.create(connection, PROJECT, START.replace(tzinfo=None))


def test_instants_are_compared_as_instants(engine: Engine) -> None:
    """The database orders instants by when they were, not by how they were written."""
    early = datetime(2026, 1, 5, 23, tzinfo=timezone(timedelta(hours=10)))  # 13:00 UTC
    late = datetime(2026, 1, 5, 14, tzinfo=UTC)
    with writing(engine) as connection:
        projects.create(connection, "early", early)
        projects.create(connection, "late", late)
    with reading(engine) as connection:
        query = select(TABLE.c.slug).order_by(TABLE.c.created_at)
        assert list(connection.execute(query).scalars()) == ["early", "late"]
        query = select(TABLE.c.slug).where(TABLE.c.created_at < late - timedelta(minutes=30))
        assert list(connection.execute(query).scalars()) == ["early"]


def test_a_check_constraint_holds(engine: Engine) -> None:
    """A word that a column does not know is refused by the database itself."""
    row = {"slug": "x", "created_at": START, "mode": "panic", "secret": b"", "pairs": 0, "tests": 0}
    row |= {"builds": 0, "uploads": 0, "gating_version": 0}
    with pytest.raises(DBAPIError, match=r"ck_project_mode|CHECK"), writing(engine) as connection:
        connection.execute(insert(TABLE).values(row))


def test_a_full_disk_is_busy_and_stores_nothing(sqlite_url: str, tmp_path: Path) -> None:
    """When the file cannot grow the writer gets Busy, nothing of it is there, and later it works."""
    engine = open_engine(sqlite_url)

    def fill(number: int) -> None:
        with writing(engine) as connection:
            for place in range(50):
                projects.create(connection, f"p{number}-{place}-{'x' * 80}", START)

    fill(0)
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        (pages,) = driver.execute("PRAGMA page_count").fetchone()
        driver.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Busy, match="full"):
        fill(1)
    with reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(TABLE)).scalar_one() == 50
    with engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.execute(f"PRAGMA max_page_count = {pages + 100}")
    fill(1)
    engine.dispose()
    with closing(sqlite3.connect(tmp_path / "quarantine.db")) as file:
        assert file.execute("SELECT count(*) FROM project").fetchone() == (100,)
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
