"""What every form that acts goes through: a page of ours sent it, for whoever is signed in as an admin, and once."""

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request

from quarantine.errors import Conflict, QuarantineError
from quarantine.services import answering
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.store.tokens import Scope
from quarantine.web.auth import Gatekeeper, header_token, session_of
from quarantine.web.posted import posted, require_own
from quarantine.web.sealing import FORM_LIVES, Seal, Seals

_TWICE = "This form was sent twice, and counts once. The page shows how things stand."


@dataclass(frozen=True, slots=True)
class Received:
    """A form that came in from a page of ours, its seal not yet looked at.

    Attributes:
        slug: the project.
        bearer: the admin who is signed in.
        seal: of that sign-in.
        fields: what the form says.
    """

    slug: str
    bearer: Bearer
    seal: Seal
    fields: Mapping[str, list[str]]

    def opened(self, about: str) -> dict[str, Any]:
        """Return what the page sealed into its forms about this; raises HTTPException when it was for somebody else."""
        opened = self.seal.opened(f"form {about}", self.fields.get("form", [""])[0])
        if opened is None:
            raise HTTPException(403, "The form was not made for this sign-in")
        return opened

    def require_fresh(self, opened: Mapping[str, Any]) -> None:
        """Raise Conflict when the page was open for too long."""
        if not self.seal.is_fresh(opened, FORM_LIVES):
            raise Conflict("The form was open for too long.", mend="Look at how things stand, and send it again.")


class Sending:
    """Seals forms into pages and takes them back."""

    def __init__(self, app: App, gatekeeper: Gatekeeper) -> None:
        self._app = app
        self._gatekeeper = gatekeeper
        self._seals = Seals(app)

    async def seal_for(self, request: Request, slug: str, bearer: Bearer) -> Seal | None:
        """Return the seal of whoever looks at a page and may act on it; None for anybody else. Raises NotFound."""
        session = session_of(request)
        if session is None or Scope.ADMIN not in bearer.scopes or header_token(request) is not None:
            return None
        return await run_in_threadpool(self._seals.of, slug, session)

    async def received(self, request: Request, *, several: Collection[str] = ()) -> Received:
        """Return a form of an admin; of the fields `several` it may say more than one.

        Raises:
            HTTPException: another site sent it, or it is no form.
            TokenNeeded, NotAllowed: whoever sent it is not signed in as an admin of the project.
            TooLarge: it is longer than any form of ours.
        """
        require_own(request, self._app.people.address)
        slug: str = request.path_params["project"]
        session, bearer = await self._gatekeeper.signed_in(request, slug)
        bearer.require(Scope.ADMIN)
        fields = await posted(request, several=several)
        seal = await run_in_threadpool(self._seals.of, slug, session)
        return Received(slug, bearer, seal, fields)

    def once(self, slug: str, form: str, act: Callable[[], str]) -> str:
        """Act, unless this form was heeded before, and return what was done.

        One that is refused is as if it had not been sent, so it can be sent again.
        """
        digest = hashlib.sha256(form.encode()).hexdigest()
        try:
            answering.heed_once(self._app, slug, digest)
        except Conflict:
            return _TWICE
        try:
            return act()
        except QuarantineError:
            answering.unheed(self._app, slug, digest)
            raise


def new_form(seal: Seal, about: str, *, mark: str = "") -> str:
    """Return what a page carries in its forms about something: a nonce, and the mark of how that stood."""
    return seal.closed(f"form {about}", {"nonce": secrets.token_urlsafe(12), "mark": mark})
