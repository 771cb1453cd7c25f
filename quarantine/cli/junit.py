"""`quarantine junit`: say what JUnit reports hold, without a daemon."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from quarantine.cli.options import ReportFile
from quarantine.domain.report import Problem
from quarantine.junit import Counts, Document, Reading, Upload, counts, plain_text, read_together

HEADER: tuple[str, ...] = ("status", *Counts._fields, "events", "file")


@click.command("junit")
@click.argument("files", nargs=-1, required=True, type=ReportFile())
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@click.option("--together", is_flag=True, help="Read all files as one upload of one build.")
@click.pass_context
def command(context: click.Context, files: tuple[Path, ...], *, as_json: bool, together: bool) -> None:
    """Read JUnit reports and say what they hold: counts, repairs, refusals.

    Each file is read on its own, and has a JSON object with the keys file, status (ok, salvaged or rejected), code
    (why it was rejected, or null), tests, passed, failed, error, skipped, flaky, run_events (records that are no tests;
    they are counted among the tests too), complete and problems (each with code and message). The tries of one test
    count once.

    With --together the files are one job attempt: retries are recognised across files, and there is one object with
    the same counts for all, run_events, complete, and files: a list of objects with file, status, code and problems.

    Exit code: 0 when every file could be read, 1 when one was rejected, 2 for wrong usage.
    """
    uploads = [_read(files)] if together else [_read([file]) for file in files]
    show = _json_lines if as_json else _table
    for line in show(uploads, together=together):
        click.echo(line)
    if any(reading.status == "rejected" for upload in uploads for reading in upload.readings):
        context.exit(1)


def _read(files: Iterable[Path]) -> Upload:
    return read_together(_documents(files))


def _documents(files: Iterable[Path]) -> Iterator[Document]:
    """Yield the files as documents, one of them open at a time."""
    for file in files:
        with file.open("rb") as stream:
            yield Document(str(file), stream)


def _json_lines(uploads: Iterable[Upload], *, together: bool) -> Iterable[str]:
    for upload in uploads:
        totals = {
            **counts(upload.runs, upload.events)._asdict(),
            "run_events": len(upload.events),
            "complete": upload.complete,
        }
        if together:
            yield json.dumps({**totals, "files": [_file(reading) for reading in upload.readings]})
        else:
            file = _file(upload.readings[0])
            problems = file.pop("problems")
            yield json.dumps({**file, **totals, "problems": problems})


def _file(reading: Reading) -> dict[str, Any]:
    return {
        "file": reading.name,
        "status": reading.status,
        "code": reading.code,
        "problems": [problem._asdict() for problem in _problems(reading)],
    }


def _problems(reading: Reading) -> tuple[Problem, ...]:
    """Return what was wrong with a document, a refusal included."""
    refusal = () if reading.code is None else (Problem(reading.code, reading.sentence),)
    return (*refusal, *reading.problems)


def _table(uploads: Iterable[Upload], *, together: bool) -> Iterable[str]:
    rows: list[tuple[str, ...]] = [HEADER]
    for upload in uploads:
        numbers = [str(number) for number in (*counts(upload.runs, upload.events), len(upload.events))]
        blank = [""] * len(numbers)
        rows += [
            (reading.status, *(blank if together else numbers), _shown(reading.name)) for reading in upload.readings
        ]
        rows += [("together", *numbers, "")] if together else []
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER) - 1)]
    for row in rows:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:], strict=True)),
        ]
        yield "  ".join([*cells, row[-1]]).rstrip()
    for upload in uploads:
        for reading in upload.readings:
            for problem in _problems(reading):
                yield f"{_shown(reading.name)}: {plain_text(problem.message)}"


def _shown(name: str) -> str:
    return plain_text(click.format_filename(name))
