"""API tokens: 32 random bytes handed out once, kept only as SHA-256."""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, select, update

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, NotFound
from quarantine.store.tables import TOKEN

PREFIX = "qt_"
LONGEST_CHANGE = 200


class Scope(StrEnum):
    """What a token may do. `admin` includes `read`; `report` can also read the gating set it needs."""

    REPORT = "report"
    READ = "read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Grant:
    """What the bearer of a token may do in one project."""

    project_id: int
    token_id: str
    label: str
    scope: Scope
    lane: Lane | None
    change: str | None
    expires_at: datetime | None


def digest(secret: str) -> bytes:
    """Return the SHA-256 under which a token is kept; the token has 256 random bits, so no salt is needed."""
    return hashlib.sha256(secret.encode()).digest()


def create(
    connection: Connection,
    project_id: int,
    *,
    scope: Scope,
    lane: Lane | None,
    change: str | None,
    label: str,
    now: datetime,
    expires_at: datetime | None,
) -> str:
    """Store a new token and return its secret, the only time it is ever known.

    Raises BadInput when a report token has no lane, or another one has, or the change cannot be one.
    """
    if (scope is Scope.REPORT) != (lane is not None):
        raise BadInput(
            "A report token needs a lane, and only a report token has one.",
            mend="Give --lane trunk, review or agent together with --scope report.",
        )
    if change is not None and lane in (None, Lane.TRUNK):
        raise BadInput("Only a review or agent token speaks for a change.", mend="Leave out --change.")
    if len(change or "") > LONGEST_CHANGE:
        raise BadInput(f"The change has more than {LONGEST_CHANGE} characters.", mend="Name it by its number.")
    secret = PREFIX + secrets.token_urlsafe(32)
    connection.execute(
        TOKEN.insert().values(
            project_id=project_id,
            id=secrets.token_hex(4),
            digest=digest(secret),
            label=label,
            scope=scope.value,
            lane=lane.value if lane else None,
            change=change,
            created_at=now,
            expires_at=expires_at,
        )
    )
    return secret


def find(connection: Connection, secret: str, now: datetime) -> Grant | None:
    """Return what the token grants; None when it is unknown, revoked or expired."""
    row = connection.execute(select(TOKEN).where(TOKEN.c.digest == digest(secret))).mappings().first()
    if row is None or row["revoked_at"] is not None or (row["expires_at"] is not None and row["expires_at"] <= now):
        return None
    lane = Lane(row["lane"]) if row["lane"] else None
    return Grant(
        row["project_id"], row["id"], row["label"], Scope(row["scope"]), lane, row["change"], row["expires_at"]
    )


def every(connection: Connection, project_id: int) -> list[dict[str, Any]]:
    """Return the project's tokens without anything secret, the newest first."""
    shown = [
        TOKEN.c[name] for name in ("id", "label", "scope", "lane", "change", "created_at", "expires_at", "revoked_at")
    ]
    query = select(*shown).where(TOKEN.c.project_id == project_id).order_by(TOKEN.c.created_at.desc(), TOKEN.c.id)
    return [dict(row) for row in connection.execute(query).mappings()]


def exist(connection: Connection) -> bool:
    """Return whether any token was ever created, in any project."""
    return connection.execute(select(TOKEN.c.id).limit(1)).first() is not None


def revoke(connection: Connection, project_id: int, token_id: str, now: datetime) -> None:
    """End a token's life; raises NotFound when the project has none of that id."""
    done = connection.execute(
        update(TOKEN).where(TOKEN.c.project_id == project_id, TOKEN.c.id == token_id).values(revoked_at=now)
    )
    if not done.rowcount:
        raise NotFound(f"There is no token {token_id!r} in this project.", mend="See `quarantine token list`.")
