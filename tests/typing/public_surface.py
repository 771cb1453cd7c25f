"""What users write against the client and the loop; mypy and pyright read it, nothing runs it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_type

import quarantine
from quarantine.client import (
    Budget,
    ClientConfigurationError,
    ClientError,
    GatingSet,
    JudgedRun,
    Refused,
    Target,
    Unreachable,
    Verdict,
    ask_verdict,
    is_gating,
    send_rerun,
    settled_verdict,
)
from quarantine.client.verdicts import VerdictWord
from quarantine.loop import (
    Accepted,
    Agent,
    BadPatch,
    CommandAgent,
    CommandRunner,
    End,
    Exhausted,
    Inconclusive,
    Judged,
    Patch,
    Prepared,
    Proposal,
    Protected,
    Runner,
    ScriptedAgent,
    Settings,
    Spent,
    Suspect,
    Ticket,
    Workspace,
    solve,
    suspicions,
)
from quarantine.loop.judged import UNKNOWN


def the_gate() -> None:
    """`is_gating` is a bool however it is asked."""
    assert_type(quarantine.is_gating("tests/test_a.py::test_a"), bool)
    assert_type(is_gating("a::b", {"os": "linux"}), bool)
    gating = GatingSet("http://localhost:8321", "ledger", "qt_x", max_age_s=60.0)
    assert_type(gating.is_gating("a::b", variant="0123456789abcdef"), bool)
    assert_type(gating.snapshot, str | None)


def the_verdict(run: JudgedRun, reports: Sequence[Path]) -> VerdictWord | None:
    """A verdict's words are literals, so a typo in a comparison is found."""
    target = Target.from_environment()
    try:
        verdict = settled_verdict(target, run, {"must_pass": ["a::b"]}, reports, budget=Budget(most=3), told=print)
    except Refused as refused:
        assert_type(refused.status, int)
        return None
    except (Unreachable, ClientConfigurationError, ClientError):
        return None
    assert_type(verdict, Verdict)
    assert_type(verdict.final, bool)
    assert_type(verdict.wanted_head, int)
    assert_type(verdict.record_text, str)
    assert_type(verdict.answer, dict[str, Any])
    assert_type(ask_verdict(target, run.build_part, {}, reports), Verdict)
    assert_type(send_rerun(target, verdict.id, run.build_part, reports), Verdict)
    return verdict.verdict


class MyAgent:
    """Anything that has `propose` is an agent."""

    def propose(self, prompt: str, folder: Path) -> Proposal:
        """Return the same patch whatever is asked."""
        return Proposal(Patch.parse(f"{prompt}{folder}"), None, 0.0)


class MyRunner:
    """Anything that has these four methods is a runner."""

    def prepare(self, workspace: Workspace, ticket: Ticket) -> Prepared:
        """Say where to look."""
        return Prepared(failing=frozenset(ticket.must_pass), logs=workspace.path)

    def judge(
        self, workspace: Workspace, ticket: Ticket, patch: Patch, *, attempt: int, spent: Spent = UNKNOWN
    ) -> Judged:
        """Accept."""
        workspace.apply(patch)
        return Judged("accept", "", {"attempt": attempt, "tokens": spent.tokens}, ticket.id)

    def full(self, workspace: Workspace, ticket: Ticket, patch: Patch, *, attempt: int) -> Judged:
        """Accept again."""
        return self.judge(workspace, ticket, patch, attempt=attempt)

    def conclude(self, ticket: Ticket, end: End) -> None:
        """Say it."""
        print(ticket.id, end.word, end.sentence)  # noqa: T201 - an example


def the_loop(repository: Path) -> bytes | None:
    """The four ends are told apart by type, and only one has a patch."""
    agents: list[Agent] = [MyAgent(), CommandAgent("my-agent"), ScriptedAgent(["a diff"])]
    runners: list[Runner] = [MyRunner(), CommandRunner("pytest", Target.from_environment(), Settings(job="unit"))]
    with Workspace.open(repository, "main") as workspace:
        end = solve(Ticket("T-1", "Mend it."), workspace, agents[0], runners[0], 4, protected=Protected(), full=False)
        assert_type(end, Accepted | Exhausted | Inconclusive | Suspect)
        assert_type(end.attempts, int)
        if isinstance(end, Accepted):
            assert_type(suspicions(end.patch, workspace.path), tuple[str, ...])
            return end.patch.text
        if isinstance(end, Suspect):
            assert_type(end.reasons, tuple[str, ...])
        assert_type(end.last, Judged | None) if not isinstance(end, Suspect) else assert_type(end.last, Judged)
    return None


def the_patch(text: str) -> str:
    """A refused patch says what to send instead."""
    try:
        return Patch.parse(text).sha256
    except BadPatch as problem:
        return f"{problem.code}: {problem.mend}"
