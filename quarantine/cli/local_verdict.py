"""The verdict decided here, when the daemon gives none: the same rules, on what can be known without it.

Which tests gate is what the last snapshot says, for at most its maximum age; after that every test gates. Nothing can
be compared with the base and nothing is rerun, so a failing gating test rejects.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from quarantine.domain.identity import ID_PREFIX
from quarantine.domain.outcome import Outcome, Status
from quarantine.domain.report import Run
from quarantine.domain.spelling import spellings
from quarantine.junit import Document, Upload, read_together
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import NO_TRIES, TestFacts, Tries
from quarantine.policy.run_causes import ReportsState, RunFacts, RunFault, is_signal, is_unexplained
from quarantine.policy.verdict import JudgedTest, Judgement, judge

__all__ = ["IsGating", "local_verdict"]

IsGating = Callable[[str, Mapping[str, str]], bool]

_FAILED, _PASSED = Tries(failed=1), Tries(passed=1, straight=1)
_NOT_SHOWN = (
    "The daemon was not asked: nothing was compared with the base, no flaky test was told from a broken one, and "
    "nobody knows which changed lines a gating test reached."
)


def local_verdict(
    part: Mapping[str, Any], question: Mapping[str, Any], reports: Sequence[Path], is_gating: IsGating
) -> dict[str, Any]:
    """Return a verdict of the same shape as the daemon's answer, without an id, evidence or a record.

    Args:
        part: the build part.
        question: what would have been asked.
        reports: the report files; none for a run that left none.
        is_gating: says whether a test gates, by its id and its variant.
    """
    with ExitStack() as stack:
        documents = [Document(path.name, stack.enter_context(path.open("rb"))) for path in reports]
        upload = read_together(documents, stream=str(part.get("stream", "")))
    suite = _Suite(upload, part, question, is_gating)
    judgement = judge(_run_facts(upload, part, question, suite), suite.facts(), Policy())
    return _answer(judgement, suite)


class _Suite:
    """The tests of the reports, as far as they bear on the verdict."""

    def __init__(
        self, upload: Upload, part: Mapping[str, Any], question: Mapping[str, Any], is_gating: IsGating
    ) -> None:
        self.variant = {**part.get("variant", {}), **({"job": part["job"]} if part.get("job") else {})}
        self.named = {name: frozenset(question.get(name) or ()) for name in ("must_pass", "expected", "removed")}
        self.by_name: dict[str, Run] = {}
        self.seen: set[str] = set()
        self.gating_ran = self.gating_passed = 0
        self._facts: list[TestFacts] = []
        for run in upload.runs:
            self._take(run, is_gating)

    def facts(self) -> Iterator[TestFacts]:
        """Yield what is known of every test that bears on the verdict, absent ones included."""
        yield from self._facts
        for name in sorted(self.named["must_pass"] - self.seen):
            yield TestFacts(name=name, is_present=False, must_pass=True)
        for name in sorted(self.named["expected"] - self.named["must_pass"] - self.seen):
            yield TestFacts(name=name, is_present=False, is_expected=True, is_removed=name in self.named["removed"])

    def _take(self, run: Run, is_gating: IsGating) -> None:
        names = _names(run)
        said = {which: names & wanted for which, wanted in self.named.items()}
        self.seen |= said["must_pass"] | said["expected"]
        must_pass = bool(said["must_pass"])
        variant = {**self.variant, **dict(run.origin.variant)}
        gates = must_pass or is_gating(_id(run), variant)
        head = _tries(run)
        if gates and head.total:
            self.gating_ran += 1
            self.gating_passed += run.outcome is Outcome.PASSED
        name = run.test.display
        self.by_name[name] = run
        if head.failed or must_pass or (said["expected"] and not head.total):
            self._facts.append(
                TestFacts(
                    name=name,
                    head=head,
                    is_skipped=not head.total,
                    is_expected=bool(said["expected"]),
                    standing=Status.GATING if gates else Status.QUARANTINED,
                    is_excusable=not gates,
                    must_pass=must_pass,
                    is_removed=bool(said["removed"]),
                )
            )


def _id(run: Run) -> str:
    return f"{ID_PREFIX}{run.digest.hex()}"


def _names(run: Run) -> frozenset[str]:
    """Return everything that a person may call the test."""
    found = {_id(run), run.name} | spellings(run.test, run.origin.file)
    return frozenset(found | (spellings(run.origin.raw, run.origin.file) if run.origin.raw else set()))


def _tries(run: Run) -> Tries:
    failed = passed = straight = 0
    for result in run.results:
        if result.outcome.is_failure:
            failed, straight = failed + 1, 0
        elif result.outcome is Outcome.PASSED:
            passed, straight = passed + 1, straight + 1
    return Tries(failed, passed, straight)


def _run_facts(upload: Upload, part: Mapping[str, Any], question: Mapping[str, Any], suite: _Suite) -> RunFacts:
    state, exit_code, timed_out = _state(upload), part.get("exit_code"), bool(question.get("timed_out"))
    faults = tuple(
        RunFault(kind=kind, where=where)
        for kind, where in sorted({(event.kind, event.where) for event in upload.events if event.outcome.is_failure})
    )
    failures = len(faults) + sum(run.outcome.is_failure for run in upload.runs)
    is_broken = state != "whole" or timed_out or is_signal(exit_code)
    return RunFacts(
        exit_code=exit_code,
        timed_out=timed_out,
        reports=state,
        faults=faults,
        broken_head=_FAILED if is_broken else _PASSED,
        exit_head=_FAILED if is_unexplained(exit_code, failures=failures) else _PASSED,
        gating_ran=suite.gating_ran,
    )


def _state(upload: Upload) -> ReportsState:
    if not upload.readings:
        return "none"
    if all(reading.status == "rejected" for reading in upload.readings):
        return "unreadable"
    return "whole" if upload.complete else "truncated"


def _answer(judgement: Judgement, suite: _Suite) -> dict[str, Any]:
    return {
        "schema": 1,
        "id": None,
        "verdict": judgement.verdict.value,
        "final": True,
        "sentence": judgement.sentence,
        "suspect": list(judgement.suspicions),
        "causes": [
            {"code": cause.code, "effect": cause.effect.value, "sentence": cause.sentence, "tests": list(cause.tests)}
            for cause in judgement.causes
        ],
        "tests": [_test(one, suite) for one in judgement.tests],
        "gating": {"ran": suite.gating_ran, "passed": suite.gating_passed, "of": suite.gating_ran},
        "not_shown": {"sentences": [_NOT_SHOWN], "unreached": [], "exhaustive_owed": True},
        "record": None,
        "wanted": {"head": 0, "base": 0, "must_pass": 0, "why": ""},
        "key": "",
        "evidence": None,
        "receipt": None,
    }


def _test(one: JudgedTest, suite: _Suite) -> dict[str, Any]:
    run = suite.by_name.get(one.test.name)
    return {
        "id": _id(run) if run else None,
        "name": one.test.name,
        "variant": {**suite.variant, **(dict(run.origin.variant) if run else {})},
        "finding": one.found.finding.value,
        "effect": one.found.effect.value,
        "sentence": one.found.sentence,
        "evidence": None,
        "head": _counts(one.test.head),
        "base": _counts(NO_TRIES),
    }


def _counts(tries: Tries) -> dict[str, int]:
    return {"failed": tries.failed, "passed": tries.passed}
