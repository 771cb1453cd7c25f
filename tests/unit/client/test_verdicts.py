"""Asking for a verdict: what is sent, what is taken for an answer, and what is not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import quarantine.client
from quarantine.client.errors import Refused
from quarantine.client.target import Target
from quarantine.client.verdicts import ask_verdict, send_rerun
from quarantine.client.wire import Unreachable
from tests.fake_judge import FakeJudge, answer, judging
from tests.unit.client.conftest import Answer, ScriptedDaemon

BUILD = {"schema": 1, "build": "b1"}


@pytest.fixture
def judge() -> Iterator[FakeJudge]:
    with judging() as judge:
        yield judge


@pytest.fixture
def target(judge: FakeJudge) -> Target:
    return Target(judge.url, "ledger", "secret")


def test_the_build_the_question_and_the_reports_arrive(judge: FakeJudge, target: Target, tmp_path: Path) -> None:
    """All in one call, the schema filled in; the answer is kept whole beside the words that are asked for most."""
    report = tmp_path / "junit.xml"
    report.write_bytes(b"<testsuite/>" * 1000)
    record = {"text": "t1 failed", "tokens": 3, "failures": 1, "left_out": 0}
    judge.answering(answer("reject", record=record, suspect=["Odd."], more="later"))
    verdict = ask_verdict(target, BUILD, {"can_rerun": True, "must_pass": ["a b[\n]"]}, [report])
    [asked] = judge.asked
    assert (asked.path, asked.build) == ("verdicts", BUILD)
    assert asked.question == {"schema": 1, "can_rerun": True, "must_pass": ["a b[\n]"]}
    assert asked.reports == {"junit.xml": report.read_bytes()}
    assert (verdict.id, verdict.verdict, verdict.final, verdict.sentence) == ("17", "reject", True, "It is reject.")
    assert (verdict.record_text, verdict.suspicions, verdict.key) == ("t1 failed", ("Odd.",), "0" * 64)
    assert (verdict.wanted_head, verdict.wanted_base, verdict.wanted_why) == (0, 0, "")
    assert verdict.answer["more"] == "later"


def test_a_run_without_a_report_is_asked_about_too(judge: FakeJudge, target: Target) -> None:
    """The body then holds the build and the question alone."""
    judge.answering(answer("inconclusive", head=2, base=1))
    verdict = ask_verdict(target, BUILD, {"timed_out": True}, [])
    assert judge.asked[0].reports == {}
    assert (verdict.final, verdict.wanted_head, verdict.wanted_base, verdict.wanted_why, verdict.record_text) == (
        *(False, 2, 1, "t1 failed once."),
        "",
    )


def test_a_rerun_goes_to_its_verdict(judge: FakeJudge, target: Target) -> None:
    """With what is known of it, or with nothing said."""
    send_rerun(target, "17", {**BUILD, "kind": "rerun"}, [], question={"timed_out": True})
    send_rerun(target, "1/7", BUILD, [])
    assert [one.path for one in judge.asked] == ["verdicts/17/reruns", "verdicts/1%2F7/reruns"]
    assert [one.question for one in judge.asked] == [{"schema": 1, "timed_out": True}, None]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_says_why(judge: FakeJudge, target: Target, status: int) -> None:
    """The daemon's own sentence and mend, with the status and the code for programs."""
    judge.answering(status)
    with pytest.raises(Refused, match=r"That is refused\. Do better\.") as refused:
        ask_verdict(target, BUILD, {}, [])
    assert (refused.value.status, refused.value.code) == (status, "no")


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_cannot_answer_now_is_not_reached(judge: FakeJudge, target: Target, status: int) -> None:
    """Trouble of the daemon's own is no refusal."""
    judge.answering(status)
    with pytest.raises(Unreachable, match="cannot answer now: That is refused"):
        ask_verdict(target, BUILD, {}, [])


def test_nobody_there() -> None:
    """A closed port is named as such."""
    with pytest.raises(Unreachable):
        ask_verdict(Target("http://127.0.0.1:1", "ledger"), BUILD, {}, [])


@pytest.mark.parametrize(
    "told",
    [
        *("<html>Sign in</html>", "[]", '{"verdict": "accept"}', "{" * 5000),
        json.dumps(answer() | {"schema": 2}),
        json.dumps(answer() | {"verdict": "fine"}),
        json.dumps(answer() | {"final": "no"}),
        json.dumps(answer() | {"wanted": {"head": True, "base": 0}}),
        json.dumps(answer() | {"wanted": {"head": -1, "base": 0}}),
    ],
)
@pytest.mark.parametrize("status", [200, 302, 404])
def test_what_is_no_verdict_is_none(daemon: ScriptedDaemon, told: str, status: int) -> None:
    """A portal that answers 200 to anything accepts nothing, and refuses nothing either."""
    daemon.script = lambda _request: Answer(status, {"Content-Type": "text/html"}, told.encode())
    with pytest.raises(Unreachable, match="not a daemon that gives verdicts"):
        ask_verdict(Target(daemon.url, "ledger"), BUILD, {}, [])


def test_the_public_surface_has_it() -> None:
    """`from quarantine.client import ...` gives the same objects."""
    public: dict[str, Any] = {name: getattr(quarantine.client, name) for name in quarantine.client.__all__}
    assert public["ask_verdict"] is ask_verdict
    assert public["Refused"] is Refused
