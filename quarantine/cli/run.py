"""`quarantine run`: run the tests, and exit by the verdict on them rather than by their exit code."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quarantine.cli.judging import (
    as_a_run,
    changed_lines_of,
    check_base,
    exits_of_a_verdict,
    judge,
    on_verdict,
    patterns_of,
    question_of,
    target_of_verdict,
)
from quarantine.cli.options import complain
from quarantine.cli.remote import on_daemon
from quarantine.cli.tested import Found, Root, on_build_to_come, part_of, root_of

if TYPE_CHECKING:
    from quarantine.client.executing import Execution
    from quarantine.client.head_and_base import JudgedRun
    from quarantine.client.target import Target

_TIMED_OUT = 124


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="COMMAND...")
@click.option(
    "--reports",
    "globs",
    multiple=True,
    metavar="GLOB",
    help="Finds the reports the command writes; repeatable [default: every *.xml that reads like JUnit].",
)
@click.option("--report-only", is_flag=True, help="Only send the reports, and exit as the command did.")
@on_build_to_come
@on_verdict
@on_daemon
@click.pass_context
def command(context: click.Context, /, words: tuple[str, ...], globs: tuple[str, ...], **options: Any) -> None:
    """Run COMMAND, a run of the tests by whatever runner, and exit by the verdict on it.

    The tree is hashed before the command starts, so that what the run writes is no part of it. The reports are the
    files it wrote: those that lay there before never count. What the daemon wants to see again is run again, on this
    tree and on the base; see `quarantine gate --help`, which this is, with the run itself before it.

    The command's output passes through (with --json to stderr). It sees no QUARANTINE_TOKEN, and whatever it leaves
    running is killed. Write `--` before it.

    Exit codes: 0 accept, 1 reject, 3 inconclusive; 2 when the call has to be mended or something broke down; with
    --report-only the command's own, and 124 when its time was up.
    """
    with exits_of_a_verdict(context):
        target = target_of_verdict(options)
        root = root_of(options["root"])
        check_base(options["base"], root.path)
        folder = root.path / root.within
        _check_program(words[0], folder, options["python"])
        options |= {"command_line": shlex.join(words), "exit_code": None, "rerun_of": None}
        _run(context, target, root, patterns_of(globs, folder, root.path), options)


def _check_program(word: str, folder: Path, python: str | None) -> None:
    from quarantine.client.executing import suite_environment

    if shutil.which(word, path=suite_environment(python).get("PATH")) or shutil.which(folder / word):
        return
    raise click.BadParameter(f"{word!r} is no program that can be run.", param_hint="COMMAND")


def _run(
    context: click.Context, target: "Target | None", root: Root, patterns: tuple[str, ...], options: dict[str, Any]
) -> None:
    from quarantine.client.report_files import EVERY_XML, flaw

    question = question_of(options, root.path)
    run = _to_be_judged(root.path, patterns or (EVERY_XML,), options)
    question |= {} if options["report_only"] else changed_lines_of(run)  # now, for the run may write over files
    ran = _executed(run, options)
    part = {**run.build_part, "started_at": ran.started_at}
    part |= {} if ran.exit_code is None else {"exit_code": ran.exit_code}
    run = run._replace(build_part=part, leave_out=(*run.leave_out, *ran.reports))
    usable = [path for path in ran.reports if not flaw(path)]
    _tell(ran, run)
    reports = ran.reports if usable else ()
    if options["report_only"]:
        _send(target, part, reports)
        context.exit(_TIMED_OUT if ran.exit_code is None else ran.exit_code)
    question |= {"timed_out": ran.timed_out, "runner_s": round(ran.seconds, 3)}
    judge(context, target, run, question, reports, options)


def _send(target: "Target | None", part: dict[str, Any], reports: Sequence[Path]) -> None:
    """Send the reports; trouble with that is said and changes nothing."""
    from quarantine.client.upload import post_reports

    if target is None:
        complain("No daemon is named (--url and QUARANTINE_URL are empty), so nothing is sent.")
    else:
        post_reports(target, part, reports)


def _to_be_judged(root: Path, patterns: tuple[str, ...], options: dict[str, Any]) -> "JudgedRun":
    """Return the run that is about to be made, with the tree as it is now."""
    from quarantine.client.git import commit_entries, head_commit
    from quarantine.client.head_and_base import JudgedRun
    from quarantine.client.report_files import old_reports
    from quarantine.client.tree import read_tree

    top, head = root.resolve(), head_commit(root)
    known = frozenset(top / os.fsdecode(entry.path) for entry in commit_entries(root, head)) if head else frozenset()
    left_out = tuple(path.absolute() for path in [*old_reports(top, patterns, known), *options["leave_out"]])
    tree = read_tree(top, leave_out=left_out)
    part, remarks, _ = part_of(options, Found((), ()), tree)
    for remark in remarks:
        complain(remark)
    return JudgedRun(top, tree, as_a_run(part), part["command"], patterns, left_out, options["python"])


def _executed(run: "JudgedRun", options: dict[str, Any]) -> "Execution":
    from quarantine.client.executing import execute, suite_environment

    sys.stdout.flush()
    return execute(
        run.command,
        run.root,
        run.patterns,
        environment=suite_environment(run.python),
        timeout_s=options["timeout_s"],
        stdin=None,
        stdout=2 if options["as_json"] else None,
        stderr=None,
    )


def _tell(ran: "Execution", run: "JudgedRun") -> None:
    """Say how the run ended and which files are its reports."""
    from quarantine.client.report_files import flaw

    ended = f"killed after {ran.seconds:.1f} s" if ran.timed_out else f"exit code {ran.exit_code}"
    names = [str(path.relative_to(run.root) if path.is_relative_to(run.root) else path) for path in ran.reports]
    found = ", ".join(names) or f"none was written that matches {', '.join(run.patterns)}"
    complain(f"The command ended ({ended}). Reports: {found}.")
    for path in ran.stale:
        complain(f"{path} came there during the run but is older than it, so it is the report of another run.")
    for sentence in filter(None, map(flaw, ran.reports)):
        complain(sentence)
