"""Which records are tries of one test, and which only share its id.

Never decided from order alone. Only dialects that are known to write a retry as another record are believed, and only
where all tries but one failed, because a runner retries nothing but failures:

gotestsum, web-test-runner, prow   any order: at most one record passed
gradle                             in order: only the last may have passed
unittest                           the same, and all records name the same file and line
testng                             a `<skipped/>` that carries a time, beside another record, is a failed try
pytest (rerunfailures)             bare records before the last are failed tries, when `tests=` says that the suite
                                   holds fewer tests than records
pytest                             a failure followed by an error is one try: the error is its teardown
surefire                           across documents: one that holds nothing but tests that failed in another
                                   (of the same module) is its rerun

Everything else that shares an id is marked `unique=False` and keeps one result for each record.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Result, Run
from quarantine.junit.records import DocumentRecords, SuiteRecords
from quarantine.junit.texts import joined

Tries = tuple[Result, ...]


class Record(NamedTuple):
    """One record of an id that has several.

    Attributes:
        run: as read, with the tries of this record alone.
        suite: it belongs to.
        document: it belongs to.
    """

    run: Run
    suite: SuiteRecords
    document: DocumentRecords


def runs_of(documents: Sequence[DocumentRecords]) -> tuple[Run, ...]:
    """Return the runs of all documents; no two of them share both digest and variant."""
    runs = tuple(chain.from_iterable(suite.runs for document in documents for suite in document.suites))
    if len(set(map(attrgetter("digest"), runs))) == len(runs):
        return runs
    repeated = {digest for digest, times in Counter(map(attrgetter("digest"), runs)).items() if times > 1}
    groups = _groups(documents, repeated)
    return tuple([run for run in runs if run.digest not in repeated] + [_merged(group) for group in groups])


def _groups(documents: Iterable[DocumentRecords], repeated: set[bytes]) -> list[list[Record]]:
    """Return the records of each (digest, variant) whose digest is among `repeated`, in order of appearance."""
    groups: dict[object, list[Record]] = {}
    for document in documents:
        for suite in document.suites:
            for run in suite.runs:
                if run.digest in repeated:
                    groups.setdefault((run.digest, run.origin.variant), []).append(Record(run, suite, document))
    return list(groups.values())


def _merged(group: list[Record]) -> Run:
    """Return the one run of all records of an id and variant."""
    first = group[0].run
    if len(group) == 1:
        return first
    by_document: dict[int, list[Record]] = {}
    for record in group:
        by_document.setdefault(id(record.document), []).append(record)
    tests = {document: _tests(records) for document, records in by_document.items()}
    found = list(chain.from_iterable(tests.values()))
    if len(found) == 1:
        return first._replace(results=found[0])
    if len(tests) == len(found):
        ordered = _rerun_order([records[0] for records in by_document.values()])
        if ordered is not None:
            tries = chain.from_iterable(tests[id(record.document)][0] for record in ordered)
            return ordered[0].run._replace(results=_failures_first(tries))
    place = min([record.run for record in group], key=lambda run: (run.origin.file, run.origin.line or 0))
    results = tuple(sorted([tries[-1] for tries in found], key=_spelt))
    return place._replace(results=results, origin=place.origin._replace(unique=False))


def _spelt(result: Result) -> tuple[str, ...]:
    """Order results that are no tries of one test: any order will do that does not depend on the documents'."""
    return tuple(map(str, result))


def _tests(records: list[Record]) -> list[Tries]:
    """Return the tries of each test that the records of one document are; a single one when all are its tries."""
    if len(records) == 1:
        return [records[0].run.results]
    producers = {record.suite.dialect.producer for record in records}
    rule = RULES.get(producers.pop()) if len(producers) == 1 else None
    tries = rule(records) if rule is not None else None
    return [tries] if tries is not None else [record.run.results for record in records]


def _any_order(records: list[Record]) -> Tries | None:
    tries = _failures_first(chain.from_iterable(record.run.results for record in records))
    return tries if _is_retried(tries) else None


def _in_order(records: list[Record]) -> Tries | None:
    tries = tuple(chain.from_iterable(record.run.results for record in records))
    return tries if _is_retried(tries) else None


