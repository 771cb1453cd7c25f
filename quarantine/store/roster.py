"""The roster of tests: which ordinal a test id has. Ordinals are dense, given out once and never taken back."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from sqlalchemy import Connection, select, update

from quarantine.domain.report import Run
from quarantine.store.tables import TEST

_CHUNK = 500
_DIGEST_OF = attrgetter("digest")


class Roster:
    """Digest to ordinal for one project, kept in memory between builds.

    The table only ever grows, so what is cached stays true; `refresh` reads what other processes added.
    """

    def __init__(self) -> None:
        self._ordinals: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._ordinals)

    def refresh(self, connection: Connection, project_id: int, tests: int) -> None:
        """Read the tests that are not cached yet; `tests` is how many the project has."""
        if len(self._ordinals) > tests:  # what was cached came from a transaction that was rolled back
            self._ordinals.clear()
        if len(self._ordinals) < tests:
            query = select(TEST.c.digest, TEST.c.ordinal).where(
                TEST.c.project_id == project_id, TEST.c.ordinal >= len(self._ordinals)
            )
            self._ordinals.update({bytes(row.digest): row.ordinal for row in connection.execute(query)})

    def forget(self) -> None:
        """Drop everything cached, as after a transaction that failed."""
        self._ordinals.clear()

    def find(self, digest: bytes) -> int | None:
        """Return the ordinal; None for a test never seen."""
        return self._ordinals.get(digest)

    def resolve(
        self, connection: Connection, project_id: int, runs: Sequence[Run], *, stream: str, build_seq: int
    ) -> list[int]:
        """Return the ordinal of each run's test, in order; tests never seen are added first."""
        ordinals = self._ordinals
        digests = list(map(_DIGEST_OF, runs))
        try:
            return list(map(ordinals.__getitem__, digests))
        except KeyError:
            new = {run.digest: run for run in runs if run.digest not in ordinals}
            first = len(ordinals)
            rows = [_row(project_id, first + place, run, stream, build_seq) for place, run in enumerate(new.values())]
            for start in range(0, len(rows), 5000):
                connection.execute(TEST.insert(), rows[start : start + 5000])
            ordinals.update({digest: first + place for place, digest in enumerate(new)})
        return list(map(ordinals.__getitem__, digests))


def _row(project_id: int, ordinal: int, run: Run, stream: str, build_seq: int) -> dict[str, object]:
    return {
        "project_id": project_id,
        "ordinal": ordinal,
        "digest": run.digest,
        "stream": stream,
        "suite": list(run.test.suite),
        "classname": run.test.classname,
        "name": run.test.name,
        "file": run.file,
        "line": run.line,
        "unique_id": run.unique,
        "stable_id": True,
        "first_build": build_seq,
    }


def mark_not_unique(connection: Connection, project_id: int, ordinals: Iterable[int]) -> None:
    """Note that several tests claimed one id; such an id can never be quarantined."""
    wanted = list(ordinals)
    for start in range(0, len(wanted), _CHUNK):
        connection.execute(
            update(TEST)
            .where(TEST.c.project_id == project_id, TEST.c.ordinal.in_(wanted[start : start + _CHUNK]))
            .values(unique_id=False)
        )


def mark_unstable(connection: Connection, project_id: int, ordinals: Iterable[int]) -> None:
    """Note that these ids are another case in each process; such an id can never be quarantined."""
    wanted = list(ordinals)
    for start in range(0, len(wanted), _CHUNK):
        connection.execute(
            update(TEST)
            .where(TEST.c.project_id == project_id, TEST.c.ordinal.in_(wanted[start : start + _CHUNK]))
            .values(stable_id=False)
        )


def every(connection: Connection, project_id: int) -> Iterable[dict[str, Any]]:
    """Yield the row of every test by ordinal."""
    query = select(TEST).where(TEST.c.project_id == project_id).order_by(TEST.c.ordinal)
    for row in connection.execute(query).mappings():
        yield dict(row)


def not_unique(connection: Connection, project_id: int) -> set[int]:
    """Return the ordinals of the ids that are not unique."""
    query = select(TEST.c.ordinal).where(TEST.c.project_id == project_id, TEST.c.unique_id.is_(False))
    return set(connection.execute(query).scalars())


def rows(connection: Connection, project_id: int, ordinals: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the stored rows of these tests by ordinal."""
    wanted = list(ordinals)
    found: dict[int, dict[str, Any]] = {}
    for start in range(0, len(wanted), _CHUNK):
        query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.ordinal.in_(wanted[start : start + _CHUNK]))
        found.update({row["ordinal"]: dict(row) for row in connection.execute(query).mappings()})
    return found


def named(connection: Connection, project_id: int, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of every test whose bare name is one of these."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.name.in_(list(names)))
    return [dict(row) for row in connection.execute(query.order_by(TEST.c.ordinal)).mappings()]


def by_digest(connection: Connection, project_id: int, digest: bytes) -> dict[str, Any] | None:
    """Return the row of the test with this digest; None when there is none."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.digest == digest)
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def resembling(connection: Connection, project_id: int, part: str, limit: int) -> list[dict[str, Any]]:
    """Return a few tests whose bare name holds this text."""
    query = select(TEST).where(TEST.c.project_id == project_id, TEST.c.name.contains(part, autoescape=True))
    return [dict(row) for row in connection.execute(query.order_by(TEST.c.ordinal).limit(limit)).mappings()]
