"""From one upload's runs to columns: who ran, what the first try did, which trials count, which are heads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from quarantine.domain.build import Build
from quarantine.domain.identity import VariantHash, VariantKeys, variant_hash
from quarantine.domain.outcome import Lane
from quarantine.domain.report import Result, Run
from quarantine.junit import signature
from quarantine.junit.texts import clip
from quarantine.policy.history import Advance, History, advance
from quarantine.services.intake import Intake
from quarantine.services.renamed_runs import Told
from quarantine.store import builds
from quarantine.store import outcomes as codes_of
from quarantine.store.outcomes import CODES, Codes, Mask, Outcomes

MESSAGE_CHARACTERS = 2_000
DETAIL_CHARACTERS = 20_000
_DETAIL_TAIL = 8_000
"""A failure's text ends with what it asserted, and with what the test printed."""


_VARIANT_OF = attrgetter("origin.variant")
_RESULTS_OF = attrgetter("results")
_CODE_BY_IDENTITY = {id(outcome): code for outcome, code in CODES.items()}
"""Codes by the identity of the outcome: members of an enumeration are singletons, and hashing one costs a call."""


@dataclass(slots=True)
class Batch:
    """The runs of one upload in one variant, in parallel arrays of shape (n,).

    Attributes:
        tests: ordinals, without duplicates.
        first, last: outcome code of the first and of the last try.
        fresh: whether no earlier upload of the build had this test; only then the first try can be a trial.
        called: of the tests that have several names, the ordinal of the one that was told.
        _signatures: those asked for so far, by place.
    """

    variant: VariantKeys
    variant_hash: VariantHash
    runs: Sequence[Run]
    tests: NDArray[np.intp]
    first: Codes
    last: Codes
    fresh: Mask
    called: Mapping[int, int] = field(default_factory=dict)
    _signatures: dict[int, str] = field(default_factory=dict)

    @property
    def first_failed(self) -> Mask:
        """Whether the first try failed."""
        return codes_of.is_failure(self.first)

    @property
    def ran(self) -> Mask:
        """Whether the first try ran to a pass or a failure."""
        return np.asarray(self.first != codes_of.SKIPPED)

    @property
    def passed_somehow(self) -> Mask:
        """Whether any try passed."""
        return np.asarray((self.first == codes_of.PASSED) | (self.last == codes_of.PASSED))

    def signature_of(self, place: int) -> str:
        """Return the signature of a run's first failed try, made once: storms, failures and heads ask for it."""
        if place not in self._signatures:
            self._signatures[place] = signature(failed_try(self.runs[place]))
        return self._signatures[place]

    def failures(self) -> Iterator[tuple[int, Run]]:
        """Yield (place, run) for every run with a failed try."""
        for place in np.flatnonzero(self.first_failed | codes_of.is_failure(self.last)).tolist():
            yield place, self.runs[place]


def by_variant(build: Build, runs: Sequence[Run]) -> Mapping[VariantKeys, Sequence[Run]]:
    """Return the runs grouped by their full variant: the build's pairs and those only the report knows."""
    if not any(map(_VARIANT_OF, runs)):
        return {build.variant: runs} if runs else {}
    groups: dict[VariantKeys, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.origin.variant, []).append(run)
    return {tuple(sorted((dict(build.variant) | dict(extra)).items())): group for extra, group in groups.items()}


def batch_of(told: Told, seen: Codes | None) -> Batch:
    """Return the batch; `seen` holds what earlier uploads of the build said, over all ordinals, or None."""
    tests = told.tests.astype(np.intp, copy=False)
    results = list(map(_RESULTS_OF, told.runs))
    first = np.array([_CODE_BY_IDENTITY[id(tries[0].outcome)] for tries in results], np.uint8)
    last = np.array([_CODE_BY_IDENTITY[id(tries[-1].outcome)] for tries in results], np.uint8)
    fresh = np.ones(len(tests), np.bool_) if seen is None else seen[tests] == codes_of.ABSENT
    return Batch(told.variant, variant_hash(told.variant), told.runs, tests, first, last, fresh, told.called)


