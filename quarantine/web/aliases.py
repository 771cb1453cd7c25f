"""The JSON routes about renamed tests."""

from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.services import aliases
from quarantine.services.app import App
from quarantine.store.tokens import Scope
from quarantine.web.auth import Gatekeeper
from quarantine.web.bodies import json_body
from quarantine.web.snapshots import Snapshots

Decision = Callable[..., dict[str, Any]]


class AliasApi:
    """Joining two names of one test, taking that back, and what looks renamed."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, snapshots: Snapshots) -> None:
        self.app = app
        self.gatekeeper = gatekeeper
        self.snapshots = snapshots

    def routes(self) -> list[Route]:
        """Return the routes; they come before those that take the rest of a path for a test's name."""
        at = "/v1/projects/{project}"
        return [
            Route(f"{at}/renames", self.proposed),
            Route(f"{at}/tests/{{test:name}}/alias/end", self._deciding(aliases.end), methods=["POST"]),
            Route(f"{at}/tests/{{test:name}}/alias/dismiss", self._deciding(aliases.dismiss), methods=["POST"]),
            Route(f"{at}/tests/{{test:name}}/alias", self._deciding(aliases.alias), methods=["POST"]),
        ]

    async def proposed(self, request: Request) -> Response:
        """Return which tests look renamed."""
        slug = await self.gatekeeper.reader(request)
        return JSONResponse(await run_in_threadpool(aliases.proposed, self.app, slug))

    def _deciding(self, decision: Decision) -> Callable[[Request], Any]:
        """Return a handler for what an admin decides about two names, with a reason."""

        async def handler(request: Request) -> Response:
            slug, bearer = await self.gatekeeper.caller(request)
            bearer.require(Scope.ADMIN)
            body = await json_body(request, "reason", "to")
            former, present = request.path_params["test"], body["to"]
            told = await run_in_threadpool(
                decision, self.app, slug, former, present, bearer=bearer, reason=body["reason"]
            )
            self.snapshots.forget(slug)
            return JSONResponse(told)

        return handler
