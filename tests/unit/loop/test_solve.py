"""The loop itself: which end it comes to, what counts as an attempt, and what the agent is told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quarantine.loop.agent import CommandAgent, Proposal, ScriptedAgent
from quarantine.loop.ends import Accepted, End, Exhausted, Inconclusive, Suspect
from quarantine.loop.errors import BadPatch, WorkspaceError
from quarantine.loop.judged import UNKNOWN, Judged, Prepared, Spent
from quarantine.loop.patch import Patch
from quarantine.loop.solve import solve
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace
from tests.cli.repository import Repository

TICKET = Ticket("APP-1", "Make it quadruple.", ("tests/test_app.py::test_double",))
ACCEPT = Judged("accept", "", {"id": "7"}, "Accepted: all is well.", owed=("The merge is owed.",))
OUTSIDE = "diff --git a/../x b/../x\n--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"
NOTHING = Prepared()
ELSEWHERE = "diff --git a/nowhere.py b/nowhere.py\n--- a/nowhere.py\n+++ b/nowhere.py\n@@ -1 +1 @@\n-a\n+b\n"


def rejected(record: str) -> Judged:
    """Return a rejection with this record."""
    return Judged("reject", record, {"id": "6"}, f"Rejected: {record}.")


def doubled(times: int) -> Callable[[str, Path], None]:
    """Return an answer that edits the product."""

    def answer(_prompt: str, folder: Path) -> None:
        (folder / "src" / "app.py").write_text(f"def double(number):\n    return number * {times}\n", encoding="utf-8")

    return answer


def edits_a_test(_prompt: str, folder: Path) -> None:
    """Edit a test."""
    (folder / "tests" / "test_app.py").write_text("", encoding="utf-8")


@dataclass(slots=True)
class FakeRunner:
    """A runner that gives these verdicts in turn, and notes what it was asked."""

    verdicts: Sequence[Judged]
    whole: Sequence[Judged] = (ACCEPT,)
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    concluded: list[End] = field(default_factory=list)
    prepared: Prepared = NOTHING

    def prepare(self, workspace: Workspace, _ticket: Ticket) -> Prepared:
        self.calls.append(("prepare", workspace.base_commit))
        return self.prepared

    def judge(
        self, workspace: Workspace, _ticket: Ticket, patch: Patch, *, attempt: int, spent: Spent = UNKNOWN
    ) -> Judged:
        workspace.roll_back()
        workspace.apply(patch)
        judged = self.verdicts[self.ran.count("judge")]
        self.calls.append(("judge", attempt, spent))
        return judged

    def full(self, _workspace: Workspace, _ticket: Ticket, _patch: Patch, *, attempt: int) -> Judged:
        judged = self.whole[self.ran.count("full")]
        self.calls.append(("full", attempt))
        return judged

    def conclude(self, _ticket: Ticket, end: End) -> None:
        self.concluded.append(end)

    @property
    def ran(self) -> list[str]:
        """What it was asked, without the preparation."""
        return [call[0] for call in self.calls[1:]]


@pytest.fixture
def workspace(repository: Repository, place: Path) -> Workspace:
    """Return a workspace, which goes with the folder it lies in."""
    return Workspace.open(repository.path, folder=place)


def tried(workspace: Workspace, runner: FakeRunner, *answers: Any, **more: Any) -> tuple[End, ScriptedAgent]:
    """Return how a loop with these answers ended, and the agent that was asked."""
    agent = ScriptedAgent(answers)
    end = solve(TICKET, workspace, agent, runner, **more)
    assert runner.concluded == [end]
    assert workspace.tree().hash == workspace.base_tree
    return end, agent


def test_an_accepted_patch_is_handed_on_with_what_is_owed(workspace: Workspace) -> None:
    """It is judged, then by every test once more; the patch is the one that was judged."""
    runner = FakeRunner([ACCEPT])
    end, agent = tried(workspace, runner, doubled(4))
    assert isinstance(end, Accepted)
    assert (end.attempts, end.owed, end.judged) == (1, ("The merge is owed.",), ACCEPT)
    assert end.patch.paths == ("src/app.py",)
    assert runner.ran == ["judge", "full"]
    assert "Make it quadruple." in agent.prompts[0]
    assert "tests/test_app.py::test_double" in agent.prompts[0]


def test_without_the_full_run_it_is_not_made(workspace: Workspace) -> None:
    """What the verdict by the impacted tests owes is handed on."""
    runner = FakeRunner([ACCEPT])
    end, _ = tried(workspace, runner, doubled(4), full=False)
    assert isinstance(end, Accepted)
    assert runner.ran == ["judge"]


def test_each_prompt_has_the_last_record_and_no_earlier_one(workspace: Workspace) -> None:
    """A fresh start with one record, every time."""
    runner = FakeRunner([rejected("first"), rejected("second"), ACCEPT])
    end, agent = tried(workspace, runner, doubled(1), doubled(3), doubled(4))
    assert isinstance(end, Accepted)
    assert end.attempts == 3
    assert ["first" in prompt for prompt in agent.prompts] == [False, True, False]
    assert ["second" in prompt for prompt in agent.prompts] == [False, False, True]
    assert agent.prompts[1].replace("first", "second") == agent.prompts[2]


def test_the_last_attempt_is_never_passed_off_as_success(workspace: Workspace) -> None:
    """After the last one the end carries its record, and no patch."""
    runner = FakeRunner([rejected("first"), rejected("second")])
    end, _ = tried(workspace, runner, doubled(1), doubled(3), max_attempts=2)
    assert isinstance(end, Exhausted)
    assert end.attempts == 2
    assert end.last == rejected("second")
    assert "2 of 2" in end.sentence


def test_the_whole_suite_can_still_reject(workspace: Workspace) -> None:
    """Then its record is fed back, like any other."""
    runner = FakeRunner([ACCEPT, ACCEPT], whole=[rejected("elsewhere"), ACCEPT])
    end, agent = tried(workspace, runner, doubled(1), doubled(4))
    assert isinstance(end, Accepted)
    assert end.attempts == 2
    assert "elsewhere" in agent.prompts[1]


def test_the_same_record_twice_in_a_row_ends_early(workspace: Workspace) -> None:
    """And says so; the same record with another between does not."""
    end, agent = tried(workspace, FakeRunner([rejected("same")] * 4), doubled(1), doubled(2), doubled(3))
    assert isinstance(end, Exhausted)
    assert "same record came twice" in end.sentence
    assert len(agent.prompts) == 2
    records = [rejected("same"), rejected("other"), rejected("same"), ACCEPT]
    end, _ = tried(workspace, FakeRunner(records), doubled(1), doubled(2), doubled(3), doubled(4))
    assert isinstance(end, Accepted)


@pytest.mark.parametrize("where", ["judge", "full"])
def test_what_nobody_can_say_ends_the_loop(workspace: Workspace, where: str) -> None:
    """There is nothing to feed back: neither a sick environment nor chance is the agent's to mend."""
    unsure = Judged("inconclusive", "", {}, "The environment changed.")
    runner = FakeRunner([unsure if where == "judge" else ACCEPT], whole=[unsure])
    end, agent = tried(workspace, runner, doubled(4))
    assert isinstance(end, Inconclusive)
    assert (end.attempts, end.sentence, len(agent.prompts)) == (1, "The environment changed.", 1)


