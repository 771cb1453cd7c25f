"""Builds, their failures and run events, and the documents they came from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, and_, delete, exists, func, select, update

from quarantine.domain.build import Build
from quarantine.domain.outcome import Lane
from quarantine.store.sql import in_chunks, insert_new, upsert
from quarantine.store.tables import (
    BUILD,
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
            passed=0,
            failed=0,
            skipped=0,
            flaky=0,
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


def last_trunk_size(connection: Connection, project_id: int) -> int:
    """Return how many tests the last complete trunk run had that told of any; 0 before the first."""
    size = BUILD.c.passed + BUILD.c.failed + BUILD.c.skipped + BUILD.c.flaky
    query = (
        select(size)
        .where(
            size > 0,
            BUILD.c.project_id == project_id,
            BUILD.c.lane == Lane.TRUNK.value,
            BUILD.c.kind == "run",
            BUILD.c.complete.is_(True),
        )
        .order_by(BUILD.c.seq.desc())
        .limit(1)
    )
    return int(connection.execute(query).scalar() or 0)


def trunk_commit_before(connection: Connection, project_id: int, seq: int) -> str | None:
    """Return the commit of the last trunk run before build `seq`; None when there is none."""
    query = (
        select(BUILD.c.commit)
        .where(
            BUILD.c.project_id == project_id,
            BUILD.c.lane == Lane.TRUNK.value,
            BUILD.c.kind == "run",
            BUILD.c.seq < seq,
        )
        .order_by(BUILD.c.seq.desc())
        .limit(1)
    )
    commit: str | None = connection.execute(query).scalar()
    return commit


def reruns_since(connection: Connection, project_id: int, since: datetime) -> int:
    """Return how many reruns were received at `since` or later."""
    query = (
        select(func.count())
        .select_from(BUILD)
        .where(BUILD.c.project_id == project_id, BUILD.c.received_at >= since, BUILD.c.kind == "rerun")
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


def failures_in(connection: Connection, project_id: int, seqs: Iterable[int]) -> list[dict[str, Any]]:
    """Return (build_seq, variant_hash, test, signature) of every failed run of these builds."""
    c = FAILURE.c
    query = select(c.build_seq, c.variant_hash, c.test, c.signature)
    query = query.where(c.project_id == project_id, c.build_seq.in_(set(seqs)))
    return [dict(row) for row in connection.execute(query).mappings()]


def failure_details(
    connection: Connection,
    project_id: int,
    variant_hash: str,
    tests: Sequence[int],
    *,
    among: Iterable[int],
    characters: int,
) -> dict[int, dict[str, Any]]:
    """Return the failed run of each of these tests in the first build `among` these that has one.

    Of a detail longer than `characters` its head and tail are kept.
    """
    found: dict[int, dict[str, Any]] = {}
    query = select(FAILURE).where(FAILURE.c.build_seq.in_(set(among)))
    for row in _failures_of_tests(connection, query, project_id, variant_hash, tests):
        if row["test"] not in found:
            found[row["test"]] = dict(row) | {"detail": _head_and_tail(row["detail"], characters)}
    return found


def _failures_of_tests(
    connection: Connection, query: Select[Any], project_id: int, variant_hash: str, tests: Sequence[int]
) -> Iterator[RowMapping]:
    """Yield what a query on failures finds of these tests in one variant, each test's in order of arrival."""
    c = FAILURE.c
    for chunk in in_chunks(tests):
        which = (c.project_id == project_id, c.variant_hash == variant_hash, c.test.in_(chunk))
        yield from connection.execute(query.where(*which).order_by(c.build_seq)).mappings()


def _head_and_tail(text: str, characters: int) -> str:
    half = characters // 2
    return text if len(text) <= characters else f"{text[:half]}\n...\n{text[len(text) - half :]}"


