"""The pages: server-rendered, readable without a script."""

from starlette.routing import BaseRoute

from quarantine.services.app import App
from quarantine.web.auth import Gatekeeper


class Pages:
    """The handlers of the pages."""

    def __init__(self, app: App, gatekeeper: Gatekeeper) -> None:
        self.app = app
        self.gatekeeper = gatekeeper

    def routes(self) -> list[BaseRoute]:
        """Return every page's route."""
        return []
