"""`quarantine gate`: turn a run of the tests into accept, reject or inconclusive."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
from quarantine.cli.tested import Found, found_reports, on_judged_build, part_of, quoted, root_of

if TYPE_CHECKING:
    from quarantine.client.target import Target


class Named(NamedTuple):
    """The reports of a run: the words that name them, and the files that are there."""

    words: tuple[str, ...]
    found: Found


def _named(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> Named:
    return Named(words, found_reports(context, parameter, words))


def _instant(_context: click.Context, parameter: click.Parameter, word: str | None) -> float | None:
    """Return an instant as seconds since 1970; raises BadParameter for a word that is none."""
    if word is None:
        return None
    with suppress(ValueError, OverflowError, OSError):
        seconds = _seconds(word)
        if 0 <= seconds < float("inf"):  # which is no nan either
            return seconds
    mend = "give seconds since 1970, as `date +%s` prints, or ISO 8601."
    raise click.BadParameter(f"{word!r} is no instant: {mend}", param=parameter)


def _seconds(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return datetime.fromisoformat(word).timestamp()


@click.command()
@click.option(
    "--report",
    "named",
    multiple=True,
    required=True,
    callback=_named,
    metavar="FILE",
    help="A JUnit report of the run, or a glob that finds some; repeatable.",
)
@click.option(
    "--since",
    "since_s",
    callback=_instant,
    metavar="INSTANT",
    help="When the run began, in seconds since 1970 or ISO 8601: what is older is no report of it.",
)
@on_judged_build
@on_verdict
@on_daemon
@click.pass_context
def command(context: click.Context, /, named: Named, **options: Any) -> None:
    """Send a run of the tests and exit by the verdict on it.

    The verdict rests on every cause that could make the run red: each failing, missing or newly skipped test, the exit
    code, the reports themselves. A report that is not there, is empty, or is older than --since is no report, and that
    is never green. When none is there at all although the run ended with 0, that is wrong usage.

    With --command, whatever the daemon wants to see again is run again, whole: on this tree in this folder, as long as
    not a byte of it has changed, and on the base in a scratch worktree. The command sees no QUARANTINE_TOKEN.

    When the daemon gives no verdict, it is decided here by the last snapshot of the gating set, for at most its maximum
    age; then every test gates. The run is kept on this machine and sent with the next upload. So it is decided where no
    daemon is named, as in a fork that has no secrets: then every test gates.

    Exit codes: 0 accept, 1 reject, 3 inconclusive; 2 when the call has to be mended or something broke down.
    """
    with exits_of_a_verdict(context):
        if options["exit_code"] is None:
            raise click.UsageError("Missing option '--exit-code'. A report alone does not say how the run ended.")
        _check_reports(named.found, options["exit_code"])
        _judge(context, target_of_verdict(options), named, options)


def _check_reports(found: Found, exit_code: int) -> None:
    """Raise UsageError where no report is there though the run ended well: that is rather a name typed wrongly."""
    if exit_code == 0 and not found.files:
        raise click.UsageError(
            f"Nothing is at {quoted(found.missing)}, though the run ended with 0. Name by --report what it wrote."
        )


def _judge(context: click.Context, target: "Target | None", named: Named, options: dict[str, Any]) -> None:
    from quarantine.client.head_and_base import JudgedRun
    from quarantine.client.tree import read_tree

    root = root_of(options["root"]).path
    check_base(options["base"], root)
    left_out = [*named.found.files, *map(Path, named.found.missing), *options["leave_out"]]
    tree = read_tree(root, leave_out=left_out)
    part, remarks, _ = part_of({**options, "rerun_of": None}, named.found, tree)
    for remark in remarks:
        complain(remark)
    part = as_a_run(part)
    run = JudgedRun(
        root=root.resolve(),
        tree=tree,
        build_part=part,
        command=part.get("command", ""),
        patterns=patterns_of(named.words, Path.cwd(), root),
        leave_out=tuple(path.absolute() for path in left_out),
        python=options["python"],
    )
    question = question_of(options, root) | changed_lines_of(run)
    with _usable(named.found, options["since_s"]) as reports:
        judge(context, target, run, question, reports, options)


@contextmanager
def _usable(found: Found, since_s: float | None) -> Iterator[list[Path]]:
    """Yield what is sent: the reports that may be of this run, and an empty one for each that cannot.

    When none may be, nothing is sent: there is no report. Each that cannot is named on stderr.
    """
    from quarantine.client.claims import scratch_folder
    from quarantine.client.report_files import flaw

    flaws = {path: flaw(path, since_s) for path in found.files}
    flaws |= {Path(word): f"Nothing is at {word}, so there is no such report." for word in found.missing}
    for sentence in filter(None, flaws.values()):
        complain(sentence)
    with scratch_folder("empty") as scratch:
        usable = [path for path, sentence in flaws.items() if not sentence]
        yield ([*usable, *_empty([path for path, sentence in flaws.items() if sentence], scratch)] if usable else [])


def _empty(paths: Sequence[Path], scratch: Path) -> Iterator[Path]:
    """Yield an empty file for each path, of its name."""
    for number, path in enumerate(paths):
        stand_in = scratch / str(number) / path.name
        stand_in.parent.mkdir()
        stand_in.touch()
        yield stand_in
