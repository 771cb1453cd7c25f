"""Sending: one call, one frozen answer. Nothing is tried twice here; whoever sends decides that.

A try that ended unclear (the connection dropped, no answer came in time, the server failed) may have arrived: it is
`Ambiguous`, and can be looked up by the key that the message carries in its metadata.
"""

import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from quarantine.clock import Clock
from quarantine.domain.sending import Ambiguous, Failed, Later, Sending, Sent
from quarantine.slack.mending import PASSING, mend_of
from quarantine.slack.messages import Block, Message
from quarantine.slack.text import cut, one_line

__all__ = ["Ambiguous", "Bot", "Capabilities", "Failed", "Later", "Sending", "Sent", "Webhook", "wait_of"]

TIMEOUT_S = 10
EVENT = "quarantine_notice"
LONGEST_WAIT_S = 3_600.0
_DEFAULT_WAIT_S = 30.0
_TOO_MANY, _SERVER = 429, 500
_LOOKED_THROUGH = 200
_ALTERNATIVE = 1_000
"""Characters that Slack keeps as a file's words for those who do not see it."""
_SINCE_S = 300.0
"""How much earlier than we think a message may have been sent: clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a way to Slack can do besides posting."""

    threads: bool = True
    updates: bool = True
    look_ups: bool = True
    buttons: bool = True
    pictures: bool = True


@dataclass(slots=True)
class Bot:
    """Slack by a bot token. `wait` is how the seconds pass until Slack can show a picture that it has just got."""

    token: str = field(repr=False)
    url: str
    clock: Clock
    timeout_s: int = TIMEOUT_S
    capabilities: Capabilities = field(default_factory=Capabilities)
    wait: Callable[[float], None] = time.sleep

    def post(self, channel: str, message: Message, *, key: str, thread: str | None = None) -> Sending:
        """Post a message, in a thread where one is named."""
        metadata = {"event_type": EVENT, "event_payload": {"key": key}}
        return self._sent(
            lambda client: client.chat_postMessage(
                channel=channel,
                thread_ts=thread,
                text=message.text,
                blocks=list(message.blocks),
                metadata=metadata,
                mrkdwn=False,
                parse="none",
                link_names=False,
                unfurl_links=False,
                unfurl_media=False,
            )
        )

    def update(self, channel_id: str, ts: str, message: Message, *, key: str) -> Sending:
        """Replace a message; doing it twice is doing it once. `key` is the one it was posted with."""
        metadata = {"event_type": EVENT, "event_payload": {"key": key}}
        return self._sent(
            lambda client: client.chat_update(
                channel=channel_id,
                ts=ts,
                text=message.text,
                blocks=list(message.blocks),
                metadata=metadata,
                parse="none",
                link_names=False,
            )
        )

    def find(self, channel_id: str, key: str, *, since: datetime, thread: str | None = None) -> Sending | None:
        """Look a message up by its key; None when it has not arrived. A failed look-up says so as a sending does."""
        oldest = f"{since.timestamp() - _SINCE_S:.6f}"
        said: dict[str, Any] = {"limit": _LOOKED_THROUGH, "oldest": oldest, "include_all_metadata": True}
        cursor: str | None = None
        while True:
            answer = self._asked(
                lambda client, at=cursor: self._page(client, channel_id, thread, {**said, "cursor": at})
            )
            if not isinstance(answer, Mapping):
                return answer
            for found in answer.get("messages", ()):
                if found.get("metadata", {}).get("event_payload", {}).get("key") == key:
                    return Sent(channel_id, str(found["ts"]))
            cursor = str(answer.get("response_metadata", {}).get("next_cursor") or "")
            if not cursor:
                return None

    @staticmethod
    def _page(client: WebClient, channel_id: str, thread: str | None, said: dict[str, Any]) -> Any:
        said = {name: value for name, value in said.items() if value is not None}
        if thread is None:
            return client.conversations_history(channel=channel_id, **said)
        return client.conversations_replies(channel=channel_id, ts=thread, **said)

    def direct_channel(self, person: str) -> "str | Sending":
        """Return the id of the channel in which the bot talks to one person, by the person's id."""
        answer = self._asked(lambda client: client.conversations_open(users=[person]))
        return str(answer["channel"]["id"]) if isinstance(answer, Mapping) else answer

    def upload(self, content: bytes, *, name: str, title: str, alternative: str) -> "str | Sending":
        """Put a picture into the workspace, shown to nobody yet, and return its id; a message can then hold it.

        Doing it again makes another file, which does no harm. An unclear end is `Ambiguous` about the file alone.
        """
        told = cut(one_line(alternative), _ALTERNATIVE)
        place = self._asked(
            lambda client: client.files_getUploadURLExternal(filename=name, length=len(content), alt_txt=told)
        )
        if not isinstance(place, Mapping):
            return place
        url, file_id = _text(place.get("upload_url")), _text(place.get("file_id"))
        if url is None or file_id is None or not url.startswith(("https://", "http://")):
            return Ambiguous("Slack named no place to upload to.")
        put = self._put(url, content)
        if put is not None:
            return put
        files: list[dict[str, str | None]] = [{"id": file_id, "title": title}]
        ended = self._asked(lambda client: client.files_completeUploadExternal(files=files))
        return file_id if isinstance(ended, Mapping) else ended

    def _put(self, url: str, content: bytes) -> Sending | None:
        """Send a file's bytes to where Slack wants them; None when they are there."""
        headers = {"Content-Type": "application/octet-stream"}
        request = Request(url, content, headers, method="POST")  # noqa: S310 - http or https, checked by the caller
        try:
            with urlopen(request, timeout=self.timeout_s) as answer:  # noqa: S310 - the same
                answer.read(_LOOKED_THROUGH)
        except HTTPError as error:
            if error.code == _TOO_MANY:
                return Later(wait_of(dict(error.headers), self.clock()))
            return _broken_off(error)
        except (OSError, HTTPException) as error:
            return _broken_off(error)
        return None

    def open_view(self, trigger_id: str, view: Block) -> Sending:
        """Open a dialogue for whoever has just pressed a button."""
        return self._sent(lambda client: client.views_open(trigger_id=trigger_id, view=view))

    def whoami(self) -> Mapping[str, Any] | Sending:
        """Return who the token belongs to: `team`, `user`, `bot_id`."""
        return self._asked(lambda client: client.auth_test())

    def _client(self) -> WebClient:
        return WebClient(token=self.token, base_url=self.url, timeout=self.timeout_s, retry_handlers=[])

    def _sent(self, call: Callable[[WebClient], Any]) -> Sending:
        answer = self._asked(call)
        if not isinstance(answer, Mapping):
            return answer
        return Sent(_text(answer.get("channel")), _text(answer.get("ts")))

    def _asked(self, call: Callable[..., Any]) -> "Mapping[str, Any] | Sending":
        try:
            data = call(self._client()).data
        except SlackApiError as error:
            return _refused(error, self.clock())
        except (OSError, HTTPException) as error:
            return _broken_off(error)
        return data if isinstance(data, dict) else Ambiguous("Slack's answer is no JSON object.")


