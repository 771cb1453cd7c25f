"""The roster of tests: which ordinal a test id has. Ordinals are dense, given out once and never taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, or_, select, update

from quarantine.domain.report import Run
from quarantine.store.sql import in_chunks, storable
from quarantine.store.tables import TEST

Words = NDArray[np.uint64]
Ordinals = NDArray[np.int64]

_INSERTED_AT_ONCE = 2_000
_DIGEST_OF = attrgetter("digest")


@dataclass(slots=True)
class Roster:
    """Digest to ordinal for one project, kept in memory between builds.

    The table only ever grows, so what is cached stays true; `refresh` reads what other processes added. The digests are
    columns, for a dictionary of them would take four times the memory.

    Attributes:
        _high, _low: the two halves of each digest, sorted by (high, low); shape (tests,).
        _ordinals: the ordinal of each, in the same order.
    """

    _high: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    _low: Words = field(default_factory=lambda: np.zeros(0, np.uint64))
    _ordinals: Ordinals = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self._ordinals)

    def refresh(self, connection: Connection, project_id: int, tests: int) -> None:
        """Read the tests that are not cached yet; `tests` is how many the project has."""
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
    """Yield the row of every test by ordinal."""
    query = select(TEST).where(TEST.c.project_id == project_id).order_by(TEST.c.ordinal)
    for row in connection.execute(query).mappings():
        yield dict(row)


def not_unique(connection: Connection, project_id: int) -> set[int]:
    """Return the ordinals of the ids that are not unique."""
    query = select(TEST.c.ordinal).where(TEST.c.project_id == project_id, TEST.c.unique_id.is_(False))
    return set(connection.execute(query).scalars())


def not_observed_by_id(connection: Connection, project_id: int) -> set[int]:
    """Return the ordinals of the ids that are not unique, or another case in each process."""
    ambiguous = or_(TEST.c.unique_id.is_(False), TEST.c.stable_id.is_(False))
    return set(connection.execute(select(TEST.c.ordinal).where(TEST.c.project_id == project_id, ambiguous)).scalars())


def rows(connection: Connection, project_id: int, ordinals: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the stored rows of these tests by ordinal."""
    found: dict[int, dict[str, Any]] = {}
    for chunk in in_chunks(ordinals):
        query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.ordinal.in_(chunk))
        found.update({row["ordinal"]: dict(row) for row in connection.execute(query).mappings()})
    return found


def named(connection: Connection, project_id: int, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of every test whose bare name is one of these."""
    found: list[dict[str, Any]] = []
    for chunk in in_chunks(sorted({storable(name) for name in names})):
        which = (TEST.c.project_id == project_id, TEST.c.name.in_(chunk))
        found += [dict(row) for row in connection.execute(select(TEST).where(*which)).mappings()]
    return sorted(found, key=lambda row: int(row["ordinal"]))


def by_digest(connection: Connection, project_id: int, digest: bytes) -> dict[str, Any] | None:
    """Return the row of the test with this digest; None when there is none."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.digest == digest)
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def by_digests(connection: Connection, project_id: int, digests: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the rows of the tests with these digests, those there are."""
    found: list[dict[str, Any]] = []
    for chunk in in_chunks(digests):
        which = (TEST.c.project_id == project_id, TEST.c.digest.in_(chunk))
        found += [dict(row) for row in connection.execute(select(TEST).where(*which)).mappings()]
    return found


def resembling(connection: Connection, project_id: int, part: str, limit: int) -> list[dict[str, Any]]:
    """Return a few tests whose bare name holds this text."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.name.contains(storable(part), autoescape=True))
    return [dict(row) for row in connection.execute(query.order_by(TEST.c.ordinal).limit(limit)).mappings()]
