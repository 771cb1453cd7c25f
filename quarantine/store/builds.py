"""Builds, their outcomes column by column, their failures and run events, and the documents they came from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, exists, func, select, update

from quarantine.domain.build import Build
from quarantine.domain.outcome import Lane
from quarantine.store.outcomes import Codes, Mask, pack, pack_mask, unpack, unpack_mask
from quarantine.store.sql import insert_new, upsert
from quarantine.store.tables import (
    BUILD,
    BUILD_OUTCOMES,
    FAILURE,
    REFUSED_REPORT,
    REPORT,
    REPORT_BODY,
    RUN_EVENT,
    VARIANT,
)


def find(connection: Connection, project_id: int, key: str) -> dict[str, Any] | None:
    """Return the build's row by its key; None when it has not been seen."""
    query = select(BUILD).where(BUILD.c.project_id == project_id, BUILD.c.key == key)
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def insert(
    connection: Connection, project_id: int, seq: int, build: Build, *, now: datetime, token_id: str | None
) -> None:
    """Store a build that has not been seen before."""
    connection.execute(
        BUILD.insert().values(
            project_id=project_id,
            seq=seq,
            key=build.key,
            build=build.build,
            attempt=build.attempt,
            job=build.job,
            kind=build.kind.value,
            rerun_of=build.rerun_of,
            lane=build.lane.value,
            change=build.change,
            commit=build.commit,
            tree=build.tree,
            base_commit=build.base_commit,
            manifest=build.manifest,
            complete=build.complete,
            runner=build.runner,
            command=build.command,
            setting=build.setting,
            environment_hash=build.environment_hash,
            stream=build.stream,
            exit_code=build.exit_code,
            started_at=build.started_at,
            received_at=now,
            run_events=0,
            token_id=token_id,
        )
    )


