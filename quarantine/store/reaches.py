"""Reach maps and manifests, as compressed bytes."""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, delete, select

from quarantine.reach.reach_map import ReachMap
from quarantine.reach.recorded import Recorded, functions_in, reach_in
from quarantine.store.sql import insert_new, last_number
from quarantine.store.tables import MANIFEST, REACH_MAP

KEPT_MAPS = 10
"""What a test reaches is the union over so many of the newest maps."""


def newest(connection: Connection, project_id: int) -> int:
    """Return the number of the newest map; 0 when there is none."""
    return last_number(connection, REACH_MAP, project_id)


def add(connection: Connection, project_id: int, recorded: Recorded, *, tree: str | None, now: datetime) -> int:
    """Store a map, forget the oldest beyond `KEPT_MAPS`, and return its number."""
    number = newest(connection, project_id) + 1
    row = {
        "project_id": project_id,
        "number": number,
        "received_at": now,
        "tree": tree,
        "tests": len(recorded.reach.tests),
        "columns": len(recorded.reach.columns),
        "body": recorded.to_bytes(),
    }
    connection.execute(REACH_MAP.insert().values(row))
    old = (REACH_MAP.c.project_id == project_id, REACH_MAP.c.number <= number - KEPT_MAPS)
    connection.execute(delete(REACH_MAP).where(*old))
    return number


def every(connection: Connection, project_id: int) -> list[ReachMap]:
    """Return the maps that are kept, the oldest first."""
    return [reach_in(body) for body in _bodies(connection, project_id)]


def functions(connection: Connection, project_id: int) -> list[ReachMap]:
    """Return which functions ran, from those of the kept maps that say so, the oldest first."""
    found = (functions_in(body) for body in _bodies(connection, project_id))
    return [one for one in found if one is not None]


def _bodies(connection: Connection, project_id: int) -> Iterable[bytes]:
    query = select(REACH_MAP.c.body).where(REACH_MAP.c.project_id == project_id).order_by(REACH_MAP.c.number)
    return connection.execute(query).scalars()


def latest_of_tree(connection: Connection, project_id: int, tree: str) -> ReachMap | None:
    """Return the newest map that was recorded on this exact tree; None when there is none."""
    which = (REACH_MAP.c.project_id == project_id, REACH_MAP.c.tree == tree)
    query = select(REACH_MAP.c.body).where(*which).order_by(REACH_MAP.c.number.desc()).limit(1)
    body = connection.execute(query).scalar()
    return reach_in(body) if body is not None else None


def add_manifest(
    connection: Connection, project_id: int, manifest: str, body: bytes, *, parts: int, now: datetime
) -> None:
    """Store the part hashes of a commit; the same content is stored once."""
    row = {"project_id": project_id, "id": manifest, "received_at": now, "parts": parts, "body": body}
    insert_new(connection, MANIFEST, [row])


def manifest(connection: Connection, project_id: int, manifest_id: str) -> bytes | None:
    """Return the stored part hashes; None when they were never sent."""
    which = (MANIFEST.c.project_id == project_id, MANIFEST.c.id == manifest_id)
    body: bytes | None = connection.execute(select(MANIFEST.c.body).where(*which)).scalar()
    return body
