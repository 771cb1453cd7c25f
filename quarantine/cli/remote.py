"""Talking to a daemon from the shell: whom to ask, and what an answer that is no success means."""

import gzip
import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from quarantine.cli.options import project_option
from quarantine.client.errors import ClientConfigurationError, ClientError
from quarantine.client.target import Target
from quarantine.client.wire import Reply, Unreachable, exchange, mend_of

F = TypeVar("F", bound=Callable[..., Any])
TIMEOUT_S = 30.0
_OUR_MISTAKE = 500


class NoAnswer(ClientError):
    """The daemon does not answer, or cannot take it now; the same call may succeed later."""


url_option = click.option("--url", envvar="QUARANTINE_URL", help="The daemon [environment: QUARANTINE_URL].")
token_option = click.option("--token", envvar="QUARANTINE_TOKEN", help="A token [environment: QUARANTINE_TOKEN].")


def on_daemon(function: F) -> F:
    """Give a verb the options that name a daemon and a project on it."""
    return url_option(project_option(token_option(function)))


def target_of(url: str | None, project: str, token: str | None) -> Target:
    """Return whom to talk to; raises ClientConfigurationError when nobody is named."""
    if not url:
        raise ClientConfigurationError(
            "No daemon is named.", mend="Give --url or set QUARANTINE_URL, such as http://127.0.0.1:8321."
        )
    return Target(url, project, token)


def get(target: Target, resource: str) -> Any:
    """Return the JSON that the daemon answers; raises ClientError with its reason when it refuses, else NoAnswer."""
    return _checked(target, _asked(target, "GET", resource))


def post(target: Target, resource: str, body: dict[str, Any]) -> Any:
    """Send JSON and return the answer; raises as `get`."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    return _checked(target, _asked(target, "POST", resource, headers=headers, body=[data]))


def put_lines(target: Target, resource: str, lines: Iterable[bytes], *, method: str = "POST") -> Any:
    """Send JSON lines, compressed, and return the answer; raises as `get`."""
    packed = gzip.compress(b"".join(lines), compresslevel=6, mtime=0)
    headers = {
        "Content-Type": "application/x-ndjson",
        "Content-Encoding": "gzip",
        "Content-Length": str(len(packed)),
    }
    return _checked(target, _asked(target, method, resource, headers=headers, body=[packed]))


def _asked(target: Target, method: str, resource: str, **request: Any) -> Reply:
    try:
        return exchange(target, method, resource, timeout_s=TIMEOUT_S, **request)
    except Unreachable as error:
        raise NoAnswer(
            f"{target.url} does not answer: {error}.", mend="Is `quarantine serve` running there?"
        ) from error


def _checked(target: Target, reply: Reply) -> Any:
    try:
        body = json.loads(reply.body)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(
            f"{target.url} answered {reply.status} with something that is no JSON.",
            mend="Is that the address of quarantine itself?",
        ) from error
    if 200 <= reply.status < 300:  # noqa: PLR2004 - HTTP's own numbers
        return body
    told = body if isinstance(body, dict) else {}
    kind = NoAnswer if reply.status >= _OUR_MISTAKE else ClientError
    raise kind(
        str(told.get("detail", f"{target.url} answered {reply.status}.")), mend=mend_of(target, reply.status, told)
    )