def advance_by(history: History, batch: Batch, counted: Mask, intake: Intake, pairs: int) -> Advance:
    """Count the batch's first tries into the variant's history, in place; `pairs` is the highest pair number so far."""
    rows = np.flatnonzero(batch.fresh & batch.ran) if not intake.build.is_rerun else np.zeros(0, np.intp)
    advanced = advance(
        history,
        batch.tests[rows],
        failed=batch.first_failed[rows],
        counted=counted[rows],
        trunk=intake.build.lane is Lane.TRUNK,
        day=intake.day,
        build_seq=intake.seq,
        pairs=pairs,
    )
    is_head = np.zeros(len(batch.tests), np.bool_)
    is_head[rows] = advanced.is_head
    return Advance(is_head, advanced.new_pairs, advanced.new_days)


def store_outcomes(intake: Intake, batch: Batch, counted: Mask) -> None:
    """Store the upload's columns."""
    outcomes = _no_outcomes(intake, batch.variant_hash, is_run=not intake.build.is_rerun)
    outcomes.codes[batch.tests] = batch.first | (batch.last << np.uint8(4))
    outcomes.counted[batch.tests] = counted
    outcomes.called.update(batch.called)
    codes_of.insert(intake.connection, intake.project.id, outcomes)


def store_empty(intake: Intake) -> None:
    """Store that the build ran in its variant and told of no test; no trunk run in which a test could be missing."""
    build = intake.build
    variant = variant_hash(build.variant)
    builds.add_variant(intake.connection, intake.project.id, variant, dict(build.variant), intake.seq)
    codes_of.insert(intake.connection, intake.project.id, _no_outcomes(intake, variant, is_run=False))


def _no_outcomes(intake: Intake, variant: str, *, is_run: bool) -> Outcomes:
    build = intake.build
    return Outcomes(
        arrival=intake.arrival,
        build_seq=intake.seq,
        variant_hash=variant,
        tree=build.tree,
        setting=build.setting,
        lane=build.lane,
        is_run=is_run,
        received_at=intake.now,
        codes=np.zeros(intake.tests, np.uint8),
        counted=np.zeros(intake.tests, np.bool_),
    )


def counts_of_build(intake: Intake, variants: Iterable[str]) -> dict[str, int]:
    """Return how many tests of the build passed, failed, were skipped and passed only on a retry, over its variants."""
    totals = dict.fromkeys(builds.COUNTS, 0)
    for variant in variants:
        whole = codes_of.of_build(
            intake.connection, intake.project.id, intake.seq, variant_hash=variant, tests=intake.tests
        )
        for name, number in codes_of.count(whole.codes).items() if whole else ():
            totals[name] += number
    return totals


def failed_try(run: Run) -> Result:
    """Return the first failed try of a run; the last try when none failed."""
    return next((result for result in run.results if result.outcome.is_failure), run.results[-1])


def store_failures(
    intake: Intake, batch: Batch, counted: Mask, history: History, already_failing: NDArray[np.bool_]
) -> None:
    """Store every run with a failed try, with its trial index when its first try is a counted trial.

    `already_failing`, shape (n,), says whose last trunk trial before this build had failed.
    """
    rows = []
    for place, run in batch.failures():
        result = failed_try(run)
        test = int(batch.tests[place])
        rows.append(
            {
                "project_id": intake.project.id,
                "build_seq": intake.seq,
                "variant_hash": batch.variant_hash,
                "test": test,
                "is_trunk": intake.build.lane is Lane.TRUNK,
                "received_at": intake.now,
                "outcome": run.outcome.value,
                "tries": len(run.results),
                "passed_on_retry": run.is_flaky,
                "trial": int(history.trials[test]) if counted[place] else None,
                "already_failing": bool(already_failing[place]),
                "signature": batch.signature_of(place),
                "kind": result.kind[:MESSAGE_CHARACTERS],
                "message": result.message[:MESSAGE_CHARACTERS],
                "detail": clip(result.detail, DETAIL_CHARACTERS - _DETAIL_TAIL, _DETAIL_TAIL),
            }
        )
    builds.add_failures(intake.connection, rows)