def test_a_run_that_was_tampered_with_ends_the_loop(workspace: Workspace) -> None:
    """A person has to look; the agent is not told what gave it away."""
    tampered = Judged("suspect", "red", {}, "Rejected: red.", reasons=("The canary passed.",))
    end, agent = tried(workspace, FakeRunner([tampered]), doubled(4))
    assert isinstance(end, Suspect)
    assert (end.reasons, len(agent.prompts)) == (("The canary passed.",), 1)


def test_an_accepted_patch_that_touches_the_runner_is_suspect(workspace: Workspace) -> None:
    """The tests said yes; what they were asked about is what a person has to look at."""

    def exits(_prompt: str, folder: Path) -> None:
        (folder / "src" / "app.py").write_text(
            "import os\n\n\ndef double(number):\n    os._exit(0)\n", encoding="utf-8"
        )

    end, _ = tried(workspace, FakeRunner([ACCEPT]), exits)
    assert isinstance(end, Suspect)
    assert end.last.verdict == "suspect"
    assert "src/app.py:5" in end.sentence


@pytest.mark.parametrize(
    ("answer", "code"),
    [(edits_a_test, "protected-path"), (ELSEWHERE, "does-not-apply"), (OUTSIDE, "escapes-worktree")],
)
def test_a_patch_that_cannot_be_tried_is_an_attempt(workspace: Workspace, answer: Any, code: str) -> None:
    """Nothing runs for it, and the agent is told what is wrong and what to send."""
    runner = FakeRunner([ACCEPT])
    end, agent = tried(workspace, runner, answer, doubled(4))
    assert isinstance(end, Accepted)
    assert end.attempts == 2
    assert runner.ran == ["judge", "full"]
    alone, _ = tried(workspace, FakeRunner([]), answer, max_attempts=1)
    assert alone.last is not None
    assert [cause["code"] for cause in alone.last.answer["causes"]] == [code]
    assert alone.last.record.strip() in agent.prompts[1]


