"""The pages: server-rendered, readable without a script."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from quarantine.services import listing, verdict_listing
from quarantine.services.app import App
from quarantine.services.overview import overview
from quarantine.web.auth import COOKIE, Gatekeeper
from quarantine.web.many_tests import ManyTests
from quarantine.web.one_test import OneTest
from quarantine.web.project_views import project_view
from quarantine.web.records import Records
from quarantine.web.rendering import Renderer
from quarantine.web.sign_in import SignIn
from quarantine.web.snapshots import Snapshots
from quarantine.web.verdict_views import attempts_view, latest_view, verdict_view
from quarantine.web.weekly import Weekly

_FOREVER = "public, max-age=31536000, immutable"


class Pages:
    """The handlers of the pages: who asks, what the services tell, which template prints it."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, renderer: Renderer, snapshots: Snapshots) -> None:
        self.app = app
        self.gatekeeper = gatekeeper
        self.renderer = renderer
        self.snapshots = snapshots

    def routes(self) -> list[BaseRoute]:
        """Return every page's route."""
        return [
            Route("/", self.index),
            Route("/projects/{project}", self.project),
            Route("/projects/{project}/verdicts/{id}", self.verdict),
            Route("/projects/{project}/attempts", self.attempts),
            Route("/static/{name}", self.static),
            *Weekly(self.app, self.gatekeeper, self.renderer).routes(),
            *ManyTests(self.app, self.gatekeeper, self.renderer, self.snapshots).routes(),
            *OneTest(self.app, self.gatekeeper, self.renderer, self.snapshots).routes(),
            *Records(self.app, self.gatekeeper, self.renderer).routes(),
            *SignIn(self.gatekeeper, self.renderer).routes(),
        ]

    async def index(self, request: Request) -> Response:
        """Show the projects, or what to do when there is none."""
        seen = await self.gatekeeper.project_seen(request)
        projects = await run_in_threadpool(listing.projects_of, self.app)
        projects = [project for project in projects if seen in (None, project["project"])]
        return self._page(request, "projects.html", projects=projects, now=self.app.clock().isoformat())

    async def project(self, request: Request) -> Response:
        """Show one project: its gate, what needs a person now, the size of its quarantine, what came in."""
        slug = await self.gatekeeper.reader(request)
        told = await run_in_threadpool(overview, self.app, slug)
        verdicts = await run_in_threadpool(verdict_listing.latest, self.app, slug)
        return self._page(request, "project.html", **project_view(told), verdicts=latest_view(verdicts))

    async def verdict(self, request: Request) -> Response:
        """Show one verdict: what it is about, why it is so, each test with its tries, and what it does not show."""
        slug = await self.gatekeeper.reader(request)
        told = await run_in_threadpool(verdict_listing.evidence, self.app, slug, request.path_params["id"])
        return self._page(request, "verdict.html", **verdict_view(told))

    async def attempts(self, request: Request) -> Response:
        """Show what the attempts at tickets came to, or those at the one ticket that is named."""
        slug = await self.gatekeeper.reader(request)
        ticket = request.query_params.get("ticket")
        told = await run_in_threadpool(verdict_listing.tickets, self.app, slug, ticket=ticket)
        now = self.app.clock().isoformat()
        return self._page(request, "attempts.html", **attempts_view(told, ticket=ticket), now=now)

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        return self.renderer.page(request, template, signed_in=COOKIE in request.cookies, **values)

    async def static(self, request: Request) -> Response:
        """Send a file that pages load; under the address that holds its version it never changes."""
        asset = self.renderer.assets.get(request.path_params["name"])
        if asset is None:
            raise HTTPException(404)
        caching = _FOREVER if request.query_params.get("v") == asset.version else "no-cache"
        return Response(asset.content, media_type=asset.media_type, headers={"Cache-Control": caching})
