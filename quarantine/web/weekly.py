"""The weekly reports: a page for each week, with an address that stays, and the same as JSON and Markdown."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from quarantine.errors import BadInput
from quarantine.services import weekly, weekly_text
from quarantine.services.app import App
from quarantine.web.auth import COOKIE, Gatekeeper
from quarantine.web.rendering import Renderer
from quarantine.web.weekly_views import weekly_view


class Weekly:
    """The handlers of these pages and routes."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, renderer: Renderer) -> None:
        self._app = app
        self._gatekeeper = gatekeeper
        self._renderer = renderer

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/projects/{project}/weekly", self.page),
            Route("/projects/{project}/weekly/{week}", self.page),
            Route("/v1/projects/{project}/weekly", self.listed),
            Route("/v1/projects/{project}/weekly/{week}", self.report),
        ]

    async def page(self, request: Request) -> Response:
        """Show the report of a week, or the last one."""
        slug = await self._gatekeeper.reader(request)
        week = request.path_params.get("week", weekly.LAST)
        told = await run_in_threadpool(weekly.report_of, self._app, slug, week)
        kept = await run_in_threadpool(weekly.listed_weeks, self._app, slug)
        values = weekly_view(told, kept)
        return self._renderer.page(request, "weekly.html", signed_in=COOKIE in request.cookies, **values)

    async def listed(self, request: Request) -> Response:
        """Return the weeks that have a report, the latest first."""
        slug = await self._gatekeeper.reader(request)
        kept = await run_in_threadpool(weekly.listed_weeks, self._app, slug)
        return JSONResponse({"schema": 1, "project": slug, "weeks": kept})

    async def report(self, request: Request) -> Response:
        """Return the report of a week, as JSON or as Markdown."""
        slug = await self._gatekeeper.reader(request)
        form = request.query_params.get("format", "json")
        if form not in ("json", "markdown"):
            raise BadInput(f"There is no format {form!r} of a weekly report.", mend="Ask for json or markdown.")
        told = await run_in_threadpool(weekly.report_of, self._app, slug, request.path_params["week"])
        if form == "json":
            return JSONResponse(told)
        text = weekly_text.markdown(told, address=self._app.people.address)
        return Response(text, media_type="text/markdown")