@pytest.mark.parametrize("answer", ["I have mended it, all tests pass.", ""])
def test_an_answer_without_a_patch_is_no_attempt(workspace: Workspace, answer: str) -> None:
    """The agent is told to send one; a second such answer in a row ends the loop."""
    end, _ = tried(workspace, FakeRunner([ACCEPT]), answer, answer)
    assert isinstance(end, Exhausted)
    assert end.attempts == 0
    end, agent = tried(workspace, FakeRunner([ACCEPT]), answer, doubled(4), max_attempts=2)
    assert isinstance(end, Accepted)
    assert end.attempts == 1
    assert "Send one unified diff" in agent.prompts[1]


def test_answers_without_a_patch_are_bounded(workspace: Workspace) -> None:
    """Also when no two in a row are alike."""
    end, agent = tried(workspace, FakeRunner([]), *["prose", ""] * 5, max_attempts=4)
    assert isinstance(end, Exhausted)
    assert (end.attempts, len(agent.prompts)) == (0, 4)


def test_an_agent_that_does_not_work_says_nothing_of_the_ticket(workspace: Workspace) -> None:
    """It failed twice in the same way: inconclusive, not exhausted."""

    class Broken(ScriptedAgent):
        def propose(self, prompt: str, folder: Path) -> Any:
            made = super().propose(prompt, folder)
            return made._replace(patch=None, problem=BadPatch("agent-failed", "The agent ended with 1.", ""))

    runner = FakeRunner([])
    end = solve(TICKET, workspace, Broken([]), runner)
    assert isinstance(end, Inconclusive)
    assert (end.attempts, "agent does not work" in end.sentence) == (0, True)


def test_a_failed_agents_last_words_are_told_and_kept(workspace: Workspace, tmp_path: Path) -> None:
    """They are for a person: the agent itself does not read them."""
    runner, said = FakeRunner([ACCEPT], prepared=Prepared(logs=tmp_path)), list[str]()
    once = tmp_path / "once"
    script = (
        f"test -e {once} && sed -i s/number/value/ src/app.py && exit; touch {once}; echo begun >&2; echo 'no key' >&2"
    )
    assert isinstance(
        solve(TICKET, workspace, CommandAgent(f"{script}; exit 5"), runner, progress=said.append), Accepted
    )
    log = tmp_path / "attempt-1.agent.log"
    assert log.read_text(encoding="utf-8") == "begun\nno key\n"
    assert f"The agent's last words on standard error (more of it in {log}): no key" in said


