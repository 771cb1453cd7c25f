"""What each test is found to be, and the two bounds on what a streak of passes may hide."""

from itertools import product

import numpy as np
import pytest

from quarantine.domain.outcome import Status
from quarantine.domain.verdict import Effect, Finding
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import Found, TestFacts, Tries, find

POLICY = Policy()
FULL = 1 + POLICY.verdict_reruns


def found(*, can_rerun: bool = True, **facts: object) -> Found:
    """Return the finding for one test; it fails when there is none."""
    result = find(TestFacts(name="test", **facts), POLICY, can_rerun=can_rerun)  # type: ignore[arg-type]  # few words
    assert result is not None
    return result


def tries(outcomes: str) -> Tries:
    """Return the tries that a string of P and F stands for, in order."""
    return Tries(outcomes.count("F"), outcomes.count("P"), len(outcomes) - len(outcomes.rstrip("P")))


def test_a_test_that_passes_is_no_finding() -> None:
    """Whatever the base does, there is nothing to say."""
    for base in (Tries(), Tries(3), Tries(1, 1, 1)):
        assert find(TestFacts(name="test", head=Tries(0, 2, 2), base=base), POLICY, can_rerun=True) is None


def test_what_fails_with_the_change_and_not_without_it_is_explained() -> None:
    """Three of three on the head, and a base that passes."""
    result = found(head=Tries(3), base=Tries(0, 1, 1), on_base=True)
    assert (result.finding, result.effect) == (Finding.EXPLAINED, Effect.REJECTS)
    assert result.sentence == "It failed 3 of 3 runs, and the base passes."


def test_a_change_that_the_map_knows_nothing_of_is_blamed_all_the_same() -> None:
    """The reach map is triage: the tries decide, and the sentence charges the map."""
    result = found(head=Tries(3), base=Tries(0, 1, 1), on_base=True, is_reached=False)
    assert result.effect is Effect.REJECTS
    assert "though the reach map" in result.sentence


@pytest.mark.parametrize(("failed", "wanted"), [(1, 2), (2, 1)])
def test_a_failure_is_rerun_until_it_is_known_to_be_one_that_always_comes(failed: int, wanted: int) -> None:
    """It is undecided until then, and the base is wanted once when nobody knows it."""
    result = found(head=Tries(failed))
    assert (result.effect, result.head, result.base) == (Effect.UNDECIDED, wanted, 1)


@pytest.mark.parametrize(
    ("head", "base", "told"),
    [
        (1, Tries(), "1 of 1 run, and the base has not been run; no further run was made, so"),
        (4, Tries(), "4 of 4 runs, and the base has not been run; no run of the base could be had, so"),
        (1, Tries(0, 1, 1), "1 of 1 run, and the base passes; no further run was made, so"),
        (2, Tries(0, 1, 1), "2 of 2 runs, and the base passes; no more runs could be had, so"),
    ],
)
def test_a_failure_that_nobody_reruns_rejects(head: int, base: Tries, told: str) -> None:
    """Nothing excuses it, and the sentence says which runs are missing."""
    result = found(head=Tries(head), base=base, can_rerun=False)
    assert (result.finding, result.effect) == (Finding.UNSETTLED, Effect.REJECTS)
    assert result.sentence == f"It failed {told} nothing excuses it."


def test_what_fails_on_the_base_just_the_same_is_not_the_changes_business() -> None:
    """It neither rejects nor instructs; failing in another way does both."""
    same = found(head=Tries(3), base=Tries(1), on_base=True, same_signature=True)
    other = found(head=Tries(3), base=Tries(1), on_base=True)
    assert (same.finding, same.effect) == (Finding.PRE_EXISTING, Effect.IGNORED)
    assert (other.finding, other.effect) == (Finding.EXPLAINED, Effect.REJECTS)


def test_one_failure_each_is_not_yet_taken_for_the_same_unless_trunk_knows_it_as_broken() -> None:
    """A base that flaked once with the same words would else hide a real break."""
    once = {"head": Tries(1), "base": Tries(1), "on_base": True, "same_signature": True}
    assert found(**once).finding is Finding.UNSETTLED  # type: ignore[arg-type]  # few words
    assert found(**once, standing=Status.BROKEN).finding is Finding.PRE_EXISTING  # type: ignore[arg-type]  # the same


