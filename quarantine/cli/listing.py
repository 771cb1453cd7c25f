"""`quarantine list`: the tests that are not simply gating."""

from typing import TYPE_CHECKING, Any

import click

from quarantine.cli.options import json_option, print_json, say
from quarantine.cli.reading import Where, on_either

if TYPE_CHECKING:
    from quarantine.services.app import App

_TITLES = {
    ("quarantined", False): "Quarantined: they run and are reported, and do not gate",
    ("quarantined", True): "Would have been quarantined (this project only observes; everything gates)",
    ("held", True): "Held: the evidence is there, something keeps them gating",
    ("broken", True): "Broken on trunk: they gate",
}


@click.command()
@json_option
@on_either
def command(where: Where, *, as_json: bool) -> None:
    """List the tests of a project that are quarantined, held or broken, and why."""

    def local(app: "App") -> dict[str, Any]:
        from quarantine.services import listing

        return listing.standing(app, where.project)

    found = where.read("tests", local)
    if as_json:
        print_json(found)
        return
    for (status, gating), title in _TITLES.items():
        rows = [row for row in found["standing"] if row["status"] == status and row["gating"] == gating]
        if rows:
            click.echo(f"{title}:")
            for row in rows:
                say(_told(row))
    if not found["standing"]:
        click.echo(f"Every test of {found['project']} gates. Nothing is quarantined, held or broken.")


def _told(row: dict[str, Any]) -> str:
    variant = " ".join(f"{key}={value}" for key, value in row["variant"].items())
    return f"  {row['name']}\n    since {row['since'][:10]}{f', {variant}' if variant else ''}\n    {row['reason']}"
