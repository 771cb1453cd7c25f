"""How often tests fail on trunk, and how many failures in a row that explains."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.policy.criteria import Policy
from quarantine.policy.history import History
from quarantine.policy.regressions import alarm_reruns
from quarantine.store import builds, heads

_RATE_WEEKS = 4


@dataclass(frozen=True, slots=True)
class OnTrunk:
    """What is known on trunk about tests that ever had a head there, in one variant.

    Attributes:
        history: the variant's columns.
        standing: their standing rows by ordinal.
        failures: when each failed a counted trial.
    """

    connection: Connection
    project_id: int
    variant_hash: str
    history: History
    standing: Mapping[int, Mapping[str, Any]]
    failures: Mapping[int, Sequence[datetime]]
    now: datetime

    @classmethod
    def of(
        cls,
        connection: Connection,
        project_id: int,
        variant_hash: str,
        *,
        history: History,
        standing: Mapping[int, Mapping[str, Any]],
        now: datetime,
    ) -> "OnTrunk":
        """Read the failures of the tests that have a standing row."""
        failures = builds.trunk_failures(connection, project_id, variant_hash, list(standing))
        return cls(connection, project_id, variant_hash, history, standing, failures, now)

    def rate(self, test: int) -> float:
        """Return the share of failed trials on trunk."""
        failed = len(self.failures.get(test, ()))
        return failed / max(failed, int(self.history.trunk_trials[test])) if failed else 0.0

    def alarm(self, test: int, policy: Policy) -> int:
        """Return the failed reruns in a row that the test's flaking does not explain."""
        since = self.now - timedelta(weeks=_RATE_WEEKS)
        weekly = sum(at >= since for at in self.failures.get(test, ())) / _RATE_WEEKS
        life = self.standing[test]["life"]
        found = heads.of_test(self.connection, self.project_id, self.variant_hash, test, life)
        refailed = sum(head.reruns_failed for head in found)
        passed = sum(head.confirmed_at is not None for head in found)
        return alarm_reruns(weekly, refailed, refailed + passed, policy)