def test_one_failure_does_not_convict_a_base_whose_trunk_passes_the_test() -> None:
    """It is run once more; a pass then says that it flaked, a second failure that the base really fails."""
    facts = {"head": Tries(3), "on_base": True, "same_signature": True, "passes_on_trunk": True}
    once = found(base=Tries(1), **facts)  # type: ignore[arg-type]  # few words
    assert (once.effect, once.head, once.base) == (Effect.UNDECIDED, 0, 1)
    assert found(base=Tries(2), **facts).finding is Finding.PRE_EXISTING  # type: ignore[arg-type]  # the same
    assert found(base=Tries(1, 1, 1), **facts).finding is not Finding.PRE_EXISTING  # type: ignore[arg-type]  # the same


def test_what_flakes_on_both_is_excused() -> None:
    """The change did not bring it."""
    result = found(head=Tries(1, 1, 1), base=Tries(1, 1, 1), on_base=True)
    assert (result.finding, result.effect) == (Finding.FLAKY, Effect.EXCUSED)


def test_failing_every_time_while_the_base_flakes_is_blamed_only_when_its_flaking_cannot_do_it() -> None:
    """With a base that failed 1 of 4, c is at most 2/5: four failures in a row have a chance of 2.6 %."""
    base = {"base": Tries(1, 3, 3), "on_base": True, "same_signature": True}
    three, four = (found(head=Tries(n), **base) for n in (3, 4))  # type: ignore[arg-type]  # few words
    assert (three.effect, three.head) == (Effect.UNDECIDED, 1)
    assert four.effect is Effect.REJECTS
    assert (2 / 5) ** 4 <= POLICY.verdict_error < (2 / 5) ** 3


def test_a_quarantined_test_is_excused_until_its_flaking_no_longer_explains_it() -> None:
    """Three failed reruns in a row with a base that passes make it a possible regression."""
    facts = {"standing": Status.QUARANTINED, "is_excusable": True, "alarm_reruns": 3, "base": Tries(0, 1, 1)}
    usual, many = (found(head=Tries(n), **facts) for n in (3, 4))  # type: ignore[arg-type]  # few words
    assert (usual.effect, usual.head) == (Effect.EXCUSED, 1)
    assert (many.finding, many.effect) == (Finding.POSSIBLE_REGRESSION, Effect.REJECTS)


def test_observing_excuses_nothing() -> None:
    """In a project that only observes a quarantined test is judged like any other."""
    result = found(standing=Status.QUARANTINED, is_excusable=False, head=Tries(3), base=Tries(0, 1, 1), on_base=True)
    assert result.finding is Finding.EXPLAINED


def test_what_vanished_or_turned_skipped_is_not_green() -> None:
    """Neither a deleted test nor a skipped one passes; also when it failed on the base, for that is no mend."""
    for base in (Tries(0, 1, 1), Tries(1)):
        assert found(is_present=False, base=base, on_base=True).finding is Finding.VANISHED
        skipped = found(is_skipped=True, base=base, on_base=True)
        assert (skipped.finding, skipped.effect) == (Finding.TURNED_SKIPPED, Effect.REJECTS)


def test_a_person_can_say_that_a_test_is_gone_on_purpose_but_not_one_that_must_pass() -> None:
    """`removed` covers the rest of the suite."""
    gone = {"is_present": False, "base": Tries(0, 1, 1), "on_base": True, "is_removed": True}
    assert found(**gone).effect is Effect.IGNORED  # type: ignore[arg-type]  # few words
    assert found(**gone, must_pass=True).effect is Effect.REJECTS  # type: ignore[arg-type]  # the same


