"""How often a session tries its failing tests again: what is known about each is gathered, and the policy decides.

Nothing is stored and nothing is spent here. What comes of the tries comes in with the session's report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane, Mode, Status
from quarantine.policy.criteria import Policy
from quarantine.policy.history import PASSED, History
from quarantine.policy.repeats import FailingTest, SessionPlan, plan_session
from quarantine.policy.reruns import outlook_of
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.assess import alpha_of
from quarantine.services.names import NameCache, Tests
from quarantine.services.on_trunk import OnTrunk
from quarantine.services.question import SessionQuestion
from quarantine.store import heads, histories, projects, standings
from quarantine.store.engine import reading
from quarantine.store.projects import Project

__all__ = ["planned"]

_LOOKED_INTO = 500
"""Of so many failing tests the evidence is read: an order among more of them is not worth the queries."""


def planned(app: App, slug: str, bearer: Bearer, asked: SessionQuestion) -> dict[str, Any]:
    """Return how often each failing test is worth trying again and why, schema 1; raises NotFound without a project."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        names = NameCache().resolve(connection, project, asked.failing)  # one session's names are worth no memory
        known = _Known.of(connection, project, app, asked.variant, names=names, lane=bearer.lane)
        failing = [known.failing(name, tests) for name, tests in names.items()]
    return _to_json(slug, plan_session(failing, app.policy, worker=asked.worker, workers=asked.workers))


def _to_json(slug: str, plan: SessionPlan) -> dict[str, Any]:
    return {
        "schema": 1,
        "project": slug,
        "tests": [one._asdict() for one in plan.tests],
        "budget": {"most": plan.budget, "planned": plan.planned},
        "sentence": plan.sentence,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What is stored about the tests that failed, in the session's variant.

    Attributes:
        lane: where the session's report will belong; None when it will not be sent with this token.
        standing: the rows of those that ever had a head.
        on_trunk: how often the quarantined ones fail.
        looked_into: those whose evidence is worth reading: it may still grow to an entry.
    """

    connection: Connection
    project: Project
    policy: Policy
    now: datetime
    lane: Lane | None
    history: History
    standing: Mapping[int, Mapping[str, Any]]
    on_trunk: OnTrunk
    looked_into: frozenset[int]

    @classmethod
    def of(
        cls,
        connection: Connection,
        project: Project,
        app: App,
        variant: str,
        *,
        names: Mapping[str, Tests],
        lane: Lane | None,
    ) -> "_Known":
        """Read it."""
        now = app.clock()
        history, _ = histories.load(connection, project.id, variant)
        history.grow(project.tests)
        tests = [tests[0] for tests in names.values() if len(tests) == 1]
        standing = standings.load(connection, project.id, variant, tests)
        quarantined = {test: row for test, row in standing.items() if row["status"] == Status.QUARANTINED}
        on_trunk = OnTrunk.of(connection, project.id, variant, history=history, standing=quarantined, now=now)
        with_evidence = [test for test in tests if test in standing and standing[test]["status"] == Status.GATING]
        return cls(
            connection=connection,
            project=project,
            policy=app.policy,
            now=now,
            lane=lane,
            history=history,
            standing=standing,
            on_trunk=on_trunk,
            looked_into=frozenset(with_evidence[:_LOOKED_INTO]),
        )

    def failing(self, name: str, tests: Tests) -> FailingTest:
        """Return what is known of the test of this name; of a name that several share, only whether trunk has any."""
        is_known = any(self.history.trunk_trials[test] > 0 for test in tests)
        if len(tests) != 1 or tests[0] not in self.standing:
            return FailingTest(name=name, is_known=is_known)
        test, row = tests[0], self.standing[tests[0]]
        status = Status(row["status"])
        is_quarantined = status is Status.QUARANTINED
        nearness, completes = self._outlook(test, row)
        return FailingTest(
            name=name,
            is_known=is_known,
            standing=status,
            is_excusable=is_quarantined and self.project.mode is Mode.ENFORCE,
            alarm_reruns=self.on_trunk.alarm(test, self.policy) if is_quarantined else 1,
            nearness=nearness,
            completes=completes,
        )

    def _outlook(self, test: int, row: Mapping[str, Any]) -> tuple[float, bool]:
        """Return nearness, and whether it completes an entry, of this failure as the test's next onset."""
        nothing = FailingTest(name="")
        alpha = alpha_of(self.project, self.policy, self.history, row) if test in self.looked_into else None
        if alpha is None or self.lane is None or self.history.last[test] != PASSED:
            return nothing.nearness, nothing.completes
        found = heads.of_test(self.connection, self.project.id, row["variant_hash"], test, row["life"])
        index = int(self.history.trials[test]) + 1
        supposed: Sequence[Head] = [*found, self._head(len(found) + 1, index, self.lane)]
        _, nearness, completes = outlook_of(supposed, len(supposed), index, alpha, self.policy)
        return nearness, completes

    def _head(self, number: int, index: int, lane: Lane) -> Head:
        """Return this failure as it will be stored if a try passes."""
        return Head(
            number=number,
            index=index,
            arrived_at=self.now,
            lane=lane,
            change=None if lane is Lane.TRUNK else "",
            build="",
            tree="",
            fingerprint=0,
            confirmed_at=self.now,
        )
