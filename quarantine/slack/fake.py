"""A server that plays Slack over real HTTP: it keeps what is posted, checks it as Slack does, and fails when told to.

It ships with the product, so that a team can see what their channel would be told before there is an app, and the tests
can drop connections where Slack would not do it on request.
"""

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from quarantine.clock import system_clock
from quarantine.slack.fake_methods import METHODS, File, no

__all__ = ["FakeSlack", "Fault", "serving"]

TOKEN, SIGNING_SECRET = "xoxb-fake", "fake-signing-secret"
_BODY_BYTES = 20 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """How the next call of a method goes wrong.

    Attributes:
        method: which, such as `chat.postMessage`; `webhook` for the incoming webhook, `upload` for a file's bytes.
        channel: only for this channel; "" for any.
        status: answer with this HTTP status and do nothing; 0 does not.
        retry_after: with 429, what the header says; None leaves it out.
        error: answer with this error code and do nothing.
        drop: end the connection `before` anything is done, or `after` it was done, without an answer.
        delay_s: wait so long before the answer, after everything was done; where `drop` is `before`, before.
    """

    method: str = "chat.postMessage"
    channel: str = ""
    status: int = 0
    retry_after: str | None = None
    error: str = ""
    drop: str = ""
    delay_s: float = 0.0


class _Dropped(Exception):
    """The connection ends here."""