def get(connection: Connection, project_id: int, seqs: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of these builds by sequence number."""
    query = select(BUILD).where(BUILD.c.project_id == project_id, BUILD.c.seq.in_(set(seqs)))
    return {row["seq"]: dict(row) for row in connection.execute(query).mappings()}


def trunk_tree_exists(connection: Connection, project_id: int, tree: str | None) -> bool:
    """Return whether a trunk build ran on exactly this content."""
    if tree is None:
        return False
    query = select(
        exists().where(BUILD.c.project_id == project_id, BUILD.c.tree == tree, BUILD.c.lane == Lane.TRUNK.value)
    )
    return bool(connection.execute(query).scalar())


@dataclass(slots=True)
class Outcomes:
    """What one build did in one variant, over the tests' ordinals.

    Attributes:
        codes: one byte a test, see `store.outcomes`; shape (tests,).
        counted: whether the first try is a counted trial; shape (tests,).
    """

    build_seq: int
    variant_hash: str
    tree: str | None
    setting: str
    is_trunk: bool
    is_run: bool
    received_at: datetime
    codes: Codes
    counted: Mask


def _outcomes(row: RowMapping, tests: int) -> Outcomes:
    return Outcomes(
        row["build_seq"],
        row["variant_hash"],
        row["tree"],
        row["setting"],
        row["is_trunk"],
        row["is_run"],
        row["received_at"],
        unpack(row["outcomes"], tests),
        unpack_mask(row["counted"], tests),
    )


def outcomes_of(
    connection: Connection, project_id: int, build_seq: int, variant_hash: str, tests: int
) -> Outcomes | None:
    """Return what the build did in the variant so far; None when nothing came in yet."""
    query = select(BUILD_OUTCOMES).where(
        BUILD_OUTCOMES.c.project_id == project_id,
        BUILD_OUTCOMES.c.build_seq == build_seq,
        BUILD_OUTCOMES.c.variant_hash == variant_hash,
    )
    row = connection.execute(query).mappings().first()
    return _outcomes(row, tests) if row else None


def outcomes_of_tree(
    connection: Connection, project_id: int, variant_hash: str, *, tree: str, setting: str, tests: int
) -> list[Outcomes]:
    """Return what every build of the identical tree did in the same variant and setting, in order of arrival."""
    query = (
        select(BUILD_OUTCOMES)
        .where(
            BUILD_OUTCOMES.c.project_id == project_id,
            BUILD_OUTCOMES.c.variant_hash == variant_hash,
            BUILD_OUTCOMES.c.tree == tree,
            BUILD_OUTCOMES.c.setting == setting,
        )
        .order_by(BUILD_OUTCOMES.c.build_seq)
    )
    return [_outcomes(row, tests) for row in connection.execute(query).mappings()]


def outcomes_of_variant(connection: Connection, project_id: int, variant_hash: str, tests: int) -> Iterable[Outcomes]:
    """Yield what every build did in the variant, in order of arrival."""
    query = (
        select(BUILD_OUTCOMES)
        .where(BUILD_OUTCOMES.c.project_id == project_id, BUILD_OUTCOMES.c.variant_hash == variant_hash)
        .order_by(BUILD_OUTCOMES.c.build_seq)
    )
    for row in connection.execute(query).mappings():
        yield _outcomes(row, tests)


def save_outcomes(connection: Connection, project_id: int, outcomes: Outcomes, summary: Mapping[str, int]) -> None:
    """Store the columns of one build and variant; `summary` holds passed, failed, skipped and flaky."""
    row = {
        "project_id": project_id,
        "build_seq": outcomes.build_seq,
        "variant_hash": outcomes.variant_hash,
        "tree": outcomes.tree,
        "setting": outcomes.setting,
        "is_trunk": outcomes.is_trunk,
        "is_run": outcomes.is_run,
        "received_at": outcomes.received_at,
        "outcomes": pack(outcomes.codes),
        "counted": pack_mask(outcomes.counted),
        **summary,
    }
    upsert(connection, BUILD_OUTCOMES, [row])


def trunk_runs_since(connection: Connection, project_id: int, variant_hash: str, after_seq: int) -> int:
    """Return how many trunk builds that are no reruns ran in the variant after build `after_seq`."""
    query = (
        select(func.count())
        .select_from(BUILD_OUTCOMES)
        .where(
            BUILD_OUTCOMES.c.project_id == project_id,
            BUILD_OUTCOMES.c.variant_hash == variant_hash,
            BUILD_OUTCOMES.c.is_trunk.is_(True),
            BUILD_OUTCOMES.c.is_run.is_(True),
            BUILD_OUTCOMES.c.build_seq > after_seq,
        )
    )
    return connection.execute(query).scalar_one()


def add_variant(connection: Connection, project_id: int, variant_hash: str, keys: Mapping[str, str], seq: int) -> None:
    """Note a variant when it is new."""
    row = {"project_id": project_id, "hash": variant_hash, "keys": dict(keys), "first_build": seq}
    insert_new(connection, VARIANT, [row])


def variants(connection: Connection, project_id: int) -> dict[str, dict[str, str]]:
    """Return the key-value pairs of every variant by its hash."""
    query = select(VARIANT.c.hash, VARIANT.c["keys"]).where(VARIANT.c.project_id == project_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def add_failures(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store failed runs; one that is already there (an earlier upload of the build) stays as it was."""
    insert_new(connection, FAILURE, rows)


def failures_of(
    connection: Connection, project_id: int, variant_hash: str, test: int, *, since: int = 0, trunk_only: bool = False
) -> list[dict[str, Any]]:
    """Return the failed runs of one test from build `since` on, in order of arrival, without their details."""
    shown = [column for column in FAILURE.c if column.name != "detail"]
    conditions = [
        FAILURE.c.project_id == project_id,
        FAILURE.c.variant_hash == variant_hash,
        FAILURE.c.test == test,
        FAILURE.c.build_seq >= since,
    ]
    if trunk_only:
        conditions.append(FAILURE.c.is_trunk.is_(True))
    query = select(*shown).where(and_(*conditions)).order_by(FAILURE.c.build_seq)
    return [dict(row) for row in connection.execute(query).mappings()]


def failures_between(connection: Connection, project_id: int, first_seq: int) -> list[dict[str, Any]]:
    """Return every failed run of the builds from `first_seq` on, without details, with the build's lane and change."""
    shown = [column for column in FAILURE.c if column.name != "detail"]
    query = (
        select(*shown, BUILD.c.change, BUILD.c.lane, BUILD.c.incident, BUILD.c.tree)
        .join(BUILD, and_(BUILD.c.project_id == FAILURE.c.project_id, BUILD.c.seq == FAILURE.c.build_seq))
        .where(FAILURE.c.project_id == project_id, FAILURE.c.build_seq >= first_seq)
        .order_by(FAILURE.c.build_seq, FAILURE.c.test)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def first_since(connection: Connection, project_id: int, since: datetime) -> int | None:
    """Return the sequence number of the first build received at `since` or later; None when there is none."""
    query = select(func.min(BUILD.c.seq)).where(BUILD.c.project_id == project_id, BUILD.c.received_at >= since)
    return connection.execute(query).scalar()


def add_run_events(connection: Connection, project_id: int, seq: int, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append the run events of one upload and keep the build's count of them."""
    counted = connection.execute(
        select(BUILD.c.run_events).where(BUILD.c.project_id == project_id, BUILD.c.seq == seq)
    ).scalar_one()
    if rows:
        numbered = [
            {"project_id": project_id, "build_seq": seq, "number": counted + place, **row}
            for place, row in enumerate(rows, start=1)
        ]
        connection.execute(RUN_EVENT.insert(), numbered)
        connection.execute(
            update(BUILD)
            .where(BUILD.c.project_id == project_id, BUILD.c.seq == seq)
            .values(run_events=counted + len(rows))
        )


def known_reports(connection: Connection, project_id: int, seq: int) -> set[str]:
    """Return the SHA-256 of every document the build already has."""
    query = select(REPORT.c.sha256).where(REPORT.c.project_id == project_id, REPORT.c.build_seq == seq)
    return set(connection.execute(query).scalars())


def add_reports(connection: Connection, rows: Sequence[Mapping[str, Any]], bodies: Sequence[Mapping[str, Any]]) -> None:
    """Store accepted documents and their compressed bytes."""
    insert_new(connection, REPORT, rows)
    insert_new(connection, REPORT_BODY, bodies)


def add_refused(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store refused documents with their reasons; the same bytes refused again count as the newest refusal."""
    upsert(connection, REFUSED_REPORT, rows)


def refused(connection: Connection, project_id: int, limit: int = 20) -> list[dict[str, Any]]:
    """Return the newest refused documents without their bytes."""
    shown = [column for column in REFUSED_REPORT.c if column.name != "body"]
    query = select(*shown).where(REFUSED_REPORT.c.project_id == project_id)
    query = query.order_by(REFUSED_REPORT.c.received_at.desc(), REFUSED_REPORT.c.sha256).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def refused_bytes(connection: Connection, project_id: int) -> int:
    """Return how many bytes of refused documents are kept."""
    kept = func.coalesce(func.sum(func.length(REFUSED_REPORT.c.body)), 0)
    return int(connection.execute(select(kept).where(REFUSED_REPORT.c.project_id == project_id)).scalar_one())


def forget_refused(connection: Connection, before: datetime) -> int:
    """Delete refused documents received before this instant; return how many."""
    return connection.execute(delete(REFUSED_REPORT).where(REFUSED_REPORT.c.received_at < before)).rowcount


def latest(connection: Connection, project_id: int, limit: int = 20) -> list[dict[str, Any]]:
    """Return the newest builds with their summed counts."""
    summed = [func.sum(BUILD_OUTCOMES.c[name]).label(name) for name in ("passed", "failed", "skipped", "flaky")]
    newest = select(BUILD).where(BUILD.c.project_id == project_id).order_by(BUILD.c.seq.desc()).limit(limit).subquery()
    join = and_(BUILD_OUTCOMES.c.project_id == newest.c.project_id, BUILD_OUTCOMES.c.build_seq == newest.c.seq)
    query = (
        select(newest, *summed)
        .join(BUILD_OUTCOMES, join, isouter=True)
        .group_by(*newest.c)
        .order_by(newest.c.seq.desc())
    )
    return [dict(row) for row in connection.execute(query).mappings()]