@dataclass(slots=True)
class Webhook:
    """Slack by an incoming webhook: it posts to the one channel that it was made for, and learns nothing of it."""

    url: str = field(repr=False)
    clock: Clock
    timeout_s: int = TIMEOUT_S
    capabilities: Capabilities = field(
        default_factory=lambda: Capabilities(
            threads=False, updates=False, look_ups=False, buttons=False, pictures=False
        )
    )

    def post(self, channel: str, message: Message, *, key: str, thread: str | None = None) -> Sending:  # noqa: ARG002 - as Bot.post; a webhook has its own channel
        """Post a message to the webhook's channel."""
        try:
            client = WebhookClient(self.url, timeout=self.timeout_s, retry_handlers=[])
            answer = client.send(text=message.text, blocks=list(message.blocks), unfurl_links=False, unfurl_media=False)
        except (OSError, HTTPException) as error:
            return _broken_off(error)
        if answer.status_code == _TOO_MANY:
            return Later(wait_of(answer.headers, self.clock()))
        if answer.status_code >= _SERVER:
            return Ambiguous(f"Slack answered {answer.status_code}.")
        code = answer.body.strip()[:64]
        return Sent(None, None) if code == "ok" else Failed(code, mend_of(code), permanent=code not in PASSING)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _refused(error: SlackApiError, now: datetime) -> Sending:
    status = getattr(error.response, "status_code", 200)
    if status == _TOO_MANY:
        return Later(wait_of(error.response.headers, now))
    if status >= _SERVER:
        return Ambiguous(f"Slack answered {status}.")
    data = error.response.data
    code = str(data.get("error", "unknown_error")) if isinstance(data, dict) else "no_json"
    if code in PASSING:
        return Later(_DEFAULT_WAIT_S) if code.startswith("rate") else Ambiguous(f"Slack answered {code}.")
    return Failed(code[:64], mend_of(code), permanent=True)


def _broken_off(error: Exception) -> Sending:
    """Return what a connection's end means: refused and unknown names were before anything was sent."""
    cause = error.reason if isinstance(error, URLError) and not isinstance(error, HTTPError) else error
    if isinstance(cause, (ConnectionRefusedError, socket.gaierror)):
        return Failed("unreachable", "Slack cannot be reached from here. It is tried again.", permanent=False)
    if isinstance(error, HTTPError) and error.code < _SERVER:
        return Failed(f"http-{error.code}", "The upload was refused. It is tried again.", permanent=False)
    return Ambiguous(f"{type(cause).__name__}: the connection ended before an answer came.")


def wait_of(headers: Mapping[str, Any], now: datetime) -> float:
    """Return the seconds that Retry-After asks for, by number or date: at most an hour, half a minute when unclear."""
    found: Any = next((value for name, value in headers.items() if name.lower() == "retry-after"), "")
    stated = str(found[0] if isinstance(found, (list, tuple)) and found else found).strip()
    try:
        wait = float(stated)
    except ValueError:
        wait = _until(stated, now)
    if not wait >= 0:
        wait = _DEFAULT_WAIT_S
    return min(max(wait, 1.0), LONGEST_WAIT_S)


def _until(stated: str, now: datetime) -> float:
    try:
        return (parsedate_to_datetime(stated) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return -1.0
