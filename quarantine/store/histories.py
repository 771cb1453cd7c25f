"""The running columns of each variant."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from sqlalchemy import Connection, select

from quarantine.policy.history import History
from quarantine.store.sql import upsert
from quarantine.store.tables import HISTORY


def load(connection: Connection, project_id: int, variant_hash: str) -> tuple[History, int]:
    """Return the variant's columns and how many trunk builds it has had; empty and 0 for a new variant."""
    query = select(HISTORY.c["columns"], HISTORY.c.trunk_builds).where(
        HISTORY.c.project_id == project_id, HISTORY.c.variant_hash == variant_hash
    )
    row = connection.execute(query).first()
    return (History.from_bytes(row[0]), row[1]) if row else (History(), 0)


def save(connection: Connection, project_id: int, variant_hash: str, history: History, trunk_builds: int) -> None:
    """Store the variant's columns."""
    row = {
        "project_id": project_id,
        "variant_hash": variant_hash,
        "trunk_builds": trunk_builds,
        "columns": history.to_bytes(),
    }
    upsert(connection, HISTORY, [row])


def every(connection: Connection, project_id: int) -> Iterator[tuple[str, History]]:
    """Yield every variant of the project with its columns, one at a time: all together may be large."""
    query = select(HISTORY.c.variant_hash, HISTORY.c["columns"]).where(HISTORY.c.project_id == project_id)
    for variant_hash, columns in connection.execute(query.order_by(HISTORY.c.variant_hash)):
        yield variant_hash, History.from_bytes(columns)


def of_variants(
    connection: Connection, project_id: int, variants: Collection[str], *, tests: int
) -> dict[str, History]:
    """Return the columns of these variants, long enough for so many tests."""
    columns = {name: history for name, history in every(connection, project_id) if name in variants}
    for history in columns.values():
        history.grow(tests)
    return columns


def trunk_variants(connection: Connection, project_id: int) -> list[str]:
    """Return the hashes of the variants trunk has run, sorted."""
    query = select(HISTORY.c.variant_hash).where(HISTORY.c.project_id == project_id, HISTORY.c.trunk_builds > 0)
    return list(connection.execute(query.order_by(HISTORY.c.variant_hash)).scalars())


def last_trunk_days(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, dict[str, int]]:
    """Return, for each test, the last day of its trunk trials in each variant that has any; days since 1970 (UTC)."""
    found: dict[int, dict[str, int]] = {test: {} for test in tests}
    wanted = np.fromiter(found, np.intp)
    for variant_hash, history in every(connection, project_id):
        inside = wanted[wanted < len(history)]
        ran = inside[history.trunk_trials[inside] > 0]
        for test, day in zip(ran.tolist(), history.last_day[ran].tolist(), strict=True):
            found[test][variant_hash] = day
    return found


def variants_on_trunk(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, set[str]]:
    """Return the variants that trunk ran each test in; none for a name that only another lane knows."""
    return {test: set(days) for test, days in last_trunk_days(connection, project_id, tests).items()}
