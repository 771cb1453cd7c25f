"""`quarantine report`: send this build's reports, or the word that there are none."""

from typing import Any

import click

from quarantine.cli.options import complain, drop_stdout, json_option, print_json, say, variant_of
from quarantine.cli.remote import target_of, token_option, url_option
from quarantine.cli.tested import Found, found_reports, on_build, part_of, quoted

_NOT_SENT = "No daemon is named (--url and QUARANTINE_URL are empty), so nothing is sent; the build goes on."
_HOW_IT_ENDED = "If the runner wrote no report, say how it ended: --exit-code N."


@click.command()
@click.argument("found", nargs=-1, metavar="[FILES]...", callback=found_reports)
@on_build
@click.option("--dry-run", is_flag=True, help="Print the build part as JSON and send nothing.")
@click.option("--strict", is_flag=True, help="Exit 1 when the reports could not be delivered or were refused.")
@json_option
@url_option
@click.option("--project", envvar="QUARANTINE_PROJECT", help="The project [environment: QUARANTINE_PROJECT].")
@token_option
@click.pass_context
def command(context: click.Context, /, found: Found, **options: Any) -> None:
    """Send JUnit report FILES of this build to the daemon; a FILE may be a glob, such as 'out/**/TEST-*.xml'.

    What the build was is filled in from git (uncommitted and untracked files included) and from the environment of
    GitHub Actions, GitLab CI, Jenkins, Buildkite and CircleCI; every option overrules what was found.

    A runner that crashed before it wrote a report leaves a trace too: with --exit-code and no FILE that is there, the
    build is recorded with the event that no report came. Without --exit-code a FILE that is not there is wrong usage.

    Uploading never changes a build's verdict: when the daemon cannot be reached the reports are kept on this machine
    and sent with the next upload, and when no daemon is named, as in a fork that has no secrets, that is said and
    nothing is sent. The exit code is 0 all the same, unless --strict is given.
    """
    from quarantine.client.errors import ClientError

    failed = 1 if options["strict"] else 0
    options["url"] = (options["url"] or "").strip()
    _check(found, options)
    if not options["dry_run"] and not options["url"]:
        complain(_NOT_SENT)
        context.exit(failed)
    try:
        delivered = _show(found, options) if options["dry_run"] else _send(found, options)
    except (ClientError, click.ClickException):  # the call or the configuration has to be mended
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no verdict on the build
        drop_stdout()
        complain(f"The report could not be sent or kept: {type(error).__name__}: {error}")
        context.exit(failed)
    context.exit(0 if delivered else failed)


def _check(found: Found, options: dict[str, Any]) -> None:
    """Raise UsageError for what was typed wrongly, whether or not there is a daemon to send it to."""
    variant_of(options["pairs"])
    if options["dry_run"]:
        return
    if found.missing and options["exit_code"] is None:
        raise click.UsageError(f"Nothing is at {quoted(found.missing)}. {_HOW_IT_ENDED}")
    if not found.files and options["exit_code"] is None:
        raise click.UsageError(f"No FILES are named. {_HOW_IT_ENDED}")
    if options["url"] and not options["project"]:
        raise click.UsageError("Missing option '--project'. Name the project, or set QUARANTINE_PROJECT.")


def _show(found: Found, options: dict[str, Any]) -> bool:
    """Print the build part; say on stderr where the tree lies and which reports would go with it."""
    part, remarks, root = part_of(options, found)
    files = ", ".join(str(click.format_filename(path)) for path in found.files) or "none"
    _complain_of(found, [*remarks, f"The tree is {root.path.resolve()}: {root.why}.", f"Reports: {files}."])
    print_json(part)
    return True


def _send(found: Found, options: dict[str, Any]) -> bool:
    """Send the reports, say what came of it, and return whether the daemon has them."""
    from quarantine.client.upload import post_reports

    target = target_of(options["url"], options["project"], options["token"])
    part, remarks, _ = part_of(options, found)
    _complain_of(found, remarks)
    answer = post_reports(target, part, found.files)
    if options["as_json"]:
        print_json({**answer.body, "status": answer.status, "sentence": answer.sentence})
    elif answer.status == "sent":
        say(_told(answer.body))
    return answer.status == "sent"


def _complain_of(found: Found, remarks: list[str]) -> None:
    for remark in remarks:
        complain(remark)
    if found.missing:
        what = "it is sent without, and as not complete" if found.files else "the build has no report"
        complain(f"Nothing is at {quoted(found.missing)}: {what}.")


def _told(body: dict[str, Any]) -> str:
    counts = ", ".join(f"{body[name]} {name}" for name in ("passed", "failed", "skipped", "flaky") if name in body)
    what = counts if body["reports"] else "recorded without a report"
    lines = [f"Build {body['build']}: {what}." + ("" if body.get("new", True) else " It was already stored.")]
    lines += [f"{report['name']}: {report['sentence']}" for report in body["reports"] if report["status"] != "ok"]
    lines += body["transitions"]
    return "\n".join(lines)
