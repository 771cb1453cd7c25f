"""The routes of verdicts and attempts: a run and a question in, an answer out."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.services import attempts, verdicts
from quarantine.services.app import App
from quarantine.services.question import parse_loop_end, parse_question, parse_rerun_note
from quarantine.web.auth import Gatekeeper
from quarantine.web.problems import TooLarge
from quarantine.web.receipts import receipt_json
from quarantine.web.snapshots import Snapshots
from quarantine.web.uploads import asking_of, bounded_body, multipart

MAX_END_BYTES = 64 * 1024


class VerdictApi:
    """The handlers."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, snapshots: Snapshots) -> None:
        self.app = app
        self.gatekeeper = gatekeeper
        self.snapshots = snapshots

    def routes(self) -> list[Route]:
        """Return the routes."""
        at = "/v1/projects/{project}"
        return [
            Route(f"{at}/verdicts", self.post_verdict, methods=["POST"]),
            Route(f"{at}/verdicts/{{id}}/reruns", self.post_rerun, methods=["POST"]),
            Route(f"{at}/verdicts/{{id}}", self.get_verdict),
            Route(f"{at}/attempts", self.get_attempts),
            Route(f"{at}/attempts", self.post_attempts, methods=["POST"]),
        ]

    async def post_verdict(self, request: Request) -> Response:
        """Take a run in and say what it comes to; 200 only after both are durably stored."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.reporting_lane()
        async with multipart(request) as form:
            upload = await asking_of(form)
            question = parse_question(upload.question)
            answer, receipt = await run_in_threadpool(
                verdicts.ask, self.app, slug, bearer, upload.part, question, documents=upload.documents
            )
        return self._answered(slug, answer | {"receipt": receipt_json(receipt)})

    async def post_rerun(self, request: Request) -> Response:
        """Take a rerun of either tree in and say what the verdict is now."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.reporting_lane()
        async with multipart(request) as form:
            upload = await asking_of(form)
            answer, receipt = await run_in_threadpool(
                verdicts.add_rerun,
                self.app,
                slug,
                bearer,
                upload.part,
                parse_rerun_note(upload.question),
                number=request.path_params["id"],
                documents=upload.documents,
            )
        return self._answered(slug, answer | {"receipt": receipt_json(receipt)})

    def _answered(self, slug: str, answer: dict[str, Any]) -> Response:
        self.snapshots.forget(slug)
        return JSONResponse(answer)

    async def get_verdict(self, request: Request) -> Response:
        """Return a verdict as it stands."""
        slug = await self.gatekeeper.reader(request)
        return JSONResponse(await run_in_threadpool(verdicts.get, self.app, slug, request.path_params["id"]))

    async def get_attempts(self, request: Request) -> Response:
        """Return what the attempts at tickets came to."""
        slug = await self.gatekeeper.reader(request)
        ticket = request.query_params.get("ticket")
        return JSONResponse(await run_in_threadpool(attempts.summary, self.app, slug, ticket=ticket))

    async def post_attempts(self, request: Request) -> Response:
        """Note how the loop on a ticket ended."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.reporting_lane()
        too_large = TooLarge(f"The request's body is larger than {MAX_END_BYTES // 1024} KiB.", mend="Say it shorter.")
        raw = await bounded_body(request, MAX_END_BYTES, too_large)
        told = await run_in_threadpool(attempts.note_end, self.app, slug, bearer, parse_loop_end(raw))
        return JSONResponse(told)
