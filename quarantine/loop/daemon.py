"""What the loop asks the daemon. Without an answer there is no verdict, so silence is an error here."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from quarantine.client.errors import ClientError, Refused
from quarantine.client.target import Target
from quarantine.client.verdicts import Verdict, ask_verdict, send_rerun
from quarantine.client.wire import Unreachable, exchange

__all__ = ["DaemonLost", "ask", "get", "post", "tell"]

TIMEOUT_S = 60.0


class DaemonLost(ClientError):
    """The daemon does not answer, and without it there is no verdict. The same call may succeed later."""

    @classmethod
    def of(cls, target: Target, error: Unreachable) -> "DaemonLost":
        """Return the error that says who did not answer, and how."""
        return cls(f"{target.url} gave no answer: {error}.", mend="Is the daemon running there?")


def post(target: Target, resource: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Send JSON and return the daemon's answer; raises Refused with its reason, or DaemonLost."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
    return _answer(target, "POST", resource, headers=headers, body=[data])


def get(target: Target, resource: str) -> dict[str, Any]:
    """Return the daemon's answer; raises as `post`."""
    return _answer(target, "GET", resource)


def _answer(target: Target, method: str, resource: str, **request: Any) -> dict[str, Any]:
    try:
        reply = exchange(target, method, resource, timeout_s=TIMEOUT_S, **request)
        content = json.loads(reply.body)
    except Unreachable as error:
        raise DaemonLost.of(target, error) from error
    except (ValueError, RecursionError) as error:
        raise DaemonLost(f"What answers at {target.url} is not the daemon: it sent no JSON.") from error
    answer: dict[str, Any] = content if isinstance(content, dict) else {}
    if reply.status in range(400, 500):
        raise Refused(
            str(answer.get("detail") or f"{target.url} answered {reply.status}."),
            mend=str(answer.get("mend") or ""),
            status=reply.status,
            code=str(answer.get("code") or ""),
        )
    if reply.status not in range(200, 300):
        raise DaemonLost(f"{target.url} cannot answer now: {answer.get('detail') or f'status {reply.status}.'}")
    return answer


def ask(target: Target, part: Mapping[str, Any], question: Mapping[str, Any], reports: Sequence[Path]) -> Verdict:
    """Return the verdict on a run, as `ask_verdict` does; raises Refused and DaemonLost."""
    try:
        return ask_verdict(target, part, question, reports, timeout_s=TIMEOUT_S)
    except Unreachable as error:
        raise DaemonLost.of(target, error) from error


def tell(
    target: Target, verdict: Verdict, part: Mapping[str, Any], question: Mapping[str, Any], reports: Sequence[Path]
) -> Verdict:
    """Return a verdict as it stands with a rerun, as `send_rerun` does; raises Refused and DaemonLost."""
    try:
        return send_rerun(target, verdict.id, part, reports, question=question, timeout_s=TIMEOUT_S)
    except Unreachable as error:
        raise DaemonLost.of(target, error) from error
