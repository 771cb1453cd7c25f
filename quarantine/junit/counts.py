"""Five numbers that say how an upload went."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Run, RunEvent


class Counts(NamedTuple):
    """Tests by what they came to: `tests` is the sum of the other five.

    Attributes:
        tests: tests, not records: the tries of one test count once. Run events count as well: each of them stands
            for tests, or is one that has no name.
        passed: passed and never failed.
        failed: never passed, and its first try failed.
        error: never passed, and its first try had an error.
        skipped: skipped.
        flaky: failed and then passed; not counted among `passed`.
    """

    tests: int
    passed: int
    failed: int
    error: int
    skipped: int
    flaky: int


def counts(runs: Iterable[Run], events: Iterable[RunEvent]) -> Counts:
    """Count the tests of an upload; of an id that is not unique each record counts."""
    found: Counter[str] = Counter(event.outcome for event in events)
    for run in runs:
        if len(run.results) == 1:
            found[run.results[0].outcome] += 1
        elif not run.origin.unique:
            found.update(result.outcome for result in run.results)
        else:
            found["flaky" if run.is_flaky else run.results[0].outcome] += 1
    return Counts(
        sum(found.values()),
        found[Outcome.PASSED],
        found[Outcome.FAILED],
        found[Outcome.ERRORED],
        found[Outcome.SKIPPED],
        found["flaky"],
    )
