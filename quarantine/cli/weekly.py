"""`quarantine weekly`: how large the quarantine was in a week, whether that got better, and the one thing to do."""

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from quarantine.cli.options import json_option, print_json, say
from quarantine.cli.reading import Where, on_either

if TYPE_CHECKING:
    from quarantine.services.app import App

_NEARBY = "http://127.0.0.1:8321"
"""Where links lead when the report is read from a database, without a daemon."""


@click.command()
@click.option(
    "--week",
    default="last",
    show_default=True,
    help="An ISO week such as 2026-W48; `last`, the last one that was told; `running`, this one so far.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "html", "json"]),
    default="markdown",
    show_default=True,
    help="How to print it; html is one file that needs nothing else.",
)
@json_option
@on_either
def command(where: Where, *, week: str, form: str, as_json: bool) -> None:
    """Print the quarantine-size report of a week.

    Each report is made once its week is over, and is the same whenever it is asked for again. Before there is any,
    `last` is what there is of the running week.
    """

    def local(app: "App") -> dict[str, Any]:
        from quarantine.services import weekly

        return weekly.report_of(app, where.project, week)

    told = where.read(f"weekly/{quote(week, safe='')}", local)
    if as_json or form == "json":
        print_json(told)
        return
    if form == "html":
        from quarantine.shipped import resource
        from quarantine.web.rendering import Renderer
        from quarantine.web.weekly_views import weekly_view

        renderer = Renderer(resource("templates"))
        say(renderer.file("weekly_file.html", root=(where.url or _NEARBY).rstrip("/"), **weekly_view(told, [])))
        return
    from quarantine.services import weekly_text

    say(weekly_text.markdown(told).rstrip("\n"))
