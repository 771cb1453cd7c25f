"""`quarantine reruns`: what the daemon wants run again, and doing it."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quarantine.cli.options import json_option, print_json, say
from quarantine.cli.reading import Where, on_either
from quarantine.cli.remote import get, on_daemon, target_of

if TYPE_CHECKING:
    from quarantine.services.app import App


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show, or do, the reruns the daemon wants.

    A failure counts as a flake only once its own tree has passed. The daemon says which trees it would like to see
    again, when, and why.
    """
    if context.invoked_subcommand is None:
        click.echo("Say `quarantine reruns list` or `quarantine reruns run`.")


@command.command("list")
@json_option
@on_either
def list_reruns(where: Where, *, as_json: bool) -> None:
    """List the reruns wanted now, the most valuable first."""

    def local(app: "App") -> dict[str, Any]:
        from quarantine.services import reruns

        return reruns.wanted(app, where.project)

    told = where.read("reruns", local)
    if as_json:
        print_json(told)
        return
    for one in told["reruns"]:
        click.echo(
            f"tree {one['tree'][:12]}  commit {one['commit'][:12] or '?'}  {one['lane']}  due {one['due_at'][:16]}"
        )
        say(f"  {one['why']}")
        say(f"  {one['command'] or 'no command was recorded'}")
    budget = told["budget"]
    if not told["reruns"]:
        click.echo("No rerun is wanted now.")
    click.echo(f"{budget['spent']} of {budget['per_day']} reruns of the last day are spent.")


@command.command()
@click.option(
    "--repository",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A clone that has the commits [default: here].",
)
@click.option("--python", default=sys.executable, help="The interpreter that runs the suite [default: this one].")
@click.option(
    "--reports",
    "patterns",
    multiple=True,
    default=["**/*.xml"],
    show_default=True,
    help="Glob that finds the reports the command writes; repeatable.",
)
@click.option("--job", help="Only the reruns of this CI job.")
@click.option("--most", type=click.IntRange(1), default=20, show_default=True, help="At most so many.")
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(1), default=3600, show_default=True, help="Seconds each may take."
)
@json_option
@on_daemon
def run(url: str | None, project: str, token: str | None, job: str | None, most: int, **options: Any) -> None:
    """Do the reruns of trunk trees and send the results, with a token of the trunk lane.

    Each runs the recorded command, whole, in a scratch worktree of its commit. One that would not be the same run
    again (another environment, another tree) is left out, and the reason is said. Put it in a schedule, hourly say.
    """
    from quarantine.client.rerunning import rerun, reruns_of
    from quarantine.client.upload import post_reports

    target = target_of(url, project, token)
    wanted = [one for one in reruns_of(get(target, "reruns")) if job is None or one.job == job]
    told = []
    for one in wanted[:most]:
        with rerun(
            one,
            options["repository"].resolve(),
            python=options["python"],
            patterns=options["patterns"],
            timeout_s=options["timeout_s"],
        ) as outcome:
            answer = post_reports(target, outcome.build_part, outcome.reports) if outcome.made else None
        sentence = outcome.sentence + (f" {answer.sentence}" if answer else "")
        told.append({"tree": one.tree, "commit": one.commit, "made": outcome.made, "sentence": sentence})
        if not options["as_json"]:
            say(f"tree {one.tree[:12]}: {sentence}")
            for transition in answer.body.get("transitions", []) if answer else []:
                say(f"  {transition}")
    if options["as_json"]:
        print_json(told)
    elif not told:
        click.echo("No rerun is wanted now.")
