"""The JSON routes under /v1/projects/{project}."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.errors import BadInput
from quarantine.services import decisions, listing, reruns
from quarantine.services.app import App
from quarantine.services.explain import explain
from quarantine.services.ingest import ingest
from quarantine.store.tokens import Scope
from quarantine.web.auth import Gatekeeper
from quarantine.web.bodies import json_body
from quarantine.web.receipts import receipt_json
from quarantine.web.snapshots import Snapshots
from quarantine.web.uploads import multipart, upload_of


class Api:
    """The handlers, each a few lines: who asks, what the service says, how it goes on the wire."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, snapshots: Snapshots) -> None:
        self.app = app
        self.gatekeeper = gatekeeper
        self.snapshots = snapshots

    def routes(self) -> list[Route]:
        """Return every JSON route. They are tried in this order, so the question asked most comes first."""
        at = "/v1/projects/{project}"
        return [
            Route(f"{at}/gating/{{test:name}}", self.is_gating),
            Route(f"{at}/gating", self.get_gating),
            Route(f"{at}/reports", self.post_reports, methods=["POST"]),
            Route("/healthz", self.health),
            Route(f"{at}/reruns", self.reading(lambda slug, _request: reruns.wanted(self.app, slug))),
            Route(f"{at}/whoami", self.whoami),
            Route(f"{at}/variants", self.reading(lambda slug, _request: listing.trunk_variants(self.app, slug))),
            Route(f"{at}/summary", self.reading(lambda slug, _request: listing.summary(self.app, slug))),
            Route(f"{at}/tests", self.reading(lambda slug, _request: listing.standing(self.app, slug))),
            Route(f"{at}/tests/{{test:name}}/release", self.release, methods=["POST"]),
            Route(f"{at}/tests/{{test:name}}/quarantine", self.quarantine, methods=["POST"]),
            Route(f"{at}/tests/{{test:name}}", self.reading(self._explain)),
            Route(f"{at}/mode", self.set_mode, methods=["POST"]),
        ]

    def reading(self, answer: Callable[[str, Request], Any]) -> Callable[[Request], Awaitable[Response]]:
        """Return a handler for a verb that only reads."""

        async def handler(request: Request) -> Response:
            slug = await self.gatekeeper.reader(request)
            return JSONResponse(await run_in_threadpool(answer, slug, request))

        return handler

    async def health(self, _request: Request) -> Response:
        """Say that the process answers; the database is asked too."""
        await run_in_threadpool(listing.ping, self.app)
        return JSONResponse({"status": "ok"})

    async def whoami(self, request: Request) -> Response:
        """Say what the caller may do, so that it can be refused before it has begun."""
        _slug, bearer = await self.gatekeeper.caller(request)
        return JSONResponse(bearer.to_json())

    async def post_reports(self, request: Request) -> Response:
        """Take reports in; 202 only after they are durably stored."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.reporting_lane()
        async with multipart(request) as form:
            upload = await upload_of(form)
            receipt = await run_in_threadpool(ingest, self.app, slug, bearer, upload.part, upload.documents)
        self.snapshots.forget(slug)
        return JSONResponse(receipt_json(receipt), 202)

    async def get_gating(self, request: Request) -> Response:
        """Return the whole gating set, or 304 when the client has this snapshot already."""
        slug = await self.gatekeeper.reader(request)
        snapshot = await self.snapshots.current(slug)
        headers = {"ETag": f'"{snapshot.id}"', "Cache-Control": "no-cache"}
        asked = request.headers.get("if-none-match", "")
        if asked == "*" or snapshot.id in {tag.strip().removeprefix("W/").strip('"') for tag in asked.split(",")}:
            return Response(status_code=304, headers=headers)
        return JSONResponse(snapshot.to_json(), headers=headers)

    async def is_gating(self, request: Request) -> Response:
        """Say whether one test gates."""
        slug = await self.gatekeeper.reader(request)
        snapshot = self.snapshots.held(slug) or await self.snapshots.current(slug)
        variant = request.query_params.get("variant") if request.scope["query_string"] else None
        gates = snapshot.is_gating(request.path_params["test"], variant)
        return Response(snapshot.answers[gates], media_type="application/json")

    def _explain(self, slug: str, request: Request) -> Any:
        recomputed = request.query_params.get("recompute") in ("1", "true")
        return explain(self.app, slug, request.path_params["test"], recomputed=recomputed)

    async def release(self, request: Request) -> Response:
        """Let a person release a test, with a reason."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.require(Scope.ADMIN)
        body = await json_body(request, "reason")
        released = await run_in_threadpool(
            decisions.release, self.app, slug, request.path_params["test"], bearer=bearer, reason=body["reason"]
        )
        self.snapshots.forget(slug)
        return JSONResponse(released)

    async def quarantine(self, request: Request) -> Response:
        """Let a person quarantine a test until a date, with a reason."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.require(Scope.ADMIN)
        body = await json_body(request, "reason")
        days: Any = body.get("days")
        if not isinstance(days, (int, float)) or isinstance(days, bool):
            raise BadInput("The request's body has no number `days`.", mend='Send {"reason": "...", "days": 14}.')
        test = request.path_params["test"]
        quarantined = await run_in_threadpool(
            decisions.quarantine, self.app, slug, test, bearer=bearer, reason=body["reason"], days=days
        )
        self.snapshots.forget(slug)
        return JSONResponse(quarantined)

    async def set_mode(self, request: Request) -> Response:
        """Switch between observing and enforcing."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.require(Scope.ADMIN)
        body = await json_body(request, "mode")
        answer = await run_in_threadpool(decisions.set_mode, self.app, slug, body["mode"], bearer=bearer)
        self.snapshots.forget(slug)
        return JSONResponse(answer)
