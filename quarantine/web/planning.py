"""The route that says how often a session tries its failing tests again."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.services.app import App
from quarantine.services.question import MAX_FAILING, parse_session_question
from quarantine.services.session_plan import planned
from quarantine.store.tokens import Scope
from quarantine.web.auth import Gatekeeper
from quarantine.web.problems import TooLarge
from quarantine.web.uploads import bounded_body

MAX_BYTES = 4 * 1024 * 1024


class PlanningApi:
    """The handler."""

    def __init__(self, app: App, gatekeeper: Gatekeeper) -> None:
        self.app = app
        self.gatekeeper = gatekeeper

    def routes(self) -> list[Route]:
        """Return the route."""
        return [Route("/v1/projects/{project}/reruns/plan", self.post_plan, methods=["POST"])]

    async def post_plan(self, request: Request) -> Response:
        """Say how often each failing test is worth trying again inside the session that asks."""
        slug, bearer = await self.gatekeeper.caller(request)
        bearer.require(Scope.READ)
        said = f"The request's body is larger than {MAX_BYTES // 1024**2} MiB."
        too_large = TooLarge(said, mend=f"Name at most {MAX_FAILING:,} failing tests.")
        asked = parse_session_question(await bounded_body(request, MAX_BYTES, too_large))
        return JSONResponse(await run_in_threadpool(planned, self.app, slug, bearer, asked))
