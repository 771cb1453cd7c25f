"""`quarantine attempts`: what the loops on tickets came to."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import click

from quarantine.cli.options import json_option, print_json, say
from quarantine.cli.reading import Where, on_either

if TYPE_CHECKING:
    from quarantine.services.app import App


@click.command()
@click.option("--ticket", help="Only this ticket.")
@json_option
@on_either
def command(where: Where, *, ticket: str | None, as_json: bool) -> None:
    """Show how often a loop solved its ticket, on which attempt, and what flaky tests cost or would have cost.

    "plain" is what a harness with neither quarantine, nor reruns, nor a base to compare with would have accepted.
    """

    def local(app: "App") -> dict[str, Any]:
        from quarantine.services import attempts

        return attempts.summary(app, where.project, ticket=ticket)

    resource = f"attempts?{urlencode({'ticket': ticket})}" if ticket is not None else "attempts"
    told = where.read(resource, local)
    if as_json:
        print_json(told)
        return
    if not told["tickets"]:
        click.echo(f"No loop on {'this ticket' if ticket else 'a ticket'} has asked for a verdict yet.")
        return
    for line in _summary(told):
        say(line)
    click.echo()
    for row in told["by_ticket"]:
        say(_ticket(row))


def _summary(told: dict[str, Any]) -> list[str]:
    ends = ", ".join(f"{count} {end}" for end, count in told["ends"].items() if count)
    rows = [f"{_counted(told['tickets'], 'ticket')}: {ends}.", "attempt  solved by then  plain"]
    rows += [
        f"{ours['attempt']:>7}  {ours['share']:>14.0%}  {plain['share']:>5.0%}"
        for ours, plain in zip(told["solved"], told["plain"], strict=True)
    ]
    prevented = told["prevented"]
    rows.append(
        f"{_counted(prevented['rejections'], 'rejection')} prevented ({_counted(prevented['failures'], 'failure')} "
        f"excused); {_counted(told['wasted_by_flakes'], 'attempt')} that flakes cost, or would have cost without "
        "quarantine."
    )
    rows.append(_spent(told))
    return rows


def _ticket(row: dict[str, Any]) -> str:
    solved = f"solved on attempt {row['solved_on']}" if row["solved_on"] else "not solved"
    plain = "" if row["solved_on"] == row["plainly_solved_on"] else f" (plain: {row['plainly_solved_on'] or 'never'})"
    end = row["end"] or "unfinished"
    return f"{row['ticket']}: {end}, {_counted(row['attempts'], 'attempt')}, {solved}{plain}. {_spent(row)}"


def _spent(row: dict[str, Any]) -> str:
    spent = [f"{row['runner_s']:,.0f} s of test runs"]
    spent += [f"{row['tokens']:,} tokens"] if row["tokens"] else []
    spent += [f"cost {row['cost']:,.2f}"] if row["cost"] else []
    return f"{', '.join(spent)}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
