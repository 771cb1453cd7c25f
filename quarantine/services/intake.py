"""What every step of taking one upload in needs to know."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Connection

from quarantine.domain.build import Build
from quarantine.policy.criteria import Policy
from quarantine.services.app import App
from quarantine.store.projects import Project

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Intake:
    """One upload inside its transaction.

    Attributes:
        project: as it was when the transaction began.
        build, seq: the build and its sequence number.
        arrival: the upload's number in the project.
        tests: how many ordinals the project has, those this upload added included.
        now: the instant of arrival.
        actor: who sent it, for the record.
    """

    app: App
    connection: Connection
    project: Project
    build: Build
    seq: int
    arrival: int
    tests: int
    now: datetime
    actor: str

    @property
    def policy(self) -> Policy:
        """The criteria every decision is made by."""
        return self.app.policy

    @property
    def day(self) -> int:
        """The day of arrival as days since 1970 (UTC)."""
        return (self.now - _EPOCH).days
