"""Messages on their way: put in by whoever decides to send, claimed by one daemon at a time, each thread in order.

Whoever puts one in holds the project's lock, for messages are numbered; whoever sends one holds nothing but its claim.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from quarantine.store.people_tables import OUTBOX
from quarantine.store.sql import insert_if_new, last_number


class Form(StrEnum):
    """What is done with a message."""

    POST = "post"
    REPLY = "reply"
    UPDATE = "update"


class State(StrEnum):
    """How far a message has come."""

    WAITING = "waiting"
    SENDING = "sending"
    SENT = "sent"
    PARKED = "parked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """One message of the outbox, as `tables.OutboxRow` keeps it."""

    project_id: int
    number: int
    key: str
    channel: str
    thread: str
    form: Form
    content: Mapping[str, Any]
    tries: int
    created_at: datetime
    may_have_arrived: bool
    """Whether an earlier try ended unclear, or its daemon never said how: it is looked up before it is sent again."""


def put(
    connection: Connection,
    project_id: int,
    *,
    key: str,
    channel: str,
    form: Form,
    content: Mapping[str, Any],
    thread: str,
    now: datetime,
    due_at: datetime,
) -> bool:
    """Add a message; return False when one of this key was added before, which is then left as it is."""
    row = {
        "project_id": project_id,
        "number": last_number(connection, OUTBOX, project_id) + 1,
        "key": key,
        "channel": channel,
        "thread": thread,
        "form": form.value,
        "content": dict(content),
        "state": State.WAITING.value,
        "created_at": now,
        "due_at": due_at,
        "tries": 0,
        "claimed_by": "",
        "error_code": "",
        "error": "",
    }
    return insert_if_new(connection, OUTBOX, row)


def channels_due(connection: Connection, now: datetime, *, forsaken: timedelta) -> list[tuple[int, str]]:
    """Return (project id, channel) of each channel that a message may be sent to now, the longest due first.

    A message that a daemon claimed and then did nothing about for `forsaken` may be taken over.
    """
    query = (
        select(OUTBOX.c.project_id, OUTBOX.c.channel)
        .where(*_takeable(now, forsaken))
        .group_by(OUTBOX.c.project_id, OUTBOX.c.channel)
        .order_by(func.min(OUTBOX.c.due_at), OUTBOX.c.project_id, OUTBOX.c.channel)
    )
    return [(row.project_id, row.channel) for row in connection.execute(query)]


def _takeable(now: datetime, forsaken: timedelta) -> tuple[ColumnElement[bool], ...]:
    """Return what holds of a message that is due and has no earlier one of its thread before it."""
    earlier = OUTBOX.alias()
    is_due = or_(
        and_(OUTBOX.c.state == State.WAITING.value, OUTBOX.c.due_at <= now),
        and_(OUTBOX.c.state == State.SENDING.value, OUTBOX.c.claimed_at <= now - forsaken),
    )
    before = (
        select(earlier.c.number)
        .where(earlier.c.project_id == OUTBOX.c.project_id, earlier.c.thread == OUTBOX.c.thread)
        .where(earlier.c.number < OUTBOX.c.number, earlier.c.state != State.SENT.value)
    )
    return is_due, ~before.exists()


def claim(
    connection: Connection, project_id: int, channel: str, now: datetime, *, by: str, forsaken: timedelta
) -> Letter | None:
    """Claim the channel's message that has been due the longest; None when none is due or another daemon has it.

    The messages of one thread go one after the other; a parked one holds up those behind it.
    """
    query = select(OUTBOX).where(OUTBOX.c.project_id == project_id, OUTBOX.c.channel == channel)
    query = query.where(*_takeable(now, forsaken)).order_by(OUTBOX.c.due_at, OUTBOX.c.number).limit(1)
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    taken = connection.execute(
        update(OUTBOX)
        .where(OUTBOX.c.project_id == project_id, OUTBOX.c.number == row["number"])
        .where(OUTBOX.c.state == row["state"], OUTBOX.c.tries == row["tries"])
        .values(state=State.SENDING.value, claimed_at=now, claimed_by=by, tries=row["tries"] + 1)
    ).rowcount
    if not taken:
        return None
    return Letter(
        project_id=project_id,
        number=row["number"],
        key=row["key"],
        channel=channel,
        thread=row["thread"],
        form=Form(row["form"]),
        content=row["content"],
        tries=row["tries"] + 1,
        created_at=row["created_at"],
        may_have_arrived=row["state"] == State.SENDING.value or row["error_code"] == AMBIGUOUS,
    )


def pause(connection: Connection, project_id: int, channel: str, until: datetime) -> None:
    """Let nothing leave for a channel before an instant, as Slack asks with Retry-After."""
    which = (OUTBOX.c.project_id == project_id, OUTBOX.c.channel == channel, OUTBOX.c.state == State.WAITING.value)
    connection.execute(update(OUTBOX).where(*which, OUTBOX.c.due_at < until).values(due_at=until))


AMBIGUOUS = "ambiguous"
"""The error code of a message whose sending ended unclear."""


def _end(connection: Connection, letter: Letter, *, by: str, **values: Any) -> bool:
    """Say how a claimed message ended; return False when another daemon has taken it over meanwhile."""
    return bool(
        connection.execute(
            update(OUTBOX)
            .where(OUTBOX.c.project_id == letter.project_id, OUTBOX.c.number == letter.number)
            .where(OUTBOX.c.state == State.SENDING.value, OUTBOX.c.claimed_by == by)
            .values(**values)
        ).rowcount
    )


def sent(
    connection: Connection, letter: Letter, now: datetime, *, by: str, channel_id: str | None, ts: str | None
) -> bool:
    """Say that it has arrived; return False when another daemon has taken it over meanwhile."""
    values = {"state": State.SENT.value, "sent_at": now, "channel_id": channel_id, "ts": ts}
    return _end(connection, letter, by=by, error_code="", error="", **values)


def postponed(connection: Connection, letter: Letter, due_at: datetime, *, by: str, code: str, error: str) -> bool:
    """Say that it is to be tried again at an instant, and why; return False when another daemon has it by now."""
    return _end(connection, letter, by=by, state=State.WAITING.value, due_at=due_at, error_code=code, error=error)


def parked(connection: Connection, letter: Letter, *, by: str, code: str, error: str) -> bool:
    """Say that a person has to mend something first; the channel goes on with its next message."""
    return _end(connection, letter, by=by, state=State.PARKED.value, error_code=code, error=error)


def every_parked(connection: Connection, project_id: int, limit: int = 50) -> list[dict[str, Any]]:
    """Return the parked messages, the newest first."""
    query = select(OUTBOX).where(OUTBOX.c.project_id == project_id, OUTBOX.c.state == State.PARKED.value)
    query = query.order_by(OUTBOX.c.number.desc()).limit(limit)
    return [dict(row) for row in connection.execute(query).mappings()]


def release_parked(connection: Connection, project_id: int, channel: str | None, now: datetime) -> int:
    """Let the parked messages, of one channel or of all, be sent again; return how many."""
    which = [OUTBOX.c.project_id == project_id, OUTBOX.c.state == State.PARKED.value]
    if channel is not None:
        which.append(OUTBOX.c.channel == channel)
    values = {"state": State.WAITING.value, "due_at": now, "tries": 0}
    return connection.execute(update(OUTBOX).where(*which).values(**values)).rowcount


def waiting(connection: Connection, project_id: int) -> int:
    """Return how many messages have not arrived and are not parked."""
    unsent = OUTBOX.c.state.in_((State.WAITING.value, State.SENDING.value))
    query = select(func.count()).select_from(OUTBOX).where(OUTBOX.c.project_id == project_id, unsent)
    return int(connection.execute(query).scalar_one())


def forget_sent(connection: Connection, before: datetime) -> int:
    """Delete what was sent before an instant; return how much."""
    old = and_(OUTBOX.c.state == State.SENT.value, OUTBOX.c.sent_at < before)
    return connection.execute(delete(OUTBOX).where(old)).rowcount
