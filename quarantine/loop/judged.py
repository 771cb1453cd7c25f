"""What became of one attempt, and whoever finds that out."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from quarantine.loop.patch import Patch
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace

if TYPE_CHECKING:
    from quarantine.loop.ends import End

__all__ = ["UNKNOWN", "Judged", "Prepared", "Runner", "Spent", "Word"]

Word = Literal["accept", "reject", "inconclusive", "suspect"]


class Judged(NamedTuple):
    """The verdict on one attempt.

    Attributes:
        verdict: `suspect` when the run or the patch was tampered with, whatever the tests said.
        record: what the agent is told of it; empty when there is nothing that is its business.
        answer: the daemon's answer; empty when nothing was run.
        sentence: the verdict, for a person.
        key: the same for the same patch, base, environment and subset; empty when nothing was run.
        reasons: why it is suspect.
        owed: sentences: what this verdict leaves unshown.
    """

    verdict: Word
    record: str
    answer: Mapping[str, Any]
    sentence: str
    key: str = ""
    reasons: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()


class Spent(NamedTuple):
    """What the agent spent on an attempt, as far as it says."""

    tokens: int | None = None
    cost: float | None = None


UNKNOWN = Spent()


class Prepared(NamedTuple):
    """What is known before the first attempt.

    Attributes:
        failing: those of the tests that must pass that fail on the base.
        passing: those that pass on it already; the others were not found, or skipped.
        logs: a folder that stays, for what a person may want to read; None when there is none.
    """

    failing: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    logs: Path | None = None


class Runner(Protocol):
    """Whoever runs the tests and gets the verdict. It alone chooses which tests run."""

    def prepare(self, workspace: Workspace, ticket: Ticket) -> Prepared:
        """Run on the base what an attempt will be compared with; raises ClientError when the base cannot be run."""
        ...

    def judge(
        self, workspace: Workspace, ticket: Ticket, patch: Patch, *, attempt: int, spent: Spent = UNKNOWN
    ) -> Judged:
        """Return the verdict on a patch by the impacted tests; raises BadPatch when it does not apply."""
        ...

    def full(self, workspace: Workspace, ticket: Ticket, patch: Patch, *, attempt: int) -> Judged:
        """Return the verdict on a patch by every test, in a clean process and a freshly made tree."""
        ...

    def conclude(self, ticket: Ticket, end: "End") -> None:
        """Note how the loop ended. Nothing that goes wrong here changes the end."""
        ...
