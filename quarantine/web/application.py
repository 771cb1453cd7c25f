"""The ASGI application: routes, error answers and the headers that every answer carries."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware

from quarantine.domain.outcome import Lane
from quarantine.services.app import App
from quarantine.shipped import resource
from quarantine.web import convertors
from quarantine.web.aliases import AliasApi
from quarantine.web.api import Api
from quarantine.web.auth import Gatekeeper
from quarantine.web.headers import SafeHeaders
from quarantine.web.impacted import ImpactedApi
from quarantine.web.pages import Pages
from quarantine.web.planning import PlanningApi
from quarantine.web.reach import ReachApi
from quarantine.web.refusals import Refusals
from quarantine.web.rendering import Renderer
from quarantine.web.slack_actions import SlackActions
from quarantine.web.snapshots import Snapshots
from quarantine.web.verdicts import VerdictApi


def create_web(app: App, *, open_lane: Lane | None = None, templates: Path | None = None) -> Starlette:
    """Return the application.

    Args:
        app: the product.
        open_lane: the lane of reports without a token, for a loopback bind while no token exists; None when every
            request needs a token.
        templates: a folder whose templates stand in for ours of the same name.

    Raises BadConfiguration when there is no folder `templates`.
    """
    convertors.register()
    gatekeeper = Gatekeeper(app, is_open=open_lane is not None, open_lane=open_lane)
    snapshots = Snapshots(app)
    pages = Pages(app, gatekeeper, Renderer(resource("templates"), templates), snapshots)
    api = [
        *AliasApi(app, gatekeeper, snapshots).routes(),
        *Api(app, gatekeeper, snapshots).routes(),
        *ReachApi(app, gatekeeper).routes(),
        *ImpactedApi(app, gatekeeper).routes(),
        *PlanningApi(app, gatekeeper).routes(),
        *VerdictApi(app, gatekeeper, snapshots).routes(),
        *SlackActions(app, snapshots).routes(),
    ]
    return Starlette(
        routes=[*api, *pages.routes()],
        middleware=[Middleware(SafeHeaders)],
        exception_handlers=Refusals(pages.renderer).handlers(),
    )
