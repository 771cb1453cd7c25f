"""Serving: binds first, so that a port in use is one clear line, then ticks and answers until told to stop."""

import ipaddress
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette

from quarantine.daemon import jobs
from quarantine.daemon.spool import Spool
from quarantine.errors import BadConfiguration
from quarantine.services.app import App
from quarantine.store import tokens
from quarantine.store.engine import reading

BACKLOG = 2_048
GRACE_S = 10
"""How long requests that are being answered may take once the server was told to stop."""


def is_loopback(host: str) -> bool:
    """Return whether the address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def needs_tokens(app: App, host: str) -> bool:
    """Return whether requests need a token: they do once one exists, or beyond loopback.

    Raises BadConfiguration for a bind beyond loopback while no token exists.
    """
    with reading(app.engine) as connection:
        have = tokens.exist(connection)
    if not have and not is_loopback(host):
        raise BadConfiguration(
            f"{host} can be reached from other machines, and no token exists yet.",
            mend="Make one first: quarantine token create --project NAME --scope report --lane trunk.",
        )
    return have


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that callers wait from now on; raises BadConfiguration when it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host.strip("[]"), port))
        listener.listen(BACKLOG)  # from here on nobody is refused, only kept waiting
    except OSError as error:
        listener.close()
        raise BadConfiguration(
            f"Cannot listen on {host} port {port}: {error.strerror}.",
            mend="Stop what uses it, or choose another --port.",
        ) from error
    return listener


def url_of(host: str, listener: socket.socket) -> str:
    """Return the address to type in."""
    name = host.strip("[]")
    return f"http://{f'[{name}]' if ':' in name else name}:{listener.getsockname()[1]}"


def serve(
    app: App, web: Starlette, listener: socket.socket, spools: Sequence[Spool], *, ready: Callable[[], None]
) -> None:
    """Answer requests and run jobs until SIGINT or SIGTERM; `ready` is called when callers are heard.

    Raises BadConfiguration when a spool cannot be used, NotFound when its project is not there.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for talkative in ("apscheduler", "uvicorn"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
    options: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False}
    server = uvicorn.Server(uvicorn.Config(web, **options, backlog=BACKLOG, timeout_graceful_shutdown=GRACE_S))
    with _stopping_on_signals(server), closing(listener):
        ticking = jobs.Ticking(app, spools)
        try:
            ready()
            server.run(sockets=[listener])
        finally:
            ticking.stop()
            app.engine.dispose()


@contextmanager
def _stopping_on_signals(server: uvicorn.Server) -> Iterator[None]:
    """Let a signal end the server and nothing else: once it has ended, uvicorn sends itself the same signal again."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.should_exit = True

    earlier = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)
