"""The fixture map: how it is kept in a data file, and how reach follows from it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from quarantine.client.errors import MapError
from quarantine.client.fixture_map import FixtureMap, WideFixture, read_fixture_map, united, write_fixture_map
from quarantine.client.reach_map import reach_of_lines

FILES = {
    "shop/base.py": "def base():\n    return 1\n",
    "shop/deep.py": "def deep():\n    return 1\n",
    "tests/test_a.py": "def test_a(): pass\n\ndef test_b(): pass\n\ndef test_c(): pass\n",
    "tests/test_d.py": "def test_d(): pass\n",
}
A, B, C, D = (f"tests/test_{file}.py::test_{name}" for file, name in ("aa", "ab", "ac", "dd"))
BASE_BY_A, DEEP_BY_A = f"fixture-1|{A}|setup", f"fixture-2|{A}|setup"


def fixture(*paid: str, needs: tuple[str, ...] = ()) -> WideFixture:
    return WideFixture("name", "session", "conftest.py:1", paid, needs)


TWO = FixtureMap({A: ("base", "deep"), B: ("deep",), D: ()}, {"base": fixture(BASE_BY_A), "deep": fixture(DEEP_BY_A)})


def bodies(fixtures: FixtureMap | None) -> dict[str, set[str]]:
    """Per test, the files of the package whose bodies it reaches, when the first test's set-up ran both of them."""
    lines = {
        BASE_BY_A: {"shop/base.py": 1 << 2},
        DEEP_BY_A: {"shop/deep.py": 1 << 2},
        **{f"{test}|run": {test.partition("::")[0]: 1 << 1} for test in (A, B, C, D)},
    }
    reading = reach_of_lines(lines, {path: text.encode() for path, text in FILES.items()}, fixtures)
    return {
        test[-1]: {path[5:9] for path, part in columns if part == "body" and path.startswith("shop")}
        for test, columns in reading.columns.items()
    }


def test_without_a_map_a_set_up_is_shared_by_the_file() -> None:
    """Contexts of single fixtures are set-ups of the test that paid, for whoever does not know more."""
    both = {"base", "deep"}
    assert bodies(None) == {"a": both, "b": both, "c": both, "d": set()}


def test_with_a_map_users_are_charged_and_strangers_are_not() -> None:
    """Each test reaches what was set up for the fixtures it uses, in whatever file it lies; unknown tests share."""
    assert bodies(TWO) == {"a": {"base", "deep"}, "b": {"deep"}, "c": {"base", "deep"}, "d": set()}
    far = TWO._replace(tests={**TWO.tests, D: ("base",)})
    assert bodies(far)["d"] == {"base"}


def test_what_a_fixture_needs_is_charged_too() -> None:
    """A fixture that asked for another brings what that one ran, though the test never names it."""
    chained = TWO._replace(fixtures={**TWO.fixtures, "deep": fixture(DEEP_BY_A, needs=("base",))})
    assert bodies(chained)["b"] == {"base", "deep"}


def test_who_pays_without_being_in_the_map_pays_for_the_file() -> None:
    """A test that the map does not know is shared with all tests of its file, those in the map included."""
    assert bodies(TWO._replace(tests={B: (), C: ()})) == bodies(None)


def data_file(folder: Path) -> Path:
    """A data file as coverage.py writes them, with one line in one context."""
    file = folder / ".coverage"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.executescript(
            "CREATE TABLE context (id INTEGER PRIMARY KEY, context TEXT);"
            "CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT);"
            "CREATE TABLE line_bits (file_id INTEGER, context_id INTEGER, numbits BLOB);"
            "CREATE TABLE arc (file_id INTEGER, context_id INTEGER, fromno INTEGER, tono INTEGER);"
            "INSERT INTO context VALUES (1, 'a|run'); INSERT INTO file VALUES (1, 'x.py');"
            "INSERT INTO line_bits VALUES (1, 1, x'02');"
        )
    return file


def test_it_comes_back_from_the_file(tmp_path: Path) -> None:
    """What was written is read, written anew it replaces the old one, and nothing else in the file changes."""
    file = data_file(tmp_path)
    assert read_fixture_map(file) is None
    write_fixture_map(file, FixtureMap({}, {}))
    write_fixture_map(file, TWO)
    assert read_fixture_map(file) == TWO


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO line_bits VALUES (1, 1, x'04')",
        "UPDATE line_bits SET numbits = x'06'",
        "INSERT INTO arc VALUES (1, 1, 1, 2)",
        "UPDATE context SET context = 'b|run'",
        "UPDATE quarantine_fixtures SET map = '{\"schema\": 2}'",
        'UPDATE quarantine_fixtures SET map = \'{"schema": 1, "fixtures": [1], "tests": {}}\'',
        "UPDATE quarantine_fixtures SET map = '['",
        "DELETE FROM quarantine_fixtures",
    ],
)
def test_a_map_of_other_data_is_none(tmp_path: Path, change: str) -> None:
    """Whatever was recorded, or written, after the map was written makes it no map of this file."""
    file = data_file(tmp_path)
    write_fixture_map(file, TWO)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(change)
    assert read_fixture_map(file) is None


def test_a_file_that_takes_no_map_is_named(tmp_path: Path) -> None:
    """Where the file is none of coverage.py's, the error says so and what follows."""
    file = tmp_path / "words.txt"
    file.write_text("no database at all, but long enough to be taken for one")
    with pytest.raises(MapError, match=r"could not be written to .*words\.txt"):
        write_fixture_map(file, TWO)
    assert read_fixture_map(file) is None


def test_workers_pay_each_for_their_own() -> None:
    """The maps of several workers are one: a test of one worker reaches what any of them paid for the same fixture."""
    other = FixtureMap({C: ("deep",)}, {"deep": fixture("fixture-2|c|setup", needs=("base",))})
    whole = united([TWO, other])
    assert whole.tests == {**TWO.tests, C: ("deep",)}
    assert whole.shared_contexts(C) == {DEEP_BY_A, "fixture-2|c|setup", BASE_BY_A}
