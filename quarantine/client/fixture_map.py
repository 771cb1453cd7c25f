"""The fixture map: who uses what the set-up of another test has run. It lies in coverage's own data file.

Our pytest plugin writes it, as JSON in a table of its own, so that data and map cannot be parted or mixed up: it holds
a digest of the data it was written for, and is not believed beside other data. `coverage combine` drops it, which only
makes reach wider. (A file `.coverage.something` beside it would be taken for data by that command, and any other file
would become part of the tree.)
"""

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.errors import MapError

__all__ = ["FixtureMap", "WideFixture", "read_fixture_map", "united", "write_fixture_map"]

SCHEMA = 1
_TABLE = "quarantine_fixtures"


class WideFixture(NamedTuple):
    """One fixture of a wider scope than one test, over one module, class, package or session.

    Attributes:
        name: as tests ask for it.
        scope: `class`, `module`, `package` or `session`; `node` for the set-up of a collector.
        file: the defining file and line.
        paid: the contexts of coverage.py in which it was set up or taken down, as they are in the data.
        needs: keys of fixtures it may itself have asked for.
    """

    name: str
    scope: str
    file: str
    paid: tuple[str, ...]
    needs: tuple[str, ...]


class FixtureMap(NamedTuple):
    """What one session recorded.

    Attributes:
        tests: per test, the keys of the wide fixtures it uses. A test that is not in here may use any.
        fixtures: by key.
    """

    tests: Mapping[str, tuple[str, ...]]
    fixtures: Mapping[str, WideFixture]

    @property
    def contexts(self) -> frozenset[str]:
        """All contexts in which something was set up or taken down that tests share."""
        return frozenset(context for one in self.fixtures.values() for context in one.paid)

    def shared_contexts(self, test: str) -> frozenset[str]:
        """Return the contexts of which what ran is also reached by this test."""
        waiting = list(self.tests[test])
        seen: set[str] = set()
        while waiting:
            key = waiting.pop()
            if key not in seen and key in self.fixtures:
                seen.add(key)
                waiting += self.fixtures[key].needs
        return frozenset(context for key in seen for context in self.fixtures[key].paid)

    def to_json(self) -> dict[str, Any]:
        """Return plain values; keys become numbers."""
        number = {key: place for place, key in enumerate(self.fixtures)}
        return {
            "schema": SCHEMA,
            "fixtures": [
                {**one._asdict(), "key": key, "needs": [number[need] for need in one.needs if need in number]}
                for key, one in self.fixtures.items()
            ],
            "tests": {test: [number[key] for key in keys if key in number] for test, keys in self.tests.items()},
        }

    @classmethod
    def from_json(cls, value: Any) -> "FixtureMap":
        """Return the map that plain values hold; raises ValueError when they are of another shape."""
        try:
            if value["schema"] != SCHEMA:
                raise ValueError(f"schema {value['schema']!r} is not known")
            keys = [one["key"] for one in value["fixtures"]]
            fixtures = {
                one["key"]: WideFixture(
                    one["name"],
                    one["scope"],
                    one["file"],
                    tuple(map(str, one["paid"])),
                    tuple(keys[need] for need in one["needs"]),
                )
                for one in value["fixtures"]
            }
            tests = {test: tuple(keys[place] for place in places) for test, places in value["tests"].items()}
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"it is no fixture map: {error!r}") from error
        return cls(tests, fixtures)


def united(maps: list[FixtureMap]) -> FixtureMap:
    """Return one map of what several workers of one session recorded: each has set up its own, and all count."""
    tests: dict[str, tuple[str, ...]] = {}
    fixtures: dict[str, WideFixture] = {}
    for one in maps:
        for test, keys in one.tests.items():
            tests[test] = tuple(sorted({*tests.get(test, ()), *keys}))
        for key, fixture in one.fixtures.items():
            known = fixtures.get(key, fixture)
            fixtures[key] = fixture._replace(
                paid=tuple(sorted({*known.paid, *fixture.paid})), needs=tuple(sorted({*known.needs, *fixture.needs}))
            )
    return FixtureMap(tests, fixtures)


def write_fixture_map(data_file: Path, fixtures: FixtureMap) -> None:
    """Put a map into the data file it belongs to; raises MapError when that cannot be written."""
    try:
        with closing(sqlite3.connect(data_file)) as connection, connection:
            connection.execute(f"DROP TABLE IF EXISTS {_TABLE}")
            connection.execute(f"CREATE TABLE {_TABLE} (digest TEXT NOT NULL, map TEXT NOT NULL)")
            text = json.dumps(fixtures.to_json(), separators=(",", ":"))
            connection.execute(f"INSERT INTO {_TABLE} VALUES (?, ?)", (_digest(connection), text))  # noqa: S608 - our own name
    except sqlite3.Error as error:
        raise MapError(
            f"The fixture map could not be written to {data_file}: {error}.",
            mend="Without it set-ups are charged to all tests of their file.",
        ) from error


def read_fixture_map(data_file: Path) -> FixtureMap | None:
    """Return the map of a data file; None when it has none, or one of other data than it holds now."""
    uri = f"{data_file.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            row = connection.execute(f"SELECT digest, map FROM {_TABLE}").fetchone()  # noqa: S608 - our own name
            if row is None or row[0] != _digest(connection):
                return None
    except sqlite3.Error:
        return None
    try:
        return FixtureMap.from_json(json.loads(row[1]))
    except ValueError:
        return None


def _digest(connection: sqlite3.Connection) -> str:
    """Return 64 hexadecimal digits over everything that was recorded, by context and file."""
    digest = hashlib.sha256()
    for table, columns in (("line_bits", "numbits"), ("arc", "fromno, tono")):
        names = f"{table} JOIN context ON context.id = context_id JOIN file ON file.id = file_id"
        query = f"SELECT context.context, file.path, {columns} FROM {names} ORDER BY 1, 2, 3"  # noqa: S608 - our own words
        for row in connection.execute(query):
            digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
