"""What becomes of real reports? `python -m tests.study.records [FOLDER]`: a table of tokens before and after.

The first row is a pytest run made now, its printed and logged output included; the others are the reports with the
longest failures in a folder of JUnit reports (by default the corpus beside the checkout), one row a producer's folder.
Before is the text of all failures and run events; after is the record of `failure_record` with its default budget.
Tokens are those of `estimate_tokens`. `--show NAME` prints the record of the rows whose name holds NAME instead.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from quarantine.junit import Document, read_one
from quarantine.record import Event, Failed, Record, estimate_tokens, failure_record
from tests.study.red_suite import run_red_suite, with_output

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "junit" / "open"
LEAST_TOKENS = 400
HEADS = ("report", "failures", "run events", "tokens before", "tokens after", "failures named")


class Measured(NamedTuple):
    """One report and the record made from it."""

    name: str
    failures: int
    events: int
    before: int
    record: Record


def main() -> int:
    """Print the table, or the records asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.study.records", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--show", metavar="NAME")
    arguments = parser.parse_args()
    rows = [_own_run(), *_longest(measured_reports(arguments.folder))]
    if arguments.show is None:
        sys.stdout.write(table(rows))
    else:
        shown = [row for row in rows if arguments.show in row.name]
        sys.stdout.write("".join([f"--- {row.name}\n{row.record.text}\n" for row in shown]))
    return 0


def _own_run() -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        report, exit_code = run_red_suite(Path(folder).resolve())
        return measured("pytest, made now", *with_output(report), root=str(Path(folder).resolve()), exit_code=exit_code)


def measured_reports(folder: Path) -> Iterator[Measured]:
    """Yield what becomes of each report in a folder that holds a failure or a run event."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in {".csv", ".md"}:
            failures, events = failures_of(path)
            if failures or events:
                yield measured(path.relative_to(folder).as_posix(), failures, events)


def failures_of(path: Path) -> tuple[list[Failed], list[Event]]:
    """Return the failures and the failed run events of a report."""
    upload = read_one(Document(path.name, path.read_bytes()))
    lasts = [(run.test.display, run.results[-1]) for run in upload.runs if run.outcome.is_failure]
    failures = [Failed(name=name, kind=last.kind, message=last.message, detail=last.detail) for name, last in lasts]
    failed = [event for event in upload.events if event.outcome.is_failure]
    return failures, [Event(kind=one.kind, where=one.where, message=one.message, detail=one.detail) for one in failed]


def measured(name: str, failures: list[Failed], events: list[Event], *, root: str = "", exit_code: int = 1) -> Measured:
    """Return the record of the failures and what they cost before."""
    sources: list[Failed | Event] = [*failures, *events]
    before = sum([estimate_tokens(one.message) + estimate_tokens(one.detail) for one in sources])
    record = failure_record(failures, events, exit_code=exit_code, root=root, log="test.log")
    return Measured(name, len(failures), len(events), before, record)


def _longest(rows: Iterable[Measured]) -> list[Measured]:
    """Return the longest report of each folder, the longest first."""
    longest: dict[str, Measured] = {}
    for row in rows:
        producer = row.name.partition("/")[0]
        if row.before >= LEAST_TOKENS and (producer not in longest or longest[producer].before < row.before):
            longest[producer] = row
    return sorted(longest.values(), key=lambda row: -row.before)


def table(rows: Iterable[Measured]) -> str:
    """Return the figures as a Markdown table."""
    lines = [f"| {' | '.join(HEADS)} |\n", f"|{'---|' * len(HEADS)}\n"]
    for row in rows:
        named = row.record.failures - row.record.left_out
        cells = (row.name, row.failures, row.events, row.before, row.record.tokens, named)
        lines.append(f"| {' | '.join([f'{cell:,}' if isinstance(cell, int) else cell for cell in cells])} |\n")
    return "".join(lines)


if __name__ == "__main__":
    sys.exit(main())
