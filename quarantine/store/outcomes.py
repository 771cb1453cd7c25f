"""Outcome columns: one byte a test for what it did in one upload, one bit for whether that counted.

Rows are written once. A build that came in several uploads is merged when it is read: the first upload that has a test
says what its first try was, the last one what its last try was.
"""

import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, distinct, func, select

from quarantine.domain.outcome import Lane, Outcome
from quarantine.store.tables import BUILD, OUTCOMES

CODES = {Outcome.PASSED: 1, Outcome.FAILED: 2, Outcome.ERRORED: 3, Outcome.SKIPPED: 4}
ABSENT, PASSED, FAILED, ERRORED, SKIPPED = range(5)
_LOOKED_BACK_BUILDS = 100

Codes = NDArray[np.uint8]
Mask = NDArray[np.bool_]


def pack(codes: Codes) -> bytes:
    """Return the column compressed; `unpack` is the inverse."""
    return zlib.compress(codes.astype(np.uint8).tobytes(), level=1)


def unpack(data: bytes, tests: int) -> Codes:
    """Return the column over exactly `tests` ordinals; those it was written without are ABSENT."""
    codes = np.frombuffer(zlib.decompress(data), np.uint8)[:tests]
    return np.pad(codes, (0, tests - len(codes)))


def pack_mask(mask: Mask) -> bytes:
    """Return the bits compressed; `unpack_mask` is the inverse."""
    return zlib.compress(np.packbits(mask).tobytes(), level=1)


def unpack_mask(data: bytes, tests: int) -> Mask:
    """Return the mask over exactly `tests` ordinals; those it was written without are False."""
    bits = np.unpackbits(np.frombuffer(zlib.decompress(data), np.uint8))[:tests].astype(np.bool_)
    return np.pad(bits, (0, tests - len(bits)))  # told the count, unpackbits leaves it uninitialised for no bits at all


def first(codes: Codes) -> Codes:
    """Return the code of each test's first try."""
    return codes & np.uint8(15)


def last(codes: Codes) -> Codes:
    """Return the code of each test's last try."""
    return codes >> np.uint8(4)


def is_failure(codes: Codes) -> Mask:
    """Return which of these one-try codes are failures."""
    return np.isin(codes, (FAILED, ERRORED))


@dataclass(slots=True)
class Outcomes:
    """What one upload, or one whole build, did in one variant, over the tests' ordinals.

    Attributes:
        arrival: the upload's number; the first upload's for a whole build.
        codes: one byte a test, first try in the low half, last try in the high half; shape (tests,).
        counted: whether the first try is a counted trial; shape (tests,).
        called: of the tests that have several names, the ordinal of the name it was told of by.
    """

    arrival: int
    build_seq: int
    variant_hash: str
    tree: str | None
    setting: str
    lane: Lane
    is_run: bool
    received_at: datetime
    codes: Codes
    counted: Mask
    called: dict[int, int] = field(default_factory=dict)


def _outcomes(row: RowMapping, tests: int) -> Outcomes:
    return Outcomes(
        arrival=row["arrival"],
        build_seq=row["build_seq"],
        variant_hash=row["variant_hash"],
        tree=row["tree"],
        setting=row["setting"],
        lane=Lane(row["lane"]),
        is_run=row["is_run"],
        received_at=row["received_at"],
        codes=unpack(row["codes"], tests),
        counted=unpack_mask(row["counted"], tests),
        called=_unpack_called(row["called"]) if row["called"] else {},
    )


def _pack_called(called: Mapping[int, int]) -> bytes:
    return zlib.compress(np.array(sorted(called.items()), "<i4").tobytes(), level=1)


def _unpack_called(data: bytes) -> dict[int, int]:
    pairs = np.frombuffer(zlib.decompress(data), "<i4").reshape(-1, 2)
    return dict(pairs.tolist())


def insert(connection: Connection, project_id: int, outcomes: Outcomes) -> None:
    """Store the columns of one upload and variant."""
    row = {
        "project_id": project_id,
        "arrival": outcomes.arrival,
        "variant_hash": outcomes.variant_hash,
        "build_seq": outcomes.build_seq,
        "tree": outcomes.tree,
        "setting": outcomes.setting,
        "lane": outcomes.lane.value,
        "is_run": outcomes.is_run,
        "received_at": outcomes.received_at,
        "codes": pack(outcomes.codes),
        "counted": pack_mask(outcomes.counted),
        "called": _pack_called(outcomes.called) if outcomes.called else None,
    }
    connection.execute(OUTCOMES.insert().values(row))


def merged(parts: Sequence[Outcomes]) -> list[Outcomes]:
    """Return one value for each build, from its uploads in order of arrival."""
    wholes: dict[int, Outcomes] = {}
    for part in parts:
        whole = wholes.setdefault(part.build_seq, part)
        if whole is not part:
            whole.codes = np.where(part.codes == ABSENT, whole.codes, merged_codes(whole.codes, part.codes))
            whole.counted = whole.counted | part.counted
    return list(wholes.values())


def as_one(uploads: list[Outcomes], carriers: Mapping[int, int]) -> list[Outcomes]:
    """Move, in place, what these uploads say of the former rows of renamed tests to the tests themselves.

    For whoever compares a run from before an alias with one from after it. Where a test has an outcome of its own, it
    keeps it; which trials counted stays as it is. `carriers` is as `quarantine.store.aliases.carriers` returns it.
    """
    if carriers:
        names, tests = np.array(list(carriers.items()), np.intp).T
        for upload in uploads:
            found = upload.codes[names]
            moved = (found != ABSENT) & (upload.codes[tests] == ABSENT)
            upload.codes[tests[moved]] = found[moved]
            upload.codes[names] = ABSENT
    return uploads


