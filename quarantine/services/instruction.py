"""The failure record of a verdict: only what is the business of whoever wrote the patch.

In it go the tests that reject and what is red beside the tests and rejects; a test that is random under the change only
with that label, and where something else rejects, so that nothing was run again, a failure that nobody knows from the
base with the label that says so. Quarantined, flaky and pre-existing failures never do.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from quarantine.domain.verdict import Effect, Finding, Verdict
from quarantine.policy.findings import Tries
from quarantine.policy.verdict import JudgedTest, Judgement
from quarantine.policy.wording import plural
from quarantine.record import Event, Failed, Record, failure_record
from quarantine.services.facts import Case, Subject
from quarantine.store import builds

_REJECTS = (Effect.REJECTS, Effect.SUSPECT)
_TEXT = 16 * 1024 * 1024
"""Characters of details that are read for one record, shared out among the failures."""
_LABELS = {
    Finding.NONDETERMINISTIC: "nondeterministic under this change",
    Finding.UNSETTLED: "not run again, so it may be chance",
}
_TOLD_ONE_BY_ONE = 3
_OF_TESTS = frozenset(finding.value for finding in Finding)


def record_of(case: Case, judgement: Judgement, subjects: Mapping[int, Subject]) -> Record | None:
    """Return the record; None when nothing that failed is the change's business, as far as anybody knows."""
    told = [one for one in judgement.tests if one.found.effect in _REJECTS or _is_told_with_a_label(one, judgement)]
    failing = [one for one in told if one.test.head.failed]
    absent = [one for one in told if not one.test.head.failed]
    causes = [cause for cause in judgement.causes if cause.effect in _REJECTS and cause.code not in _OF_TESTS]
    rejects = judgement.verdict is Verdict.REJECT
    events = list(_events(case)) if rejects else []  # also where the tests that they kept from running reject already
    facts = [*_told_of_absent(absent, judgement), *(cause.sentence for cause in causes)]
    if not failing and not facts and not events:
        return None
    return failure_record(
        list(_failures(case, failing, subjects)),
        events,
        exit_code=case.judged["exit_code"],
        root=case.question.root,
        log=case.question.log,
        budget_tokens=case.question.record_tokens,
        facts=facts,
    )


def _told_of_absent(absent: Sequence[JudgedTest], judgement: Judgement) -> Iterable[str]:
    """Yield a sentence for each test that is not there; one for all of a finding where there are many."""
    if len(absent) <= _TOLD_ONE_BY_ONE:
        yield from (f"{one.test.name}: {one.found.sentence}" for one in absent)
        return
    findings = {one.found.finding.value for one in absent}
    yield from (cause.sentence for cause in judgement.causes if cause.effect in _REJECTS and cause.code in findings)


def _is_told_with_a_label(one: JudgedTest, judgement: Judgement) -> bool:
    if one.found.effect is not Effect.UNDECIDED:
        return False
    if one.found.finding is Finding.UNSETTLED:
        return judgement.verdict is Verdict.REJECT and not one.test.base.failed
    return one.found.finding is Finding.NONDETERMINISTIC


def _events(case: Case) -> Iterable[Event]:
    """Yield the run events of the head that the base does not have, each once."""
    on_base = {(event["kind"], event["where"]) for several in case.base.side.events.values() for event in several}
    told = set(on_base)
    for several in case.head.events.values():
        for event in several:
            place = (event["kind"], event["where"])
            if place not in told:
                told.add(place)
                yield Event(kind=place[0], where=place[1], message=event["message"], detail=event["detail"])


def _failures(case: Case, failing: Sequence[JudgedTest], subjects: Mapping[int, Subject]) -> Iterable[Failed]:
    by_variant: dict[str, list[int]] = {}
    for one in failing:
        subject = subjects[id(one.test)]
        if subject.test is not None:
            by_variant.setdefault(subject.variant_hash, []).append(subject.test)
    details = {
        variant: builds.failure_details(
            case.connection, case.project.id, variant, tests, among=case.head.builds, characters=_TEXT // len(failing)
        )
        for variant, tests in by_variant.items()
    }
    for one in failing:
        subject = subjects[id(one.test)]
        row: Mapping[str, Any] = details.get(subject.variant_hash, {}).get(subject.test or 0, {})
        yield Failed(
            name=one.test.name,
            kind=row.get("kind", ""),
            message=row.get("message", ""),
            detail=row.get("detail", ""),
            tries=_tried(one.test.head),
            note=_LABELS.get(one.found.finding, "") if one.found.effect is Effect.UNDECIDED else "",
        )


def _tried(tries: Tries) -> str:
    return f"{tries.failed} of {plural(tries.total, 'run')} failed"
