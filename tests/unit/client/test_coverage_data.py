"""Reading coverage.py's data file, and what its contexts mean."""

import sqlite3
from pathlib import Path

import pytest
from coverage import CoverageData

from quarantine.client.coverage_data import phase_of, read_lines
from quarantine.client.errors import MapError

TEST = "tests/test_a.py::TestX::test_y"


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("", None),
        (f"{TEST}|run", (TEST, "run")),
        (f"{TEST}|setup", (TEST, "setup")),
        (f"{TEST}|teardown", (TEST, "teardown")),
        (f"{TEST} (call)", (TEST, "run")),
        (f"{TEST} (setup)", (TEST, "setup")),
        (f"{TEST} (teardown)", (TEST, "teardown")),
        (f"nightly|{TEST}|run", (TEST, "run")),
        (f"nightly|{TEST} (call)", (TEST, "run")),
        (f"{TEST}[a|b]|run", (f"{TEST}[a|b]", "run")),
        (f"nightly|{TEST}[a|b]|setup", (f"{TEST}[a|b]", "setup")),
        (f"{TEST}[x (call)]|run", (f"{TEST}[x (call)]", "run")),
        (f"{TEST}[f(x)]", (f"{TEST}[f(x)]", "run")),
        ("tests.test_a.TestX.test_y", ("tests.test_a.TestX.test_y", "run")),
        ("nightly|", None),
    ],
)
def test_what_a_context_means(context: str, expected: tuple[str, str] | None) -> None:
    """Every spelling of a context gives the test and its phase; the empty one is no test."""
    assert phase_of(context) == expected


def recorded(path: Path, *, arcs: bool) -> Path:
    data = CoverageData(str(path))
    for context, lines in (("", [1, 2, 300]), ("t::a|run", [2, 9]), ("t::a|setup", [8])):
        data.set_context(context)
        if arcs:
            data.add_arcs({"/p/a.py": list(zip([-1, *lines], [*lines, -1], strict=True))})
        else:
            data.add_lines({"/p/a.py": lines})
    data.write()
    data.close()
    return path


def mask(*lines: int) -> int:
    return sum(1 << line for line in lines)


EXPECTED = {
    "": {"/p/a.py": mask(1, 2, 300)},
    "t::a|run": {"/p/a.py": mask(2, 9)},
    "t::a|setup": {"/p/a.py": mask(8)},
}


@pytest.mark.parametrize("arcs", [False, True])
def test_lines_and_branches_read_alike(tmp_path: Path, *, arcs: bool) -> None:
    """A file with branches gives the same lines as one without."""
    assert read_lines(recorded(tmp_path / "data", arcs=arcs)) == EXPECTED


def test_another_schema_is_read_by_coverage_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the schema is not the one known here, coverage.py's own reader gives the same lines."""
    path = recorded(tmp_path / "data", arcs=False)
    monkeypatch.setattr("quarantine.client.coverage_data.KNOWN_SCHEMA", 99)
    assert read_lines(path) == EXPECTED


@pytest.mark.parametrize("content", [b"", b"not a database at all", b"SQLite format 3\x00" + b"\xff" * 200])
def test_a_file_that_is_none_of_coverages(tmp_path: Path, content: bytes) -> None:
    """Any other file is refused by name."""
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(MapError, match="data"):
        read_lines(tmp_path / "data")


def test_a_database_of_something_else(tmp_path: Path) -> None:
    """A database of another program is refused, and left as it is."""
    with sqlite3.connect(tmp_path / "data") as connection:
        connection.execute("CREATE TABLE x (y)")
    connection.close()
    before = (tmp_path / "data").read_bytes()
    with pytest.raises(MapError, match="no data file"):
        read_lines(tmp_path / "data")
    assert (tmp_path / "data").read_bytes() == before


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is an error, and none is made."""
    with pytest.raises(MapError, match="no coverage data file"):
        read_lines(tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_a_version_nobody_here_reads(tmp_path: Path) -> None:
    """A schema that coverage.py cannot read either is refused."""
    path = recorded(tmp_path / "data", arcs=False)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE coverage_schema SET version = 1234")
    connection.close()
    with pytest.raises(MapError, match="cannot be read"):
        read_lines(path)
