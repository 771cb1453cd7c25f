"""Which heads a build confirms: the identical tree, in the same variant, job and environment, both failed and passed.

A pass anywhere among the uploads of the tree will do: a retry inside the head's own build, a rerun, or a repetition
that came earlier. What never counts is another tree, another environment or command (so that a test which ran alone
confirms nothing, also where the same build reports it), or the word of a lane that is trusted less than the head's.
Where nobody knows the tree, only the head's own build can have run on it.
"""

from collections.abc import Container, Iterable
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
        """Return the outcomes of every stored upload of the tree in this setting, in order of arrival."""
        key = (tree, setting)
        if key not in self._cache:
            self._cache[key] = codes_of.of_tree(
                self.connection, self.project_id, self.variant_hash, tree=tree, setting=setting, tests=self.tests
            )
        return self._cache[key]

    def reruns(self, tree: str, setting: str, test: int, besides: int) -> tuple[int, int]:
        """Return (failed, passed): how the test did on the tree in trunk builds other than `besides`."""
        found = tries_by_build(self.get(tree, setting), test, lanes={Lane.TRUNK})
        tried = [tries for build, tries in found.items() if build != besides]
        passed = sum(codes_of.PASSED in tries for tries in tried)
        return len(tried) - passed, passed


def tries_by_build(uploads: Iterable[Outcomes], test: int, *, lanes: Container[Lane]) -> dict[int, set[int]]:
    """Return the codes of a test's tries in each build of these lanes in which it ran, in order of arrival."""
    found: dict[int, set[int]] = {}
    for upload in uploads:
        tries = tries_of(upload, test)
        if tries and upload.lane in lanes:
            found.setdefault(upload.build_seq, set()).update(tries)
    return found


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
        own = heads.pending_of_build(connection, project_id, variant_hash, intake.seq)
        return [row for row in own if row["tree"] is None and row["setting"] == build.setting]
    return heads.pending_of_tree(connection, project_id, variant_hash, build.tree, build.setting)


def known_of_tree(intake: Intake, batch: Batch, place: int, trees: TreeOutcomes) -> dict[str, Any]:
    """Return what is already known about the tree of a new head: who passed on it, or how often it failed again."""
    test, build = int(batch.tests[place]), intake.build
    if batch.last[place] == codes_of.PASSED:
        return {"confirmed_at": intake.now, "confirmed_by": intake.seq, "reruns_failed": 0}
    uploads = trees.get(build.tree, build.setting) if build.tree is not None else []
    found = tries_by_build(uploads, test, lanes=[lane for lane in Lane if build.lane in lane.speaks_for])
    others = {seq: tries for seq, tries in found.items() if seq != intake.seq}
    passed = next((seq for seq, tries in others.items() if codes_of.PASSED in tries), None)
    if passed is not None:
        return {"confirmed_at": intake.now, "confirmed_by": passed, "reruns_failed": 0}
    return {"confirmed_at": None, "confirmed_by": None, "reruns_failed": len(others)}
