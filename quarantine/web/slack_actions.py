"""The one route that Slack calls: buttons that were pressed and dialogues that were filled in.

A request counts when Slack signed it, within the last five minutes, and once. Who pressed it is mapped to a role by the
settings, never by what the request says of itself; every answer is audited by the service that keeps it.
"""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.domain.notice import Action
from quarantine.errors import BadInput, Conflict, NotAllowed
from quarantine.services import answering
from quarantine.services.access import Bearer, of_slack
from quarantine.services.answering import Whence
from quarantine.services.app import App
from quarantine.slack.messages import question
from quarantine.slack.notices import ACTION_PREFIX, value_read
from quarantine.slack.sending import Bot, Sent
from quarantine.slack.signing import MOST_BYTES, Press, Submission, digest_of, pressed, verify
from quarantine.web.problems import TooLarge
from quarantine.web.snapshots import Snapshots
from quarantine.web.uploads import bounded_body

_TITLES = {Action.SNOOZE: "Snooze", Action.OWN: "I own it", Action.RELEASE: "Let it gate again"}
_REASONS = {
    Action.SNOOZE: "What will have changed by then?",
    Action.OWN: "What will you do about it?",
    Action.RELEASE: "Why may it gate again?",
}


class SlackActions:
    """The handler."""

    def __init__(self, app: App, snapshots: Snapshots) -> None:
        self.app = app
        self.snapshots = snapshots

    def routes(self) -> list[Route]:
        """Return the route."""
        return [Route("/slack/actions", self.act, methods=["POST"])]

    async def act(self, request: Request) -> Response:
        """Do what was pressed."""
        too_large = TooLarge(f"The request is larger than {MOST_BYTES // 1024} KiB.", mend="Slack sends no such one.")
        body = await bounded_body(request, MOST_BYTES, too_large)
        timestamp = request.headers.get("x-slack-request-timestamp", "")
        signature = request.headers.get("x-slack-signature", "")
        return JSONResponse(await run_in_threadpool(self._act, body, timestamp, signature))

    def _act(self, body: bytes, timestamp: str, signature: str) -> dict[str, Any]:
        secret = self.app.people.signing_secret
        if secret is None:
            raise NotAllowed(
                "This server knows no Slack app, so it believes no press of a button.",
                mend="Set QUARANTINE_SLACK_SIGNING_SECRET to the app's signing secret.",
            )
        verify(secret, body, timestamp=timestamp, signature=signature, now=self.app.clock())
        found = pressed(body)
        if isinstance(found, Press):
            return self._pressed(found, digest_of(signature))
        return self._submitted(found, digest_of(signature))

    def _pressed(self, press: Press, digest: str) -> dict[str, Any]:
        """Keep an acknowledgement; ask for the reason of anything else."""
        action = _action(press.action)
        slug, test = _about(press.value)
        bearer = self._bearer(press.user_id, press.user_name)
        if action is Action.ACKNOWLEDGE:
            whence = Whence(digest, press.channel_id, press.message_ts)
            answering.answer(self.app, slug, test, action, bearer=bearer, whence=whence)
            return {}
        answering.require_may(action, bearer)
        answering.heed_once(self.app, slug, digest)
        ladder = self.app.people.of(slug).ladder
        most = {Action.SNOOZE: ladder.snooze_days, Action.OWN: ladder.own_days}.get(action)
        view = question(
            _TITLES[action],
            callback=f"{ACTION_PREFIX}{action.value}",
            private=f"{press.value} {press.channel_id} {press.message_ts}",
            reason_label=_REASONS[action],
            days=("For how many days?", int(most)) if most else None,
        )
        if not isinstance(self.app.slack, Bot):
            raise Conflict("Without a bot token no dialogue can be opened.", mend="Answer on the test's page.")
        opened = self.app.slack.open_view(press.trigger_id, view)
        if not isinstance(opened, Sent):
            raise Conflict("Slack could not open the dialogue.", mend="Press the button again.")
        return {}

    def _submitted(self, filled: Submission, digest: str) -> dict[str, Any]:
        """Keep what was filled in; what breaks a rule is shown in the dialogue, beside what it is about."""
        action = _action(filled.callback)
        value, channel, ts = filled.private.rsplit(" ", 2) if filled.private.count(" ") == _SPACES else ("", "", "")
        slug, test = _about(value)
        bearer = self._bearer(filled.user_id, filled.user_name)
        days = float(filled.days) if filled.days.isdigit() and len(filled.days) < _DIGITS else None
        try:
            answering.answer(
                self.app, slug, test, action,
                bearer=bearer, reason=filled.reason, days=days, whence=Whence(digest, channel, ts),
            )  # fmt: skip
        except (BadInput, Conflict) as error:
            return {"response_action": "errors", "errors": {"reason": str(error)}}
        self.snapshots.forget(slug)
        return {}

    def _bearer(self, user_id: str, user_name: str) -> Bearer:
        """Return who a Slack user is here; raises NotAllowed for one who may not answer."""
        people = self.app.people
        is_admin = user_id in people.admins
        if not is_admin and people.members is not None and user_id not in people.members:
            raise NotAllowed(
                f"Slack user {user_id} may not answer.", mend="Name them among the members in the server's settings."
            )
        return of_slack(user_id, user_name, is_admin=is_admin)


_SPACES = 3
"""In what a dialogue carries: project, test, channel and message."""
_DIGITS = 5


def _action(name: str) -> Action:
    try:
        return Action(name.removeprefix(ACTION_PREFIX))
    except ValueError as error:
        raise BadInput(f"There is no button {name[:60]!r}.", mend="Was the message made by another app?") from error


def _about(value: str) -> tuple[str, str]:
    try:
        return value_read(value)
    except ValueError as error:
        raise BadInput("The button does not say which test it is about.", mend="Answer on the test's page.") from error
