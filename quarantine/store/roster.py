"""The roster of tests: which ordinal a test id has. Ordinals are dense, given out once and never taken back.

A test that was renamed goes by several ids, each with an ordinal of its own. Whoever asks for a row, by whichever of
them, is told the one test that they are names of: see `quarantine.store.aliases`.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, or_, select, update

from quarantine.domain.report import Run
from quarantine.store import aliases
from quarantine.store.sql import in_chunks, storable
from quarantine.store.tables import TEST

Words = NDArray[np.uint64]
Ordinals = NDArray[np.int64]

_INSERTED_AT_ONCE = _READ_AT_ONCE = 2_000
_DIGEST_OF = attrgetter("digest")


@dataclass(slots=True)
class Roster:
    """Digest to ordinal for one project, kept in memory between builds.

    The table only ever grows, so what is cached stays true; `refresh` reads what other processes added. The digests are
    columns, for a dictionary of them would take four times the memory.

    Attributes:
        _high, _low: the two halves of each digest, sorted by (high, low); shape (tests,).
        _ordinals: the ordinal of each, in the same order.
        _carriers: of the ordinals that are further names of other tests, whose.
        _renames: which alias of the project they were read after.
    """

    _high: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    _low: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    _ordinals: Ordinals = field(default_factory=lambda: np.zeros(0, np.int64))
    _carriers: dict[int, int] = field(default_factory=dict)
    _renames: int = 0

    def __len__(self) -> int:
        return len(self._ordinals)

    def refresh(self, connection: Connection, project_id: int, tests: int, renames: int = 0) -> None:
        """Read what is not cached yet; `tests` and `renames` are the project's numbers."""
        if self._renames != renames:
            self._carriers, self._renames = aliases.carriers(connection, project_id), renames
        if len(self) > tests:  # what was cached came from a transaction that was rolled back
            self.forget()
        if len(self) < tests:
            query = select(TEST.c.digest, TEST.c.ordinal).where(
                TEST.c.project_id == project_id, TEST.c.ordinal >= len(self)
            )
            rows = connection.execute(query).all()
            self._add([bytes(row.digest) for row in rows], np.array([row.ordinal for row in rows], np.int64))

    def forget(self) -> None:
        """Drop everything cached, as after a transaction that failed."""
        self._high = self._low = np.zeros(0, np.uint64)
        self._ordinals = np.zeros(0, np.int64)
        self._carriers, self._renames = {}, 0

    def carriers_of(self, ordinals: Ordinals) -> Ordinals:
        """Return the tests that these ordinals are names of, in the same order. As of the last `refresh`."""
        names = np.array(sorted(self._carriers), np.int64)
        tests = np.array([self._carriers[name] for name in names.tolist()], np.int64)
        place = np.minimum(np.searchsorted(names, ordinals), len(names) - 1)
        found: Ordinals = np.where(names[place] == ordinals, tests[place], ordinals)
        return found

    @property
    def has_aliases(self) -> bool:
        """Whether any test has several names. As of the last `refresh`."""
        return bool(self._carriers)

    def further_names(self) -> dict[int, list[int]]:
        """Return each test that has several names, with the ordinals of all but its own. As of the last `refresh`."""
        names: dict[int, list[int]] = defaultdict(list)
        for name, test in self._carriers.items():
            names[test].append(name)
        return dict(names)

    def find(self, digests: Sequence[bytes]) -> Ordinals:
        """Return the ordinal of each digest, shape (len(digests),); -1 for a test never seen."""
        if not len(self) or not digests:
            return np.full(len(digests), -1, np.int64)
        high, low = _halves(digests)
        place = np.searchsorted(self._high, high)
        last = len(self) - 1
        while True:  # digests that share their first half follow each other
            at = np.minimum(place, last)
            same = (place <= last) & (self._high[at] == high)
            further = same & (self._low[at] != low)
            if not further.any():
                return np.where(same, self._ordinals[at], -1)
            place = place + further

    def _add(self, digests: Sequence[bytes], ordinals: Ordinals) -> None:
        high, low = _halves(digests)
        high, low = np.concatenate([self._high, high]), np.concatenate([self._low, low])
        order = np.lexsort((low, high))
        self._high, self._low = high[order], low[order]
        self._ordinals = np.concatenate([self._ordinals, ordinals])[order]

    def resolve(
        self, connection: Connection, project_id: int, runs: Sequence[Run], *, stream: str, build_seq: int
    ) -> Ordinals:
        """Return the ordinal of each run's test, shape (len(runs),); tests never seen are added first.

        No two runs have the same digest.
        """
        digests = list(map(_DIGEST_OF, runs))
        found = self.find(digests)
        new = np.flatnonzero(found < 0)
        if len(new):
            found[new] = np.arange(len(self), len(self) + len(new))
            for start in range(0, len(new), _INSERTED_AT_ONCE):
                some = new[start : start + _INSERTED_AT_ONCE].tolist()
                rows = [_row(project_id, int(found[place]), runs[place], stream, build_seq) for place in some]
                connection.execute(TEST.insert(), rows)
            self._add([digests[place] for place in new.tolist()], found[new])
        return found


