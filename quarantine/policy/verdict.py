"""The verdict on a build: accept only when every cause that could make it red is accounted for.

Tests are judged one by one (`quarantine.policy.findings`). What is no test is judged by the same table: a run that
broke off, a run event, an exit code that no failing test explains. Each of these is a pseudo-test that failed on the
head wherever it was seen, and on the base wherever it was seen there; so a crash that the base has too is a sick
environment, and one that only the change has rejects it. What a run that broke off does not report is no finding of its
own: the breaking off is.

The strongest effect decides: `suspect` and `rejects` reject, then `undecided` is inconclusive. What is left accepts, if
a gating test ran at all.

A run from which every gating test is gone is inconclusive, also where the base ran them all. Tests that are missing or
vanished *beside others that ran* are the change's doing; when they are all gone, so is what would tell the change from
a mistyped selection, another folder, or a report of something else, and a record that blamed the change would have an
agent edit code that may be right. Reruns would not tell either, for each of these causes stays. Nothing is lost by not
rejecting: nobody is let through, and the sentence says where to look. What the reports do say goes on rejecting: a test
that is there and skipped though the base ran it, a canary that did not fail, a run that breaks off with the change
only, and an error outside the tests (a syntax error at collection) that the base does not have. An exit code by itself
is no such error: most runners end with one when they find no test.

As long as the client can rerun and nothing rejects for good, the verdict says which reruns
would settle more; it is final when none are wanted or the budget is spent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quarantine.domain.verdict import Effect, Finding, Verdict
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import Found, TestFacts, Tries, find
from quarantine.policy.run_causes import Cause, RunFacts, RunFault, causes_of_run
from quarantine.policy.wording import lowered, named, plural

__all__ = ["CAUSES", "Cause", "JudgedTest", "Judgement", "RunFacts", "RunFault", "TestFacts", "Tries", "judge"]

CAUSES = (
    *("no-report", "unreadable-report", "truncated-report", "timed-out", "crash", "exit-code", "run-event"),
    *("canary", "exit-code-forged", "nothing-gated", "shrunken", "sick-environment", "environment-changed"),
    *("possible-regression", "explained", "must-pass", "vanished", "turned-skipped", "missing", "unsettled"),
    *("nondeterministic", "flaky", "quarantined", "pre-existing", "storm", "removed"),
)
"""Every code that a cause can have: those of the run, then the findings of its tests."""

_STRENGTH = list(Effect)


@dataclass(frozen=True, slots=True)
class JudgedTest:
    """One test with what it is found to be."""

    test: TestFacts
    found: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict with everything it rests on.

    Attributes:
        is_final: whether no further rerun is wanted.
        sentence: the answer, for a person.
        causes: the strongest first.
        tests: every test that did not simply pass.
        wanted_head, wanted_base: whole reruns of either tree that would settle more; 0 when final.
        wanted_must_pass: those of the head that must-pass tests want which are known to flake.
    """

    verdict: Verdict
    is_final: bool
    sentence: str
    causes: tuple[Cause, ...]
    tests: tuple[JudgedTest, ...]
    wanted_head: int = 0
    wanted_base: int = 0
    wanted_must_pass: int = 0

    @property
    def suspicions(self) -> tuple[str, ...]:
        """Why somebody may have tampered with the run."""
        return tuple(cause.sentence for cause in self.causes if cause.effect is Effect.SUSPECT)


def judge(run: RunFacts, tests: Iterable[TestFacts], policy: Policy) -> Judgement:
    """Return the verdict on a build.

    Args:
        run: the facts of the run.
        tests: every test that failed anywhere on the head's tree, is missing, gone or newly skipped, or must pass.
        policy: the criteria.
    """
    judged = [
        JudgedTest(test, found)
        for test in sorted(tests, key=lambda test: test.name)
        if (test.is_present or run.told_all) and (found := find(test, policy, can_rerun=run.can_rerun)) is not None
    ]
    judged = _with_emptiness(run, _with_environment(run, _with_storm(judged, policy)))
    whole = causes_of_run(run, policy)
    causes = [pair[0] for pair in whole] + _of_tests(judged) + _of_the_suite(run, judged)
    causes.sort(key=lambda cause: (_STRENGTH.index(cause.effect), CAUSES.index(cause.code), cause.sentence))
    verdict = _verdict(causes)
    if verdict is not Verdict.REJECT and _nothing_gated(run, verdict):
        causes.insert(0, Cause("nothing-gated", Effect.UNDECIDED, _told_of_emptiness(run, judged)))
        verdict = Verdict.INCONCLUSIVE
    head, base, must_pass = (0, 0, 0) if verdict is Verdict.REJECT else _wanted(run, judged, whole, policy)
    return Judgement(
        verdict=verdict,
        is_final=not head and not base,
        sentence=_sentence(verdict, causes, run),
        causes=tuple(causes),
        tests=tuple(judged),
        wanted_head=head,
        wanted_base=base,
        wanted_must_pass=must_pass,
    )