def test_a_must_pass_test_gates_in_quarantine_and_has_to_be_convincing() -> None:
    """At 20 % unmended, 14 passes in a row would have had a chance of 4.4 %; 13 one of 5.5 %."""
    facts = {"must_pass": True, "standing": Status.QUARANTINED, "is_excusable": True, "rate": 0.2}
    few, enough = (found(head=Tries(0, n, n), **facts) for n in (13, 14))  # type: ignore[arg-type]  # few words
    assert (few.effect, few.head) == (Effect.UNDECIDED, 1)
    assert enough.effect is Effect.PASSES
    assert 0.8**14 <= POLICY.verdict_error < 0.8**13


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.02, 0.05])
def test_a_must_pass_test_that_flakes_rarely_takes_59_passes_and_never_more(rate: float) -> None:
    """The rate that is ruled out is 5 % at least: 0.95^59 is 4.8 %, and 0.95^58 5.1 %."""
    for facts in ({"standing": Status.QUARANTINED}, {"standing": Status.HELD}, {"base": Tries(1, 300, 300)}):
        told = {"must_pass": True, "rate": rate, **facts}
        few, enough = (found(head=Tries(0, n, n), **told) for n in (58, 59))  # type: ignore[arg-type]  # few words
        assert (few.effect, few.head) == (Effect.UNDECIDED, 1)
        assert enough.effect is Effect.PASSES
    assert 0.95**59 <= POLICY.verdict_error < 0.95**58
    assert POLICY.must_pass_reruns_most >= 58
    known_from_trunk_only = found(must_pass=True, rate=rate, head=Tries(0, 1, 1))
    assert known_from_trunk_only.effect is Effect.PASSES


def test_one_pass_of_a_must_pass_test_that_never_flaked_is_enough() -> None:
    """It failed before and passes now."""
    assert found(must_pass=True, head=Tries(0, 1, 1), base=Tries(1), on_base=True).effect is Effect.PASSES


def test_a_must_pass_test_that_fails_as_before_needs_no_rerun_to_reject() -> None:
    """Nothing was mended."""
    result = found(must_pass=True, head=Tries(1), base=Tries(1), on_base=True, same_signature=True)
    assert (result.effect, result.head) == (Effect.REJECTS, 0)


def accepted_chance(rate: float, runs: int) -> float:
    """Return the chance that a test failing at this rate under the change is settled within so many runs, by DP.

    It begins with a failure, and is over when a streak settles it or it is taken for one that always fails.
    """
    live: dict[tuple[str, ...], float] = {("F",): 1.0}
    accepted = 0.0
    for _ in range(runs - 1):
        following: dict[tuple[str, ...], float] = {}
        for sequence, chance in live.items():
            for outcome, share in (("F", rate), ("P", 1 - rate)):
                longer = (*sequence, outcome)
                result = found(head=tries("".join(longer)), base=Tries(0, 1, 1), on_base=True)
                if result.effect is Effect.EXCUSED:
                    accepted += chance * share
                elif result.effect is Effect.UNDECIDED:
                    following[longer] = chance * share
        live = following
    return accepted


@pytest.mark.parametrize("rate", [1 / 3, 0.4, 0.5, 0.7, 0.9])
def test_a_test_that_fails_at_least_a_third_of_the_time_is_excused_in_at_most_5_percent(rate: float) -> None:
    """Exact enumeration of every sequence of 13 runs, under the rate the rule promises to exclude and above it."""
    assert accepted_chance(rate, 13) <= POLICY.verdict_error


def test_however_many_runs_are_made_the_error_stays_below_its_bound() -> None:
    """Simulated with 300 runs a verdict: resubmitting a patch for ever does not talk it through."""
    random = np.random.default_rng(20261201)
    accepted = 0
    worlds = 600
    for failures in random.random((worlds, 300)) < 1 / 3:
        head = Tries(failed=1)
        for is_failure in failures:
            head = (
                Tries(head.failed + 1, head.passed)
                if is_failure
                else Tries(head.failed, head.passed + 1, head.straight + 1)
            )
            if not head.passed:  # so far it always failed, which another rule settles
                continue
            if found(head=head, base=Tries(0, 1, 1), on_base=True).effect is Effect.EXCUSED:
                accepted += 1
                break
    assert accepted / worlds <= POLICY.verdict_error


def test_more_passes_never_make_a_finding_worse_and_more_failures_never_better() -> None:
    """Over every sequence of six runs, one more pass at the end keeps or weakens the effect; one more failure not."""
    order = list(Effect)
    for outcomes in product("FP", repeat=6):
        sequence = "F" + "".join(outcomes)
        strengths = [
            order.index(found(head=tries(sequence + end), base=Tries(0, 1, 1), on_base=True).effect) for end in "FP"
        ]
        assert strengths[0] <= strengths[1], sequence
