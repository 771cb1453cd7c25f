"""Which reruns the daemon wants now: what to run again, of which tree, when and why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.outcome import Lane, Status
from quarantine.policy.criteria import Policy
from quarantine.policy.history import History
from quarantine.policy.reruns import Waiting, WantedRerun, outlook_of, wanted_reruns
from quarantine.services import naming
from quarantine.services.app import App
from quarantine.services.assess import alpha_of
from quarantine.services.confirming import TreeOutcomes
from quarantine.store import aliases, builds, heads, histories, projects, roster, standings
from quarantine.store.aliases import Carriers
from quarantine.store.engine import reading
from quarantine.store.projects import Project

LOOKED_BACK = timedelta(days=14)
"""Heads older than this are not rerun any more."""


def wanted(app: App, slug: str, *, ahead: timedelta = timedelta(0)) -> dict[str, Any]:
    """Return the reruns wanted by now (or `ahead` of it), the most valuable first, and what of the budget is spent.

    Raises NotFound when there is no such project.
    """
    with reading(app.engine) as connection:
        project, now = projects.by_slug(connection, slug), app.clock()
        gathered = _Gathered(connection, project, app.policy, now)
        gathered.add_pending_heads()
        gathered.add_broken_candidates()
        spent = builds.reruns_since(connection, project.id, now - timedelta(days=1))
        found = wanted_reruns(gathered.waiting, now + ahead, spent, app.policy)
        variants = builds.variants(connection, project.id)
    listed = [gathered.to_json(one, variants.get(one.variant, {})) for one in found]
    return {"project": slug, "reruns": listed, "budget": {"per_day": app.policy.reruns_per_day, "spent": spent}}


@dataclass(slots=True)
class _Gathered:
    """What waits for a rerun, with what is needed to say how to make it."""

    connection: Connection
    project: Project
    policy: Policy
    now: datetime
    waiting: list[Waiting] = field(default_factory=list)
    builds: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    retired: Carriers = field(init=False)

    def __post_init__(self) -> None:
        """Read which ordinals are further names of tests: nothing is reported of them any more."""
        self.retired = aliases.carriers(self.connection, self.project.id)

    def add_pending_heads(self) -> None:
        """Add every head that a pass of its tree would confirm."""
        found = heads.pending(self.connection, self.project.id, self.now - LOOKED_BACK)
        pending = [row for row in found if row["test"] not in self.retired]
        names = self._names({row["test"] for row in pending})
        wanted = {row["variant_hash"] for row in pending}
        columns = {name: histories.load(self.connection, self.project.id, name)[0] for name in wanted}
        quarantined = self._standing(Status.QUARANTINED)
        for row in pending:
            if row["tree"] is None:
                continue
            self.builds.setdefault((row["tree"], row["variant_hash"]), row)
            self.waiting.append(
                Waiting(
                    test=names[row["test"]],
                    variant=row["variant_hash"],
                    lane=Lane(row["lane"]),
                    tree=row["tree"],
                    commit=row["commit"] or "",
                    failed_at=row["arrived_at"],
                    reruns=row["reruns_failed"],
                    **(
                        {}
                        if (row["variant_hash"], row["test"]) in quarantined
                        else self._outlook(row, columns[row["variant_hash"]])
                    ),
                )
            )

    def _standing(self, *statuses: Status) -> set[tuple[str, int]]:
        rows = standings.with_status(self.connection, self.project.id, *statuses)
        return {(row["variant_hash"], row["test"]) for row in rows}

    def _outlook(self, row: Mapping[str, Any], history: History) -> dict[str, Any]:
        """Return what this head would be worth to the entry rule if it were confirmed; see `Waiting`."""
        test, number = row["test"], row["number"]
        alpha = alpha_of(self.project, self.policy, history, row)
        if alpha is None:
            return {}
        found = heads.of_test(self.connection, self.project.id, row["variant_hash"], test, row["life"])
        supposed = [replace(head, confirmed_at=self.now) if head.number == number else head for head in found]
        return outlook_of(supposed, number, int(history.trials[test]), alpha, self.policy)._asdict()

    def add_broken_candidates(self) -> None:
        """Add the first failed trunk trials of every test that fails on trunk again and again."""
        settled = self._standing(Status.BROKEN, Status.QUARANTINED)
        for variant_hash, history in histories.every(self.connection, self.project.id):
            failing = np.flatnonzero(history.fail_streak >= self.policy.broken_failures).tolist()
            failing = [test for test in failing if (variant_hash, test) not in settled and test not in self.retired]
            trees = TreeOutcomes(self.connection, self.project.id, variant_hash, len(history))
            names = self._names(failing)
            for test in failing:
                self._add_candidate(test, names[test], int(history.fail_streak[test]), trees)

    def _add_candidate(self, test: int, name: str, fails: int, trees: TreeOutcomes) -> None:
        rows = builds.failed_trunk_trials(self.connection, self.project.id, trees.variant_hash, test)
        rows = rows[-fails:][: self.policy.broken_failures]
        found = builds.get(self.connection, self.project.id, [row["build_seq"] for row in rows])
        for build in found.values():
            if build["tree"] is None or build["received_at"] < self.now - LOOKED_BACK:
                continue
            failed, passed = trees.reruns(build["tree"], build["setting"], test, besides=build["seq"])
            self.builds.setdefault((build["tree"], trees.variant_hash), build)
            self.waiting.append(
                Waiting(
                    test=name,
                    variant=trees.variant_hash,
                    lane=Lane.TRUNK,
                    tree=build["tree"],
                    commit=build["commit"] or "",
                    failed_at=build["received_at"],
                    reruns=failed,
                    is_confirmed=passed > 0,
                    proves_broken=True,
                )
            )

    def _names(self, tests: Iterable[int]) -> dict[int, str]:
        rows = roster.rows(self.connection, self.project.id, tests)
        self.ids.update({naming.display_of(row): naming.id_of(row) for row in rows.values()})
        return {test: naming.display_of(row) for test, row in rows.items()}

    def to_json(self, one: WantedRerun, variant: Mapping[str, str]) -> dict[str, Any]:
        """Return the wire form of one wanted rerun, with the recorded command it repeats."""
        build = self.builds[one.tree, one.variant]
        return {
            "tree": one.tree,
            "commit": one.commit,
            "lane": one.lane.value,
            "variant": dict(variant),
            "variant_hash": one.variant,
            "job": build["job"],
            "command": build["command"],
            "environment_hash": build["environment_hash"],
            "stream": build["stream"],
            "rerun_of": build["build"],
            "tests": [{"id": self.ids[name], "name": name} for name in one.tests],
            "due_at": one.due_at.isoformat(),
            "why": one.why,
        }