def _verdict(causes: Sequence[Cause]) -> Verdict:
    effects = {cause.effect for cause in causes}
    if effects & {Effect.SUSPECT, Effect.REJECTS}:
        return Verdict.REJECT
    return Verdict.INCONCLUSIVE if Effect.UNDECIDED in effects else Verdict.ACCEPT


def _with_storm(judged: Sequence[JudgedTest], policy: Policy) -> list[JudgedTest]:
    """Tell many tests that fail on head and base alike, though trunk passes them, from failures that trunk knows."""
    alike = [
        one
        for one in judged
        if one.found.finding is Finding.PRE_EXISTING and one.test.passes_on_trunk and not one.test.must_pass
    ]
    if len(alike) < policy.storm_tests:
        return list(judged)
    struck = {one.test.name for one in alike}
    said = f"It is one of {len(alike)} tests that fail here and on the base alike, though they pass on trunk."
    found = Found(Finding.STORM, Effect.UNDECIDED, said)
    return [JudgedTest(one.test, found) if one.test.name in struck else one for one in judged]


def _with_environment(run: RunFacts, judged: Sequence[JudgedTest]) -> list[JudgedTest]:
    """Blame nothing on the change that another environment may have done."""
    if not run.environment_changed:
        return list(judged)
    doubtful = {Finding.UNSETTLED, Finding.MISSING}
    return [
        JudgedTest(one.test, replace(one.found, effect=Effect.UNDECIDED))
        if one.found.finding in doubtful and one.found.effect is Effect.REJECTS and not one.test.base.total
        else one
        for one in judged
    ]


def _with_emptiness(run: RunFacts, judged: Sequence[JudgedTest]) -> list[JudgedTest]:
    """Blame the change for no test that is in no report where no gating test ran; see the module's docstring."""
    if not run.is_empty:
        return list(judged)
    return [
        JudgedTest(one.test, replace(one.found, effect=Effect.UNDECIDED))
        if one.found.effect is Effect.REJECTS and not one.test.is_present
        else one
        for one in judged
    ]


def _nothing_gated(run: RunFacts, verdict: Verdict) -> bool:
    """Return whether that no gating test ran is a cause of its own, and not what another cause comes to."""
    return not run.gating_ran and (verdict is Verdict.ACCEPT or (run.is_empty and run.told_all))


def _told_of_emptiness(run: RunFacts, judged: Sequence[JudgedTest]) -> str:
    though = f", though {run.gating_on_base:,} ran on the base" if run.gating_on_base else ""
    if run.faults:
        look = "see what kept them from running, on the base as well"
    elif any(one.test.is_skipped for one in judged):
        look = "see why the tests are skipped"
    else:
        look = "see whether the command still finds and selects the tests, and whether these are the reports it wrote"
    return f"No gating test ran, so nothing was verified{though}: {look}."


def _of_tests(judged: Sequence[JudgedTest]) -> list[Cause]:
    """Return one cause for each finding and effect, with its tests."""
    groups: dict[tuple[Finding, Effect], list[JudgedTest]] = {}
    for one in judged:
        groups.setdefault((one.found.finding, one.found.effect), []).append(one)
    return [_cause_of(finding, effect, group) for (finding, effect), group in groups.items()]


def _cause_of(finding: Finding, effect: Effect, group: Sequence[JudgedTest]) -> Cause:
    names = [one.test.name for one in group]
    if len(names) == 1:
        said = f"{names[0]}: {lowered(group[0].found.sentence)}"
    else:
        said = f"{plural(len(names), 'test')} {_TOLD[finding]}: {named(names)}."
    code = "sick-environment" if finding is Finding.STORM else finding.value
    return Cause(code, effect, said, tuple(names))


