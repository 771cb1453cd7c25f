"""Periods of scheduled jobs, claimed by primary key."""

from datetime import datetime

from sqlalchemy import Connection, delete

from quarantine.store.sql import insert_if_new
from quarantine.store.tables import JOB_RUN


def claim(connection: Connection, job: str, period: str, now: datetime) -> bool:
    """Claim a period of a job; return False when somebody has it already."""
    return insert_if_new(connection, JOB_RUN, {"job": job, "period": period, "claimed_at": now})


def forget(connection: Connection, before: datetime) -> int:
    """Delete the claims made before an instant; return how many."""
    return connection.execute(delete(JOB_RUN).where(JOB_RUN.c.claimed_at < before)).rowcount
