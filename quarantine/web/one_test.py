"""The page of one test: shown to whoever may read it, with forms for whoever is signed in as an admin.

A form counts when a page of ours sent it, from the sign-in it was shown to, within some hours, and once. What happens
is done by the service that a button in Slack or a verb of the shell would call, in the name of the token.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from quarantine.errors import BadInput, Busy, Conflict, QuarantineError
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.choices import Choices, choices
from quarantine.services.company import in_company
from quarantine.store.tokens import Scope
from quarantine.web import problems
from quarantine.web.auth import COOKIE, Gatekeeper
from quarantine.web.deeds import DEEDS, Deed, Doing, Offer
from quarantine.web.rendering import Renderer
from quarantine.web.said import Said
from quarantine.web.sending import Sending, new_form
from quarantine.web.snapshots import Snapshots
from quarantine.web.views import test_view

_AGAIN = "Look at how the test stands now, and send it again if you still mean it."


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
        self._sending = Sending(app, gatekeeper)

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
        form = await self._sending.received(request)
        typed = {name: values[0] for name, values in form.fields.items()}
        deed = DEEDS.get(typed.get("answer", ""))
        if deed is None:
            raise HTTPException(400, "The form does not say what to do")
        found = await run_in_threadpool(choices, self._app, form.slug, request.path_params["test"])
        opened = form.opened(found.test)
        doing = Doing(app=self._app, slug=form.slug, test=found.test, bearer=form.bearer, said=typed)
        try:
            form.require_fresh(opened)
            _require_same(deed, found, opened, self._app)
            key = f"{opened['nonce']} {deed.name}"
            done = await run_in_threadpool(self._sending.once, form.slug, key, partial(deed.act, doing))
        except (BadInput, Conflict, Busy) as error:
            return await self._page(request, form.slug, found.test, form.bearer, _Sent(deed.name, typed, error))
        self._snapshots.forget(form.slug)
        return Said(form.seal, form.slug).then(request, f"/projects/{form.slug}/tests/{found.test}", done)

    async def _page(self, request: Request, slug: str, name: str, bearer: Bearer, sent: _Sent) -> Response:
        found = await run_in_threadpool(in_company, self._app, slug, name)
        path = f"/projects/{slug}/tests/{found['test']}"
        values = test_view(found, self._app.clock().isoformat())
        values |= {"said": "", "path": path, "asked": sent.deed if sent.deed in DEEDS else "", "forms": None}
        values |= {"is_open": bearer.token_id is None, "error": None}
        seal = await self._sending.seal_for(request, slug, bearer)
        if seal is None:
            return self._render(request, 200, values)
        stands = await run_in_threadpool(choices, self._app, slug, found["test"])
        forms, said = self._forms(stands, sent), Said(seal, slug)
        values |= {"said": said.of(request, path), "forms": forms}
        values |= {"form": new_form(seal, stands.test, mark=stands.mark)}
        if sent.error is not None:
            offer = next((one["offer"] for one in forms if one["is_open"]), None)
            values["error"] = _told(sent.error, offer, sent.typed)
        answer = self._render(request, 200 if sent.error is None else problems.status_of(sent.error), values)
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


def _require_same(deed: Deed, found: Choices, opened: Mapping[str, Any], app: App) -> None:
    """Raise Conflict when the test has moved on under the form; the service refuses better what is possible no more."""
    if opened["mark"] != found.mark and deed.offer(found, app.clock()) is not None:
        raise Conflict("Somebody decided or answered something while the form was open.", mend=_AGAIN)


def _told(error: QuarantineError, offer: Offer | None, typed: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with a form that came back; `field` is "" for the whole of it, `typed` the reason."""
    field_name = offer.wrong(error, typed) if offer is not None else ""
    said = typed.get("reason", "").strip()
    return {"message": error.message, "mend": error.mend, "field": field_name, "typed": said}
