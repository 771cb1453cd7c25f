"""`quarantine enforce` and `quarantine observe`: whether a project acts on its decisions."""

from pathlib import Path

import click

from quarantine.cli.options import on_database, open_app, shell_bearer
from quarantine.cli.remote import on_daemon, post, target_of


def _switch(
    mode: str, where: tuple[str | None, str, str | None], config_path: Path | None, database: str | None
) -> None:
    from quarantine.services import decisions

    url, project, token = where
    if url and not database:
        told = post(target_of(url, project, token), "mode", {"mode": mode})
    else:
        told = decisions.set_mode(open_app(config_path, database), project, mode, bearer=shell_bearer())
    number, was = told["quarantined"], told["was"]
    tests = "1 quarantined test" if number == 1 else f"{number} quarantined tests"
    effect = {
        "enforce": f"{tests} left the gating set; they go on running and being reported",
        "observe": f"every test gates; {tests} would have been left out",
    }[mode]
    click.echo(f"{project} {'already was' if was == mode else 'now is'} in {mode} mode: {effect}.")


@click.command()
@on_daemon
@on_database
def enforce(url: str | None, project: str, token: str | None, config_path: Path | None, database: str | None) -> None:
    """Act on the decisions of a project: quarantined tests leave the gating set."""
    _switch("enforce", (url, project, token), config_path, database)


@click.command()
@on_daemon
@on_database
def observe(url: str | None, project: str, token: str | None, config_path: Path | None, database: str | None) -> None:
    """Only show what would have been decided: every test gates."""
    _switch("observe", (url, project, token), config_path, database)


COMMANDS = {"enforce": enforce, "observe": observe}
