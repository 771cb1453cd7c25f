"""`quarantine release`: a person lets a test gate again."""

from pathlib import Path
from urllib.parse import quote

import click

from quarantine.cli.options import on_database, open_app, say, shell_bearer
from quarantine.cli.remote import on_daemon, post, target_of


@click.command()
@click.argument("test")
@click.option("--reason", required=True, help="Why; whoever reads it in a month will thank you.")
@on_daemon
@on_database
def command(
    test: str,
    reason: str,
    url: str | None,
    project: str,
    token: str | None,
    config_path: Path | None,
    database: str | None,
) -> None:
    """Let the quarantined TEST gate again. Needs an admin token, or the database itself.

    Its evidence begins anew, so the same onsets do not send it straight back.
    """
    from quarantine.services import decisions

    if url and not database:
        target = target_of(url, project, token)
        told = post(target, f"tests/{quote(test, safe='')}/release", {"reason": reason})
    else:
        told = decisions.release(open_app(config_path, database), project, test, bearer=shell_bearer(), reason=reason)
    say(f"{told['name']} gates again. Its evidence begins anew.")
