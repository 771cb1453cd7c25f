"""The project's CODEOWNERS file, as trunk has it."""

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from quarantine.store.people_tables import OWNERS


@dataclass(frozen=True, slots=True)
class OwnersText:
    """One file.

    Attributes:
        path: where it lies in the repository.
        text: what it says.
        dialect: whose rules it follows; empty when only the text can tell.
        folder: where the project's tree lies in the repository; empty at its root.
    """

    path: str
    text: str
    dialect: str = ""
    folder: str = ""


def keep(connection: Connection, project_id: int, found: OwnersText, *, build_seq: int, now: datetime) -> None:
    """Store the file a trunk build brought, unless it is the newest one already."""
    content = json.dumps(asdict(found)).encode()
    digest = hashlib.sha256(content).hexdigest()
    query = select(OWNERS.c.number, OWNERS.c.sha256).where(OWNERS.c.project_id == project_id)
    last = connection.execute(query.order_by(OWNERS.c.number.desc()).limit(1)).first()
    if last is not None and last.sha256 == digest:
        return
    connection.execute(
        OWNERS.insert().values(
            project_id=project_id,
            number=(last.number if last else 0) + 1,
            received_at=now,
            build_seq=build_seq,
            path=found.path,
            sha256=digest,
            body=zlib.compress(content),
        )
    )


def newest(connection: Connection, project_id: int) -> OwnersText | None:
    """Return the newest file; None when trunk never sent one."""
    query = select(OWNERS.c.body).where(OWNERS.c.project_id == project_id).order_by(OWNERS.c.number.desc()).limit(1)
    body = connection.execute(query).scalar()
    return None if body is None else OwnersText(**json.loads(zlib.decompress(body)))
