"""`quarantine enter`: a person takes a test out of the gating set, until a date."""

from urllib.parse import quote

import click

from quarantine.cli.options import say, shell_bearer
from quarantine.cli.reading import Where, on_either


@click.command()
@click.argument("test")
@click.option("--days", type=float, required=True, help="For how many days, 30 at most; then it gates again by itself.")
@click.option("--reason", required=True, help="Why; whoever reads it in a month will thank you.")
@on_either
def command(where: Where, test: str, days: float, reason: str) -> None:
    """Quarantine TEST by hand. Needs an admin token, or the database itself.

    It goes on running and being reported. It gates again when the days are over, or sooner, once it has shown that it
    no longer fails.
    """
    from quarantine.services import decisions

    told = where.decide(
        f"tests/{quote(test, safe='')}/quarantine",
        {"reason": reason, "days": days},
        lambda app: decisions.quarantine(app, where.project, test, bearer=shell_bearer(), reason=reason, days=days),
    )
    say(f"{told['name']} is quarantined until {told['until'][:16].replace('T', ' ')} UTC.")
