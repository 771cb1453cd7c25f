"""The pages of what a project keeps: its builds, incidents and reports, and the policy in words."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from quarantine.domain.outcome import Lane
from quarantine.services import build_listing, incident_listing, listing, people_listing, report_listing
from quarantine.services.app import App
from quarantine.web.auth import COOKIE, Gatekeeper
from quarantine.web.paging import page_of
from quarantine.web.policy_words import policy_view
from quarantine.web.record_views import build_view, builds_view, incidents_view, reports_view
from quarantine.web.rendering import Renderer


class Records:
    """The handlers of these pages."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, renderer: Renderer) -> None:
        self._app = app
        self._gatekeeper = gatekeeper
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        at = "/projects/{project}"
        return [
            Route(f"{at}/builds", self.builds),
            Route(f"{at}/builds/{{number}}", self.build),
            Route(f"{at}/incidents", self.incidents),
            Route(f"{at}/incidents/{{incident}}", self.incident),
            Route(f"{at}/reports", self.reports),
            Route(f"{at}/policy", self.policy),
        ]

    async def builds(self, request: Request) -> Response:
        """Show the builds, of one lane or of all."""
        slug, page = await self._gatekeeper.reader(request), page_of(request.query_params)
        said = request.query_params.get("lane", "")
        lane = Lane(said) if said in set(Lane) else None
        told = await run_in_threadpool(build_listing.page_of, self._app, slug, page=page, lane=lane)
        return self._page(request, "builds.html", **builds_view(told, page=page, lane=lane))

    async def build(self, request: Request) -> Response:
        """Show one build: what it was, what came with it, and why each failure is what it is."""
        slug = await self._gatekeeper.reader(request)
        told = await run_in_threadpool(build_listing.one, self._app, slug, request.path_params["number"])
        return self._page(request, "build.html", **build_view(told))

    async def incidents(self, request: Request) -> Response:
        """Show the incidents."""
        slug, page = await self._gatekeeper.reader(request), page_of(request.query_params)
        told = await run_in_threadpool(incident_listing.page_of, self._app, slug, page=page)
        return self._page(request, "incidents.html", **incidents_view(told, page=page))

    async def incident(self, request: Request) -> Response:
        """Show one incident: the builds it struck and the tests that failed."""
        slug = await self._gatekeeper.reader(request)
        told = await run_in_threadpool(incident_listing.one, self._app, slug, request.path_params["incident"])
        return self._page(request, "incident.html", project=slug, told=told, now=told["now"])

    async def reports(self, request: Request) -> Response:
        """Show the reports that were read, and those that were refused with the reason."""
        slug, page = await self._gatekeeper.reader(request), page_of(request.query_params)
        told = await run_in_threadpool(report_listing.page_of, self._app, slug, page=page)
        return self._page(request, "reports.html", **reports_view(told, page=page))

    async def policy(self, request: Request) -> Response:
        """Show every knob of the policy in words."""
        slug = await self._gatekeeper.reader(request)
        told = await run_in_threadpool(listing.project, self._app, slug)
        people = await run_in_threadpool(people_listing.of, self._app, slug)
        return self._page(
            request,
            "policy.html",
            told=told,
            project=slug,
            people=people,
            faults=self._renderer.faults,
            **policy_view(self._app.policy),
        )

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        return self._renderer.page(request, template, signed_in=COOKIE in request.cookies, **values)
