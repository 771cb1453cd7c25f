"""Small things that go to a browser and come back as they went, or not at all: signed, dated, and of one sign-in.

The key is the project's own secret, so every replica can read what another one sealed. A seal names what it is for, so
a sentence can not be shown where a form is expected, and the token of whoever is signed in, so it is worth nothing to
anybody else.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from quarantine.services.app import App
from quarantine.store import projects
from quarantine.store.engine import reading
from quarantine.store.tokens import digest

FORM_LIVES = timedelta(hours=12)
"""How long a form that was shown may be sent; shorter than `jobs.PRESSES_KEPT`, so that no form counts twice."""
SAID_LIVES = timedelta(minutes=1)
_BIND = "quarantine page 1"


@dataclass(frozen=True, slots=True)
class Seal:
    """What seals for one reader of one project.

    Attributes:
        key: the project's secret.
        session: the token by which the reader is signed in; only its digest goes into a seal.
        now: the present instant.
    """

    key: bytes = field(repr=False)
    session: str = field(repr=False)
    now: datetime

    def closed(self, purpose: str, content: dict[str, Any]) -> str:
        """Return the content, readable by whoever has it, with the instant and a signature."""
        body = _text(json.dumps(content | {"at": int(self.now.timestamp())}, separators=(",", ":")).encode())
        return f"{body}.{self._signature(purpose, body)}"

    def opened(self, purpose: str, text: str) -> dict[str, Any] | None:
        """Return what `closed` took for this purpose and sign-in, and when, as `at`; None for anything else."""
        body, _, signature = text.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(purpose, body).encode()):
            return None
        content: dict[str, Any] = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return content

    def is_fresh(self, content: Mapping[str, Any], lives: timedelta) -> bool:
        """Return whether what was opened was closed no longer ago than it lives."""
        return self.now.timestamp() - float(content["at"]) <= lives.total_seconds()

    def _signature(self, purpose: str, body: str) -> str:
        said = "\0".join((_BIND, purpose, digest(self.session).hex(), body))
        return _text(hmac.digest(self.key, said.encode("utf-8", "surrogatepass"), hashlib.sha256))


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@dataclass(slots=True)
class Seals:
    """Makes the seals of every project."""

    app: App
    _keys: dict[str, bytes] = field(default_factory=dict)

    def of(self, slug: str, session: str) -> Seal:
        """Return the seal of a project for whoever is signed in by this token; raises NotFound. Reads the database."""
        if slug not in self._keys:
            with reading(self.app.engine) as connection:
                self._keys[slug] = projects.by_slug(connection, slug).secret
        return Seal(self._keys[slug], session, self.app.clock())
