"""The builds of the story, in the order in which they happen."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from quarantine.demo import ledger
from quarantine.demo.ledger import Commit
from quarantine.domain.outcome import Lane

__all__ = ["PlannedBuild", "timeline"]

CONTEXTS_EVERY = 10
"""Coverage contexts are recorded on every tenth trunk build."""
BUILD_TIME = timedelta(minutes=7)
"""From a commit to the arrival of its report, on the story's clock."""


@dataclass(frozen=True, slots=True)
class PlannedBuild:
    """One build to come.

    Attributes:
        name: what CI calls it.
        change: the pull request or ticket; None on trunk.
        with_contexts: whether the run records which lines each test runs.
    """

    name: str
    lane: Lane
    change: str | None
    commit: Commit
    with_contexts: bool = False

    @property
    def arrives_at(self) -> datetime:
        """When its report arrives, on the story's clock."""
        return self.commit.at + BUILD_TIME


def timeline(repository: Path) -> list[PlannedBuild]:
    """Return one build for each commit of the trunk and of every change, by arrival."""
    planned = [
        PlannedBuild(f"{ledger.TRUNK}-{number}", Lane.TRUNK, None, commit, with_contexts=number % CONTEXTS_EVERY == 0)
        for number, commit in enumerate(ledger.commits(repository, ledger.TRUNK), 1)
    ]
    for lane, change in ledger.branches(repository):
        pushed = ledger.commits(repository, f"{ledger.TRUNK}..{lane}/{change}")
        planned += [
            PlannedBuild(f"{change}-{number}", Lane(lane), change, commit) for number, commit in enumerate(pushed, 1)
        ]
    return sorted(planned, key=lambda build: build.arrives_at)
