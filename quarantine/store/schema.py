"""What every table is made with: the one metadata, its names, and the constraints that most tables share."""

from typing import Any

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, MetaData, Table
from sqlmodel import SQLModel

metadata: MetaData = SQLModel.metadata
metadata.naming_convention = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

Json = Any


def of_project() -> ForeignKeyConstraint:
    """Return the constraint that a row belongs to a project."""
    return ForeignKeyConstraint(["project_id"], ["project.id"])


def one_of(column: str, *words: str) -> CheckConstraint:
    """Return the constraint that a column holds one of these words."""
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def table_of(model: type[SQLModel]) -> Table:
    """Return the table of a model, for statements of SQLAlchemy's core."""
    return metadata.tables[str(model.__tablename__)]
