"""Made-up worlds: drawn from a seed and nothing else, as they are said to be, and with known truths."""

import numpy as np
import pytest

from quarantine.simulate.accidents import draw
from quarantine.simulate.samples import causes, changed_files, failing_tests
from quarantine.simulate.world import AGENT, NEVER, TRUNK, Failures, Kind, Shape, World

SMALL = Shape(tests=600, days=30, builds_a_day=60)


@pytest.fixture(scope="module")
def world() -> World:
    """Return a small world."""
    return draw(SMALL, 4)


def test_a_seed_is_a_world() -> None:
    """The same seed twice is the same world; another is another."""
    one, again, other = draw(SMALL, 7), draw(SMALL, 7), draw(SMALL, 8)
    for name in Failures.__slots__:
        assert np.array_equal(getattr(one.failures, name), getattr(again.failures, name))
    assert one.flaky == again.flaky
    assert len(one.failures) != len(other.failures)


def test_failures_are_one_a_build_and_in_order(world: World) -> None:
    """By test, then by build; of several causes in one build the one that fails for longest."""
    failures = world.failures
    keys = failures.test * len(world.builds) + failures.build
    assert (np.diff(keys) > 0).all()
    assert (failures.confirmed >= world.builds.at[failures.build]).all()
    joined = Failures.joined([failures, failures])
    assert len(joined) == len(failures)


def test_what_always_fails_is_never_confirmed(world: World) -> None:
    """A regression fails in every try and every rerun; every outage and storm passes in the end."""
    failures = world.failures
    always = failures.kind == Kind.REGRESSION
    assert always.any()
    assert np.isinf(failures.confirmed[always]).all()
    assert (failures.tries[always] == NEVER).all()
    assert np.isfinite(failures.confirmed[failures.kind == Kind.STORM]).all()


def test_broken_trunk_breaks_what_is_based_on_it() -> None:
    """In a world with regressions only, each failure lies on a tree that holds the breaking commit."""
    shape = Shape(tests=300, days=20, builds_a_day=50, flaky_share=0.0, outages=0, storms_a_week=0.0,
                  bad_host_days=0.0, agents=0, miss=0.0, regressions_a_week=20.0)  # fmt: skip
    world = draw(shape, 3)
    trunk_at = world.builds.at[world.builds.is_trunk]
    spans: dict[int, list[tuple[int, int]]] = {}
    for test, begin, end in world.broken:
        first, last = (np.searchsorted(trunk_at, [begin, end]) + 1).tolist()
        spans.setdefault(test, []).append((first, last))
    for test, build in zip(world.failures.test.tolist(), world.failures.build.tolist(), strict=True):
        position = world.builds.position[build]
        assert any(first <= position < last for first, last in spans[test])


def test_rates_are_those_of_the_data() -> None:
    """Whatever the manner of its failures, a cause strikes at its rate: the mean over many worlds of one cause."""
    shares = []
    for seed in range(60):
        world = draw(Shape(tests=200, days=60, builds_a_day=60, late_share=0, mended_share=0), seed)
        own = world.failures.where(world.failures.kind == Kind.FLAKE)
        shares += [
            np.count_nonzero(own.test == one.test) / len(world.builds) / one.rate
            for one in world.flaky.values()
            if one.rate >= 0.02
        ]
    assert len(shares) > 100
    assert float(np.mean(shares)) == pytest.approx(0.95, abs=0.06)  # a member fails in 95 of 100 strikes


def test_samples_have_the_shape_of_the_data() -> None:
    """Most causes strike one test, a few strike many; half of the failing runs have two failing classes at most."""
    assert sum(cause.tests for cause in causes()) == 811
    assert max(cause.tests for cause in causes()) == 97
    assert all(0 < cause.rate < 1 for cause in causes())
    dice = np.random.default_rng(1)
    assert np.median(failing_tests(dice, 20_000)) == 2
    assert np.median(changed_files(dice, 20_000)) == 4


def test_an_agent_speaks_for_one_change(world: World) -> None:
    """However often a hostile ticket is attempted it is one change, and it claims to touch nothing."""
    hostile = world.failures.where(world.failures.kind == Kind.HOSTILE)
    for test in np.unique(hostile.test):
        builds = hostile.build[hostile.test == test]
        assert (world.builds.lane[builds] == AGENT).all()
        assert len(np.unique(world.builds.change[builds])) <= 3
        assert (world.builds.touched[builds] == 0).all()


def test_trunk_is_reached_by_no_change(world: World) -> None:
    """Nothing is touched on trunk, and a map misses at most what is really reached."""
    truly, seen = world.reached(5)
    assert not truly[world.builds.lane == TRUNK].any()
    assert not (seen & ~truly).any()
