"""The page of one test: shown to whoever may read it, with forms for whoever is signed in as an admin.

A form counts when a page of ours sent it, from the sign-in it was shown to, within some hours, and once. What happens
is done by the service that a button in Slack or a verb of the shell would call, in the name of the token.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from quarantine.errors import BadInput, Busy, Conflict, QuarantineError
from quarantine.services import answering
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.choices import Choices, choices
from quarantine.services.company import in_company
from quarantine.store.tokens import Scope
from quarantine.web import problems
from quarantine.web.auth import COOKIE, Gatekeeper, session_of
from quarantine.web.deeds import DEEDS, Deed, Doing, Offer
from quarantine.web.posted import posted, require_own
from quarantine.web.rendering import Renderer
from quarantine.web.said import Said
from quarantine.web.sealing import FORM_LIVES, Seal, Seals
from quarantine.web.snapshots import Snapshots
from quarantine.web.views import test_view

_AGAIN = "Look at how the test stands now, and send it again if you still mean it."
_TWICE = "This form was sent twice, and counts once. The page shows how the test stands."


@dataclass(frozen=True, slots=True)
class _Sent:
    """A form that came back: which one, what was typed, and what is wrong with it; None for nothing."""

    deed: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)
    error: QuarantineError | None = None


class OneTest:
    """The handlers of the page."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, renderer: Renderer, snapshots: Snapshots) -> None:
        self._app = app
        self._gatekeeper = gatekeeper
        self._renderer = renderer
        self._snapshots = snapshots
        self._seals = Seals(app)

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        at = "/projects/{project}/tests/{test:name}"
        return [Route(at, self.show), Route(at, self.act, methods=["POST"])]

    async def show(self, request: Request) -> Response:
        """Show where the test stands in each variant, the evidence, what failed with it, and what can be done."""
        slug, bearer = await self._gatekeeper.caller(request)
        bearer.require(Scope.READ)
        asked = _Sent(request.query_params.get("answer", ""))
        return await self._page(request, slug, request.path_params["test"], bearer, asked)

    async def act(self, request: Request) -> Response:
        """Do what a form asks for, and go back to the page, which says what was done; or show what is wrong."""
        require_own(request, self._app.people.address)
        slug: str = request.path_params["project"]
        session, bearer = await self._gatekeeper.signed_in(request, slug)
        bearer.require(Scope.ADMIN)
        typed = {name: values[0] for name, values in (await posted(request)).items()}
        deed = DEEDS.get(typed.get("answer", ""))
        if deed is None:
            raise HTTPException(400, "The form does not say what to do")
        seal = await run_in_threadpool(self._seals.of, slug, session)
        found = await run_in_threadpool(choices, self._app, slug, request.path_params["test"])
        opened = seal.opened(f"form {found.test}", typed.pop("form", ""))
        if opened is None:
            raise HTTPException(403, "The form was not made for this sign-in")
        doing = Doing(app=self._app, slug=slug, test=found.test, bearer=bearer, said=typed)
        try:
            _require_fresh(seal, opened)
            _require_same(deed, found, opened, self._app)
            done = await run_in_threadpool(self._once, deed, doing, opened["nonce"])
        except (BadInput, Conflict, Busy) as error:
            return await self._page(request, slug, found.test, bearer, _Sent(deed.name, typed, error))
        self._snapshots.forget(slug)
        return Said(seal, slug).then(request, f"/projects/{slug}/tests/{found.test}", done)

    def _once(self, deed: Deed, doing: Doing, nonce: str) -> str:
        """Do it unless this very form was heeded before; one that is refused is as if it had not been sent."""
        digest = hashlib.sha256(f"{nonce} {deed.name}".encode()).hexdigest()
        try:
            answering.heed_once(doing.app, doing.slug, digest)
        except Conflict:
            return _TWICE
        try:
            return deed.act(doing)
        except QuarantineError:
            answering.unheed(doing.app, doing.slug, digest)
            raise

    async def _page(self, request: Request, slug: str, name: str, bearer: Bearer, sent: _Sent) -> Response:
        found = await run_in_threadpool(in_company, self._app, slug, name)
        path, session = f"/projects/{slug}/tests/{found['test']}", session_of(request)
        values = test_view(found, self._app.clock().isoformat())
        values |= {"said": "", "path": path, "asked": sent.deed if sent.deed in DEEDS else "", "forms": None}
        values |= {"is_open": bearer.token_id is None, "error": None}
        status = 200 if sent.error is None else problems.status_of(sent.error)
        is_admin = Scope.ADMIN in bearer.scopes and session is not None
        if not is_admin or session is None:
            return self._render(request, status, values)
        seal = await run_in_threadpool(self._seals.of, slug, session)
        stands = await run_in_threadpool(choices, self._app, slug, found["test"])
        said = Said(seal, slug)
        forms = self._forms(stands, sent)
        values |= {"said": said.of(request, path), "forms": forms, "form": _new_form(seal, stands)}
        if sent.error is not None:
            offer = next((one["offer"] for one in forms if one["is_open"]), None)
            values["error"] = _told(sent.error, offer, sent.typed)
        answer = self._render(request, status, values)
        if values["said"]:
            said.forget(request, answer)
        return answer

    def _forms(self, stands: Choices, sent: _Sent) -> list[dict[str, Any]]:
        """Return what is offered as the test stands, each with what was typed into it."""
        now, found = self._app.clock(), []
        for deed in DEEDS.values():
            offer = deed.offer(stands, now)
            if offer is not None:
                is_this = deed.name == sent.deed
                found.append({"deed": deed, "offer": offer, "is_open": is_this, "typed": sent.typed if is_this else {}})
        return found

    def _render(self, request: Request, status: int, values: Mapping[str, Any]) -> Response:
        return self._renderer.page(request, "test.html", status=status, signed_in=COOKIE in request.cookies, **values)


def _require_fresh(seal: Seal, opened: Mapping[str, Any]) -> None:
    if not seal.is_fresh(opened, FORM_LIVES):
        raise Conflict("The form was open for too long.", mend=_AGAIN)


def _require_same(deed: Deed, found: Choices, opened: Mapping[str, Any], app: App) -> None:
    """Raise Conflict when the test has moved on under the form; the service refuses better what is possible no more."""
    if opened["mark"] != found.mark and deed.offer(found, app.clock()) is not None:
        raise Conflict("Somebody decided or answered something while the form was open.", mend=_AGAIN)


def _new_form(seal: Seal, stands: Choices) -> str:
    return seal.closed(f"form {stands.test}", {"nonce": secrets.token_urlsafe(12), "mark": stands.mark})


def _told(error: QuarantineError, offer: Offer | None, typed: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with a form that came back; `field` is "" for the whole of it, `typed` the reason."""
    field_name = offer.wrong(error, typed) if offer is not None else ""
    said = typed.get("reason", "").strip()
    return {"message": error.message, "mend": error.mend, "field": field_name, "typed": said}
