"""`quarantine report`: send this build's reports."""

from pathlib import Path
from typing import Any

import click

from quarantine.cli.options import ReportFile, complain, drop_stdout, json_option, print_json, say, variant_of
from quarantine.cli.remote import on_daemon, target_of


@click.command()
@click.argument("files", nargs=-1, required=True, type=ReportFile())
@click.option(
    "--root",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The tree that was tested [default: here].",
)
@click.option("--base", help="A revision on trunk that the change is relative to [default: what CI or git says].")
@click.option("--build", help="The CI system's name for this execution [default: from CI].")
@click.option("--job", help="The CI job's name [default: from CI].")
@click.option("--attempt", type=click.IntRange(1), help="Which attempt of the job this is [default: from CI].")
@click.option("--change", help="The pull request or ticket [default: from CI].")
@click.option("--variant", "pairs", multiple=True, metavar="KEY=VALUE", help="The way it was run; repeat for each key.")
@click.option("--stream", help="Sets apart modules whose reports use the same names.")
@click.option("--command", "command_line", help="The command that ran, so that it can be run again.")
@click.option("--exit-code", type=int, help="The runner's exit code.")
@click.option("--python", help="The interpreter that ran the suite.")
@click.option("--rerun-of", help="This build repeats that one: it confirms, and makes no trial.")
@click.option("--incomplete", is_flag=True, help="Only a part of the suite was meant to run.")
@click.option(
    "--leave-out",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A file or folder that is no part of what was tested; repeatable.",
)
@click.option("--manifest", is_flag=True, help="Also name the base's part hashes (see `quarantine reach manifest`).")
@click.option("--strict", is_flag=True, help="Exit 1 when the reports could not be delivered or were refused.")
@json_option
@on_daemon
@click.pass_context
def command(context: click.Context, /, files: tuple[Path, ...], **options: Any) -> None:
    """Send JUnit report FILES of this build to the daemon.

    What the build was is filled in from git (uncommitted and untracked files included) and from the environment of
    GitHub Actions, GitLab CI, Jenkins, Buildkite and CircleCI; every option overrides what was found.

    Uploading never changes a build's verdict: when the daemon cannot be reached the reports are kept on this machine
    and sent with the next upload, and the exit code is 0 all the same, unless --strict is given.
    """
    from quarantine.client.errors import ClientError

    failed = 1 if options["strict"] else 0
    try:
        delivered = _send(files, options)
    except (ClientError, click.ClickException):  # the call or the configuration has to be mended
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no verdict on the build
        drop_stdout()
        complain(f"The report could not be sent or kept: {type(error).__name__}: {error}")
        context.exit(failed)
    context.exit(0 if delivered else failed)


def _send(files: tuple[Path, ...], options: dict[str, Any]) -> bool:
    """Send the reports, say what came of it, and return whether the daemon has them."""
    from quarantine.client.build_part import build_part
    from quarantine.client.upload import post_reports

    target = target_of(options["url"], options["project"], options["token"])
    stated = {name: options[name] for name in ("build", "job", "attempt", "change", "stream", "exit_code", "rerun_of")}
    stated |= {"command": options["command_line"], "variant": variant_of(options["pairs"])}
    stated |= {"kind": "rerun" if options["rerun_of"] else None, "complete": False if options["incomplete"] else None}
    part, remarks = build_part(
        options["root"],
        options=stated,
        python=options["python"],
        base=options["base"],
        leave_out=[*files, *options["leave_out"]],
        with_manifest=options["manifest"],
    )
    for remark in remarks:
        complain(remark)
    answer = post_reports(target, part, files)
    if options["as_json"]:
        print_json({**answer.body, "status": answer.status, "sentence": answer.sentence})
    elif answer.status == "sent":
        say(_told(answer.body))
    return answer.status == "sent"


def _told(body: dict[str, Any]) -> str:
    counts = ", ".join(f"{body[name]} {name}" for name in ("passed", "failed", "skipped", "flaky") if name in body)
    lines = [f"Build {body['build']}: {counts}." + ("" if body.get("new", True) else " It was already stored.")]
    lines += [f"{report['name']}: {report['sentence']}" for report in body["reports"] if report["status"] != "ok"]
    lines += body["transitions"]
    return "\n".join(lines)
