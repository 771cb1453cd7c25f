"""What `gate` and `run` share: their options, asking for the verdict, showing it, and exiting by it."""

import contextlib
import io
import json
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from quarantine.cli.options import complain, drop_stdout, json_option, print_json, say
from quarantine.cli.remote import target_of

if TYPE_CHECKING:
    from quarantine.client.errors import Refused
    from quarantine.client.head_and_base import JudgedRun
    from quarantine.client.target import Target
    from quarantine.client.wire import Unreachable

__all__ = [
    "EXIT_CODES",
    "as_a_run",
    "changed_lines_of",
    "check_base",
    "exits_of_a_verdict",
    "judge",
    "on_verdict",
    "patterns_of",
    "question_of",
    "target_of_verdict",
]

F = TypeVar("F", bound=Callable[..., Any])

EXIT_CODES = {"accept": 0, "reject": 1, "inconclusive": 3}
_MISTAKE, _INTERRUPTED, _FIRST_SIGNAL = 2, 130, 128
_STOPPING = (signal.SIGTERM, signal.SIGHUP)
_ASKED_WRONGLY = frozenset({400, 409, 422})
"""Refusals of the question itself: no snapshot answers it instead."""
_GLOB = frozenset("*?[")
_LONGEST_LIST = 64 * 1024 * 1024
"""Bytes of a list of expected tests: some hundred thousand names."""


def on_verdict(function: F) -> F:
    """Give a verb the options that say what is asked, what reruns may cost, and what is done with the answer."""
    options = (
        click.option(
            "--expect",
            "expect_path",
            type=click.Path(exists=True, path_type=Path),
            help="A file of test names, one a line or a list in *.json: each must be in the reports.",
        ),
        click.option("--must-pass", multiple=True, metavar="TEST", help="Must pass, in quarantine too; repeatable."),
        click.option(
            "--removed", multiple=True, metavar="TEST", help="Gone or skipped on purpose; repeatable. Not for agents."
        ),
        click.option("--log", help="Where the whole log of the run lies, for the failure record."),
        click.option(
            "--reruns",
            "most",
            type=click.IntRange(0),
            help="At most so many reruns [default: 6; 70 while a must-pass test that flakes wants passes].",
        ),
        click.option("--rerun-budget", "budget_s", type=click.FloatRange(0), help="Seconds all reruns may take."),
        click.option("--no-reruns", is_flag=True, help="Make none: the first answer is final."),
        click.option(
            "--timeout",
            "timeout_s",
            type=click.FloatRange(1),
            default=3600,
            show_default=True,
            help="Seconds each run may take.",
        ),
        click.option(
            "--record",
            "record_path",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Write the failure record to this file; empty when there is none.",
        ),
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@contextlib.contextmanager
def exits_of_a_verdict(context: click.Context) -> Iterator[None]:
    """Let no mishap look like a verdict: whatever is none ends with 2, and what is running is killed when we are."""

    def stopped(number: int, _frame: object) -> NoReturn:
        raise SystemExit(_FIRST_SIGNAL + number)

    heard = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]  # as `nohup` asks
    previous = [(number, signal.signal(number, stopped)) for number in heard]
    try:
        yield
    except KeyboardInterrupt:
        context.exit(_INTERRUPTED)
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, exit code 1 would call it a verdict
        from quarantine.client.errors import ClientError
        from quarantine.errors import QuarantineError

        if isinstance(error, ClientError | QuarantineError):
            complain(str(error))
        elif isinstance(error, OSError):
            complain(f"{error.filename or 'What is read or written'} cannot be used: {error.strerror or error}.")
        else:
            click.echo(traceback.format_exc(), err=True)
            complain("That is a mistake of quarantine's own, and no verdict.")
        context.exit(_MISTAKE)
    finally:
        for number, handler in previous:
            signal.signal(number, handler)


