"""`quarantine enforce` and `quarantine observe`: whether a project acts on its decisions."""

import click

from quarantine.cli.options import shell_bearer
from quarantine.cli.reading import Where, on_either


def _switch(mode: str, where: Where) -> None:
    from quarantine.services import decisions

    told = where.decide(
        "mode", {"mode": mode}, lambda app: decisions.set_mode(app, where.project, mode, bearer=shell_bearer())
    )
    number, was = told["quarantined"], told["was"]
    tests = "1 quarantined test" if number == 1 else f"{number} quarantined tests"
    effect = {
        "enforce": f"{tests} left the gating set; they go on running and being reported",
        "observe": f"every test gates; {tests} would have been left out",
    }[mode]
    click.echo(f"{where.project} {'already was' if was == mode else 'now is'} in {mode} mode: {effect}.")


@click.command()
@on_either
def enforce(where: Where) -> None:
    """Act on the decisions of a project: quarantined tests leave the gating set."""
    _switch("enforce", where)


@click.command()
@on_either
def observe(where: Where) -> None:
    """Only show what would have been decided: every test gates."""
    _switch("observe", where)


COMMANDS = {"enforce": enforce, "observe": observe}
