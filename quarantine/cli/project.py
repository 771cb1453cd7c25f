"""`quarantine project`: the units of ownership."""

from pathlib import Path

import click

from quarantine.cli.options import json_option, on_database, open_app, print_json, shell_bearer


@click.group()
def command() -> None:
    """Create and list projects."""


@command.command()
@click.argument("slug")
@on_database
def create(slug: str, config_path: Path | None, database: str | None) -> None:
    """Create the project SLUG. It starts in observe mode: everything is computed, nothing leaves the gating set."""
    from quarantine.services import decisions

    app = open_app(config_path, database, migrate=True)
    decisions.create_project(app, slug, bearer=shell_bearer())
    click.echo(f"Project {slug} is there, observing. Make a token: quarantine token create --project {slug} --help")


@command.command("list")
@on_database
@json_option
def list_projects(config_path: Path | None, database: str | None, *, as_json: bool) -> None:
    """List the projects."""
    from quarantine.services import listing

    found = listing.projects_of(open_app(config_path, database))
    if as_json:
        print_json(found)
        return
    for project in found:
        click.echo(f"{project['project']}  {project['mode']}  {project['tests']} tests, {project['builds']} builds")
    if not found:
        click.echo("There is no project yet. Create one: quarantine project create NAME")
