"""Which heads a build confirms: the identical tree, in the same variant, job and environment, both failed and passed.

A pass anywhere among the builds of the tree will do: a retry inside the head's own build, a rerun, or a repetition that
came earlier. What never counts is another tree, another environment, a test that ran alone, or the word of a lane that
is trusted less than the head's.
"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane
from quarantine.services.counting import Batch
from quarantine.services.intake import Intake
from quarantine.store import heads
from quarantine.store import outcomes as codes_of
from quarantine.store.outcomes import Outcomes


@dataclass(slots=True)
class TreeOutcomes:
    """What ran on the trees this upload is about, read once each."""

    connection: Connection
    project_id: int
    variant_hash: str
    tests: int
    _cache: dict[tuple[str, str], list[Outcomes]] = field(default_factory=dict)

    @classmethod
    def of(cls, intake: Intake, variant_hash: str) -> "TreeOutcomes":
        """Return an empty cache for one variant of the project."""
        return cls(intake.connection, intake.project.id, variant_hash, intake.tests)

    def get(self, tree: str, setting: str) -> list[Outcomes]:
        """Return the outcomes of every stored build of the tree in this setting, in order of arrival."""
        key = (tree, setting)
        if key not in self._cache:
            self._cache[key] = codes_of.of_tree(
                self.connection, self.project_id, self.variant_hash, tree=tree, setting=setting, tests=self.tests
            )
        return self._cache[key]

    def reruns(self, tree: str, setting: str, test: int, besides: int) -> tuple[int, int]:
        """Return (failed, passed): how the test did on the tree in trunk builds other than `besides`."""
        others = [outcomes for outcomes in self.get(tree, setting) if outcomes.build_seq != besides]
        tried = [tries_of(outcomes, test) for outcomes in others if outcomes.lane is Lane.TRUNK]
        passed = sum(codes_of.PASSED in tries for tries in tried)
        return sum(bool(tries) for tries in tried) - passed, passed


def tries_of(outcomes: Outcomes, test: int) -> set[int]:
    """Return the codes of the first and the last try, skipped ones left out; empty when the test did not run."""
    code = int(outcomes.codes[test])
    return {code & 15, code >> 4} - {codes_of.ABSENT, codes_of.SKIPPED}


def confirm_earlier(intake: Intake, batch: Batch) -> set[int]:
    """Let this batch speak about pending heads of the same tree; return the tests whose heads it confirmed.

    A head of this very build is confirmed by a later upload of it that passed; its failing again there is only another
    try, not a rerun.
    """
    pending = _pending(intake, batch.variant_hash)
    if not pending:
        return set()
    passed = batch.passed_somehow
    failed = codes_of.is_failure(batch.first) & codes_of.is_failure(batch.last)
    place_of = {test: place for place, test in enumerate(batch.tests.tolist())}
    confirmed = set()
    for row in pending:
        place = place_of.get(row["test"])
        if place is None or Lane(row["lane"]) not in intake.build.lane.speaks_for:
            continue
        if passed[place]:
            heads.confirm(intake.connection, row, by=intake.seq, at=intake.now)
            confirmed.add(row["test"])
        elif failed[place] and row["build_seq"] != intake.seq:
            heads.count_failed_rerun(intake.connection, row)
    return confirmed


def _pending(intake: Intake, variant_hash: str) -> list[dict[str, Any]]:
    connection, project_id, build = intake.connection, intake.project.id, intake.build
    if build.tree is None:
        return heads.pending_of_build(connection, project_id, variant_hash, intake.seq)
    return heads.pending_of_tree(connection, project_id, variant_hash, build.tree, build.setting)


def known_of_tree(intake: Intake, batch: Batch, place: int, trees: TreeOutcomes) -> dict[str, Any]:
    """Return what is already known about the tree of a new head: who passed on it, or how often it failed again."""
    test, build = int(batch.tests[place]), intake.build
    if batch.last[place] == codes_of.PASSED:
        return {"confirmed_at": intake.now, "confirmed_by": intake.seq, "reruns_failed": 0}
    others = trees.get(build.tree, build.setting) if build.tree is not None else []
    failed = 0
    for outcomes in others:
        tries = tries_of(outcomes, test)
        if outcomes.build_seq == intake.seq or build.lane not in outcomes.lane.speaks_for or not tries:
            continue
        if codes_of.PASSED in tries:
            return {"confirmed_at": intake.now, "confirmed_by": outcomes.build_seq, "reruns_failed": 0}
        failed += 1
    return {"confirmed_at": None, "confirmed_by": None, "reruns_failed": failed}
