"""The daemon of the demo: the real application on SQLite, served over loopback, on a clock of its own."""

import json
import socket
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import uvicorn

from quarantine.bootstrap import build_app
from quarantine.client.target import Target
from quarantine.client.wire import exchange
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.daemon import server
from quarantine.domain.outcome import Lane
from quarantine.errors import QuarantineError
from quarantine.services import decisions
from quarantine.services.access import of_shell
from quarantine.services.app import App
from quarantine.web.application import create_web

__all__ = ["PROJECT", "Hosted", "ask", "hosted", "tell_reach"]

PROJECT = "ledger"
_HOST = "127.0.0.1"
_OWNER = of_shell("the demo")
_TIMEOUT_S = 30.0
_POLL_S = 0.01
_OK = range(200, 300)


@dataclass(frozen=True, slots=True)
class Hosted:
    """A running daemon with one project, and the clock it is told the time by."""

    app: App
    clock: FrozenClock
    url: str

    def target(self, scope: str, *, lane: Lane | None = None, change: str | None = None) -> Target:
        """Return the project as the bearer of a new token with this scope sees it."""
        secret = decisions.create_token(
            self.app,
            PROJECT,
            scope=scope,
            lane=lane.value if lane else None,
            change=change,
            label=" ".join(filter(None, [scope, lane, change])),
            lifetime=None,
            bearer=_OWNER,
        )
        return Target(self.url, PROJECT, secret)


@contextmanager
def hosted(database: Path, begins_at: datetime, *, port: int = 0) -> Iterator[Hosted]:
    """Yield a daemon that answers on loopback and knows the project; it has stopped afterwards.

    Args:
        database: the SQLite file to make.
        begins_at: where its clock stands at first.
        port: to listen on; 0 picks a free one.

    Raises BadConfiguration when the port cannot be had.
    """
    listener = server.bind(_HOST, port)
    clock = FrozenClock(begins_at)
    app = build_app(Settings.model_validate({"database": f"sqlite:///{database}"}), clock=clock, migrate=True)
    decisions.create_project(app, PROJECT, bearer=_OWNER)
    try:
        with _served(app, listener):
            yield Hosted(app, clock, f"http://{_HOST}:{listener.getsockname()[1]}")
    finally:
        app.engine.dispose()


@contextmanager
def _served(app: App, listener: socket.socket) -> Iterator[None]:
    config = uvicorn.Config(create_web(app), log_config=None, access_log=False, server_header=False)
    web = uvicorn.Server(config)
    thread = threading.Thread(target=web.run, args=[[listener]], name="demo-web")
    thread.start()
    try:
        while not web.started and thread.is_alive():
            time.sleep(_POLL_S)
        yield
    finally:
        web.should_exit = True
        thread.join()
        listener.close()


def ask(target: Target, resource: str, body: dict[str, Any] | None = None) -> Any:
    """Return the JSON the daemon answers for a resource; a body is posted to it. Raises QuarantineError."""
    return _asked(target, resource, None if body is None else json.dumps(body).encode(), "application/json")


def tell_reach(target: Target, tree: str, lines: Iterable[bytes]) -> Any:
    """Send what `quarantine reach add` sends: which files each test reached on a tree. Raises QuarantineError."""
    return _asked(target, f"reach?tree={tree}", b"".join(lines), "application/x-ndjson")


def _asked(target: Target, resource: str, data: bytes | None, kind: str) -> Any:
    method = "GET" if data is None else "POST"
    headers = {} if data is None else {"Content-Type": kind, "Content-Length": str(len(data))}
    reply = exchange(target, method, resource, headers=headers, body=[data] if data else None, timeout_s=_TIMEOUT_S)
    if reply.status not in _OK:
        raise QuarantineError(f"The daemon answered {method} {resource} with {reply.status}: {reply.body[:500]!r}.")
    return json.loads(reply.body)
