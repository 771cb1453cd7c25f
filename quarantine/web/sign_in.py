"""Signing in with a token: a person's browser keeps it in a cookie that no script and no other site can use."""

import re

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from quarantine.web.auth import COOKIE, Gatekeeper, is_local
from quarantine.web.problems import TokenNeeded
from quarantine.web.rendering import Renderer

_KEPT_S = 30 * 24 * 3600
_FORM = "application/x-www-form-urlencoded"
_MOST_CHARACTERS = 4_096
_ELSEWHERE = ("cross-site", "same-site")
"""Another port of this machine is the same site to a browser, and another server all the same."""
_LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")


def local_path(wanted: str) -> str:
    """Return `wanted` when it is a path on this server, else `/`.

    Browsers take two slashes, a slash and a backslash, or a tab between them for the name of another server.
    """
    return wanted if _LOCAL_PATH.fullmatch(wanted) else "/"


class SignIn:
    """The handlers of signing in and out."""

    def __init__(self, gatekeeper: Gatekeeper, renderer: Renderer) -> None:
        self._gatekeeper = gatekeeper
        self._renderer = renderer

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/sign-in", self.show),
            Route("/sign-in", self.sign_in, methods=["POST"]),
            Route("/sign-out", self.sign_out, methods=["POST"]),
        ]

    async def show(self, request: Request) -> Response:
        """Ask for a token; where none is needed, go on."""
        wanted = local_path(request.query_params.get("next", "/"))
        if is_local(request) and await self._gatekeeper.is_still_open():
            return RedirectResponse(_root(request) + wanted, 303)
        return self._page(request, wanted)

    async def sign_in(self, request: Request) -> Response:
        """Check the token, keep it in the cookie and go on to where the reader wanted to be."""
        token, wanted = await _posted(request)
        try:
            project, _bearer = await self._gatekeeper.holder(token)
        except TokenNeeded:
            return self._page(request, wanted, status=401, said="This token is unknown, expired or revoked.")
        goal = f"/projects/{project}" if wanted == "/" else wanted
        answer = RedirectResponse(_root(request) + goal, 303)
        answer.set_cookie(
            COOKIE,
            token,
            max_age=_KEPT_S,
            path="/",
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    async def sign_out(self, request: Request) -> Response:
        """Forget the token."""
        answer = RedirectResponse(f"{_root(request)}/sign-in", 303)
        answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict", secure=request.url.scheme == "https")
        return answer

    def _page(self, request: Request, wanted: str, *, status: int = 200, said: str = "") -> Response:
        """Return the form. A link from another site comes without the cookie: then it offers to go on with it."""
        from_elsewhere = request.headers.get("sec-fetch-site") == "cross-site"
        return self._renderer.page(
            request, "sign_in.html", status=status, wanted=wanted, said=said, from_elsewhere=from_elsewhere
        )


async def _posted(request: Request) -> tuple[str, str]:
    """Return the token and where to go next; raises HTTPException for anything but a small form of our own."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, "The sign-in form was not sent as a form.")
    if request.headers.get("sec-fetch-site") in _ELSEWHERE:
        raise HTTPException(403, "The sign-in form was sent from another site.")
    form = await request.form(max_fields=5, max_part_size=_MOST_CHARACTERS)
    token, wanted = form.get("token", ""), form.get("next", "/")
    return str(token).strip(), local_path(str(wanted))


def _root(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return root
