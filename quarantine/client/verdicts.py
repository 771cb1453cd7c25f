"""Asking the daemon for a verdict on a run, and sending the reruns it wants as evidence.

The verdict is the daemon's; here it is only carried. See docs/verdict.md for what decides it and docs/http.md for every
field of a question and of an answer.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from quarantine.client.errors import Refused
from quarantine.client.multipart import Body, NamedReport
from quarantine.client.target import Target
from quarantine.client.wire import Reply, Unreachable, exchange, mend_of

__all__ = ["Verdict", "VerdictWord", "ask_verdict", "send_rerun"]

VerdictWord = Literal["accept", "reject", "inconclusive"]

SCHEMA = 1
DEFAULT_TIMEOUT_S = 60.0
_WORDS = ("accept", "reject", "inconclusive")
_TRY_AGAIN = frozenset({408, 425, 429, *range(500, 600)})


class Verdict(NamedTuple):
    """The daemon's answer about one build, as it stands now.

    Attributes:
        answer: everything it said; the keys are those of docs/http.md.
    """

    answer: dict[str, Any]

    @property
    def id(self) -> str:
        """What later reruns are sent to."""
        return str(self.answer["id"])

    @property
    def verdict(self) -> VerdictWord:
        """The one word."""
        word: VerdictWord = self.answer["verdict"]
        return word

    @property
    def final(self) -> bool:
        """Whether no further rerun is wanted."""
        return bool(self.answer["final"])

    @property
    def sentence(self) -> str:
        """The answer, for a person."""
        return str(self.answer["sentence"])

    @property
    def wanted_head(self) -> int:
        """Whole reruns of the tree under test that would settle more; 0 when final."""
        return int(self.answer["wanted"]["head"])

    @property
    def wanted_base(self) -> int:
        """Whole runs of the base's tree that would settle more; 0 when final."""
        return int(self.answer["wanted"]["base"])

    @property
    def wanted_must_pass(self) -> int:
        """Those of the head that must-pass tests want which are known to flake, up to 58 in all; 0 when none does."""
        return int(self.answer["wanted"].get("must_pass") or 0)

    @property
    def wanted_why(self) -> str:
        """What they would settle; empty when none are wanted."""
        return str(self.answer["wanted"].get("why") or "")

    @property
    def record_text(self) -> str:
        """The failure record for whoever mends the change; empty when there is none."""
        record = self.answer.get("record")
        return str(record["text"]) if isinstance(record, dict) and isinstance(record.get("text"), str) else ""

    @property
    def suspicions(self) -> tuple[str, ...]:
        """Why somebody may have tampered with the run."""
        return tuple(self.answer.get("suspect") or ())

    @property
    def key(self) -> str:
        """The same for the same patch, base, environment and subset; empty when the daemon has none."""
        return str(self.answer.get("key") or "")


def ask_verdict(
    target: Target,
    build_part: Mapping[str, Any],
    question: Mapping[str, Any],
    reports: Sequence[Path],
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Verdict:
    """Send a run and return the verdict on it. The same call again does no harm, and starts nothing over.

    Args:
        target: whom to ask.
        build_part: which build it is; see docs/build-part.md.
        question: what is asked about it; `schema` may be left out.
        reports: what the run wrote, sent under their own names; none for a run that left no report.
        timeout_s: seconds that one wait for the network may take.

    Raises:
        Refused: the daemon will not answer that, and says why.
        Unreachable: no verdict came: nobody answered, or what did is not the daemon, or it cannot now.
        OSError: a report cannot be read.
    """
    return _posted(target, "verdicts", build_part, {"schema": SCHEMA, **question}, reports, timeout_s=timeout_s)


def send_rerun(
    target: Target,
    verdict_id: str,
    build_part: Mapping[str, Any],
    reports: Sequence[Path],
    *,
    question: Mapping[str, Any] | None = None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Verdict:
    """Send a rerun of the head or of the base, and return the verdict as it stands with it.

    Args:
        target: whom to tell.
        verdict_id: of the verdict it is evidence for.
        build_part: of kind `rerun`; its tree says whether it is of the head or of the base.
        reports: what the rerun wrote; none when it wrote none.
        question: `canary`, `timed_out` and `runner_s` of this rerun; None says nothing of them.
        timeout_s: seconds that one wait for the network may take.

    Raises:
        Refused, Unreachable, OSError: as in `ask_verdict`.
    """
    asked = None if question is None else {"schema": SCHEMA, **question}
    resource = f"verdicts/{quote(verdict_id, safe='')}/reruns"
    return _posted(target, resource, build_part, asked, reports, timeout_s=timeout_s)


def _posted(
    target: Target,
    resource: str,
    build_part: Mapping[str, Any],
    question: Mapping[str, Any] | None,
    reports: Sequence[Path],
    *,
    timeout_s: float,
) -> Verdict:
    named = [NamedReport(path, path.name) for path in reports]
    with Body(build_part, named, question) as body:
        reply = exchange(target, "POST", resource, headers=body.headers, body=body, timeout_s=timeout_s)
    return _read(target, reply)


def _read(target: Target, reply: Reply) -> Verdict:
    try:
        content = json.loads(reply.body)
    except (ValueError, RecursionError):
        content = None
    answer: dict[str, Any] = content if isinstance(content, dict) else {}
    if reply.status in _TRY_AGAIN:
        raise Unreachable(f"{target.url} cannot answer now: {answer.get('detail') or f'status {reply.status}.'}")
    if reply.status in range(400, 500) and isinstance(answer.get("code"), str):
        raise Refused(
            str(answer.get("detail") or answer.get("title") or f"{target.url} answered {reply.status}."),
            mend=mend_of(target, reply.status, answer),
            status=reply.status,
            code=answer["code"],
        )
    if reply.status not in range(200, 300) or not _is_verdict(answer):
        raise Unreachable(f"what answers at {target.url} is not a daemon that gives verdicts (status {reply.status})")
    return Verdict(answer)


def _is_verdict(answer: Mapping[str, Any]) -> bool:
    """Whether only a daemon that judged the run says this: a proxy or a portal answers 200 to anything."""
    wanted = answer.get("wanted")
    return (
        answer.get("schema") == SCHEMA
        and isinstance(answer.get("id"), str)
        and answer.get("verdict") in _WORDS
        and isinstance(answer.get("final"), bool)
        and isinstance(answer.get("sentence"), str)
        and isinstance(wanted, dict)
        and all(type(wanted.get(place)) is int and wanted[place] >= 0 for place in ("head", "base"))
    )
