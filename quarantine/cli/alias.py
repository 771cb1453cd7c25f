"""`quarantine alias`: a person says that a test goes by another name now."""

from typing import Any
from urllib.parse import quote

import click

from quarantine.cli.options import json_option, print_json, say, shell_bearer
from quarantine.cli.reading import Where, on_either

_NOTHING = "No test looks renamed."


@click.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("--reason", help="Why; whoever reads it in a month will thank you.")
@click.option("--proposed", is_flag=True, help="Show which tests look renamed, and what they stand to lose.")
@click.option("--dismiss", is_flag=True, help="They are two tests; do not propose it again.")
@click.option("--undo", is_flag=True, help="End the alias: NEW is a test of its own again.")
@json_option
@on_either
def command(
    where: Where,
    old: str | None,
    new: str | None,
    reason: str | None,
    *,
    proposed: bool,
    dismiss: bool,
    undo: bool,
    as_json: bool,
) -> None:
    """Let the test OLD go by the name NEW from now on. Needs an admin token, or the database itself.

    Its history, its evidence, its standing and the days it has been out go on; both names, and both ids, find it. What
    NEW did by itself until now counts for nothing. Refused while trunk still runs OLD.

    An alias can be ended; what was counted by the new name meanwhile stays with OLD.
    """
    if proposed:
        if old or reason or dismiss or undo:
            raise click.UsageError("--proposed only shows: give it no names, no reason and no other of its kind.")
        _show(where, as_json=as_json)
        return
    if old is None or new is None:
        raise click.UsageError("Name both: quarantine alias OLD NEW --reason TEXT, or ask with --proposed.")
    if reason is None:
        raise click.UsageError("Missing option '--reason': why, for whoever reads it in a month.")
    if dismiss and undo:
        raise click.UsageError("Either --dismiss or --undo.")
    told = _decide(where, old, new, reason, "dismiss" if dismiss else "end" if undo else "alias")
    if as_json:
        print_json(told)
    else:
        say(told["sentence"])


def _decide(where: Where, old: str, new: str, reason: str, what: str) -> dict[str, Any]:
    from quarantine.services import aliases

    decision = {"alias": aliases.alias, "end": aliases.end, "dismiss": aliases.dismiss}[what]
    told: dict[str, Any] = where.decide(
        f"tests/{quote(old, safe='')}/alias" + ("" if what == "alias" else f"/{what}"),
        {"to": new, "reason": reason},
        lambda app: decision(app, where.project, old, new, bearer=shell_bearer(), reason=reason),
    )
    return told


def _show(where: Where, *, as_json: bool) -> None:
    from quarantine.services import aliases

    told = where.read("renames", lambda app: aliases.proposed(app, where.project))
    if as_json:
        print_json(told)
        return
    lines = [line for one in told["proposed"] for line in _lines(one)]
    say("\n".join(lines) if lines else _NOTHING)


def _lines(one: dict[str, Any]) -> list[str]:
    stake = f"{one['at_stake']}" if one["at_stake"] else "nothing to lose"
    return [
        f"{one['former_name']}  ({stake})",
        f"  looks like {one['present_name']}: {one['because']} (build {one['build']})",
        f"  quarantine alias {one['former']} {one['present']} --reason TEXT",
    ]
