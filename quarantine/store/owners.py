"""The project's CODEOWNERS file, as trunk has it."""

import hashlib
import zlib
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from quarantine.store.people_tables import OWNERS


@dataclass(frozen=True, slots=True)
class OwnersText:
    """The newest file: where it lies in the repository, its text, and what the text is known by."""

    path: str
    text: str
    sha256: str


def keep(connection: Connection, project_id: int, path: str, text: str, *, build_seq: int, now: datetime) -> None:
    """Store the file a trunk build brought, unless it is the newest one already."""
    body = text.encode("utf-8", "replace")
    digest = hashlib.sha256(path.encode("utf-8", "replace") + b"\0" + body).hexdigest()
    newest = select(OWNERS.c.number, OWNERS.c.sha256).where(OWNERS.c.project_id == project_id)
    found = connection.execute(newest.order_by(OWNERS.c.number.desc()).limit(1)).first()
    if found is not None and found.sha256 == digest:
        return
    connection.execute(
        OWNERS.insert().values(
            project_id=project_id,
            number=(found.number if found else 0) + 1,
            received_at=now,
            build_seq=build_seq,
            path=path,
            sha256=digest,
            body=zlib.compress(body),
        )
    )


def newest(connection: Connection, project_id: int) -> OwnersText | None:
    """Return the newest file; None when trunk never sent one."""
    query = select(OWNERS).where(OWNERS.c.project_id == project_id).order_by(OWNERS.c.number.desc()).limit(1)
    row = connection.execute(query).first()
    if row is None:
        return None
    return OwnersText(row.path, zlib.decompress(row.body).decode(), row.sha256)