def merged_codes(earlier: Codes, later: Codes) -> Codes:
    """Return the codes of tests of the later upload: its last try, and the earlier upload's first if it has one."""
    begun: Codes = np.where(earlier == ABSENT, first(later), first(earlier))
    codes: Codes = np.bitwise_or(begun, last(later) << np.uint8(4))
    return codes


def _few(connection: Connection, tests: int, *which: ColumnElement[bool]) -> list[Outcomes]:
    """Return a few rows in order of arrival. Sorted here: asked to sort, SQLite walks the primary key instead."""
    rows = connection.execute(select(OUTCOMES).where(*which)).mappings()
    return sorted((_outcomes(row, tests) for row in rows), key=lambda part: part.arrival)


def of_build(
    connection: Connection, project_id: int, build_seq: int, *, variant_hash: str, tests: int
) -> Outcomes | None:
    """Return what the build did in the variant so far; None when nothing came in yet."""
    c = OUTCOMES.c
    which = (c.project_id == project_id, c.build_seq == build_seq, c.variant_hash == variant_hash)
    return next(iter(merged(_few(connection, tests, *which))), None)


def of_tree(
    connection: Connection, project_id: int, variant_hash: str, *, tree: str, tests: int, setting: str | None = None
) -> list[Outcomes]:
    """Return every upload of the identical tree in the same variant, in order of arrival, not merged.

    With `setting` only those that ran in it.
    """
    c = OUTCOMES.c
    which = [c.project_id == project_id, c.variant_hash == variant_hash, c.tree == tree]
    return _few(connection, tests, *which, *([c.setting == setting] if setting is not None else []))


def newest_complete_on_trunk(
    connection: Connection, project_id: int, variant_hash: str, *, before: int, tests: int
) -> Outcomes | None:
    """Return the newest complete trunk run of the variant before build `before`; None when there is none."""
    c = OUTCOMES.c
    query = (
        select(c.build_seq)
        .join(BUILD, and_(BUILD.c.project_id == c.project_id, BUILD.c.seq == c.build_seq))
        .where(
            c.project_id == project_id,
            c.variant_hash == variant_hash,
            c.lane == Lane.TRUNK.value,
            c.build_seq < before,
            c.is_run.is_(True),
            BUILD.c.complete.is_(True),
        )
        .order_by(c.build_seq.desc())
        .limit(1)
    )
    seq = connection.execute(query).scalar()
    return of_build(connection, project_id, seq, variant_hash=variant_hash, tests=tests) if seq is not None else None


def newest_on_trunk_with(
    connection: Connection, project_id: int, which: Collection[int], *, tests: int
) -> list[Outcomes]:
    """Return what the newest trunk run that tells of any of these tests did, one value for each upload that does.

    Nothing when no run of the last hundred tells of any.
    """
    c = OUTCOMES.c
    runs = (c.project_id == project_id, c.lane == Lane.TRUNK.value, c.is_run.is_(True))
    newest = select(c.build_seq).where(*runs).distinct().order_by(c.build_seq.desc()).limit(_LOOKED_BACK_BUILDS)
    wanted = np.fromiter(which, np.intp)
    for seq in connection.execute(newest).scalars().all():
        uploads = _few(connection, tests, *runs, c.build_seq == seq)
        if found := [upload for upload in uploads if (upload.codes[wanted] != ABSENT).any()]:
            return found
    return []


def of_variant(connection: Connection, project_id: int, variant_hash: str, *, tests: int) -> Iterable[Outcomes]:
    """Yield every upload of the variant in order of arrival, not merged."""
    which = (OUTCOMES.c.project_id == project_id, OUTCOMES.c.variant_hash == variant_hash)
    for row in connection.execute(select(OUTCOMES).where(*which).order_by(OUTCOMES.c.arrival)).mappings():
        yield _outcomes(row, tests)


def newest_of_variant(
    connection: Connection, project_id: int, variant_hash: str, *, tests: int, limit: int
) -> list[Outcomes]:
    """Return the newest builds of the variant, the oldest of them first."""
    newest = (
        select(OUTCOMES)
        .where(OUTCOMES.c.project_id == project_id, OUTCOMES.c.variant_hash == variant_hash)
        .order_by(OUTCOMES.c.arrival.desc())
        .limit(limit)
    )
    rows = connection.execute(newest).mappings().all()
    return merged([_outcomes(row, tests) for row in reversed(rows)])


def trunk_runs_since(connection: Connection, project_id: int, variant_hash: str, after_seq: int) -> int:
    """Return how many trunk builds that are no reruns ran in the variant after build `after_seq`."""
    c = OUTCOMES.c
    query = select(func.count(distinct(c.build_seq))).where(
        c.project_id == project_id,
        c.variant_hash == variant_hash,
        c.lane == Lane.TRUNK.value,
        c.is_run.is_(True),
        c.build_seq > after_seq,
    )
    return connection.execute(query).scalar_one()


def variants_of_build(connection: Connection, project_id: int, build_seq: int) -> list[str]:
    """Return the variants that the build has outcomes in."""
    which = (OUTCOMES.c.project_id == project_id, OUTCOMES.c.build_seq == build_seq)
    return list(connection.execute(select(OUTCOMES.c.variant_hash).where(*which).distinct()).scalars())


def count(codes: Codes) -> dict[str, int]:
    """Return how many tests passed, failed, were skipped, and passed only on a retry."""
    began, ended = first(codes), last(codes)
    flaky = is_failure(began) & (ended == PASSED)
    return {
        "passed": int(np.count_nonzero((ended == PASSED) & ~flaky)),
        "failed": int(np.count_nonzero(is_failure(ended))),
        "skipped": int(np.count_nonzero(ended == SKIPPED)),
        "flaky": int(np.count_nonzero(flaky)),
    }
