"""The loop: generate, apply, run, feed back, roll back, repeat.

Each attempt starts from the base with the record of the last one only: most of what a loop gains lies in its first two
or three attempts, and a fresh start with one record beats a long conversation. A loop ends in one of four ways and
never hands on a patch that was not accepted.

What counts as an attempt: every patch, also one that is refused before anything ran, because it does not apply or
touches a protected path. What does not: an answer without a patch (prose, nothing, an agent that failed or ran out of
time), of which there may be as many as attempts. The same record twice in a row ends the loop: the agent has been told,
and did the same again.
"""

from collections.abc import Callable
from dataclasses import dataclass

from quarantine.loop.agent import Agent, Proposal, answered
from quarantine.loop.ends import Accepted, End, Exhausted, Inconclusive, Suspect
from quarantine.loop.errors import BadPatch
from quarantine.loop.judged import Judged, Prepared, Runner, Spent
from quarantine.loop.patch import Patch
from quarantine.loop.prompt import prompt, refusal
from quarantine.loop.protected import Protected
from quarantine.loop.suspicion import suspicions
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace

__all__ = ["NO_ATTEMPT", "solve"]

_AGENT_BROKE = frozenset({"agent-timed-out", "agent-failed"})
NO_ATTEMPT = _AGENT_BROKE | {"prose", "empty-patch"}
"""Problems of an answer that has no patch to try."""

_DEFAULT = Protected()
_UNKNOWN = Prepared()


def solve(
    ticket: Ticket,
    workspace: Workspace,
    agent: Agent,
    runner: Runner,
    max_attempts: int = 4,
    *,
    protected: Protected = _DEFAULT,
    full: bool = True,
    progress: Callable[[str], None] | None = None,
) -> End:
    """Let an agent mend a ticket and return how it ended.

    Args:
        ticket: what is asked for.
        workspace: where patches are tried; it is clean again afterwards.
        agent: who proposes patches.
        runner: who runs the tests and gets the verdict.
        max_attempts: patches that are tried at most.
        protected: paths that no patch may touch.
        full: whether every test is run before a patch is accepted; else that is said to be owed.
        progress: called with a sentence for each step.

    Raises:
        ClientError: the base cannot be run, the worktree cannot be put back, or the daemon does not answer.
    """
    loop = _Loop(
        ticket, workspace, agent, runner, max_attempts, protected, full=full, tell=progress or (lambda _said: None)
    )
    try:
        loop.base = runner.prepare(workspace, ticket)
        end = loop.ended()
    finally:
        workspace.roll_back()
    runner.conclude(ticket, end)
    return end


@dataclass(slots=True)
class _Loop:
    """One loop under way; the first fields are the arguments of `solve`.

    Attributes:
        attempts: patches tried so far.
        unanswered: answers so far that had no patch.
        last: what became of the last answer.
        base: what is known of the base.
    """

    ticket: Ticket
    workspace: Workspace
    agent: Agent
    runner: Runner
    max_attempts: int
    protected: Protected
    full: bool
    tell: Callable[[str], None]
    attempts: int = 0
    unanswered: int = 0
    last: Judged | None = None
    base: Prepared = _UNKNOWN

    def ended(self) -> End:
        """Make attempts until there is an end."""
        while self.attempts < self.max_attempts and self.unanswered < self.max_attempts:
            before = self.last
            proposal = self._proposed()
            self.last = self._judged(proposal)
            self.tell(f"{_named(proposal, self.attempts)}: {self.last.sentence}")
            end = self._end(proposal, self.last)
            if end is not None:
                return end
            if before is not None and before.record == self.last.record:
                return self._twice(proposal)
        what = f"No attempt was accepted, and {self.attempts} of {self.max_attempts} were made."
        if self.attempts < self.max_attempts:
            what = f"{self.unanswered} of the agent's answers held no patch."
        return self._gave_up(f"{what} The last:")

    def _proposed(self) -> Proposal:
        self.tell(f"Asking the agent for attempt {self.attempts + 1} of {self.max_attempts}.")
        with self.workspace.agent_folder() as folder:
            proposal = answered(self.agent, prompt(self.ticket, self.last, self.base), folder)
        if proposal.note:
            self.tell(proposal.note)
        if proposal.problem is not None and proposal.problem.code in _AGENT_BROKE:
            self._tell_of_the_agent(proposal.stderr.strip())
        self.attempts += _is_attempt(proposal)
        self.unanswered += not _is_attempt(proposal)
        return proposal

    def _tell_of_the_agent(self, stderr: str) -> None:
        """Tell the last line of what a failed agent said to a person, and keep the rest."""
        if not stderr:
            return
        kept = ""
        if self.base.logs is not None:
            place = self.base.logs / f"attempt-{self.attempts + 1}.agent.log"
            place.write_text(f"{stderr}\n", encoding="utf-8")
            kept = f" (more of it in {place})"
        self.tell(f"The agent's last words on standard error{kept}: {stderr.splitlines()[-1].strip()}")

    def _judged(self, proposal: Proposal) -> Judged:
        """Return what became of an answer; what cannot be tried is rejected before anything runs."""
        if proposal.patch is None:
            return refusal(proposal.problem or BadPatch("empty-patch", "The answer is empty.", ""))
        patch, number = proposal.patch, self.attempts
        try:
            self.protected.check(patch)
            spent = Spent(proposal.tokens, proposal.cost)
            judged = self.runner.judge(self.workspace, self.ticket, patch, attempt=number, spent=spent)
        except BadPatch as problem:
            return refusal(problem)
        if judged.verdict == "accept" and self.full:
            judged = self.runner.full(self.workspace, self.ticket, patch, attempt=number)
        return judged

    def _end(self, proposal: Proposal, judged: Judged) -> End | None:
        """Return the end that a verdict makes; None when there is something to feed back."""
        if judged.verdict == "suspect":
            return Suspect(self.ticket, self.attempts, judged, judged.reasons)
        if judged.verdict == "inconclusive":
            return Inconclusive(self.ticket, self.attempts, judged, judged.sentence)
        if judged.verdict == "accept" and proposal.patch is not None:
            return self._accepted(proposal.patch, judged)
        return None

    def _accepted(self, patch: Patch, judged: Judged) -> End:
        """Return Accepted, unless the patch itself touches what makes green worth something."""
        self.workspace.roll_back()
        self.workspace.apply(patch)
        reasons = suspicions(patch, self.workspace.path)
        if reasons:
            return Suspect(self.ticket, self.attempts, judged._replace(verdict="suspect", reasons=reasons), reasons)
        return Accepted(patch, self.attempts, judged, judged.owed)

    def _twice(self, proposal: Proposal) -> End:
        """Return the end that the same record makes when it comes a second time."""
        if proposal.problem is not None and proposal.problem.code in _AGENT_BROKE and self.last is not None:
            said = f"The agent does not work: {self.last.sentence}"
            return Inconclusive(self.ticket, self.attempts, self.last, said)
        return self._gave_up("The same record came twice in a row, so a further attempt would teach nothing:")

    def _gave_up(self, why: str) -> Exhausted:
        said = f"{why} {self.last.sentence}" if self.last else why
        return Exhausted(self.ticket, self.attempts, self.last, said)


def _is_attempt(proposal: Proposal) -> bool:
    return proposal.problem is None or proposal.problem.code not in NO_ATTEMPT


def _named(proposal: Proposal, number: int) -> str:
    return f"Attempt {number}" if _is_attempt(proposal) else "No attempt"
