"""Sending reports to the daemon. What cannot be delivered now is kept on disk and sent first the next time.

An upload never decides a verdict: trouble on the way is part of the answer, not an exception.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from quarantine.client.multipart import Body, NamedReport
from quarantine.client.spool import Spool, report_name
from quarantine.client.target import Target
from quarantine.client.wire import Reply, Unreachable, exchange, mend_of

__all__ = ["Answer", "flush_spool", "post_reports"]

DEFAULT_TIMEOUT_S = 60.0
_TAKEN = frozenset({200, 202})
_THIS_ONE = frozenset({413, 500})
"""Trouble with one upload, by its size or by its content, that others need not share."""
_PROBLEM = "application/problem+json"
_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})
_TOKEN_OR_PROJECT = frozenset({401, 403, 404})
"""Refusals that a corrected setting may turn into a yes: spooled entries wait for it."""


class Answer(NamedTuple):
    """What became of an upload.

    Attributes:
        status: `sent` when the daemon has it, durably; `spooled` when it waits on this machine; `refused` when the
            daemon will not take it as it is; `lost` when it could neither be sent nor kept.
        sentence: what happened, for a person.
        body: the daemon's answer to what was sent; the problem document of a refusal; empty otherwise.
    """

    status: Literal["sent", "spooled", "refused", "lost"]
    sentence: str
    body: dict[str, Any]


def post_reports(
    target: Target,
    build_part: Mapping[str, Any],
    reports: Sequence[Path],
    *,
    spool_dir: str | os.PathLike[str] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Answer:
    """Send one upload, after whatever waits in the spool; keep it there when the daemon cannot be reached.

    What is worth a person's attention is also said on stderr.

    Args:
        target: to whom.
        build_part: which build the reports are of; see docs/build-part.md.
        reports: report files, sent under their own names; none where the build part says how the runner ended.
        spool_dir: the root of the spools; None means `spool_folder()`.
        timeout_s: seconds that one wait for the network may take.

    Raises:
        OSError: a report cannot be read.
    """
    spool = Spool(target, spool_dir)
    flushed = flush_spool(target, spool_dir=spool_dir, timeout_s=timeout_s)
    if flushed and _is_down(flushed[-1]):
        answer = _keep(spool, build_part, reports, flushed[-1].sentence)
    else:
        named = [NamedReport(path, path.name) for path in reports]
        answer = _send(target, build_part, named, timeout_s)
        if answer.status == "spooled":
            answer = _keep(spool, build_part, reports, answer.sentence)
    _warn([*flushed, answer])
    return answer


def flush_spool(
    target: Target, *, spool_dir: str | os.PathLike[str] | None = None, timeout_s: float = DEFAULT_TIMEOUT_S
) -> list[Answer]:
    """Send what waits for a target, the oldest first, and return the answers; stop at the first that must wait on.

    An entry is removed only after the daemon has it. Sending one twice does no harm: the daemon knows it by its
    content. An entry on which the daemon fails is kept and does not hold up the others.
    """
    spool = Spool(target, spool_dir)
    answers: list[Answer] = []
    for entry in spool.waiting():
        named = [NamedReport(path, report_name(path)) for path in entry.reports]
        try:
            answer = _send(target, entry.build_part, named, timeout_s)
        except FileNotFoundError:  # another process has just delivered it
            continue
        answers.append(answer)
        if answer.status == "sent":
            spool.remove(entry.folder)
        elif answer.status == "refused" and answer.body.get("status") not in _TOKEN_OR_PROJECT:
            spool.refuse(entry.folder, answer.sentence)
        elif _is_down(answer) or answer.status == "refused":
            break
    return answers


def _is_down(answer: Answer) -> bool:
    """Whether the daemon takes nothing at the moment, rather than failing on this one upload."""
    return answer.status == "spooled" and answer.body.get("status") not in _THIS_ONE


def _send(target: Target, build_part: Mapping[str, Any], reports: Sequence[NamedReport], timeout_s: float) -> Answer:
    """Send one upload; the status `spooled` says that it must wait, not yet that it does."""
    with Body(build_part, reports) as body:
        try:
            reply = exchange(target, "POST", "reports", headers=body.headers, body=body, timeout_s=timeout_s)
        except Unreachable as error:
            return Answer("spooled", f"{target.url} cannot be reached ({error}).", {})
    content = _json_object(reply)
    problem = content | {"status": reply.status}
    if reply.status in _TAKEN and _is_receipt(content):
        return Answer("sent", f"{target.url} has taken {_counted(len(reports))}.", content)
    if reply.status in _TRY_AGAIN:
        return Answer("spooled", f"{target.url} cannot take it now: {_reason(target, reply, content)}", problem)
    if _is_problem(reply, content):
        return Answer("refused", f"{target.url} refused the report: {_reason(target, reply, content)}", problem)
    return Answer(
        "spooled",
        f"What answers at {target.url} is not the daemon: {_reason(target, reply, content)}",
        {"status": reply.status},
    )


def _counted(reports: int) -> str:
    return f"{reports} report{'s' * (reports != 1)}" if reports else "the build without a report"


def _is_receipt(content: Mapping[str, Any]) -> bool:
    """Whether only the daemon, having stored an upload, says this: a proxy or a portal answers 200 to anything."""
    return type(content.get("build")) is int and isinstance(content.get("reports"), list)


def _is_problem(reply: Reply, content: Mapping[str, Any]) -> bool:
    """Whether the daemon itself refuses: with a problem document (RFC 9457), as it words every refusal."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    stated = kind == _PROBLEM or isinstance(content.get("code"), str)
    return bool(content) and stated and reply.status in range(400, 500)


def _keep(spool: Spool, build_part: Mapping[str, Any], reports: Sequence[Path], sentence: str) -> Answer:
    try:
        folder = spool.add(build_part, reports)
    except OSError as error:
        return Answer("lost", f"{sentence} It could not be kept in {spool.folder} either: {error.strerror}.", {})
    return Answer("spooled", f"{sentence} It waits in {folder} and is sent with the next upload.", {})


def _json_object(reply: Reply) -> dict[str, Any]:
    try:
        content = json.loads(reply.body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _reason(target: Target, reply: Reply, problem: Mapping[str, Any]) -> str:
    """Return the sentences of a problem document (RFC 9457), or the status when the answer is none."""
    detail = problem.get("detail")
    said = [one for one in (detail, mend_of(target, reply.status, problem)) if isinstance(one, str) and one]
    if not said and isinstance(problem.get("title"), str):
        said = [f"{problem['title']}."]
    return " ".join(said) or f"status {reply.status}."


def _warn(answers: Sequence[Answer]) -> None:
    for answer in answers:
        if answer.status != "sent":
            sys.stderr.write(f"quarantine: {answer.sentence}\n")
