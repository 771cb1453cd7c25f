"""Broken: three failed trunk trials in a row whose trees fail again when rerun."""

import json
from dataclasses import replace

import pytest

from quarantine.policy.broken import FailedTrial, assess_broken
from quarantine.policy.criteria import Policy
from quarantine.policy.evidence import recompute

POLICY = Policy()


def _trial(number: int, failed: int = 2, passed: int = 0) -> FailedTrial:
    return FailedTrial(
        build=f"b{number}", commit=f"c{number}", tree=f"t{number}", reruns_failed=failed, reruns_passed=passed
    )


def test_three_in_a_row_that_fail_twice_again_are_broken() -> None:
    """The sentence names the commit range, and calls it broken rather than flaky."""
    found = assess_broken([_trial(1), _trial(2), _trial(3)], 0, POLICY)
    assert found.is_met
    assert found.unproved == ()
    assert found.sentence == (
        "Failed 3 trunk trials in a row from commit c1 to c3, and the trees of 3 of them failed at least 2 reruns "
        "each: it is broken, not flaky."
    )


def test_builds_of_one_tree_are_told_as_such() -> None:
    """Three builds of one tree prove it as reruns do, and the sentence claims neither reruns nor a commit range."""
    same = [replace(_trial(number), commit="c1", tree="t1") for number in (1, 2, 3)]
    assert assess_broken(same, 0, POLICY).sentence == (
        "Failed 3 trunk trials in a row at commit c1, and the one tree of 3 of them failed in at least 3 builds, any "
        "of which is a rerun of the others: it is broken, not flaky."
    )
    found = assess_broken([*same, replace(_trial(4), commit="c1")], 0, POLICY)
    assert "the 2 trees of 4 of them failed in at least 3 builds each" in found.sentence


@pytest.mark.parametrize(
    ("failing", "unproved"),
    [
        ([_trial(1), _trial(2)], []),
        ([_trial(1), _trial(2), _trial(3, failed=1)], ["b3"]),
        ([_trial(1), _trial(2, failed=0), _trial(3)], ["b2"]),
        ([_trial(1), _trial(2), _trial(3, passed=1)], []),
        ([_trial(1), _trial(2), _trial(3, passed=1), _trial(4)], []),
        ([_trial(1), _trial(2), _trial(3, failed=0), _trial(4), _trial(5)], ["b3"]),
    ],
)
def test_short_unproved_or_interrupted_runs_are_not_broken(failing: list[FailedTrial], unproved: list[str]) -> None:
    """Two are too few, each tree needs its reruns, and a tree that passed begins the count anew."""
    found = assess_broken(failing, 0, POLICY)
    assert not found.is_met
    assert [trial.build for trial in found.unproved] == unproved


def test_what_is_lacking_is_said() -> None:
    """The sentence counts the failures and the reruns that are still missing."""
    found = assess_broken([_trial(1), _trial(2, failed=1)], 0, POLICY)
    assert found.sentence == (
        "Failed 2 trunk trials in a row; to be broken it lacks 1 more failed trunk trial and 2 failed reruns each "
        "of 1 tree."
    )


def test_enough_proof_survives_later_failures_without_reruns() -> None:
    """Three proved failures in a row are enough, however many unproved ones follow."""
    assert assess_broken([_trial(1), _trial(2), _trial(3), _trial(4, failed=0)], 0, POLICY).is_met


@pytest.mark.parametrize(("passes", "ended"), [(0, False), (2, False), (3, True), (50, True)])
def test_it_ends_at_three_passes_in_a_row(passes: int, *, ended: bool) -> None:
    """Two passes are not enough to call it mended."""
    found = assess_broken([], passes, POLICY)
    assert (found.has_ended, found.is_met) == (ended, False)
    assert str(passes) in found.sentence


def test_failures_and_passes_at_once_crash() -> None:
    """A test whose last trial passed has no failures since its last pass."""
    with pytest.raises(ValueError, match="both"):
        assess_broken([_trial(1)], 1, POLICY)


def test_broken_evidence_recomputes() -> None:
    """What is stored with the decision gives it again."""
    for failing in ([_trial(1), _trial(2), _trial(3)], [_trial(1)], []):
        assert recompute(json.loads(json.dumps(assess_broken(failing, 0, POLICY).to_json()))) == ()