def test_a_prompt_says_of_each_test_only_what_is_known(workspace: Workspace) -> None:
    """One that passes on the base is not said to fail; of one that nobody found nothing is said."""
    ticket = TICKET._replace(must_pass=("fails", "passes", "unknown"))
    agent = ScriptedAgent([doubled(4)])
    solve(
        ticket, workspace, agent, FakeRunner([ACCEPT], prepared=Prepared(frozenset({"fails"}), frozenset({"passes"})))
    )
    assert "These tests fail now and must pass; nothing else may break:\n- fails\n\n" in agent.prompts[0]
    assert "These tests pass now and must still pass afterwards:\n- passes\n\n" in agent.prompts[0]
    assert "These tests must pass:\n- unknown\n\n" in agent.prompts[0]


def test_what_the_agent_spent_goes_with_its_attempt(workspace: Workspace) -> None:
    """Tokens and cost, as far as it says."""

    class Metered(ScriptedAgent):
        def propose(self, prompt: str, folder: Path) -> Any:
            return super().propose(prompt, folder)._replace(tokens=1200, cost=0.5)

    runner = FakeRunner([ACCEPT])
    solve(TICKET, workspace, Metered([doubled(4)]), runner)
    assert runner.calls[1] == ("judge", 1, Spent(1200, 0.5))


def test_an_error_leaves_a_clean_workspace_and_no_end(workspace: Workspace) -> None:
    """What breaks down in the middle is no verdict."""

    class Breaking(FakeRunner):
        def judge(self, *words: Any, **named: Any) -> Judged:
            super().judge(*words, **named)
            raise WorkspaceError("The disk is full.")

    runner = Breaking([ACCEPT])
    with pytest.raises(WorkspaceError):
        solve(TICKET, workspace, ScriptedAgent([doubled(4)]), runner)
    assert runner.concluded == []
    assert workspace.tree().hash == workspace.base_tree


def test_each_step_is_told(workspace: Workspace) -> None:
    """Whoever waits sees what is going on."""
    said: list[str] = []
    tried(workspace, FakeRunner([rejected("first"), ACCEPT]), doubled(1), doubled(4), progress=said.append)
    assert said == [
        "Asking the agent for attempt 1 of 4.",
        "Attempt 1: Rejected: first.",
        "Asking the agent for attempt 2 of 4.",
        "Attempt 2: Accepted: all is well.",
    ]


class Improper:
    """An agent of somebody's own that breaks the agreement."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer

    def propose(self, _prompt: str, _folder: Path) -> Any:
        """Answer with whatever it is."""
        return self.answer()


def _raises() -> None:
    raise RuntimeError("no model \ud800 answers")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda: b"diff", "The agent returned bytes, which is no Proposal."),
        (lambda: None, "The agent returned nothing, which is no Proposal."),
        (lambda: Proposal(b"diff", None, 0.0), "The agent's Proposal has bytes for a patch"),  # type: ignore[arg-type]  # wrong on purpose
        (_raises, r"The agent raised RuntimeError: no model \ud800 answers"),
    ],
)
def test_an_agent_that_breaks_the_agreement_does_not_work(
    workspace: Workspace, answer: Callable[[], Any], said: str
) -> None:
    """Whatever it returns or raises ends as an answer that says so, with the workspace clean."""
    told: list[str] = []
    end = solve(TICKET, workspace, Improper(answer), FakeRunner([]), progress=told.append)
    assert isinstance(end, Inconclusive)
    assert said in end.sentence
    assert end.attempts == 0
    "".join(told).encode()
    assert workspace.tree().hash == workspace.base_tree


def test_half_a_surrogate_in_an_answer_is_no_patch(workspace: Workspace) -> None:
    """It cannot be written to any file, and the answer says where it is."""
    end, _ = tried(workspace, FakeRunner([]), OUTSIDE.replace("+b", "+\ud800"), max_attempts=1)
    assert isinstance(end, Exhausted)
    assert "is half a surrogate" in end.sentence
