"""The verdict on a whole run: what decides, what is wanted, and that nothing red is left unaccounted for."""

from dataclasses import replace
from itertools import product
from typing import Any, get_args

import pytest

from quarantine.domain.outcome import Status
from quarantine.domain.verdict import Effect, Finding, Verdict
from quarantine.policy.criteria import Policy
from quarantine.policy.run_causes import CanaryState, ReportsState, is_unexplained
from quarantine.policy.verdict import CAUSES, Judgement, RunFacts, RunFault, TestFacts, Tries, judge
from tests.docs import verdict_tables

POLICY = Policy()
PASSES = Tries(0, 1, 1)

EXCUSED = TestFacts(name="quarantined", head=Tries(1), base=PASSES, standing=Status.QUARANTINED, is_excusable=True)
REJECTS = TestFacts(name="broken", head=Tries(3), base=PASSES)
UNDECIDED = TestFacts(name="random", head=Tries(1, 2, 2), base=PASSES)
MISSING = TestFacts(name="missing", is_present=False, is_expected=True)
VANISHED = TestFacts(name="vanished", is_present=False, base=PASSES)
MUST_PASS = TestFacts(name="must-pass", is_present=False, must_pass=True)
SKIPPED = TestFacts(name="skipped", is_skipped=True, base=PASSES)


def verdict(*tests: TestFacts, **run: Any) -> Judgement:
    """Return the verdict on a run of ten gating tests, unless said otherwise."""
    return judge(RunFacts(**{"exit_code": 0, "gating_ran": 10} | run), tests, POLICY)


def codes(judgement: Judgement) -> list[str]:
    """Return the codes of its causes in order."""
    return [cause.code for cause in judgement.causes]


def test_a_clean_run_is_accepted_and_says_so_with_its_number() -> None:
    """Nothing speaks against it."""
    judgement = verdict()
    assert (judgement.verdict, judgement.is_final, judgement.causes) == (Verdict.ACCEPT, True, ())
    assert judgement.sentence == "Accepted: 10 gating tests ran and nothing speaks against the change."


def test_a_run_in_which_nothing_gated_is_inconclusive() -> None:
    """It verified nothing, whatever its exit code."""
    judgement = verdict(EXCUSED, gating_ran=0)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert codes(judgement)[0] == "nothing-gated"


def test_where_no_gating_test_ran_no_absence_and_no_exit_code_is_held_against_the_change() -> None:
    """Nor is anything rerun for it; an error outside the tests that the base does not have rejects all the same."""
    empty = {"gating_ran": 0, "exit_code": 5, "exit_head": Tries(1), "can_rerun": True}
    judgement = verdict(MISSING, VANISHED, MUST_PASS, **empty)
    assert (judgement.verdict, judgement.is_final) == (Verdict.INCONCLUSIVE, True)
    assert {cause.effect for cause in judgement.causes} == {Effect.UNDECIDED}
    assert codes(judgement)[0] == "nothing-gated"
    assert verdict(VANISHED, SKIPPED, **empty).verdict is Verdict.REJECT
    fault = RunFault(kind="collection-error", where="tests/test_x.py", base=PASSES)
    assert verdict(VANISHED, faults=[fault], **empty).verdict is Verdict.REJECT
    both = verdict(VANISHED, faults=[replace(fault, base=Tries(1))], **empty)
    assert (both.verdict, codes(both)[0]) == (Verdict.INCONCLUSIVE, "nothing-gated")


