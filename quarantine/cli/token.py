"""`quarantine token`: who may report, read and decide."""

from datetime import timedelta
from pathlib import Path

import click

from quarantine.cli.options import json_option, on_database, open_app, print_json, project_option, say, shell_bearer


@click.group()
def command() -> None:
    """Create, list and revoke API tokens."""


@command.command()
@project_option
@click.option("--scope", type=click.Choice(["report", "read", "admin"]), required=True, help="What it may do.")
@click.option("--lane", type=click.Choice(["trunk", "review", "agent"]), help="For report: whose trees it reports on.")
@click.option("--change", help="The one change it speaks for (review and agent lanes).")
@click.option("--label", default="", help="A name to know it by.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires [default: never].")
@on_database
def create(
    project: str,
    scope: str,
    lane: str | None,
    change: str | None,
    label: str,
    days: int | None,
    config_path: Path | None,
    database: str | None,
) -> None:
    """Create a token and print it, the only time it is ever shown.

    A report token is bound to its lane: what it sends is believed to come from there and nowhere else. Give an agent's
    harness a token of the agent lane, never of trunk.
    """
    from quarantine.services import decisions

    secret = decisions.create_token(
        open_app(config_path, database),
        project,
        scope=scope,
        lane=lane,
        change=change,
        label=label or f"{scope} {lane or ''}".strip(),
        lifetime=timedelta(days=days) if days else None,
        bearer=shell_bearer(),
    )
    click.echo(secret)


@command.command("list")
@project_option
@on_database
@json_option
def list_tokens(project: str, config_path: Path | None, database: str | None, *, as_json: bool) -> None:
    """List the project's tokens, without their secrets."""
    from quarantine.services import listing

    found = listing.tokens_of(open_app(config_path, database), project)
    if as_json:
        print_json(found)
        return
    for token in found:
        state = "revoked" if token["revoked_at"] else f"until {token['expires_at'] or 'revoked'}"
        say(f"{token['id']}  {token['scope']:6}  {token['lane'] or '-':6}  {state}  {token['label']}")
    if not found:
        click.echo("There is no token for this project.")


@command.command()
@click.argument("token_id")
@project_option
@on_database
def revoke(token_id: str, project: str, config_path: Path | None, database: str | None) -> None:
    """End the life of a token; servers forget it within seconds."""
    from quarantine.services import decisions

    decisions.revoke_token(open_app(config_path, database), project, token_id, bearer=shell_bearer())
    click.echo(f"Token {token_id} no longer works.")
