"""A daemon that judges by a script, over real HTTP: it takes runs and reruns, and answers in turn."""

import email
import email.policy
import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.unit.client.conftest import Answer, Request, ScriptedDaemon

PROBLEM = {"Content-Type": "application/problem+json"}
RECEIPT = {"build": 1, "new": True, "reports": [], "transitions": []}


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: the path below the project, the parts of its body, the reports by name."""

    path: str
    build: dict[str, Any]
    question: dict[str, Any] | None
    reports: dict[str, bytes]


def answer(verdict: str = "accept", *, head: int = 0, base: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a verdict as it goes over the wire, final unless reruns are wanted."""
    known: dict[str, Any] = {
        "schema": 1,
        "id": "17",
        "verdict": verdict,
        "final": not (head or base),
        "sentence": f"It is {verdict}.",
        "suspect": [],
        "causes": [],
        "tests": [],
        "gating": {"ran": 2, "passed": 2, "of": 2},
        "not_shown": {"sentences": [], "unreached": [], "exhaustive_owed": True},
        "record": None,
        "wanted": {"head": head, "base": base, "why": "t1 failed once." if head or base else ""},
        "key": "0" * 64,
        "evidence": "/projects/ledger/verdicts/17",
        "receipt": RECEIPT,
    }
    return known | fields


@dataclass(slots=True)
class FakeJudge:
    """A running fake; `answers` are given in turn, the last one again and again. A status refuses with a problem."""

    url: str
    answers: list[dict[str, Any] | int] = field(default_factory=lambda: [answer()])
    asked: list[Asked] = field(default_factory=list)
    gating: dict[str, Any] | None = None

    def answering(self, *answers: dict[str, Any] | int) -> None:
        """Answer so from now on."""
        self.answers = list(answers)

    @property
    def reruns(self) -> list[Asked]:
        """The reruns that were sent."""
        return [one for one in self.asked if one.path.endswith("/reruns")]

    def reply(self, request: Request) -> Answer:
        """Return what the daemon says to a request."""
        path = request.path.partition("/v1/projects/")[2].partition("/")[2]
        if path == "gating":
            return _json(200, self.gating) if self.gating else _json(503, {"detail": "not now"})
        self.asked.append(_read(path, request))
        if path == "reports":
            return _json(202, RECEIPT)
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(given, int):
            return _json(given, {"code": "no", "detail": "That is refused.", "mend": "Do better."}, PROBLEM)
        return _json(200, given)


@contextmanager
def judging() -> Iterator[FakeJudge]:
    """Yield a running fake."""
    daemon = ScriptedDaemon()
    judge = FakeJudge(daemon.url)
    daemon.script = judge.reply
    try:
        yield judge
    finally:
        daemon.close()


def _json(status: int, content: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, {"Content-Type": "application/json"} | dict(headers or {}), json.dumps(content).encode())


def _read(path: str, request: Request) -> Asked:
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + request.body, policy=email.policy.HTTP)
    assert not message.defects
    words: dict[str, Any] = {}
    reports: dict[str, bytes] = {}
    for part in message.iter_parts():
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        name = str(part.get_param("name", header="content-disposition"))
        if name == "report":
            packed = part.get_content_type() == "application/gzip"
            reports[str(part.get_filename())] = gzip.decompress(content) if packed else content
        else:
            words[name] = json.loads(content)
    return Asked(path, words["build"], words.get("question"), reports)
