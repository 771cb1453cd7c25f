"""Periods of scheduled jobs, claimed by primary key."""

from datetime import datetime

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from quarantine.store.tables import JOB_RUN


def claim(connection: Connection, job: str, period: str, now: datetime) -> bool:
    """Claim a period of a job; return False when somebody has it already."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(JOB_RUN).values(job=job, period=period, claimed_at=now).on_conflict_do_nothing()
    return connection.execute(statement).rowcount == 1
