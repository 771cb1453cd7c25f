"""The reach maps of a project against its roster: which tests a change touches, and their fingerprints."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from quarantine.domain.build import ChangedPart
from quarantine.reach.columns import Column, Values, column_values
from quarantine.reach.globs import Globs
from quarantine.reach.reach_map import ReachMap, fingerprints, touched, union
from quarantine.services.naming import spellings_of
from quarantine.store import reaches, roster
from quarantine.store.projects import Project

Mask = NDArray[np.bool_]
Hashes = Mapping[Column, str]


@dataclass(frozen=True, slots=True)
class ReachIndex:
    """The union of a project's maps, with the tests of its roster that each row stands for.

    Attributes:
        reach: the union; its tests are names as runners gave them.
        rows, ordinals: parallel, shape (links,): row `rows[i]` is the reach of test `ordinals[i]`. A name that several
            tests go by stands for each of them, and a test that goes by several names reaches what any of them does.
    """

    reach: ReachMap
    rows: NDArray[np.intp]
    ordinals: NDArray[np.intp]
    globs: Globs = field(default_factory=Globs)

    def known(self, tests: int) -> Mask:
        """Return which tests have a reach, shape (tests,); the others reach everything."""
        mask = np.zeros(tests, np.bool_)
        mask[self.ordinals] = True
        return mask

    def untouched(self, changed: Iterable[ChangedPart], tests: int) -> Mask:
        """Return which tests reach none of the changed parts, shape (tests,)."""
        columns: list[Column] = [(path, part) for path, part, _ in changed]
        if self.globs.of_every_test(columns, self.reach.paths()):
            return np.zeros(tests, np.bool_)
        hit = np.zeros(tests, np.bool_)
        np.logical_or.at(hit, self.ordinals, touched(self.reach, columns)[self.rows])
        return self.known(tests) & ~hit

    def reached_by(self, tests: Mask) -> set[Column]:
        """Return what any of these tests reaches; `tests` has shape (tests,)."""
        reach = self.reach
        wanted = np.zeros(len(reach.tests), np.bool_)
        wanted[self.rows[tests[self.ordinals]]] = True
        hit = np.zeros(len(reach.columns), np.bool_)
        hit[reach.indices[np.repeat(wanted, np.diff(reach.indptr))]] = True
        return {reach.columns[place] for place in np.flatnonzero(hit).tolist()}

    def fingerprints(self, secret: bytes, base: Hashes, changed: Iterable[ChangedPart], tests: int) -> Values:
        """Return each test's reach fingerprint, shape (tests,); 0 for tests without reach.

        Args:
            secret: the project's key.
            base: the part hashes of the base commit.
            changed: what differs from it.
            tests: how many ordinals there are.
        """
        hashes: dict[Column, str | None] = {**base, **{(path, part): found for path, part, found in changed}}
        everywhere = self.globs.of_every_test(hashes, self.reach.paths())
        common = column_values(secret, everywhere, hashes).sum(dtype=np.uint64)
        values = fingerprints(self.reach, column_values(secret, self.reach.columns, hashes), int(common))
        found = np.zeros(tests, np.uint64)
        np.add.at(found, self.ordinals, values[self.rows])
        return found


_Held = tuple[tuple[int, int, int], ReachIndex | None]
"""An index, and the numbers of the project that it was made for."""


@dataclass(slots=True)
class ReachCache:
    """The index of each project, kept until a map, a test or a rename comes in. Guarded by the app's lock."""

    _held: dict[int, _Held] = field(default_factory=dict)
    _functions: dict[int, _Held] = field(default_factory=dict)

    def of(self, connection: Connection, project: Project, tests: int) -> ReachIndex | None:
        """Return the project's index for `tests` ordinals; None when it has no map."""
        return _kept(self._held, connection, project, tests, reaches.every)

    def functions_of(self, connection: Connection, project: Project, tests: int) -> ReachIndex | None:
        """Return the index of which functions tests ran, its columns (path, qualified name); None without such maps.

        It is read when a verdict asks for it first: an ingest needs none.
        """
        return _kept(self._functions, connection, project, tests, reaches.functions)

    def forget(self, project_id: int) -> None:
        """Drop a project's index: it may know tests of a transaction that was rolled back."""
        self._held.pop(project_id, None)
        self._functions.pop(project_id, None)


def _kept(
    held: dict[int, _Held],
    connection: Connection,
    project: Project,
    tests: int,
    maps: Callable[[Connection, int], list[ReachMap]],
) -> ReachIndex | None:
    newest = reaches.newest(connection, project.id)
    known = held.get(project.id)
    numbers = (newest, tests, project.renames)
    if known is None or known[0] != numbers:
        index = _index(connection, project.id, maps(connection, project.id)) if newest else None
        known = held[project.id] = (numbers, index)
    return known[1]


def _index(connection: Connection, project_id: int, maps: Sequence[ReachMap]) -> ReachIndex | None:
    if not maps:
        return None
    whole = reduce(union, maps)
    links = [
        (row, ordinal)
        for row, ordinals in enumerate(ordinals_by_name(connection, project_id, whole.tests))
        for ordinal in ordinals
    ]
    pairs = np.array(links, np.intp).reshape(-1, 2)
    return ReachIndex(whole, pairs[:, 0], pairs[:, 1])


def ordinals_by_name(connection: Connection, project_id: int, names: Sequence[str]) -> list[list[int]]:
    """Return, for each name as a runner gives it, the tests that go by it."""
    going_by: dict[str, list[int]] = defaultdict(list)
    wanted = set(names)
    for row in roster.every(connection, project_id):
        for spelling in spellings_of(row) & wanted:
            going_by[spelling].append(row["ordinal"])
    return [going_by.get(name, []) for name in names]
