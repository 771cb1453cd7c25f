"""`quarantine release`: a person lets a test gate again."""

from urllib.parse import quote

import click

from quarantine.cli.options import say, shell_bearer
from quarantine.cli.reading import Where, on_either


@click.command()
@click.argument("test")
@click.option("--reason", required=True, help="Why; whoever reads it in a month will thank you.")
@on_either
def command(where: Where, test: str, reason: str) -> None:
    """Let the quarantined TEST gate again. Needs an admin token, or the database itself.

    Its evidence begins anew, so the same onsets do not send it straight back.
    """
    from quarantine.services import decisions

    told = where.decide(
        f"tests/{quote(test, safe='')}/release",
        {"reason": reason},
        lambda app: decisions.release(app, where.project, test, bearer=shell_bearer(), reason=reason),
    )
    say(f"{told['name']} gates again. Its evidence begins anew.")