_TOLD = {
    Finding.EXPLAINED: "fail every time with the change and not without it",
    Finding.PRE_EXISTING: "fail on the base just the same",
    Finding.FLAKY: "fail and pass, on the base too",
    Finding.NONDETERMINISTIC: "are random under this change",
    Finding.QUARANTINED: "are quarantined",
    Finding.POSSIBLE_REGRESSION: "are quarantined and fail more often in a row than that explains",
    Finding.STORM: "fail here and on the base alike, though they pass on trunk",
    Finding.UNSETTLED: "failed and were not run often enough to say more",
    Finding.MISSING: "were expected and are in no report",
    Finding.VANISHED: "ran on the base and are in no report here",
    Finding.TURNED_SKIPPED: "ran on the base and are skipped here",
    Finding.MUST_PASS: "must pass",
    Finding.REMOVED: "are gone or skipped, and the change says that this is meant",
}


def _of_the_suite(run: RunFacts, judged: Sequence[JudgedTest]) -> list[Cause]:
    causes = []
    if run.shrunken:
        before, now = run.shrunken
        said = (
            f"The suite shrank from {plural(before, 'test')} to {now:,}, and the base that could say why was not run."
        )
        causes.append(Cause("shrunken", Effect.UNDECIDED, said))
    blamed = [one for one in judged if one.found.effect is Effect.UNDECIDED and not one.test.base.total]
    if run.environment_changed and blamed:
        causes.append(Cause("environment-changed", Effect.UNDECIDED, run.environment_changed))
    return causes


def _wanted(
    run: RunFacts, judged: Sequence[JudgedTest], whole: Sequence[tuple[Cause, Found | None]], policy: Policy
) -> tuple[int, int, int]:
    """Return (head, base, must-pass): the reruns that would settle more, within what the budgets leave.

    Must-pass is what those tests want of the head that have to convince; the head's includes it.
    """
    if not run.can_rerun:
        return 0, 0, 0
    usual = [one.found for one in judged if not one.test.has_to_convince]
    usual += [found for _, found in whole if found is not None]
    left = max(0, policy.verdict_reruns_most - run.head_reruns)
    base_left = max(0, policy.verdict_reruns_most - run.base_reruns)
    head = min(left, max((found.head for found in usual), default=0))
    base = max((found.base for found in [*usual, *(one.found for one in judged)]), default=0)
    must_pass = _wanted_to_convince(run, judged, policy)
    return max(head, must_pass), min(base, base_left), must_pass


def _wanted_to_convince(run: RunFacts, judged: Sequence[JudgedTest], policy: Policy) -> int:
    """Return the next round of reruns that must-pass tests want which are known to flake.

    A round is as long as the streak so far, so that whoever makes whole rounds needs few of them, and has never made
    more reruns in vain than before when one fails early in it. Nothing is wanted that the budget cannot bring to its
    end.
    """
    left = max(policy.verdict_reruns_most, policy.must_pass_reruns_most) - run.head_reruns
    return max(
        (
            min(one.found.head, max(policy.verdict_reruns, one.test.head.straight))
            for one in judged
            if one.test.has_to_convince and one.found.head <= left
        ),
        default=0,
    )


def _sentence(verdict: Verdict, causes: Sequence[Cause], run: RunFacts) -> str:
    excused = sum(len(cause.tests) for cause in causes if cause.effect in (Effect.EXCUSED, Effect.IGNORED))
    if verdict is Verdict.ACCEPT:
        but = f"; {plural(excused, 'other failure')} {'does' if excused == 1 else 'do'} not count" if excused else ""
        return f"Accepted: {plural(run.gating_ran, 'gating test')} ran and nothing speaks against the change{but}."
    deciding = [cause for cause in causes if cause.effect in _DECIDES[verdict]]
    more = len(deciding) - 1
    also = f" And {plural(more, 'more cause')}." if more > 0 else ""
    return f"{'Rejected' if verdict is Verdict.REJECT else 'Inconclusive'}: {deciding[0].sentence}{also}"


_DECIDES = {
    Verdict.REJECT: frozenset({Effect.SUSPECT, Effect.REJECTS}),
    Verdict.INCONCLUSIVE: frozenset({Effect.UNDECIDED}),
}
