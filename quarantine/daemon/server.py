"""Serving: binds first, so that a port in use is one clear line, then ticks and answers until told to stop."""

import ipaddress
import logging
import socket
from collections.abc import Callable, Sequence

import uvicorn
from starlette.applications import Starlette

from quarantine.daemon import jobs
from quarantine.daemon.spool import Spool
from quarantine.errors import BadConfiguration
from quarantine.services.app import App
from quarantine.store import tokens
from quarantine.store.engine import reading

BACKLOG = 2_048


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
    """Return a listening socket; raises BadConfiguration when the address cannot be had."""
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


def serve(
    app: App, web: Starlette, listener: socket.socket, spools: Sequence[Spool], *, ready: Callable[[], None]
) -> None:
    """Answer requests and run jobs until SIGINT or SIGTERM; `ready` is called before the first request is answered."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    scheduler = jobs.start(app, spools)
    try:
        ready()
        config = uvicorn.Config(
            web, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=10
        )
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        scheduler.shutdown(wait=True)
        app.engine.dispose()