def _same_line(records: list[Record]) -> Tries | None:
    places = {(record.run.origin.file, record.run.origin.line) for record in records}
    return _in_order(records) if len(places) == 1 and all(places.pop()) else None


def _is_retried(tries: Tries) -> bool:
    """Whether every try but the last failed, and the last was not skipped."""
    return all(result.outcome.is_failure for result in tries[:-1]) and tries[-1].outcome is not Outcome.SKIPPED


def _testng(records: list[Record]) -> Tries | None:
    results = list(chain.from_iterable(record.run.results for record in records))
    failed = [_as_failed(result) for result in results if _is_timed_skip(result)]
    final = [result for result in results if not _is_timed_skip(result)]
    return (*failed, *final) if len(final) == 1 and failed else None


def _is_timed_skip(result: Result) -> bool:
    return result.outcome is Outcome.SKIPPED and result.duration_s is not None


def _as_failed(result: Result) -> Result:
    return result._replace(outcome=Outcome.FAILED)


def _pytest(records: list[Record]) -> Tries | None:
    results = [record.run.results[0] for record in records]
    last = _with_teardown(results)
    earlier = results[: -2 if _has_teardown_error(results) else -1]
    if earlier and not (all(map(_is_bare, earlier)) and _hides_tries(records[0].suite)):
        return None
    return (*map(_as_failed, earlier), last)


def _is_bare(result: Result) -> bool:
    return result.outcome is Outcome.PASSED


def _has_teardown_error(results: Sequence[Result]) -> bool:
    return [result.outcome for result in results[-2:]] == [Outcome.FAILED, Outcome.ERRORED]


def _with_teardown(results: Sequence[Result]) -> Result:
    """Return the last try; an error in its teardown is told below its failure."""
    if not _has_teardown_error(results):
        return results[-1]
    failure, error = results[-2:]
    return failure._replace(detail=joined([failure.detail, f"[teardown] {error.message}", error.detail]))


def _hides_tries(suite: SuiteRecords) -> bool:
    """Whether a pytest suite holds records of failed tries that look passed: more records than `tests=` says.

    The surplus must be explained by such records and teardown errors exactly, or (subtests raise `tests=`) there must
    be a test with a single record: `--dist each` repeats every test and hides nothing.
    """
    if suite.hides_tries is None:
        suite.hides_tries = suite.tests is not None and _explains_surplus(suite, suite.tests)
    return suite.hides_tries


def _explains_surplus(suite: SuiteRecords, tests: int) -> bool:
    surplus = len(suite.runs) + len(suite.events) - tests
    times = Counter([run.digest for run in suite.runs])
    extra = len(suite.runs) - len(times)
    return surplus > 0 and (surplus == extra or 1 in times.values())


RULES: dict[str, Callable[[list[Record]], Tries | None]] = {
    "gotestsum": _any_order,
    "web-test-runner": _any_order,
    "prow": _any_order,
    "gradle": _in_order,
    "unittest": _same_line,
    "testng": _testng,
    "pytest": _pytest,
}


def _failures_first(results: Iterable[Result]) -> Tries:
    """Return the tries with failures first and passes last, each in the order given."""
    return tuple(sorted(results, key=lambda result: (not result.outcome.is_failure, result.outcome is Outcome.PASSED)))


def _rerun_order(records: list[Record]) -> list[Record] | None:
    """Return surefire's records of a test, one a document, in the order of execution.

    None when they are not one document and its reruns. Where the documents do not tell (each could be the other's
    rerun), the order is one that does not depend on the order they came in.
    """
    if any(record.suite.dialect.producer != "surefire" for record in records):
        return None
    if len({record.suite.base for record in records}) > 1:
        return None
    ordered = sorted(records, key=lambda record: (-len(record.document.digests), *_spelt(record.run.results[0])))
    first = ordered[0]
    return ordered if all(_reruns(other.document, first.document) for other in ordered[1:]) else None


def _reruns(later: DocumentRecords, earlier: DocumentRecords) -> bool:
    """Whether every test of `later` failed in `earlier`: nothing else is ever rerun."""
    return later.digests <= earlier.failed_digests
