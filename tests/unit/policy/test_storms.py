"""What is a storm and what is not."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from quarantine.policy.criteria import Policy
from quarantine.policy.storms import BuildFailures, recognise

POLICY = Policy()
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SUITE = 2_000
FIVE = {f"test_db_{i}": "ConnectionRefused" for i in range(5)}


def _build(
    name: str, minutes: float, failures: Mapping[str, str] = FIVE, change: str | None = "", position: int = 10
) -> BuildFailures:
    return BuildFailures(
        build=name,
        change=f"change of {name}" if change == "" else change,
        trunk_position=position,
        arrived_at=NOON + timedelta(minutes=minutes),
        failures=failures,
    )


def _struck(
    *builds: BuildFailures, rates: Mapping[str, float] | None = None, policy: Policy = POLICY
) -> list[set[str]]:
    return [set(storm.builds) for storm in recognise(builds, rates or {}, SUITE, policy)]


def test_five_tests_in_two_unrelated_changes_are_a_storm() -> None:
    """The incident names its builds, tests, times and the chance of a coincidence."""
    other = {**FIVE, "test_own": "AssertionError"}
    (storm,) = recognise([_build("b", 40, other), _build("a", 0)], {}, SUITE, POLICY)
    assert storm.builds == ("a", "b")
    assert storm.failed == tuple(sorted(FIVE.items()))
    assert (storm.first_at, storm.last_at) == (NOON, NOON + timedelta(minutes=40))
    assert storm.chance < 1e-10
    assert storm.sentence.startswith(
        "5 tests failed together with the same signatures in 2 builds of unrelated changes (most often "
        "'ConnectionRefused'); their own rates would do that with chance "
    )


def test_a_recurring_incident_has_the_same_key() -> None:
    """Same tests, same signatures: the same incident, whatever the builds and the order."""
    (one,) = recognise([_build("a", 0), _build("b", 1)], {}, SUITE, POLICY)
    reordered = dict(reversed(FIVE.items()))
    (two,) = recognise([_build("y", 600, reordered), _build("x", 599, reordered)], {}, SUITE, POLICY)
    assert one.key == two.key
    assert len(one.key) == 32


@pytest.mark.parametrize(
    "builds",
    [
        (_build("a", 0), _build("b", 61)),
        (_build("a", 0), _build("b", 5, change="change of a")),
        (_build("a", 0, dict(list(FIVE.items())[:4])), _build("b", 5)),
        (_build("a", 0), _build("b", 5, dict.fromkeys(FIVE, "Timeout"))),
        (_build("a", 0),),
    ],
    ids=["too far apart", "one change", "four tests", "other signatures", "one build"],
)
def test_no_storm(builds: tuple[BuildFailures, ...]) -> None:
    """Apart in time, of one change, too few tests, unlike failures, or a single build: each is no storm."""
    assert _struck(*builds) == []


def test_one_flaky_test_failing_twice_is_no_storm() -> None:
    """Not even where the policy lets two tests make a storm."""
    two = replace(POLICY, storm_tests=2)
    assert _struck(_build("a", 0, {"test_flaky": "E"}), _build("b", 5, {"test_flaky": "E"}), policy=two) == []


def test_what_their_own_rates_explain_is_no_storm() -> None:
    """Five tests that each fail every second time fail together in two builds by themselves; rare ones do not."""
    assert _struck(_build("a", 0), _build("b", 5), rates=dict.fromkeys(FIVE, 0.5)) == []
    many = {f"test_{i}": 0.2 for i in range(150)}
    some = dict.fromkeys(list(many)[:5], "E")
    assert _struck(_build("a", 0, some), _build("b", 5, some), rates=many) == []
    assert _struck(_build("a", 0), _build("b", 5), rates=dict.fromkeys(FIVE, 0.02)) == [{"a", "b"}]


def test_a_commit_that_breaks_trunk_is_no_storm() -> None:
    """Builds on, after or based on the failing commit all hold that commit: one change, for the broken rule."""
    trunk = [_build(f"t{i}", 5 * i, change=None, position=10 + i) for i in range(3)]
    based = [_build("r1", 12, position=10), _build("r2", 14, position=12)]
    assert _struck(*trunk, *based) == []


def test_trunk_and_an_older_base_failing_alike_are_a_storm() -> None:
    """A change that does not hold the trunk commit cannot fail because of it."""
    assert _struck(_build("t", 0, change=None, position=10), _build("r", 5, position=9)) == [{"t", "r"}]


def test_unknown_positions_make_no_storm_with_trunk() -> None:
    """Where nobody knows what a tree holds, a failing trunk build may explain it."""
    assert _struck(_build("t", 0, change=None, position=0), _build("r", 5, position=0)) == []


def test_failures_that_trunk_had_before_are_left_out() -> None:
    """Tests that were failing on trunk already need no storm to explain them."""
    known = frozenset(FIVE)
    assert _struck(*(replace(_build(name, 0), already_failing=known) for name in "ab")) == []


def test_a_build_whose_base_fails_alike_is_a_storm_of_its_own() -> None:
    """The base control is the second, unrelated build."""
    shown = replace(_build("a", 0), on_base=frozenset(FIVE))
    assert _struck(shown) == [{"a"}]
    (storm,) = recognise([shown], {}, SUITE, POLICY)
    assert "in its build and on the base" in storm.sentence
    assert _struck(replace(shown, on_base=frozenset(list(FIVE)[:4]))) == []


def test_overlapping_pairs_are_one_incident_and_disjoint_ones_two() -> None:
    """Builds joined by common failures are one incident; another cause in the same hour is another."""
    disk = {f"test_disk_{i}": "NoSpace" for i in range(6)}
    builds = [_build("a", 0), _build("b", 1), _build("c", 2), _build("x", 3, disk), _build("y", 4, disk)]
    assert _struck(*builds) == [{"a", "b", "c"}, {"x", "y"}]


def test_more_builds_can_be_asked_for() -> None:
    """With three builds asked for, two are not enough."""
    three = replace(POLICY, storm_builds=3)
    builds = [_build("a", 0), _build("b", 1), _build("c", 2)]
    assert _struck(*builds[:2], policy=three) == []
    assert _struck(*builds, policy=three) == [{"a", "b", "c"}]
