"""The ASGI application: routes, error answers and the headers that every answer carries."""

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quarantine.domain.outcome import Lane
from quarantine.errors import QuarantineError
from quarantine.services.app import App
from quarantine.web import problems
from quarantine.web.api import Api
from quarantine.web.auth import Gatekeeper
from quarantine.web.pages import Pages
from quarantine.web.snapshots import Snapshots

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class SafeHeaders:
    """Adds the security headers to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and add to what is sent back."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_safely if scope["type"] == "http" else send)


def create_web(app: App, *, open_lane: Lane | None = None) -> Starlette:
    """Return the application.

    Args:
        app: the product.
        open_lane: the lane of reports without a token, for a loopback bind while no token exists; None when every
            request needs a token.
    """
    gatekeeper = Gatekeeper(app, is_open=open_lane is not None, open_lane=open_lane)
    routes = [*Api(app, gatekeeper, Snapshots(app)).routes(), *Pages(app, gatekeeper).routes()]
    return Starlette(
        routes=routes,
        middleware=[Middleware(SafeHeaders)],
        exception_handlers={
            QuarantineError: problems.on_our_error,
            HTTPException: problems.on_http_error,
            Exception: problems.on_crash,
        },
    )
