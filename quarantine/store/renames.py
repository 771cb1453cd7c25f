"""Pairs of tests that look like one that was renamed, until a person says whether they are."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select, update

from quarantine.store.alias_tables import RENAME
from quarantine.store.sql import insert_new, last_number


def replace(
    connection: Connection, project_id: int, *, build_seq: int, variant_hash: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Let these be the pairs that a build shows in a variant; those a person has spoken about stay as they are."""
    shown = (RENAME.c.project_id == project_id, RENAME.c.build_seq == build_seq, RENAME.c.variant_hash == variant_hash)
    connection.execute(delete(RENAME).where(*shown, RENAME.c.state == "open"))
    first = last_number(connection, RENAME, project_id) + 1
    of_build = {"project_id": project_id, "build_seq": build_seq, "variant_hash": variant_hash, "state": "open"}
    blank = {"closed_at": None, "closed_by": "", "closed_why": ""}
    numbered = [{**of_build, **blank, **row, "number": first + place} for place, row in enumerate(rows)]
    insert_new(connection, RENAME, numbered)


def open_ones(connection: Connection, project_id: int) -> list[dict[str, Any]]:
    """Return the pairs nobody has spoken about, the newest build's first and of those the likeliest."""
    query = select(RENAME).where(RENAME.c.project_id == project_id, RENAME.c.state == "open")
    query = query.order_by(RENAME.c.build_seq.desc(), RENAME.c.score.desc(), RENAME.c.number)
    return [dict(row) for row in connection.execute(query).mappings()]


def close(
    connection: Connection, project_id: int, former: int, present: int, *, state: str, at: datetime, by: str, why: str
) -> bool:
    """Note what a person said of a pair; return False when it was not open."""
    this = (RENAME.c.project_id == project_id, RENAME.c.former == former, RENAME.c.present == present)
    said = {"state": state, "closed_at": at, "closed_by": by, "closed_why": why}
    query = update(RENAME).where(*this, RENAME.c.state == "open").values(said)
    return connection.execute(query, execution_options={"preserve_rowcount": True}).rowcount == 1
