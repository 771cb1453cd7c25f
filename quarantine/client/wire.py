"""One HTTP exchange, bounded in time and size. It uses no proxies and follows no redirects."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from quarantine.client.instants import monotonic_s
from quarantine.client.target import Target

MAX_ANSWER_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_TOO_SLOW = "the answer came too slowly"


class Unreachable(Exception):
    """No complete HTTP answer came; the text says what happened instead."""


class Reply:
    """What the daemon answered.

    Attributes:
        status: HTTP status code.
        headers: header names in lower case.
        body: at most `MAX_ANSWER_BYTES` bytes.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


def exchange(
    target: Target,
    method: str,
    resource: str,
    *,
    headers: dict[str, str] | None = None,
    body: Iterable[bytes] | None = None,
    timeout_s: float,
    whole_s: float | None = None,
) -> Reply:
    """Send one request to a resource of the target and return the reply, whatever its status.

    Args:
        target: whom to ask.
        method: the HTTP method.
        resource: path below the project, such as `gating`.
        headers: added to the target's own; a body needs its Content-Length here.
        body: the request's bytes, in pieces.
        timeout_s: seconds that one wait for the network, and the reading of the whole answer, may each take.
        whole_s: seconds that everything once connected may take together, however the answer drips; None sets no bound.

    Raises:
        Unreachable: there was no complete answer, or it was larger than `MAX_ANSWER_BYTES`.
    """
    connection = _connection(target, timeout_s)
    try:
        connection.connect()
        with _within(connection.sock, whole_s):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it read all
                connection.request(method, target.path(resource), body=body, headers=target.headers() | (headers or {}))
            response = connection.getresponse()
            content = _read(response, monotonic_s() + timeout_s)
        return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unreachable(f"{type(error).__name__}: {error}") from error
    finally:
        connection.close()


def mend_of(target: Target, status: int, problem: Mapping[str, Any]) -> str:
    """Return what to do about a refusal: the daemon's own words, but those on a missing token are not for a shell."""
    if status == HTTPStatus.UNAUTHORIZED and not target.token:
        return "Set QUARANTINE_TOKEN, or give --token."
    mend = problem.get("mend")
    return mend if isinstance(mend, str) else ""


def _connection(target: Target, timeout_s: float) -> http.client.HTTPConnection:
    if target.scheme == "https":
        import ssl  # noqa: PLC0415 - only https needs a context

        context = ssl.create_default_context()
        return http.client.HTTPSConnection(target.host, target.port, timeout=timeout_s, context=context)
    return http.client.HTTPConnection(target.host, target.port, timeout=timeout_s)


@contextlib.contextmanager
def _within(connected: socket.socket, whole_s: float | None) -> Iterator[None]:
    """End the block with Unreachable when it takes longer: its connection is cut, so that no wait in it goes on."""
    if whole_s is None:
        yield
        return
    deadline = monotonic_s() + whole_s
    watchdog = threading.Timer(whole_s, _cut, [connected])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
    if monotonic_s() >= deadline:  # what was read of a connection that was cut may look complete
        raise Unreachable(_TOO_SLOW)


def _cut(connected: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it has just been closed
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # not the TLS one's: the reader still uses its state


def _read(response: http.client.HTTPResponse, deadline: float) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := response.read1(_CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_ANSWER_BYTES:
            raise Unreachable(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        if monotonic_s() > deadline:
            raise Unreachable(_TOO_SLOW)
    if response.length:
        raise Unreachable(f"the answer broke off {response.length} bytes before its end")
    return b"".join(pieces)