def as_a_run(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the build part as one that a verdict can be asked on, whichever attempt of its job it is.

    A later attempt is a rerun by its number all the same: it confirms, and makes no trial.
    """
    return {**{name: value for name, value in part.items() if name != "rerun_of"}, "kind": "run"}


def check_base(base: str | None, root: Path) -> None:
    """Raise BadParameter for a base that is no revision here: every test would be judged without one, unasked."""
    from quarantine.client.git import commit_of, is_shallow

    if not base or commit_of(root, base):
        return
    mend = " This clone is shallow: fetch the history (depth 0)." if is_shallow(root) else ""
    raise click.BadParameter(f"there is no revision {base} here.{mend}", param_hint="--base")


def question_of(options: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return what is asked; raises BadParameter for an --expect that names nothing."""
    question = {
        "expected": _names_in(options["expect_path"]),
        "must_pass": list(options["must_pass"]),
        "removed": list(options["removed"]),
        "log": options["log"],
        "root": str(root.resolve()),
    }
    return {name: value for name, value in question.items() if value}


def changed_lines_of(run: "JudgedRun") -> dict[str, Any]:
    """Return the question's field that tells which lines changed; nothing when there is no base to compare with."""
    from quarantine.client.changed_lines import changed_lines
    from quarantine.client.errors import TreeError

    base = run.build_part.get("base_commit")
    if not base or not run.build_part.get("changed"):
        return {}
    with contextlib.suppress(TreeError):
        return {"changed_lines": changed_lines(run.tree, base, run.root)}
    return {}


def _names_in(path: Path | None) -> list[str] | None:
    """Return the names a file lists: one a line, or a JSON list when it ends in .json, for names with line ends."""
    if path is None:
        return None
    text = _text_of(path)
    names = _listed(path, text) if path.suffix == ".json" else [line.removesuffix("\r") for line in text.split("\n")]
    names = [name for name in names if name.strip()]
    if not names:
        raise _no_list(path, "names no test")
    if place := next((number for number, name in enumerate(names, 1) if "\0" in name), None):
        raise _no_list(path, f"has a NUL in name {place}, which no test is called by")
    return names


def _text_of(path: Path) -> str:
    """Return what a list holds; raises BadParameter for what is no plain text of a sane size."""
    if path.is_dir():
        raise _no_list(path, "is a folder")
    try:
        with path.open("rb") as stream:
            content = stream.read(_LONGEST_LIST + 1)
        if len(content) > _LONGEST_LIST:
            raise _no_list(path, f"is longer than {_LONGEST_LIST:,} bytes")
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _no_list(path, f"is not UTF-8 in line {line}") from error
    except OSError as error:
        raise _no_list(path, f"cannot be read ({error.strerror or error})") from error


def _listed(path: Path, text: str) -> list[str]:
    try:
        names = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_list(path, f"is no JSON ({error})") from error
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _no_list(path, "is no JSON list of names")
    return names


def _no_list(path: Path, why: str) -> click.BadParameter:
    mend = "Give a text file in UTF-8 with one test name a line, or a JSON list of names in a file called *.json."
    return click.BadParameter(f"{click.format_filename(path)} {why}. {mend}", param_hint="--expect")


def patterns_of(words: Sequence[str], base: Path, root: Path) -> tuple[str, ...]:
    """Return names and globs that are meant from a folder as patterns from the root, absolute for what lies outside."""
    top, start = root.resolve(), base.resolve()
    return tuple(_pattern(word, start, top) for word in words)


def _pattern(word: str, start: Path, top: Path) -> str:
    fixed = Path(*_before_wildcards(Path(word).parts))
    rest = Path(word).parts[len(fixed.parts) :]
    place = Path(os.path.normpath(start / fixed))
    if place.is_relative_to(top):
        return str(place.relative_to(top).joinpath(*rest))
    return str(place.joinpath(*rest))


def _before_wildcards(parts: Sequence[str]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if _GLOB & set(part):
            break
        found.append(part)
    return found


def target_of_verdict(options: Mapping[str, Any]) -> "Target | None":
    """Return whom to ask; None when no daemon is named, as in a fork that has no secrets."""
    return target_of(options["url"], options["project"], options["token"]) if (options["url"] or "").strip() else None


def judge(
    context: click.Context,
    target: "Target | None",
    run: "JudgedRun",
    question: Mapping[str, Any],
    reports: Sequence[Path],
    options: Mapping[str, Any],
) -> NoReturn:
    """Ask for the verdict, make the reruns that are wanted, show the answer, and exit by it.

    When the daemon gives none it is decided here; the run is kept, and sent with the next upload.
    """
    if target is None:
        answer = _decided_alone(run, question, reports)
    else:
        answer = _asked(target, run, question, reports, options)
    _show(answer, target.url if target else "", options)
    context.exit(EXIT_CODES[answer["verdict"]])


def _asked(
    target: "Target",
    run: "JudgedRun",
    question: Mapping[str, Any],
    reports: Sequence[Path],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    from quarantine.client.errors import Refused
    from quarantine.client.settling import Budget, settled_verdict
    from quarantine.client.upload import flush_spool
    from quarantine.client.wire import Unreachable

    most = 0 if options["no_reruns"] else options["most"]
    budget = Budget(most, options["budget_s"], options["timeout_s"])
    try:
        answer = settled_verdict(target, run, question, reports, budget=budget, told=complain).answer
    except (Refused, Unreachable) as error:
        if isinstance(error, Refused) and error.status in _ASKED_WRONGLY:
            raise
        return _decided_here(target, run, question, reports, error)
    flush_spool(target)
    return answer


def _decided_alone(run: "JudgedRun", question: Mapping[str, Any], reports: Sequence[Path]) -> dict[str, Any]:
    from quarantine.cli.local_verdict import local_verdict

    complain("No daemon is named (--url and QUARANTINE_URL are empty). Decided here, with every test gating.")
    return local_verdict(run.build_part, question, reports, lambda _test, _variant: True)


def _decided_here(
    target: "Target",
    run: "JudgedRun",
    question: Mapping[str, Any],
    reports: Sequence[Path],
    error: "Refused | Unreachable",
) -> dict[str, Any]:
    from quarantine.cli.local_verdict import local_verdict
    from quarantine.client.gating import GatingSet

    gating = GatingSet(target.url, target.project, target.token)
    with contextlib.redirect_stderr(io.StringIO()):  # what it would say is part of the one line below
        answer = local_verdict(run.build_part, question, reports, gating.is_gating)
        snapshot = gating.snapshot
    by = f"by snapshot {snapshot} of the gating set" if snapshot else "with every test gating"
    why = str(error) if str(error).endswith(".") else f"{target.url} gives no verdict ({error})."
    complain(f"{why} Decided here, {by}, nothing compared with the base. {_kept(target, run, reports)}")
    return answer


def _kept(target: "Target", run: "JudgedRun", reports: Sequence[Path]) -> str:
    from quarantine.client.spool import Spool

    spool = Spool(target)
    try:
        folder = spool.add(run.build_part, reports)
    except OSError as error:
        return f"The run could not be kept in {spool.folder}: {error.strerror}."
    return f"The run waits in {folder} and is sent with the next upload."


def _show(answer: Mapping[str, Any], url: str, options: Mapping[str, Any]) -> None:
    """Print the answer and write the record; a terminal that takes no text changes no verdict."""
    from quarantine.cli.verdict_text import unknown_variant, verdict_text

    try:
        if options["as_json"]:
            if said := unknown_variant(answer):
                complain(said)
            print_json(answer)
        else:
            say(verdict_text(answer, url))
    except OSError as error:
        drop_stdout()
        complain(f"The verdict is {answer['verdict']}; it could not be printed: {error.strerror}.")
    if options["record_path"] is not None:
        record = answer.get("record")
        text = str(record["text"]) if record else ""
        options["record_path"].write_text(text, encoding="utf-8", errors="backslashreplace")
