"""`quarantine db`: the database's schema."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from quarantine.cli.options import on_database

if TYPE_CHECKING:
    from sqlalchemy import Engine


def _engine(config_path: Path | None, database: str | None) -> "Engine":
    """Return the database, which is closed when the verb ends."""
    from quarantine import config
    from quarantine.store.engine import open_engine

    engine = open_engine(database or config.load(config_path).database)
    click.get_current_context().call_on_close(engine.dispose)
    return engine


@click.group()
def command() -> None:
    """Upgrade and check the database."""


@command.command()
@on_database
def upgrade(config_path: Path | None, database: str | None) -> None:
    """Bring the database to the newest revision, creating it when it is not there.

    An existing SQLite file is first copied beside itself.
    """
    from quarantine.store import migrations

    engine = _engine(config_path, database)
    before = migrations.current_revision(engine)
    migrations.upgrade(engine)
    after = migrations.current_revision(engine)
    moved = "was already" if before == after else "is now"
    click.echo(f"{engine.url.set(query={}).render_as_string(hide_password=True)} {moved} at revision {after}.")


@command.command()
@on_database
def check(config_path: Path | None, database: str | None) -> None:
    """Say whether the database is at the revision this version needs."""
    from quarantine.store import migrations

    engine = _engine(config_path, database)
    migrations.require_current(engine)
    click.echo("The database is at the newest revision.")
