"""The tables about people: who owns what, what they were told, and what they have answered.

What there is to tell is not stored a second time: it is read from transitions, incidents and raised failures beyond
the last number that was told (`told`), in the transaction that puts the message into the outbox.
"""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import JSON, ForeignKeyConstraint, Index, LargeBinary, Text, UniqueConstraint
from sqlalchemy.schema import SchemaItem
from sqlmodel import Field, SQLModel

from quarantine.store.schema import Json, of_project, one_of, table_of


class OwnersRow(SQLModel, table=True):
    """A CODEOWNERS file as a trunk build brought it; the newest one counts. `body` is compressed JSON."""

    __tablename__ = "owners"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    received_at: datetime
    build_seq: int
    path: str = Field(sa_type=Text)
    sha256: str = Field(max_length=64)
    body: bytes = Field(sa_type=LargeBinary)


class RaisedRow(SQLModel, table=True):
    """A possible regression: a quarantined test stopped passing on a head whose base passes. `verdict` says where.

    It is open until a person says what it was, or until the test passes on trunk again.
    """

    __tablename__ = "raised"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        UniqueConstraint("project_id", "verdict", "test", "variant_hash"),
        Index(None, "project_id", "state"),
        one_of("state", "open", "regression", "flake", "passed"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    test: int
    variant_hash: str = Field(max_length=16)
    verdict: int
    build_seq: int
    change: str | None = Field(default=None, sa_type=Text)
    at: datetime
    sentence: str = Field(sa_type=Text)
    state: str = Field(max_length=16)
    closed_at: datetime | None = None
    closed_by: str = Field(default="", max_length=120)
    closed_why: str = Field(default="", sa_type=Text)


class AnswerRow(SQLModel, table=True):
    """What a person said about a quarantined test: seen it, ask again later, or mine until a date. Append-only.

    `until` is None for an acknowledgement. `level` is the level of the escalation that was answered, 0 for none.
    """

    __tablename__ = "answer"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        Index(None, "project_id", "test"),
        one_of("kind", "acknowledge", "snooze", "own"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    test: int
    kind: str = Field(max_length=16)
    by: str = Field(max_length=120)
    reason: str = Field(default="", sa_type=Text)
    at: datetime
    until: datetime | None = None
    level: int = 0


class EscalationRow(SQLModel, table=True):
    """One step of the ladder that was taken about one test. Append-only.

    `days` are the quarantined days of the last 90. `is_proposal` says whether it proposes to delete the test or to let
    it gate again, because a responsibility lapsed.
    """

    __tablename__ = "escalation"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        UniqueConstraint("project_id", "test", "step"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    test: int
    step: int
    level: int
    days: float
    owners: Json = Field(sa_type=JSON)
    channels: Json = Field(sa_type=JSON)
    is_proposal: bool
    at: datetime


class ToldRow(SQLModel, table=True):
    """How far a source of news has been told: the last number of it that messages were made of.

    `source` is `transition`, `raised`, `incident` or another that counts; `mark` holds what a number cannot.
    """

    __tablename__ = "told"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    source: str = Field(primary_key=True, max_length=24)
    number: int
    mark: Json = Field(sa_type=JSON)


class ThreadRow(SQLModel, table=True):
    """One cause in one channel: a first message, kept up to date, and the follow-ups in its thread.

    `content` is what its first message is made of, so that it can be written anew. `ts` and `channel_id` are Slack's
    names for the first message; None until it was sent, and for good behind a webhook.
    """

    __tablename__ = "thread"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(), Index(None, "project_id", "kind", "opened_at"))

    project_id: int = Field(primary_key=True)
    id: str = Field(primary_key=True, max_length=64)
    kind: str = Field(max_length=24)
    channel: str = Field(max_length=200)
    opened_at: datetime
    content: Json = Field(sa_type=JSON)
    channel_id: str | None = Field(default=None, max_length=40)
    ts: str | None = Field(default=None, max_length=40)


class ThreadTestRow(SQLModel, table=True):
    """Which tests a thread speaks of: where follow-ups about a test go. The newest thread of a test counts."""

    __tablename__ = "thread_test"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        ForeignKeyConstraint(["project_id", "thread"], ["thread.project_id", "thread.id"]),
        Index(None, "project_id", "test"),
    )

    project_id: int = Field(primary_key=True)
    thread: str = Field(primary_key=True, max_length=64)
    test: int = Field(primary_key=True)


class OutboxRow(SQLModel, table=True):
    """One message on its way, or arrived. Put in by the transaction that decided to send it; taken by a job.

    Messages of one thread leave in the order of `number`. `key` says which message it is, in Slack's metadata as well,
    so that one whose sending ended unclear can be looked up before it is sent again. `form` says what is done: a first
    message or a reply is posted, or a first message updated. `state`: waiting until
    `due_at`; sending, by the daemon that claimed it at `claimed_at`; sent; or parked, for a person has to mend
    something first (`error_code`, `error`).
    """

    __tablename__ = "outbox"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        UniqueConstraint("project_id", "key"),
        Index(None, "project_id", "state", "due_at"),
        Index(None, "project_id", "thread", "number"),
        one_of("form", "post", "reply", "update"),
        one_of("state", "waiting", "sending", "sent", "parked"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    key: str = Field(max_length=120)
    channel: str = Field(max_length=200)
    thread: str = Field(max_length=64)
    form: str = Field(max_length=8)
    content: Json = Field(sa_type=JSON)
    state: str = Field(max_length=8)
    created_at: datetime
    due_at: datetime
    claimed_at: datetime | None = None
    claimed_by: str = Field(default="", max_length=40)
    tries: int = 0
    error_code: str = Field(default="", max_length=64)
    error: str = Field(default="", sa_type=Text)
    sent_at: datetime | None = None
    channel_id: str | None = Field(default=None, max_length=40)
    ts: str | None = Field(default=None, max_length=40)


class PressRow(SQLModel, table=True):
    """A signed request from Slack that was acted on, by the SHA-256 of its signature: a second one is a replay."""

    __tablename__ = "press"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    digest: str = Field(primary_key=True, max_length=64)
    at: datetime


class WeekRow(SQLModel, table=True):
    """The quarantine-size report of one week, as it was made: it is shown as it is from then on.

    `week` is an ISO week such as 2026-W48, `body` the report as compressed JSON. `issued_at` says when it was told;
    None for one that somebody asked for before it was due to be.
    """

    __tablename__ = "week"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    week: str = Field(primary_key=True, max_length=8)
    made_at: datetime
    issued_at: datetime | None = None
    body: bytes = Field(sa_type=LargeBinary)


OWNERS = table_of(OwnersRow)
RAISED = table_of(RaisedRow)
ANSWER = table_of(AnswerRow)
ESCALATION = table_of(EscalationRow)
TOLD = table_of(ToldRow)
THREAD = table_of(ThreadRow)
THREAD_TEST = table_of(ThreadTestRow)
OUTBOX = table_of(OutboxRow)
PRESS = table_of(PressRow)
WEEK = table_of(WeekRow)
