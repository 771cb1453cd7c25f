"""The list of quarantined tests, on which an admin does the same for several that are chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from quarantine.domain.notice import Action
from quarantine.domain.outcome import Mode, Status
from quarantine.errors import BadInput, Busy, Conflict, NotFound, QuarantineError
from quarantine.policy.wording import plural
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.ownership import names_of_owners
from quarantine.services.quarantined_list import quarantined_list
from quarantine.store.tokens import Scope
from quarantine.web import problems
from quarantine.web.auth import COOKIE, Gatekeeper
from quarantine.web.deeds import DEEDS, Deed, Doing, Field, Mistyped, reason_field, until_field
from quarantine.web.list_views import list_view, wanted_of
from quarantine.web.rendering import Renderer
from quarantine.web.said import Said
from quarantine.web.sealing import Seal
from quarantine.web.sending import Received, Sending, new_form
from quarantine.web.snapshots import Snapshots

TOGETHER = (Action.ACKNOWLEDGE, Action.SNOOZE, Action.OWN, Action.RELEASE)
_LIST = "the list"


@dataclass(frozen=True, slots=True)
class _Sent:
    """A form that came back: what was typed and chosen, what was done, and what is wrong; None for nothing.

    Attributes:
        refused: (test, why) of each that was refused; what is wrong with the form as a whole is the `error` alone.
    """

    typed: Mapping[str, str] = field(default_factory=dict)
    chosen: Sequence[str] = ()
    done: Sequence[str] = ()
    refused: Sequence[tuple[str, QuarantineError]] = ()
    error: QuarantineError | None = None


class ManyTests:
    """The handlers of the list."""

    def __init__(self, app: App, gatekeeper: Gatekeeper, renderer: Renderer, snapshots: Snapshots) -> None:
        self._app = app
        self._gatekeeper = gatekeeper
        self._renderer = renderer
        self._snapshots = snapshots
        self._sending = Sending(app, gatekeeper)

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        at = "/projects/{project}/quarantined"
        return [Route(at, self.show), Route(at, self.act, methods=["POST"])]

    async def show(self, request: Request) -> Response:
        """Show the tests that are quarantined, held or broken, sorted and filtered as the query says."""
        slug, bearer = await self._gatekeeper.caller(request)
        bearer.require(Scope.READ)
        return await self._page(request, slug, bearer, _Sent())

    async def act(self, request: Request) -> Response:
        """Do the same for every chosen test, and say of each what became of it."""
        form = await self._sending.received(request, several=("test",))
        opened = form.opened(_LIST)
        typed = {name: values[0] for name, values in form.fields.items() if name != "test"}
        sent = _Sent(typed, tuple(dict.fromkeys(form.fields.get("test", ()))))
        try:
            form.require_fresh(opened)
            deed = _deed_of(typed.get("answer", ""), sent.chosen)
            done: list[str] = []
            refused: list[tuple[str, QuarantineError]] = []
            each = partial(self._each, form, deed, sent, done, refused)
            said = await run_in_threadpool(self._sending.once, form.slug, opened["nonce"], each)
        except (BadInput, Conflict, Busy, NotFound) as error:
            sent = _Sent(typed, sent.chosen, error=error)
            return await self._page(request, form.slug, form.bearer, sent)
        self._snapshots.forget(form.slug)
        if refused:
            left = [test for test, _ in refused]
            return await self._page(request, form.slug, form.bearer, _Sent(typed, left, done, refused, refused[0][1]))
        view = list_view(await self._told(request, form.slug), wanted_of(request.query_params))
        return Said(form.seal, form.slug).then(request, _path(form.slug), said, query=view["list_query"])

    def _each(
        self,
        form: Received,
        deed: Deed,
        sent: _Sent,
        done: list[str],
        refused: list[tuple[str, QuarantineError]],
    ) -> str:
        """Do it for each, and note its name or why not; raises what is wrong with the form, or with every test."""
        for test in sent.chosen:
            doing = Doing(app=self._app, slug=form.slug, test=test, bearer=form.bearer, said=sent.typed)
            try:
                done.append(deed.act(doing))
            except Mistyped:
                raise
            except (BadInput, Conflict, Busy, NotFound) as error:
                refused.append((test, error))
        if len(done) == 1 and not refused:
            return done[0]
        return f"{deed.title}: done for {plural(len(done), 'test')}. {' '.join(done)}"

    async def _told(self, request: Request, slug: str) -> dict[str, Any]:
        wanted = wanted_of(request.query_params)
        owners = partial(names_of_owners, self._app)
        return await run_in_threadpool(quarantined_list, self._app, slug, wanted, owners=owners)

    async def _page(self, request: Request, slug: str, bearer: Bearer, sent: _Sent) -> Response:
        wanted = wanted_of(request.query_params)
        told = await self._told(request, slug)
        values = list_view(told, wanted) | {"said": "", "together": None}
        seal = await self._sending.seal_for(request, slug, bearer)
        if seal is not None:
            values["said"] = Said(seal, slug).of(request, _path(slug))
            values["together"] = self._together(seal, slug, told, wanted.status, sent)
        answer = self._renderer.page(
            request,
            "quarantined.html",
            status=200 if sent.error is None else problems.status_of(sent.error),
            signed_in=COOKIE in request.cookies,
            **values,
        )
        if seal is not None and values["said"]:
            Said(seal, slug).forget(request, answer)
        return answer

    def _together(
        self, seal: Seal, slug: str, told: Mapping[str, Any], status: Status, sent: _Sent
    ) -> dict[str, Any] | None:
        """Return the form below the list; None where nothing can be done for several."""
        ladder = self._app.people.of(slug).ladder
        answerable = status is Status.QUARANTINED and told["mode"] == Mode.ENFORCE
        deeds = [DEEDS[action.value] for action in TOGETHER if answerable or action is Action.RELEASE]
        if status is Status.BROKEN or not (told["rows"] or sent.error):
            return None
        until = until_field(self._app.clock(), max(ladder.snooze_days, ladder.own_days), needed=False)
        which = Field(
            name="answer", kind="choice", label="What?", options=tuple((deed.name, deed.title) for deed in deeds)
        )
        snoozed = f"for a snooze, at most {plural(int(ladder.snooze_days), 'day')} off, and for a responsibility"
        why = replace(reason_field("Why?", needed=False), unless="a snooze and a release need it")
        fields = [which, *([replace(until, unless=snoozed)] if answerable and until is not None else []), why]
        wrong = sent.error.field if isinstance(sent.error, Mistyped) else ""
        names = {row["test"]: row["name"] for row in told["rows"]}
        refused = [(names.get(test, test), error.message, error.mend) for test, error in sent.refused]
        error = sent.error and {"message": sent.error.message, "mend": sent.error.mend, "field": wrong}
        return {
            "form": new_form(seal, _LIST),
            "fields": fields,
            "typed": sent.typed,
            "chosen": set(sent.chosen),
            "error": error,
            "done": sent.done,
            "refused": refused,
        }


def _path(slug: str) -> str:
    return f"/projects/{slug}/quarantined"


def _deed_of(name: str, chosen: Sequence[str]) -> Deed:
    """Return what is to be done; raises Mistyped when nothing is, or for no test."""
    if name not in set(TOGETHER):
        raise Mistyped("answer", "It needs to be said what to do.", mend="Choose one of the answers.")
    if not chosen:
        raise Mistyped("test", "No test is chosen.", mend="Tick those that are meant.")
    return DEEDS[name]