def test_a_must_pass_test_that_flakes_has_a_budget_of_its_own_and_rounds_that_grow() -> None:
    """Rounds as long as the streak, 58 reruns in all; other tests stay within theirs, and so does an ordinary one."""
    flaky = TestFacts(name="must", must_pass=True, standing=Status.QUARANTINED, rate=0.01)
    reruns, rounds = 0, []
    while True:
        passed = 1 + reruns
        judgement = verdict(replace(flaky, head=Tries(0, passed, passed)), can_rerun=True, head_reruns=reruns)
        assert judgement.wanted_head == judgement.wanted_must_pass
        if judgement.is_final:
            break
        rounds.append(judgement.wanted_head)
        reruns += judgement.wanted_head
    assert (rounds, reruns) == ([2, 3, 6, 12, 24, 11], 58)
    assert judgement.verdict is Verdict.ACCEPT
    beside = verdict(replace(flaky, head=Tries(0, 20, 20)), UNDECIDED, can_rerun=True, head_reruns=19)
    assert (beside.wanted_head, beside.wanted_must_pass) == (20, 20)
    ordinary = verdict(TestFacts(name="must", must_pass=True, head=Tries(1, 2, 2)), can_rerun=True)
    assert (ordinary.wanted_head, ordinary.wanted_must_pass) == (8, 0)


def test_no_rerun_is_made_that_the_budget_cannot_bring_to_an_end() -> None:
    """It failed again at the 50th rerun: ten passes more would show nothing, so the answer is final."""
    flaky = TestFacts(name="must", must_pass=True, standing=Status.QUARANTINED, rate=0.01)
    early = verdict(replace(flaky, head=Tries(1, 1, 1)), can_rerun=True, head_reruns=1)
    late = verdict(replace(flaky, head=Tries(1, 50, 1)), can_rerun=True, head_reruns=50)
    assert (early.wanted_head, early.is_final) == (2, False)
    assert (late.wanted_head, late.is_final, late.verdict) == (0, True, Verdict.INCONCLUSIVE)


@pytest.mark.parametrize("besides", list(verdict_tables.BESIDES))
def test_nothing_that_is_there_besides_is_ever_accepted(besides: str) -> None:
    """Whatever the exit code, the reports and the tests, by itself it keeps the run from being green."""
    more = verdict_tables.BESIDES[besides]
    for exit_code, reports, tests in product(
        verdict_tables.EXITS.values(), verdict_tables.REPORTS, verdict_tables.COLUMNS
    ):
        judgement = verdict_tables.combined(exit_code, reports, tests, more)
        assert judgement.verdict is not Verdict.ACCEPT, (exit_code, reports, tests)


def test_excused_failures_account_for_the_exit_code() -> None:
    """A quarantined failure makes the runner end with 1, and the change is accepted."""
    judgement = verdict(EXCUSED, exit_code=1)
    assert judgement.verdict is Verdict.ACCEPT
    assert judgement.sentence.endswith("1 other failure does not count.")


@pytest.mark.parametrize(
    ("broken", "missing"), [(Tries(1), "no further run was made"), (Tries(2), "no run of the base could be had")]
)
def test_a_run_that_broke_off_says_which_runs_are_missing(broken: Tries, missing: str) -> None:
    """The first run told everything and a later one did not: no more is said of it than is known."""
    judgement = verdict(broken_head=broken)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    [said] = [cause.sentence for cause in judgement.causes if cause.code == "crash"]
    assert said == (
        f"A run of this tree was stopped, or brought no whole report: {missing}, so nobody can say whether the change "
        "did it."
    )


def test_an_exit_code_that_nothing_explains_is_never_green() -> None:
    """No test failed, and yet the runner says red."""
    assert is_unexplained(4, failures=0)
    assert not is_unexplained(1, failures=3)
    assert not is_unexplained(1, failures=0, expected=1)
    assert not is_unexplained(None, failures=0)
    judgement = verdict(exit_code=4, exit_head=Tries(1))
    assert (judgement.verdict, codes(judgement)) == (Verdict.REJECT, ["exit-code"])


@pytest.mark.parametrize("fault", list(verdict_tables.SINGLE))
def test_what_breaks_off_with_the_change_only_rejects_it_and_on_both_is_a_sick_environment(fault: str) -> None:
    """A crash is judged as a test is."""
    where = list(verdict_tables.WHERE.values())
    mine, both = (verdict_tables.of_run(verdict_tables.SINGLE[fault], where[n]) for n in (0, 1))
    assert mine.verdict is Verdict.REJECT
    if fault != "an exit code that nothing explains":
        assert both.verdict is Verdict.INCONCLUSIVE


