"""Which cause has which message in which channel, and how far the news has been told."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select, update

from quarantine.store.people_tables import THREAD, THREAD_TEST, TOLD
from quarantine.store.sql import in_chunks, insert_new, upsert


def get(connection: Connection, project_id: int, thread: str) -> dict[str, Any] | None:
    """Return a thread's row; None when there is none of this id."""
    query = select(THREAD).where(THREAD.c.project_id == project_id, THREAD.c.id == thread)
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def at(connection: Connection, project_id: int, channel_id: str, ts: str) -> dict[str, Any] | None:
    """Return the thread whose first message Slack keeps there; None when there is none."""
    query = select(THREAD).where(
        THREAD.c.project_id == project_id, THREAD.c.channel_id == channel_id, THREAD.c.ts == ts
    )
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def save(
    connection: Connection,
    project_id: int,
    thread: str,
    *,
    kind: str,
    channel: str,
    opened_at: datetime,
    content: Mapping[str, Any],
    tests: Iterable[int],
) -> None:
    """Store a thread or what has become of its first message, and which tests it speaks of besides."""
    which = (THREAD.c.project_id == project_id, THREAD.c.id == thread)
    if not connection.execute(update(THREAD).where(*which).values(content=dict(content))).rowcount:
        values = {"kind": kind, "channel": channel, "opened_at": opened_at, "content": dict(content)}
        connection.execute(THREAD.insert().values(project_id=project_id, id=thread, **values))
    insert_new(
        connection, THREAD_TEST, [{"project_id": project_id, "thread": thread, "test": test} for test in set(tests)]
    )


def arrived(connection: Connection, project_id: int, thread: str, *, channel_id: str | None, ts: str | None) -> None:
    """Say where Slack keeps the first message of a thread."""
    at = (THREAD.c.project_id == project_id, THREAD.c.id == thread)
    connection.execute(update(THREAD).where(*at).values(channel_id=channel_id, ts=ts))


def of_tests(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the threads that speak of each of these tests, the newest first."""
    found = dict[int, list[dict[str, Any]]]()
    for chunk in in_chunks(tests):
        query = (
            select(THREAD, THREAD_TEST.c.test)
            .join(
                THREAD_TEST, (THREAD_TEST.c.project_id == THREAD.c.project_id) & (THREAD_TEST.c.thread == THREAD.c.id)
            )
            .where(THREAD.c.project_id == project_id, THREAD_TEST.c.test.in_(chunk))
            .order_by(THREAD.c.opened_at.desc(), THREAD.c.id)
        )
        for row in connection.execute(query).mappings():
            found.setdefault(row["test"], []).append({name: row[name] for name in row if name != "test"})
    return found


def told(connection: Connection, project_id: int, source: str) -> tuple[int, Any]:
    """Return the last number of a source that was told, 0 for none, and its mark."""
    query = select(TOLD.c.number, TOLD.c.mark).where(TOLD.c.project_id == project_id, TOLD.c.source == source)
    row = connection.execute(query).first()
    return (row.number, row.mark) if row else (0, None)


def tell(connection: Connection, project_id: int, source: str, number: int, mark: Any = None) -> None:
    """Say how far a source has been told."""
    upsert(connection, TOLD, [{"project_id": project_id, "source": source, "number": number, "mark": mark}])
