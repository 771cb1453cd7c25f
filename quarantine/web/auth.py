"""From a request to a bearer. Tokens are looked up by their SHA-256 and remembered for a few seconds."""

import ipaddress
import time
from dataclasses import dataclass, field

from starlette.requests import Request

from quarantine.domain.outcome import Lane
from quarantine.errors import NotAllowed
from quarantine.services.access import Bearer, of_grant, of_loopback
from quarantine.services.app import App
from quarantine.store import projects, tokens
from quarantine.store.engine import reading
from quarantine.store.tokens import digest
from quarantine.web.problems import TokenNeeded

REMEMBERED_S = 5.0
"""How long a revoked token may still work on this replica."""
_REMEMBERED_TOKENS = 1_000
COOKIE = "quarantine_token"
_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "[::1]", "testserver"}


@dataclass(slots=True)
class Gatekeeper:
    """Says who a request is from.

    Attributes:
        open_lane: set when `serve` is bound to loopback and no token exists: the lane that reports without a token
            belong to. None when every request needs a token.
        is_open: whether requests without a token are served at all.
    """

    app: App
    is_open: bool = False
    open_lane: Lane | None = None
    _known: dict[bytes, tuple[float, str, Bearer]] = field(default_factory=dict)

    def bearer(self, request: Request, slug: str) -> Bearer:
        """Return who asks about project `slug`.

        Raises:
            TokenNeeded: there is no token, or it is not valid.
            NotAllowed: the token belongs to another project.
        """
        secret = _secret(request)
        if secret is None:
            return self._without_token(request)
        key = digest(secret)
        known = self._known.get(key)
        if known is None or known[0] < time.monotonic():
            known = self._look_up(key, secret)
        if known[1] != slug:
            raise NotAllowed(f"This token is not for project {slug!r}.", mend="Use a token of that project.")
        return known[2]

    def _look_up(self, key: bytes, secret: str) -> tuple[float, str, Bearer]:
        with reading(self.app.engine) as connection:
            grant = tokens.find(connection, secret, self.app.clock())
            if grant is None:
                raise TokenNeeded("The token is unknown, expired or revoked.", mend="Ask an admin for a new one.")
            slug = projects.slug_of(connection, grant.project_id)
        if len(self._known) >= _REMEMBERED_TOKENS:
            self._known.clear()
        self._known[key] = (time.monotonic() + REMEMBERED_S, slug, of_grant(grant))
        return self._known[key]

    def _without_token(self, request: Request) -> Bearer:
        if self.is_open and _is_local(request):
            return of_loopback(self.open_lane)
        raise TokenNeeded(
            "This server needs a token.", mend="Send `Authorization: Bearer TOKEN`, or sign in on the page."
        )


def _secret(request: Request) -> str | None:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and secret.strip():
        return secret.strip()
    return request.cookies.get(COOKIE) if request.method in ("GET", "HEAD") else None


def _is_local(request: Request) -> bool:
    """Return whether the caller is on this machine and called us by a local name (a page elsewhere cannot)."""
    host = request.headers.get("host", "")
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name not in _LOOPBACK_NAMES or request.client is None:
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return request.client.host == "testclient"
