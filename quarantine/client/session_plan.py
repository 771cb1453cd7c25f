"""Asking the daemon how often a session's failing tests are worth trying again before it ends."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from quarantine.client.target import Target
from quarantine.client.wire import Unreachable, exchange

__all__ = ["NoPlan", "SessionPlan", "ask_session_plan"]

SCHEMA = 1
MAX_NAMES = 10_000
DEFAULT_TIMEOUT_S = 5.0
_MAX_NAME = 4000
_REFUSALS: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "does not accept the token for this project",
    HTTPStatus.FORBIDDEN: "does not accept the token for this project",
    HTTPStatus.NOT_FOUND: "does not know this project, or is too old to plan tries",
}


class NoPlan(Exception):
    """There is no plan to go by; the text says why, as the rest of a sentence about the daemon."""


class SessionPlan(NamedTuple):
    """What the daemon answered.

    Attributes:
        most: tries at most by name; a name that is not in it is tried no further.
        sentence: what was left out for want of budget; empty when nothing was.
    """

    most: dict[str, int]
    sentence: str


def ask_session_plan(
    target: Target,
    variant: str,
    failing: Sequence[str],
    *,
    worker: tuple[int, int] = (0, 1),
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> SessionPlan:
    """Ask once; names that no daemon takes, and those beyond the first 10,000, are left out.

    Args:
        target: whom to ask.
        variant: the hash of the session's variant.
        failing: the tests that failed, as the report spells them.
        worker: which worker of how many asks, from 0.
        timeout_s: seconds to connect, and then for the whole answer.

    Raises:
        NoPlan: nobody answered in time, or not with a plan.
    """
    names = [name for name in failing if _can_be_sent(name)][:MAX_NAMES]
    question = {"schema": SCHEMA, "variant": variant, "failing": names, "worker": worker[0], "workers": worker[1]}
    body = json.dumps(question).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    try:
        reply = exchange(
            target, "POST", "reruns/plan", headers=headers, body=[body], timeout_s=timeout_s, whole_s=timeout_s
        )
    except Unreachable as error:
        raise NoPlan(f"cannot be reached ({error})") from error
    if reply.status != HTTPStatus.OK:
        raise NoPlan(_REFUSALS.get(reply.status, f"answered with status {reply.status}"))
    return _read(reply.body)


def _can_be_sent(name: str) -> bool:
    is_text = not any("\ud800" <= character <= "\udfff" for character in name)
    return is_text and "\0" not in name and 0 < len(name) <= _MAX_NAME


def _read(body: bytes) -> SessionPlan:
    try:
        answer: Any = json.loads(body)
        tests, sentence = answer["tests"], answer["sentence"]
        most = {one["name"]: one["most"] for one in tests}
    except (ValueError, RecursionError, TypeError, LookupError):
        raise NoPlan("gave an answer that is no plan") from None
    are_numbers = all(isinstance(name, str) and type(number) is int and number >= 0 for name, number in most.items())
    if answer.get("schema") != SCHEMA or not are_numbers or not isinstance(sentence, str):
        raise NoPlan("gave an answer that is no plan")
    return SessionPlan(most, sentence)
