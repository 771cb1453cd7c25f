"""`quarantine solve`: let an agent mend a ticket, judged by the tests, and exit by how that ended."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quarantine.cli.judging import exits_of_a_verdict
from quarantine.cli.options import complain, json_option, print_json, variant_of
from quarantine.cli.remote import on_daemon, target_of

if TYPE_CHECKING:
    from quarantine.loop import CanaryTemplate, CommandAgent, CommandRunner, End, Protected, Settings, Ticket

EXIT_CODES = {"accepted": 0, "exhausted": 1, "inconclusive": 3, "suspect": 4}
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_SECONDS = click.FloatRange(1)


@click.command()
@click.option("--ticket", "ticket_file", type=_FILE, required=True, help="A file that says what is wrong or wanted.")
@click.option("--id", "ticket_id", metavar="NAME", help="What the ticket is called [default: the file's name].")
@click.option(
    "--agent",
    "agent_command",
    required=True,
    metavar="COMMAND",
    help="Reads the prompt on its standard input; prints a diff, or edits the files of its folder.",
)
@click.option(
    "--command",
    "test_command",
    required=True,
    metavar="COMMAND",
    help="Runs the tests; {tests} or {tests_file} and {report} stand for what the harness chooses.",
)
@click.option("--must-pass", multiple=True, metavar="TEST", help="Fails now and must pass afterwards; repeatable.")
@click.option(
    "--repository",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The clone to work on; its checkout is not touched [default: here].",
)
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit that patches are made for.")
@click.option("--max-attempts", type=click.IntRange(1), default=4, show_default=True, help="Patches tried at most.")
@click.option("--no-full", is_flag=True, help="Accept by the impacted tests; a run of every test is then owed.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    default=("junit.xml",),
    show_default=True,
    metavar="GLOB",
    help="Finds the reports, where the command has no {report}; repeatable.",
)
@click.option("--collect", metavar="COMMAND", help="Prints one test a line: those the daemon does not know always run.")
@click.option("--python", help="The interpreter that runs the tests [default: this one].")
@click.option("--job", default="", help="The CI job, as trunk reports it.")
@click.option("--variant", multiple=True, metavar="KEY=VALUE", help="As trunk reports it; repeatable.")
@click.option("--stream", default="", help="As trunk reports it.")
@click.option("--import-path", "import_paths", multiple=True, metavar="FOLDER", help="Imported from; repeatable.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable for the tests; repeatable.")
@click.option("--keep-env", multiple=True, metavar="NAME", help="Of here, for the tests too; repeatable.")
@click.option("--agent-env", multiple=True, metavar="NAME", help="Of here, for the agent too; repeatable.")
@click.option(
    "--agent-answers",
    "mode",
    type=click.Choice(["auto", "diff", "edit"]),
    default="auto",
    show_default=True,
    help="Where the agent's answer is: printed, or in its folder.",
)
@click.option(
    "--agent-timeout", "agent_s", type=_SECONDS, default=1800, show_default=True, help="Seconds an answer takes."
)
@click.option("--timeout", "timeout_s", type=_SECONDS, default=1800, show_default=True, help="Seconds a run takes.")
@click.option("--protect", multiple=True, metavar="GLOB", help="No patch may touch it either; repeatable.")
@click.option("--allow", multiple=True, metavar="GLOB", help="A patch may touch it all the same; repeatable.")
@click.option("--canary", "canary_file", type=_FILE, help="TOML: how a failing test is written for this runner.")
@click.option("--logs", type=click.Path(file_okay=False, path_type=Path), help="Where logs and patches are kept.")
@click.option(
    "--work",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the worktree is made [default: the system's folder for temporary files].",
)
@json_option
@on_daemon
@click.pass_context
def command(context: click.Context, /, **options: Any) -> None:
    """Let an agent mend a ticket: ask it, apply its patch, run the impacted tests, feed back, roll back, repeat.

    The verdict is the daemon's, so a flaky failure rejects nothing. Each attempt starts from the base with the record
    of the last one. Before a patch is accepted every test is run once more, in a clean process on a fresh tree.

    An accepted patch is printed, and nothing else is. What happens meanwhile is told on standard error.

    The harness's token belongs to the agent lane and is bound to the ticket: `quarantine token create --scope report
    --lane agent --change NAME`. Neither the agent nor the tests inherit it. docs/loop.md says what green does not
    exclude.

    Exit codes: 0 accepted; 1 exhausted; 3 inconclusive; 4 suspect; 2 when the call has to be mended or something broke
    down.
    """  # fmt: skip
    with exits_of_a_verdict(context):
        end, runner = _solved(options)
        if options["as_json"]:
            print_json(_json_of(end, runner))
        else:
            _show(end, runner)
        context.exit(EXIT_CODES[end.word])


def _solved(options: dict[str, Any]) -> "tuple[End, CommandRunner]":
    from quarantine.client.worktrees import checkout
    from quarantine.loop import CommandRunner, Workspace, solve
    from quarantine.loop.secrecy import close_to_others

    target = target_of(options["url"], options["project"], options["token"])
    os.environ.pop("QUARANTINE_TOKEN", None)  # nothing that is started from here on can inherit it
    close_to_others()
    repository = checkout(options["repository"].resolve())
    protected, ticket, agent = _protected(options, repository), _ticket(options), _agent(options)
    runner = CommandRunner(options["test_command"], target, _settings(options), protected, told=_tell)
    with Workspace.open(repository, options["base"], folder=options["work"]) as workspace:
        for folder in workspace.recovered:
            _tell(f"{folder} was left by a loop that died; it has been removed.")
        end = solve(
            ticket, workspace, agent, runner, options["max_attempts"],
            protected=protected, full=not options["no_full"], progress=_tell,
        )  # fmt: skip
    return end, runner


def _tell(sentence: str) -> None:
    complain(sentence)


def _ticket(options: dict[str, Any]) -> "Ticket":
    from quarantine.loop import Ticket

    file: Path = options["ticket_file"]
    text = file.read_text(encoding="utf-8", errors="replace")
    return Ticket(options["ticket_id"] or file.stem, text, tuple(options["must_pass"]))


def _agent(options: dict[str, Any]) -> "CommandAgent":
    from quarantine.loop import CommandAgent

    return CommandAgent(
        options["agent_command"], timeout_s=options["agent_s"], mode=options["mode"], keep_env=options["agent_env"]
    )


def _protected(options: dict[str, Any], repository: Path) -> "Protected":
    from quarantine.loop import Protected
    from quarantine.loop.protected import installed_modules

    roots = options["import_paths"] or ()
    protected = Protected(installed=installed_modules(options["python"])).extended(
        protect=options["protect"], allow=options["allow"], roots=roots
    )
    return protected.extended(own=_own_modules(repository, options["base"], protected.roots))


def _own_modules(repository: Path, base: str, roots: Iterable[str]) -> set[str]:
    """Return the modules that the base has at its import roots: what is the project's own may be patched."""
    from quarantine.client.git import git

    listed = git(repository, "ls-tree", "-r", "-z", "--name-only", base)
    paths = [os.fsdecode(path).split("/") for path in listed.split(b"\0")]
    places = [[part for part in root.split("/") if part not in ("", ".")] for root in roots]
    below = (path[len(place) :] for path in paths for place in places if path[: len(place)] == place)
    return {path[0].removesuffix(".py") for path in below if path and path[-1].endswith(".py")}


def _settings(options: dict[str, Any]) -> "Settings":
    import sys

    from quarantine.loop import Settings

    return Settings(
        reports=options["reports"],
        python=options["python"] or sys.executable,
        timeout_s=options["timeout_s"],
        job=options["job"],
        variant=variant_of(options["variant"]),
        stream=options["stream"],
        canary=_canary(options["canary_file"]) if options["canary_file"] else None,
        collect=options["collect"],
        kept_variables=options["keep_env"],
        variables=_variables(options["variables"]),
        import_paths=options["import_paths"] or None,
        logs=options["logs"].resolve() if options["logs"] else None,
    )


def _variables(pairs: tuple[str, ...]) -> dict[str, str]:
    for pair in pairs:
        if "=" not in pair:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE.", param_hint="--env")
    return dict(pair.split("=", 1) for pair in pairs)


def _canary(file: Path) -> "CanaryTemplate":
    import tomllib

    from quarantine.loop import CanaryTemplate

    try:
        return CanaryTemplate(**tomllib.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise click.BadParameter(
            f"{file} is no canary: {error}. It has `path`, `content`, `test`, `select` and `exit_code`.",
            param_hint="--canary",
        ) from error


def _json_of(end: "End", runner: "CommandRunner") -> dict[str, Any]:
    from quarantine.loop import Accepted, Suspect

    accepted = end if isinstance(end, Accepted) else None
    return {
        "schema": 1,
        "end": end.word,
        "attempts": end.attempts,
        "sentence": end.sentence,
        "patch": accepted.patch.text.decode("utf-8", "surrogateescape") if accepted else None,
        "owed": list(accepted.owed) if accepted else [],
        "reasons": list(end.reasons) if isinstance(end, Suspect) else [],
        "record": "" if accepted or end.last is None else end.last.record,
        "verdict": dict(end.last.answer) if end.last else None,
        "environment": runner.ready.pinned.to_json() if runner.ready else None,
        "logs": str(runner.ready.execution.logs) if runner.ready else None,
    }


def _show(end: "End", runner: "CommandRunner") -> None:
    from quarantine.junit.texts import plain_text
    from quarantine.loop import Accepted

    word = end.word.capitalize()
    said = end.sentence.removeprefix(f"{word}: ")  # the verdict begins with the same word
    _tell(f"{word} after {end.attempts} attempt{'s' * (end.attempts != 1)}: {said}")
    if runner.ready:
        _tell(f"Logs and patches are in {runner.ready.execution.logs}.")
    if isinstance(end, Accepted):
        for sentence in end.owed:
            _tell(f"Not shown: {sentence}")
        click.echo(end.patch.text, nl=False)
    elif end.last is not None and end.last.record:
        click.echo(plain_text(end.last.record), err=True)
