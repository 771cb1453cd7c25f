"""What Slack sends when somebody presses a button: is it from Slack, is it fresh, and what does it say?"""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

from slack_sdk.signature import Clock, SignatureVerifier

from quarantine.errors import BadInput, NotAllowed

__all__ = ["FRESH", "MOST_BYTES", "Press", "Submission", "digest_of", "pressed", "verify"]

FRESH = timedelta(minutes=5)
MOST_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """A button that was pressed. `action` and `value` are those of the button."""

    action: str
    value: str
    user_id: str
    user_name: str
    channel_id: str
    message_ts: str
    trigger_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A dialogue that was filled in. `private` is what it was opened with."""

    callback: str
    private: str
    user_id: str
    user_name: str
    reason: str
    days: str


class _At(Clock):
    """The instant a request is judged at."""

    def __init__(self, now: datetime) -> None:
        self._now = now.timestamp()

    def now(self) -> float:
        """Return it in seconds since the epoch."""
        return self._now


def verify(secret: str, body: bytes, *, timestamp: str, signature: str, now: datetime) -> None:
    """Return when Slack signed exactly this body within the last five minutes; raises NotAllowed else."""
    try:
        sent = int(timestamp)
    except ValueError:
        sent = -1
    if abs(now.timestamp() - sent) > FRESH.total_seconds():
        raise NotAllowed("The request's timestamp is not of the last five minutes.", mend="Check both clocks.")
    verifier = SignatureVerifier(secret, clock=_At(now))
    if not verifier.is_valid(body=body, timestamp=timestamp, signature=signature):
        raise NotAllowed(
            "The request is not signed by the Slack app that this server knows.",
            mend="Set QUARANTINE_SLACK_SIGNING_SECRET to the app's signing secret.",
        )


def digest_of(signature: str) -> str:
    """Return what a signed request is known by, to tell a replay."""
    return hashlib.sha256(signature.encode("utf-8", "replace")).hexdigest()


def pressed(body: bytes) -> Press | Submission:
    """Return what was pressed or filled in; raises BadInput for anything else."""
    try:
        payload = json.loads(parse_qs(body.decode(), strict_parsing=True, max_num_fields=10)["payload"][0])
        return _press(payload) if payload["type"] == "block_actions" else _submission(payload)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise BadInput(
            "The request is no press of a button.", mend="Point Slack's interactivity at /slack/actions."
        ) from error


def _press(payload: dict[str, Any]) -> Press:
    action, container = payload["actions"][0], payload.get("container", {})
    return Press(
        action=str(action["action_id"]),
        value=str(action.get("value", "")),
        user_id=str(payload["user"]["id"]),
        user_name=str(payload["user"].get("username") or payload["user"].get("name") or ""),
        channel_id=str(container.get("channel_id") or payload.get("channel", {}).get("id") or ""),
        message_ts=str(container.get("message_ts") or ""),
        trigger_id=str(payload.get("trigger_id") or ""),
    )


def _submission(payload: dict[str, Any]) -> Submission:
    if payload["type"] != "view_submission":
        raise ValueError("neither a button nor a dialogue")
    view = payload["view"]
    values = view["state"]["values"]
    return Submission(
        callback=str(view["callback_id"]),
        private=str(view.get("private_metadata", "")),
        user_id=str(payload["user"]["id"]),
        user_name=str(payload["user"].get("username") or payload["user"].get("name") or ""),
        reason=str(values.get("reason", {}).get("reason", {}).get("value") or ""),
        days=str(values.get("days", {}).get("days", {}).get("value") or ""),
    )
