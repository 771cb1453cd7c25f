"""The wire form of a verdict, schema 1."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarantine.domain.outcome import Mode, Status
from quarantine.domain.verdict import Effect, Finding
from quarantine.policy.findings import Tries
from quarantine.policy.verdict import JudgedTest, Judgement
from quarantine.policy.wording import plural
from quarantine.record import Record
from quarantine.services.facts import Case, Subject
from quarantine.services.naming import id_of
from quarantine.services.not_shown import NotShown
from quarantine.services.run_facts import Gating
from quarantine.store import incidents

LISTED_TESTS = 1_000
_STRENGTH = list(Effect)


def answer_of(
    case: Case,
    number: int,
    judgement: Judgement,
    subjects: Mapping[int, Subject],
    *,
    gating: Gating,
    not_shown: NotShown,
    record: Record | None,
    key: str,
    variants: Mapping[str, Mapping[str, str]],
) -> dict[str, Any]:
    """Return the answer.

    Args:
        case: the question.
        number: the verdict's number in the project.
        judgement: what the policy says.
        subjects: by the identity of their facts.
        gating: how much of the gating set ran.
        not_shown: what the build did not show.
        record: the failure record; None when nothing is anybody's business.
        key: what was judged.
        variants: the pairs of each variant by its hash.
    """
    slug = case.project.slug
    listed = sorted(judgement.tests, key=lambda one: (_STRENGTH.index(one.found.effect), one.test.name))
    return {
        "schema": 1,
        "id": str(number),
        "verdict": judgement.verdict.value,
        "final": judgement.is_final,
        "sentence": judgement.sentence,
        "suspect": list(judgement.suspicions),
        "causes": [
            {
                "code": cause.code,
                "effect": cause.effect.value,
                "sentence": cause.sentence,
                "tests": list(cause.tests[:LISTED_TESTS]),
            }
            for cause in judgement.causes
        ],
        "tests": [_test(case, one, subjects[id(one.test)], variants) for one in listed[:LISTED_TESTS]],
        "tests_left_out": max(0, len(listed) - LISTED_TESTS),
        "gating": {"ran": gating.ran, "passed": gating.passed, "of": gating.of},
        "not_shown": not_shown.to_json(),
        "incident": _incident(case),
        "record": _record(record),
        "wanted": {
            "head": judgement.wanted_head,
            "base": judgement.wanted_base,
            "must_pass": judgement.wanted_must_pass,
            "why": _why(judgement.wanted_head, judgement.wanted_base, judgement.tests),
        },
        "key": key,
        "evidence": f"/projects/{slug}/verdicts/{number}",
    }


def _test(case: Case, one: JudgedTest, subject: Subject, variants: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    test = id_of(dict(subject.row)) if subject.row else None
    return {
        "id": test,
        "name": one.test.name,
        "variant": dict(variants.get(subject.variant_hash, {})),
        "finding": one.found.finding.value,
        "effect": one.found.effect.value,
        "sentence": one.found.sentence + _would_have_been(case, one),
        "evidence": f"/projects/{case.project.slug}/tests/{test}" if test else None,
        "head": _tries(one.test.head),
        "base": _tries(one.test.base),
        "map_charged": one.found.finding is Finding.EXPLAINED and one.test.is_reached is False,
    }


def _incident(case: Case) -> str | None:
    """Return what is said of the storm that struck the judged build; None when none did."""
    struck = case.judged["incident"]
    return incidents.sentence_of(case.connection, case.project.id, struck) if struck else None


def _would_have_been(case: Case, one: JudgedTest) -> str:
    """Say what enforcing would have done, in a project that only observes."""
    observes = case.project.mode is Mode.OBSERVE and one.test.standing is Status.QUARANTINED
    if not observes or one.test.must_pass or not one.test.head.failed:
        return ""
    return " It would have been quarantined, and excused, if this project enforced."


def _tries(tries: Tries) -> dict[str, int]:
    return {"failed": tries.failed, "passed": tries.passed}


def _record(record: Record | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "text": record.text,
        "tokens": record.tokens,
        "failures": record.failures,
        "left_out": record.left_out,
        "key": record.key,
    }


def _why(head: int, base: int, tests: Sequence[JudgedTest]) -> str:
    if not head and not base:
        return ""
    wanted = [plural(head, "run") + " of the head's tree"] if head else []
    wanted += [plural(base, "run") + " of the base"] if base else []
    waiting = sum(bool(one.found.head or one.found.base) for one in tests)
    who = plural(waiting, "test") if waiting else "the run as a whole"
    return f"{' and '.join(wanted)} would settle more: {who} {'wait' if waiting > 1 else 'waits'} for that."