@dataclass(slots=True)
class FakeSlack:
    """What the server knows. Guarded by `lock`.

    Attributes:
        channels: id to name; posting elsewhere is `channel_not_found`.
        messages: every message by channel, in order: what was posted, with `ts` and `thread_ts`.
        calls: (method, arguments) of every call, refused ones included.
        faults: what goes wrong next; each is used once, in order, by the first call that it is about.
        views: dialogues that were opened.
        files: what was uploaded, by id; a message shows a file that is whole, and `usable_after_s` old.
        actions_url: where presses of buttons are sent, by the page.
    """

    channels: dict[str, str] = field(default_factory=lambda: {"C0LEDGER": "ledger", "C0OTHER": "other"})
    messages: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    faults: deque[Fault] = field(default_factory=deque)
    views: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, File] = field(default_factory=dict)
    usable_after_s: float = 0.0
    clock: Callable[[], datetime] = system_clock
    is_open: bool = False
    """Whether any channel is there as soon as something is posted to it, as the command does it."""
    actions_url: str = ""
    address: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)
    _counter: int = 0

    def texts(self, channel: str) -> list[str]:
        """Return the notification lines of a channel's messages, in order."""
        with self.lock:
            return [message["text"] for message in self.messages.get(channel, ())]

    def call(self, method: str, values: dict[str, Any]) -> dict[str, Any]:
        """Answer a call of Slack's API; an error is `{"ok": False, "error": CODE}`."""
        with self.lock:
            self.calls.append((method, values))
            handler = METHODS.get(method)
            if handler is None:
                return no("unknown_method")
            return handler(self, values)

    def fault_of(self, method: str, values: Mapping[str, Any]) -> Fault | None:
        """Return, and use up, what is to go wrong with this call."""
        with self.lock:
            for fault in self.faults:
                if fault.method == method and fault.channel in ("", str(values.get("channel", ""))):
                    self.faults.remove(fault)
                    return fault
        return None

    def new_ts(self) -> str:
        """Return the name of a new message: seconds and a counter, growing."""
        self._counter += 1
        return f"{int(self.clock().timestamp())}.{self._counter:06d}"

    def has(self, channel: str) -> bool:
        """Return whether the channel is there."""
        if self.is_open and channel[:1] in ("C", "G", "D", "U", "W"):
            self.channels.setdefault(channel, channel)
        return channel in self.channels

    def signed(self, payload: Mapping[str, Any]) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers with which Slack would tell of a press."""
        body = urlencode({"payload": json.dumps(payload)}).encode()
        stamp = str(int(self.clock().timestamp()))
        base = b"v0:" + stamp.encode() + b":" + body
        signature = "v0=" + hmac.new(SIGNING_SECRET.encode(), base, hashlib.sha256).hexdigest()
        return body, {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature,
        }

    def press(self, channel: str, ts: str, action: str, *, user: str = "U0YOU") -> tuple[bytes, dict[str, str]]:
        """Return the signed request that pressing a button of a message sends; `action` is its id and value."""
        with self.lock:
            message = next(one for one in self.messages[channel] if one["ts"] == ts)
            buttons = [
                element
                for block in message.get("blocks", ())
                if block["type"] == "actions"
                for element in block["elements"]
            ]
        button = next(one for one in buttons if action in (one["action_id"], f"{one['action_id']} {one['value']}"))
        return self.signed(
            {
                "type": "block_actions",
                "user": {"id": user, "username": user.lower()},
                "container": {"type": "message", "channel_id": channel, "message_ts": ts},
                "trigger_id": secrets.token_hex(8),
                "actions": [{"action_id": button["action_id"], "value": button["value"], "type": "button"}],
            }
        )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    slack: FakeSlack


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    @property
    def slack(self) -> FakeSlack:
        """The server's state."""
        return cast("_Server", self.server).slack

    def log_message(self, *_args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer a call, a webhook, an upload or a press."""
        with suppress(_Dropped, ConnectionError, BrokenPipeError):
            self._post()

    def do_GET(self) -> None:
        """Show the page or a picture, or answer a call that reads."""
        with suppress(_Dropped, ConnectionError, BrokenPipeError):
            path = urlsplit(self.path)
            if path.path.startswith("/api/"):
                self._answer_call(path.path.removeprefix("/api/"), dict(parse_qsl(path.query)))
            else:
                self._page(path.path)

    def _page(self, path: str) -> None:
        from quarantine.slack import fake_page  # noqa: PLC0415 - only whoever looks needs it

        found = fake_page.page(self.slack, path)
        if found is None:
            self._send(404, b"not found", "text/plain")
        else:
            self._send(200, *found)

    def _post(self) -> None:
        path = urlsplit(self.path).path
        size = int(self.headers.get("Content-Length") or 0)
        if size > _BODY_BYTES:
            self._send(413, b"too large", "text/plain")
            return
        body = self.rfile.read(size)
        if path.startswith("/upload/"):
            self._upload(path.removeprefix("/upload/"), body)
        elif path.startswith("/services/"):
            self._webhook(json.loads(body))
        elif path == "/press":
            self._press(dict(parse_qsl(body.decode())))
        elif path == "/faults":
            self.slack.faults.extend(Fault(**fault) for fault in json.loads(body))
            self._send(200, b'{"ok": true}', "application/json")
        else:
            self._answer_call(path.removeprefix("/api/"), self._values(body))

    def _values(self, body: bytes) -> dict[str, Any]:
        if "json" in self.headers.get("Content-Type", ""):
            return dict(json.loads(body or b"{}"))
        values: dict[str, Any] = dict(parse_qsl(body.decode(), keep_blank_values=True))
        for name in ("blocks", "metadata", "files"):
            if isinstance(values.get(name), str):
                values[name] = json.loads(values[name])
        return values

    def _answer_call(self, method: str, values: dict[str, Any]) -> None:
        fault = self._before(method, values)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if not token:
            answer = no("not_authed")
        elif token != TOKEN:
            answer = no("invalid_auth")
        elif fault is not None and fault.error:
            answer = no(fault.error)
        else:
            answer = self.slack.call(method, values)
        self._after(fault)
        self._send(200, json.dumps(answer).encode(), "application/json")

    def _before(self, method: str, values: Mapping[str, Any]) -> Fault | None:
        """Do what a fault does before the call is acted on."""
        fault = self.slack.fault_of(method, values)
        if fault is None:
            return None
        if fault.drop == "before":
            time.sleep(fault.delay_s)
            self._drop()
        if fault.status:
            headers = {"Retry-After": fault.retry_after} if fault.retry_after is not None else {}
            self._send(fault.status, b'{"ok": false, "error": "ratelimited"}', "application/json", headers)
            raise _Dropped
        return fault

    def _after(self, fault: Fault | None) -> None:
        if fault is None:
            return
        time.sleep(fault.delay_s)
        if fault.drop == "after":
            self._drop()

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.close()
        raise _Dropped

    def _webhook(self, values: dict[str, Any]) -> None:
        values = {**values, "channel": "WEBHOOK"}
        fault = self._before("webhook", values)
        with self.slack.lock:
            self.slack.channels.setdefault("WEBHOOK", "webhook")
        answer = no(fault.error) if fault and fault.error else self.slack.call("chat.postMessage", values)
        self._after(fault)
        said = "ok" if answer["ok"] else str(answer["error"])
        self._send(200 if answer["ok"] else 404, said.encode(), "text/plain")

    def _upload(self, file_id: str, body: bytes) -> None:
        fault = self._before("upload", {})
        with self.slack.lock:
            found = self.slack.files.get(file_id)
            if found is not None:
                found.content = body
        self._after(fault)
        self._send(200 if found else 404, b"OK" if found else b"no such upload", "text/plain")

    def _press(self, values: dict[str, str]) -> None:
        from quarantine.slack import fake_page  # noqa: PLC0415 - only whoever looks needs it

        said = fake_page.pressed(self.slack, values)
        self._send(200, said, "text/html; charset=utf-8")

    def _send(self, status: int, body: bytes, media_type: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": media_type, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(slack: FakeSlack, port: int = 0) -> Iterator[str]:
    """Serve on this machine until the block ends, and yield the address; the API is below `/api/`."""
    server = _Server(("127.0.0.1", port), _Handler)
    server.slack = slack
    slack.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield slack.address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