def _halves(digests: Sequence[bytes]) -> tuple[Words, Words]:
    words = np.frombuffer(b"".join(digests), ">u8").reshape(-1, 2).astype(np.uint64)
    return words[:, 0].copy(), words[:, 1].copy()


def _row(project_id: int, ordinal: int, run: Run, stream: str, build_seq: int) -> dict[str, object]:
    return {
        "project_id": project_id,
        "ordinal": ordinal,
        "digest": run.digest,
        "stream": stream,
        "suite": list(run.origin.suite),
        "classname": run.origin.classname,
        "name": run.name,
        "file": run.origin.file,
        "line": run.origin.line,
        "unique_id": True,
        "stable_id": True,
        "sound_builds": 0,
        "first_build": build_seq,
    }


def mark_not_unique(connection: Connection, project_id: int, ordinals: Iterable[int]) -> None:
    """Note that several tests claimed one id; such an id cannot be quarantined until `note_sound` takes that back."""
    _mark(connection, project_id, ordinals, unique_id=False, sound_builds=0)


def note_sound(connection: Connection, project_id: int, ordinals: Iterable[int], *, needed: int) -> None:
    """Note that one more trunk run told once of ids that are not unique; they are again after `needed` in a row."""
    seen = list(ordinals)
    _mark(connection, project_id, seen, sound_builds=TEST.c.sound_builds + 1)
    for chunk in in_chunks(seen):
        which = (TEST.c.project_id == project_id, TEST.c.ordinal.in_(chunk))
        mended = update(TEST).where(*which, TEST.c.sound_builds >= needed)
        connection.execute(mended.values(unique_id=True, sound_builds=0))


def mark_unstable(connection: Connection, project_id: int, ordinals: Iterable[int]) -> None:
    """Note that these ids are another case in each process; such an id can never be quarantined."""
    _mark(connection, project_id, ordinals, stable_id=False)


def _mark(connection: Connection, project_id: int, ordinals: Iterable[int], **found: Any) -> None:
    for chunk in in_chunks(ordinals):
        which = (TEST.c.project_id == project_id, TEST.c.ordinal.in_(chunk))
        connection.execute(update(TEST).where(*which).values(found))


def every(connection: Connection, project_id: int) -> Iterable[dict[str, Any]]:
    """Yield the row of every test by ordinal, each test once."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.carrier.is_(None)).order_by(TEST.c.ordinal)
    for several in connection.execute(query).mappings().partitions(_READ_AT_ONCE):
        yield from aliases.told(connection, project_id, [dict(row) for row in several])


def not_unique(connection: Connection, project_id: int) -> set[int]:
    """Return the ordinals of the ids that are not unique."""
    query = select(TEST.c.ordinal).where(TEST.c.project_id == project_id, TEST.c.unique_id.is_(False))
    return set(connection.execute(query).scalars())


def not_observed_by_id(connection: Connection, project_id: int) -> set[int]:
    """Return the ordinals of the ids that are not unique, or another case in each process."""
    ambiguous = or_(TEST.c.unique_id.is_(False), TEST.c.stable_id.is_(False))
    return set(connection.execute(select(TEST.c.ordinal).where(TEST.c.project_id == project_id, ambiguous)).scalars())


def rows(connection: Connection, project_id: int, ordinals: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the stored rows of these tests by the ordinal asked for; that of a further name is its test's."""
    found: list[dict[str, Any]] = []
    for chunk in in_chunks(ordinals):
        query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.ordinal.in_(chunk))
        found += [dict(row) for row in connection.execute(query).mappings()]
    return {row["ordinal"]: test for row, test in zip(found, aliases.told(connection, project_id, found), strict=True)}


def named(connection: Connection, project_id: int, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of every test whose bare name is one of these, or was."""
    found: list[dict[str, Any]] = []
    for chunk in in_chunks(sorted({storable(name) for name in names})):
        which = (TEST.c.project_id == project_id, TEST.c.name.in_(chunk))
        found += [dict(row) for row in connection.execute(select(TEST).where(*which)).mappings()]
    return _each_once(connection, project_id, found)


def by_digest(connection: Connection, project_id: int, digest: bytes) -> dict[str, Any] | None:
    """Return the row of the test with this digest; None when there is none."""
    return next(iter(by_digests(connection, project_id, [digest])), None)


def by_digests(connection: Connection, project_id: int, digests: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the rows of the tests with these digests, those there are."""
    found: list[dict[str, Any]] = []
    for chunk in in_chunks(digests):
        which = (TEST.c.project_id == project_id, TEST.c.digest.in_(chunk))
        found += [dict(row) for row in connection.execute(select(TEST).where(*which)).mappings()]
    return _each_once(connection, project_id, found)


def _each_once(connection: Connection, project_id: int, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tests that these rows are names of, by ordinal."""
    tests = {int(row["ordinal"]): row for row in aliases.told(connection, project_id, rows)}
    return [tests[ordinal] for ordinal in sorted(tests)]


def resembling(connection: Connection, project_id: int, part: str, limit: int) -> list[dict[str, Any]]:
    """Return a few tests whose bare name holds this text."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.name.contains(storable(part), autoescape=True))
    found = [dict(row) for row in connection.execute(query.order_by(TEST.c.ordinal).limit(limit)).mappings()]
    return _each_once(connection, project_id, found)
