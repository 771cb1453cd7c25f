"""The tables about renamed tests: which names are those of one test, and which ones may be."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Float, Text, UniqueConstraint
from sqlalchemy.schema import SchemaItem
from sqlmodel import Field, SQLModel

from quarantine.store.schema import of_project, one_of, table_of


class AliasRow(SQLModel, table=True):
    """A person's word that a test goes by another name now. Append-only but for its end.

    `test` carries the history; `name` is the ordinal of the row whose name it took over. While `ended_at` is None,
    reports of that name are counted under `test`, and the newest of a test's aliases holds its present name.
    """

    __tablename__ = "alias"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (of_project(),)

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    test: int
    name: int
    at: datetime
    by: str = Field(max_length=120)
    reason: str = Field(sa_type=Text)
    ended_at: datetime | None = None
    ended_by: str = Field(default="", max_length=120)
    ended_why: str = Field(default="", sa_type=Text)


class RenameRow(SQLModel, table=True):
    """Two tests that look like one that was renamed, as a trunk build without the former and with the latter showed.

    Nothing follows from it until a person says so. `score` is between 0 and 1; `why` says what is alike.
    """

    __tablename__ = "rename"
    __table_args__: ClassVar[tuple[SchemaItem, ...]] = (
        of_project(),
        UniqueConstraint("project_id", "former", "present"),
        one_of("state", "open", "accepted", "dismissed"),
    )

    project_id: int = Field(primary_key=True)
    number: int = Field(primary_key=True)
    former: int
    present: int
    build_seq: int
    variant_hash: str = Field(max_length=16)
    score: float = Field(sa_type=Float)
    why: str = Field(sa_type=Text)
    at: datetime
    state: str = Field(max_length=16)
    closed_at: datetime | None = None
    closed_by: str = Field(default="", max_length=120)
    closed_why: str = Field(default="", sa_type=Text)


ALIAS = table_of(AliasRow)
RENAME = table_of(RenameRow)
