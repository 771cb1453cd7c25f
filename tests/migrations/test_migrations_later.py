"""Migrations of a later version: what they must not lose, and what is left when they fail."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from quarantine.errors import BadConfiguration
from quarantine.store import migrations, projects, tokens
from quarantine.store.engine import open_engine, reading, writing
from quarantine.store.tokens import Scope
from tests.migrations.conftest import LaterVersion, newest
from tests.world import START

ADDS_COLUMN = """
with op.batch_alter_table("project") as batch:
    batch.add_column(sa.Column("note", sa.Text(), nullable=False, server_default="none"))
"""
FAILS_HALF_WAY = """
op.add_column("project", sa.Column("note", sa.Text(), nullable=True))
op.create_table("half", sa.Column("id", sa.Integer(), primary_key=True))
op.execute("UPDATE project SET slug = 'changed'")
raise ArithmeticError("half way")
"""
REBUILDS_PARENT = """
with op.batch_alter_table("project") as batch:
    batch.alter_column("slug", type_=sa.String(length=200), existing_type=sa.String(length=100))
"""
LEAVES_ORPHANS = 'op.execute("DELETE FROM project")'


def filled(engine: Engine) -> None:
    migrations.upgrade(engine)
    with writing(engine) as connection:
        project = projects.create(connection, "ledger", START)
        tokens.create(
            connection,
            project.id,
            scope=Scope.READ,
            lane=None,
            change=None,
            label="reader",
            now=START,
            expires_at=None,
        )


def children(engine: Engine) -> int:
    with reading(engine) as connection:
        return len(tokens.every(connection, projects.by_slug(connection, "ledger").id))


def test_a_later_revision_keeps_the_rows(engine: Engine, later: LaterVersion) -> None:
    """A further column comes with its default, and nothing else changes."""
    filled(engine)
    migrations.upgrade(engine, scripts=later.migrate(ADDS_COLUMN))
    with reading(engine) as connection:
        assert connection.execute(text("SELECT slug, note FROM project")).all() == [("ledger", "none")]
    assert children(engine) == 1


def test_rebuilding_a_parent_table_keeps_its_children(engine: Engine, later: LaterVersion) -> None:
    """Batch mode drops and recreates a table on SQLite; what refers to it stays."""
    filled(engine)
    migrations.upgrade(engine, scripts=later.migrate(REBUILDS_PARENT))
    assert children(engine) == 1


def test_a_failing_migration_leaves_nothing_half_done(engine: Engine, later: LaterVersion) -> None:
    """Columns, tables, rows and the revision are as they were before, and the engine is good for more."""
    filled(engine)
    with pytest.raises(ArithmeticError, match="half way"):
        migrations.upgrade(engine, scripts=later.migrate(FAILS_HALF_WAY))
    assert migrations.current_revision(engine) == newest()
    inspector = inspect(engine)
    assert not inspector.has_table("half")
    assert "note" not in {column["name"] for column in inspector.get_columns("project")}
    assert children(engine) == 1
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    migrations.upgrade(engine, scripts=later.migrate(ADDS_COLUMN))
    assert migrations.current_revision(engine) == "later"


def test_a_migration_that_leaves_orphans_is_undone(engine: Engine, later: LaterVersion) -> None:
    """Rows without their parents fail the migration, though SQLite checks no foreign keys while it runs."""
    filled(engine)
    with pytest.raises(Exception, match=r"without their parents|foreign key"):
        migrations.upgrade(engine, scripts=later.migrate(LEAVES_ORPHANS))
    assert children(engine) == 1


def test_sqlite_is_copied_before_it_is_upgraded(sqlite_url: str, tmp_path: Path, later: LaterVersion) -> None:
    """The copy beside the file holds what was committed before, the write-ahead log included."""
    engine = open_engine(sqlite_url)
    with writing(engine) as connection:
        projects.create(connection, "ledger", START)
    assert (tmp_path / "quarantine.db-wal").stat().st_size > 0
    migrations.upgrade(engine, scripts=later.migrate(ADDS_COLUMN))
    engine.dispose()

    copy = tmp_path / f"quarantine.db.before-{newest()}"
    restored = open_engine(f"sqlite:///{copy}")
    migrations.require_current(restored)
    with reading(restored) as connection:
        assert [project.slug for project in projects.every(connection)] == ["ledger"]
    restored.dispose()


def test_nothing_is_copied_when_nothing_is_upgraded(sqlite_url: str, tmp_path: Path) -> None:
    """A new file and one at the newest revision leave no copies behind."""
    for url in (f"sqlite:///{tmp_path}/new.db", sqlite_url):
        engine = open_engine(url)
        migrations.upgrade(engine)
        engine.dispose()
    assert not list(tmp_path.glob("*.before-*"))


def test_the_copy_is_of_the_revision_it_is_named_after(tmp_path: Path, later: LaterVersion) -> None:
    """A failed upgrade and a second, good one both leave the database as it was before in the copy."""
    path = tmp_path / "quarantine.db"
    engine = open_engine(f"sqlite:///{path}")
    filled(engine)
    with pytest.raises(ArithmeticError):
        migrations.upgrade(engine, scripts=later.migrate(FAILS_HALF_WAY))
    migrations.upgrade(engine, scripts=later.migrate(ADDS_COLUMN))
    engine.dispose()
    with sqlite3.connect(path.with_name(f"{path.name}.before-{newest()}")) as copy:
        found = copy.execute("SELECT slug FROM project").fetchall(), copy.execute("PRAGMA integrity_check").fetchone()
    copy.close()
    assert found == ([("ledger",)], ("ok",))


def test_a_database_of_a_newer_version_is_left_alone(engine: Engine, later: LaterVersion) -> None:
    """An older version says what is the matter, whether it is asked to upgrade or to run."""
    filled(engine)
    migrations.upgrade(engine, scripts=later.migrate(ADDS_COLUMN))
    for attempt in (migrations.upgrade, migrations.require_current):
        with pytest.raises(BadConfiguration, match="revision later, which this version does not know"):
            attempt(engine)
    assert migrations.current_revision(engine) == "later"


def test_an_older_database_is_refused_until_it_is_upgraded(engine: Engine) -> None:
    """A database without tables, or behind, is not served; the message says what to do."""
    with pytest.raises(
        BadConfiguration, match=r"(at revision none, this|There is no database) .*quarantine db upgrade"
    ):
        migrations.require_current(engine)
