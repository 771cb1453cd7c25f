"""Reading the data file that coverage.py writes when it records dynamic contexts: which lines ran in which context.

The SQLite file is read directly where its schema is the one known here, because that is many times faster; otherwise
coverage.py's own reader is used, which whoever wrote the file has installed.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from quarantine.client.errors import MapError

__all__ = ["Lines", "Phase", "phase_of", "read_lines"]

KNOWN_SCHEMA = 7
_SPELLINGS = {"setup": "setup", "run": "run", "call": "run", "teardown": "teardown"}

Lines = dict[str, dict[str, int]]
"""Per context, per recorded path, the lines that ran: bit n stands for line n."""


class Phase(NamedTuple):
    """What a context stands for: a test as its runner names it, and `setup`, `run` or `teardown`."""

    test: str
    name: str


def phase_of(context: str) -> Phase | None:
    """Return the test and phase a context stands for; None for code that ran outside any test.

    Understood are `ID|run` and its like, as pytest-cov writes them; `ID (call)`, which PYTEST_CURRENT_TEST holds; a
    bare `ID`, as `dynamic_context = test_function` writes it; and any of them behind a static context and `|`.
    """
    if not context:
        return None
    test, name = context, "run"
    head, bar, tail = context.rpartition("|")
    if bar and tail in _SPELLINGS:
        test, name = head, _SPELLINGS[tail]
    elif context.endswith(")"):
        head, bar, tail = context[:-1].rpartition(" (")
        if bar and tail in _SPELLINGS:
            test, name = head, _SPELLINGS[tail]
    static, bar, rest = test.partition("|")
    if bar and "::" not in static and "[" not in static:
        test = rest
    return Phase(test, name) if test else None


def read_lines(data_file: Path) -> Lines:
    """Return the lines that ran, by context and file; raises MapError when the file is none of coverage.py's."""
    if not data_file.is_file():
        raise MapError(f"There is no coverage data file {data_file}.", mend="Name the file that the run wrote.")
    uri = f"{data_file.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            if _schema(connection) == KNOWN_SCHEMA:
                return _collected(_rows(connection))
    except sqlite3.Error as error:
        raise MapError(
            f"{data_file} is no data file of coverage.py: {error}.", mend="Name the file that the run wrote."
        ) from error
    return _collected(_rows_by_api(data_file))


def _schema(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("SELECT version FROM coverage_schema").fetchone()
    return int(version)


def _rows(connection: sqlite3.Connection) -> Iterator[tuple[str, str, int]]:
    """Yield (context, path, lines); rows of one context and path may come several times."""
    names = "context JOIN {0} ON context.id = {0}.context_id JOIN file ON file.id = {0}.file_id"
    lines = f"SELECT context.context, file.path, numbits FROM {names.format('line_bits')}"  # noqa: S608 - our own words
    for context, path, numbits in connection.execute(lines):
        yield context, path, int.from_bytes(numbits, "little")
    arcs = f"SELECT context.context, file.path, fromno, tono FROM {names.format('arc')}"  # noqa: S608 - the same
    for context, path, start, end in connection.execute(arcs):
        yield context, path, (1 << start if start > 0 else 0) | (1 << end if end > 0 else 0)


def _rows_by_api(data_file: Path) -> Iterator[tuple[str, str, int]]:
    try:
        from coverage import CoverageData  # noqa: PLC0415 - needed for files of another schema only
        from coverage.exceptions import CoverageException  # noqa: PLC0415 - the same
    except ImportError as error:
        raise MapError(
            f"{data_file} is of a version of coverage.py that is not known here.", mend="Install coverage."
        ) from error
    data = CoverageData(str(data_file))
    try:
        data.read()
        for path in data.measured_files():
            for line, contexts in data.contexts_by_lineno(path).items():
                for context in contexts if line > 0 else ():
                    yield context, path, 1 << line
    except CoverageException as error:
        raise MapError(f"{data_file} cannot be read: {error}.", mend="Record it again.") from error


def _collected(rows: Iterator[tuple[str, str, int]]) -> Lines:
    lines: Lines = {}
    for context, path, mask in rows:
        files = lines.setdefault(context, {})
        files[path] = files.get(path, 0) | mask
    return lines