def trunk_failures(
    connection: Connection, project_id: int, variant_hash: str, tests: Sequence[int]
) -> dict[int, list[datetime]]:
    """Return when each of these tests failed a counted trial on trunk."""
    found: dict[int, list[datetime]] = {}
    c = FAILURE.c
    query = select(c.test, c.received_at).where(c.is_trunk.is_(True), c.trial.is_not(None))
    for row in _failures_of_tests(connection, query, project_id, variant_hash, tests):
        found.setdefault(row["test"], []).append(row["received_at"])
    return found


def failed_trunk_trials(
    connection: Connection, project_id: int, variant_hash: str, test: int, *, since: int = 0
) -> list[dict[str, Any]]:
    """Return the counted trials of one test that failed on trunk from build `since` on, as `failures_of` does."""
    found = failures_of(connection, project_id, variant_hash, test, since=since, trunk_only=True)
    return [row for row in found if row["trial"] is not None]


def failures_since(connection: Connection, project_id: int, since: datetime) -> list[dict[str, Any]]:
    """Return every failed run received at `since` or later, without details, with its build's change and commits."""
    shown = [FAILURE.c[name] for name in ("build_seq", "test", "signature", "already_failing", "received_at")]
    query = (
        select(*shown, BUILD.c.change, BUILD.c.lane, BUILD.c.commit, BUILD.c.base_commit)
        .join(BUILD, and_(BUILD.c.project_id == FAILURE.c.project_id, BUILD.c.seq == FAILURE.c.build_seq))
        .where(BUILD.c.project_id == project_id, BUILD.c.received_at >= since, BUILD.c.kind == "run")
        .order_by(FAILURE.c.build_seq, FAILURE.c.test)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def failure_counts(connection: Connection, project_id: int, variant_hash: str) -> dict[int, int]:
    """Return how often each test failed in the variant, in builds that are no reruns."""
    query = (
        select(FAILURE.c.test, func.count())
        .where(FAILURE.c.project_id == project_id, FAILURE.c.variant_hash == variant_hash, FAILURE.c.trial.is_not(None))
        .group_by(FAILURE.c.test)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def trunk_positions(connection: Connection, project_id: int, commits: Iterable[str]) -> dict[str, int]:
    """Return where on trunk these commits first ran: the sequence number of their first trunk build."""
    query = (
        select(BUILD.c.commit, func.min(BUILD.c.seq))
        .where(BUILD.c.project_id == project_id, BUILD.c.lane == Lane.TRUNK.value, BUILD.c.commit.in_(set(commits)))
        .group_by(BUILD.c.commit)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def assign_incident(connection: Connection, project_id: int, seqs: Iterable[int], incident: str) -> None:
    """Note that these builds were struck by a storm."""
    which = and_(BUILD.c.project_id == project_id, BUILD.c.seq.in_(list(seqs)))
    connection.execute(update(BUILD).where(which).values(incident=incident))


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


def run_events(connection: Connection, project_id: int, seqs: Iterable[int]) -> list[dict[str, Any]]:
    """Return the run events of these builds, in order."""
    query = select(RUN_EVENT).where(RUN_EVENT.c.project_id == project_id, RUN_EVENT.c.build_seq.in_(set(seqs)))
    query = query.order_by(RUN_EVENT.c.build_seq, RUN_EVENT.c.number)
    return [dict(row) for row in connection.execute(query).mappings()]


COUNTS = ("passed", "failed", "skipped", "flaky")


def set_counts(connection: Connection, project_id: int, seq: int, counts: Mapping[str, int]) -> None:
    """Store how many tests of the build passed, failed, were skipped and passed only on a retry."""
    which = and_(BUILD.c.project_id == project_id, BUILD.c.seq == seq)
    connection.execute(update(BUILD).where(which).values({name: counts[name] for name in COUNTS}))


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
    """Return the newest builds."""
    query = select(BUILD).where(BUILD.c.project_id == project_id).order_by(BUILD.c.seq.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]
