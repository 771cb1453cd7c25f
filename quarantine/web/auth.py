"""From a request to a bearer. Tokens are looked up by their SHA-256 and remembered for a few seconds."""

import ipaddress
import math
import time
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from quarantine.domain.outcome import Lane
from quarantine.errors import NotAllowed
from quarantine.services.access import Bearer, of_grant, of_loopback
from quarantine.services.app import App
from quarantine.store import projects, tokens
from quarantine.store.engine import reading
from quarantine.store.tokens import Scope, digest
from quarantine.web.problems import TokenNeeded

REMEMBERED_S = 5.0
"""How long a revoked token may still work on this replica."""
_REMEMBERED_TOKENS = 1_000
COOKIE = "quarantine_token"
_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "[::1]"}

_Holder = tuple[str, Bearer]
"""The project a token is for, and what its holder may do there."""


@dataclass(slots=True)
class Gatekeeper:
    """Says who a request is from.

    Attributes:
        is_open: whether requests without a token are served, from this machine and as long as no token exists.
        open_lane: the lane that reports without a token belong to.
    """

    app: App
    is_open: bool = False
    open_lane: Lane | None = None
    _known: dict[bytes, tuple[float, _Holder]] = field(default_factory=dict)
    _open_until: float = -math.inf

    async def caller(self, request: Request) -> tuple[str, Bearer]:
        """Return the project that a request is about and who asks; raises as `bearer`."""
        slug: str = request.path_params["project"]
        return slug, await self.bearer(request, slug)

    async def reader(self, request: Request) -> str:
        """Return the project that a request is about; raises as `bearer`, and when the caller may not read it."""
        slug: str = request.path_params["project"]
        (await self.bearer(request, slug)).require(Scope.READ)
        return slug

    async def bearer(self, request: Request, slug: str) -> Bearer:
        """Return who asks about project `slug`.

        Raises:
            TokenNeeded: there is no token, or it is not valid.
            NotAllowed: the token belongs to another project.
        """
        secret = _secret(request)
        if secret is None:
            return await self._without_token(request)
        return await self._of_project(secret, slug)

    async def signed_in(self, request: Request, slug: str) -> tuple[str, Bearer]:
        """Return the token by which a person is signed in on the pages of a project, and who that is.

        Only the cookie counts: forms are sent by people. Nobody is signed in on a server without tokens.

        Raises:
            TokenNeeded: nobody is signed in, or no longer.
            NotAllowed: the token belongs to another project.
        """
        secret = session_of(request)
        if secret is None:
            raise TokenNeeded("Nobody is signed in.", mend="Sign in with an admin token of this project.")
        return secret, await self._of_project(secret, slug)

    async def _of_project(self, secret: str, slug: str) -> Bearer:
        project, bearer = await self.holder(secret)
        if project != slug:
            raise NotAllowed(f"This token is not for project {slug!r}.", mend="Use a token of that project.")
        return bearer

    async def project_seen(self, request: Request) -> str | None:
        """Return the one project that whoever asks may see; None for every project. Raises TokenNeeded."""
        secret = _secret(request)
        if secret is None:
            await self._without_token(request)
            return None
        return (await self.holder(secret))[0]

    async def holder(self, secret: str) -> _Holder:
        """Return whose token this is; raises TokenNeeded when it is unknown, expired or revoked."""
        key = digest(secret)
        known = self._known.get(key)
        if known is None or known[0] < time.monotonic():
            holder = await run_in_threadpool(self._look_up, secret)
            if len(self._known) >= _REMEMBERED_TOKENS:
                self._known.clear()
            known = self._known[key] = (time.monotonic() + REMEMBERED_S, holder)
        return known[1]

    def _look_up(self, secret: str) -> _Holder:
        with reading(self.app.engine) as connection:
            grant = tokens.find(connection, secret, self.app.clock())
            if grant is None:
                raise TokenNeeded("The token is unknown, expired or revoked.", mend="Ask an admin for a new one.")
            return projects.slug_of(connection, grant.project_id), of_grant(grant)

    async def _without_token(self, request: Request) -> Bearer:
        if is_local(request) and await self.is_still_open():
            return of_loopback(self.open_lane)
        raise TokenNeeded(
            "This server needs a token.", mend="Send `Authorization: Bearer TOKEN`, or sign in on the page."
        )

    async def is_still_open(self) -> bool:
        """Return whether requests without a token are served; the first token that is made ends that for good."""
        if self.is_open and time.monotonic() >= self._open_until:
            self.is_open = not await run_in_threadpool(self._tokens_exist)
            self._open_until = time.monotonic() + REMEMBERED_S
        return self.is_open

    def _tokens_exist(self) -> bool:
        with reading(self.app.engine) as connection:
            return tokens.exist(connection)


def _secret(request: Request) -> str | None:
    stated = header_token(request)
    if stated is not None:
        return stated
    return session_of(request) if request.method in ("GET", "HEAD") else None


def header_token(request: Request) -> str | None:
    """Return the token that a program states; None for none, and for what a proxy in front of us asks for."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() or None if scheme.lower() == "bearer" else None


def session_of(request: Request) -> str | None:
    """Return the token that a browser was signed in with; None for none. By itself it lets nobody do anything."""
    return request.cookies.get(COOKIE) or None


def is_local(request: Request) -> bool:
    """Return whether the caller is on this machine, called us by a local name, and is no page of another site.

    The name keeps out pages whose own name was pointed at this machine; the origin keeps out pages that post here.
    """
    host = request.headers.get("host", "").lower()
    name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
    if name not in _LOOPBACK_NAMES or request.client is None or not is_own_page(request):
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False


def is_own_page(request: Request) -> bool:
    """Return whether the request comes from a page of ours, from an address typed in, or from no browser at all."""
    origin = origin_host(request)
    return origin is None or origin == request.headers.get("host", "").lower()


def origin_host(request: Request) -> str | None:
    """Return the host and port that a request says it comes from: None when it says nothing, "" when nothing of use."""
    origin = request.headers.get("origin")
    if origin is None:
        return None
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
