"""Letters: put into the outbox by whoever decides to write them, one for each person."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection

from quarantine.domain.mail_content import MailContent
from quarantine.services.ways import MAIL
from quarantine.store import outbox
from quarantine.store.outbox import Form
from quarantine.store.projects import Project

__all__ = ["post"]


def post(
    connection: Connection, project: Project, to: Iterable[str], content: MailContent, *, key: str, now: datetime
) -> int:
    """Put a letter for each of these addresses into the outbox; return how many were not there before.

    Args:
        connection: of the transaction that decided to write; it holds the project's lock.
        project: whose letter it is.
        to: plain addresses, such as the settings name them.
        content: what it says. A chart is drawn when it is sent.
        key: which letter it is within the project: one of the same key to the same person is written once.
        now: when it was decided.
    """
    return sum(_put(connection, project, address, content, key=key, now=now) for address in dict.fromkeys(to))


def _put(
    connection: Connection, project: Project, address: str, content: MailContent, *, key: str, now: datetime
) -> bool:
    name = MAIL + hashlib.sha256(f"{key}\0{address}".encode()).hexdigest()[:40]
    return outbox.put(
        connection,
        project.id,
        key=name,
        channel=f"{MAIL}{address}",
        form=Form.POST,
        content=content.to_json(),
        thread=name,  # of its own: a letter that is parked holds up no other
        now=now,
        due_at=now,
    )