def test_a_run_that_broke_off_is_rerun_and_what_it_did_not_report_is_no_finding() -> None:
    """The breaking off is; two reruns and the base will tell."""
    judgement = verdict(MISSING, VANISHED, reports="none", gating_ran=0, exit_code=139, can_rerun=True)
    assert (judgement.wanted_head, judgement.wanted_base, judgement.tests) == (2, 1, ())
    assert not judgement.is_final


def test_once_a_rerun_came_to_its_end_its_missing_tests_count_again() -> None:
    """A run that tells everything has no such excuse."""
    judgement = verdict(VANISHED, reports="none", broken_head=Tries(1, 1, 1), can_rerun=True)
    assert judgement.verdict is Verdict.REJECT


@pytest.mark.parametrize("canary", ["passed", "skipped", "absent"])
def test_a_canary_that_did_not_fail_makes_the_run_suspect(canary: Any) -> None:
    """Whatever decided that may have decided the other outcomes."""
    judgement = verdict(canary=canary, exit_code=1)
    assert judgement.verdict is Verdict.REJECT
    assert len(judgement.suspicions) == 1


def test_a_runner_that_says_it_could_not_run_the_tests_is_no_forger() -> None:
    """After a syntax error no test runs, the canary neither; the run events and the exit code reject all the same."""
    fault = RunFault(kind="collection-error", where="tests/test_x.py")
    honest = verdict(canary="absent", exit_code=2, faults=[fault], exit_head=Tries(1))
    assert (honest.verdict, honest.suspicions) == (Verdict.REJECT, ())
    for exit_code, faults in ((1, [fault]), (0, [fault]), (2, [])):
        assert verdict(canary="absent", exit_code=exit_code, faults=faults).suspicions


def test_success_is_forged_where_a_canary_had_to_fail() -> None:
    """Also when there is no report to look the canary up in."""
    assert verdict(canary="failed").suspicions
    assert "exit-code-forged" in codes(verdict(canary="absent", reports="none", gating_ran=0))


def test_a_canary_that_failed_as_it_had_to_is_no_cause() -> None:
    """The runner ended with exactly its code."""
    assert verdict(canary="failed", exit_code=1).causes == ()


def test_many_tests_that_fail_on_both_though_trunk_passes_them_are_a_sick_environment() -> None:
    """Five make a storm; four are pre-existing failures, one by one."""

    def alike(count: int) -> list[TestFacts]:
        one = TestFacts(name="", head=Tries(3), base=Tries(1), on_base=True, same_signature=True, passes_on_trunk=True)
        return [replace(one, name=f"test-{n}") for n in range(count)]

    assert verdict(*alike(4)).verdict is Verdict.ACCEPT
    struck = verdict(*alike(5))
    assert (struck.verdict, codes(struck)) == (Verdict.INCONCLUSIVE, ["sick-environment"])
    assert {one.found.finding for one in struck.tests} == {Finding.STORM}


def test_a_changed_environment_is_named_and_not_blamed_on_the_change() -> None:
    """Without a base of the same environment a failure that nobody reruns stays undecided."""
    judgement = verdict(
        TestFacts(name="test", head=Tries(1)), environment_changed="The interpreter is another.", exit_code=1
    )
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "environment-changed" in codes(judgement)


def test_a_shrunken_suite_is_not_accepted() -> None:
    """Nobody can name what is gone."""
    judgement = verdict(shrunken=(4812, 312))
    assert (judgement.verdict, codes(judgement)) == (Verdict.INCONCLUSIVE, ["shrunken"])


def test_reruns_are_wanted_as_many_as_the_neediest_asks_and_the_budget_leaves() -> None:
    """One rerun of the whole command serves every test."""
    judgement = verdict(UNDECIDED, TestFacts(name="new", head=Tries(1)), can_rerun=True)
    assert (judgement.wanted_head, judgement.wanted_base) == (8, 1)
    nearly = verdict(UNDECIDED, can_rerun=True, head_reruns=POLICY.verdict_reruns_most - 3)
    assert nearly.wanted_head == 3
    spent = verdict(UNDECIDED, can_rerun=True, head_reruns=POLICY.verdict_reruns_most)
    assert (spent.is_final, spent.verdict) == (True, Verdict.INCONCLUSIVE)


def test_what_is_rejected_for_good_is_not_rerun() -> None:
    """Nothing more could save it."""
    judgement = verdict(REJECTS, UNDECIDED, can_rerun=True)
    assert (judgement.verdict, judgement.is_final) == (Verdict.REJECT, True)


def test_an_accepted_run_may_still_want_reruns_of_a_quarantined_test() -> None:
    """It bites while quarantined: the answer stands for now."""
    judgement = verdict(replace(EXCUSED, alarm_reruns=3), can_rerun=True, exit_code=1)
    assert (judgement.verdict, judgement.is_final, judgement.wanted_head) == (Verdict.ACCEPT, False, 3)


def expected(run: RunFacts, tests: list[TestFacts]) -> Verdict:
    """Return the verdict by the three rules read plainly, without the policy's code."""
    names = {test.name for test in tests}
    told = run.reports == "whole" and not run.timed_out and run.exit_code != 139
    gave_up = run.canary == "absent" and run.faults and run.exit_code not in (0, 1, None)
    if run.canary is not None and (run.exit_code == 0 or (told and run.canary != "failed" and not gave_up)):
        return Verdict.REJECT
    if names & {"broken", "skipped"} or run.faults:
        return Verdict.REJECT
    if run.gating_ran and told and (names & {"missing", "vanished", "must-pass"} or run.exit_head.failed):
        return Verdict.REJECT
    if not told or "random" in names or run.shrunken or not run.gating_ran:
        return Verdict.INCONCLUSIVE
    return Verdict.ACCEPT


def test_every_combination_of_causes_comes_to_what_the_rules_say() -> None:
    """Each exit code, state of the reports, canary, event and every subset of tests, nothing rerun."""
    kinds = (EXCUSED, REJECTS, UNDECIDED, MISSING, VANISHED, SKIPPED, MUST_PASS)
    tested = 0
    for exit_code, reports, timed_out, canary, gating_ran, shrunken, event in product(
        (0, 1, 139, None),
        get_args(ReportsState),
        (False, True),
        (None, *get_args(CanaryState)),
        (0, 10),
        (None, (20, 10)),
        (False, True),
    ):
        for subset in product((False, True), repeat=len(kinds)):
            tests = [test for test, is_in in zip(kinds, subset, strict=True) if is_in]
            failures = sum(test.head.failed for test in tests) + event + (canary == "failed")
            run = RunFacts(
                exit_code=exit_code,
                reports=reports,
                timed_out=timed_out,
                canary=canary,
                gating_ran=gating_ran,
                shrunken=shrunken,
                faults=[RunFault(kind="hook", where="x")] if event else [],
                exit_head=Tries(int(is_unexplained(exit_code, failures=failures))),
            )
            judgement = judge(run, tests, POLICY)
            assert judgement.verdict is expected(run, tests), (run, [test.name for test in tests])
            assert judgement.is_final
            assert {cause.code for cause in judgement.causes} <= set(CAUSES)
            if judgement.verdict is Verdict.ACCEPT:
                assert {cause.effect for cause in judgement.causes} <= {Effect.EXCUSED}
            tested += 1
    assert tested == 4 * 4 * 2 * 5 * 2 * 2 * 2 * 128


def test_the_order_of_the_tests_does_not_matter() -> None:
    """The same facts give the same answer."""
    tests = [EXCUSED, REJECTS, UNDECIDED, VANISHED]
    assert judge(RunFacts(gating_ran=1), tests, POLICY) == judge(RunFacts(gating_ran=1), tests[::-1], POLICY)


def test_the_tables_of_the_page_are_what_the_policy_decides() -> None:
    """docs/verdict.md is written anew by `python -m tests.docs.verdict_tables`."""
    text = verdict_tables.PAGE.read_text(encoding="utf-8")
    assert verdict_tables.with_tables(text) == text
