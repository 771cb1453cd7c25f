"""What a rule made of a world, measured against the truth."""

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from quarantine.simulate.ours import Stay, Story
from quarantine.simulate.world import Flaky, Kind, World

__all__ = ["CLASSES", "measured"]

CLASSES: tuple[tuple[str, float, float], ...] = (
    ("0.1 to 1 %", 0.001, 0.01),
    ("1 to 5 %", 0.01, 0.05),
    ("5 to 30 %", 0.05, 0.3),
    ("30 % and more", 0.3, 1.0),
)
"""Classes of flaky tests by their rate of onsets: how often, in all trials, they fail right after a pass.

A test that fails in one run of a hundred, but a hundred times in a row, has one onset in ten thousand trials.
"""

_DAY, _YEAR = 24.0, 8_766.0
_LOOK_DAYS = 20.0
"""A flaky test is one to be found when it flaked for so long within the world."""
_KEPT_DAYS = (30.0, 60.0)


def measured(world: World, story: Story, *, tolerated: float) -> dict[str, float]:
    """Return every measure that has a value in this world.

    Args:
        world: the truth.
        story: what the rule made of it.
        tolerated: p0; a test that fails less often than that is healthy by the promise, and counts as such.
    """
    stays = story.stays
    rates = onset_rates(world)
    flaky = {test: one for test, one in world.flaky.items() if one.rate >= tolerated}
    found = {
        "healthy tests quarantined": float(len({stay.test for stay in stays} - flaky.keys())),
        "broken tests quarantined": float(_broken(world, stays, flaky)),
        "tests held at the cap": float(story.held),
    }
    found |= _found(world, stays, flaky, rates)
    found |= _released(world, stays, flaky)
    return found | _kept(world, stays, flaky) | _against_the_least(stays, flaky, rates, tolerated)


def onset_rates(world: World) -> dict[int, float]:
    """Return, for each flaky test, its failures right after a pass as a share of the builds while it flaked."""
    failures, at = world.failures, world.builds.at
    own = failures.where(failures.kind == Kind.FLAKE)
    is_onset = (np.diff(own.test, prepend=-1) != 0) | (np.diff(own.build, prepend=-2) != 1)
    counts = np.bincount(own.test[is_onset], minlength=world.shape.tests)
    return {
        test: float(counts[test]) / max(1, int(np.count_nonzero((at >= one.born) & (at < one.mended))))
        for test, one in world.flaky.items()
    }


def _broken(world: World, stays: Sequence[Stay], flaky: dict[int, Flaky]) -> int:
    """Count the tests that went out while they were broken on trunk and no flake."""
    broken: dict[int, list[tuple[float, float]]] = {}
    for test, begin, end in world.broken:
        broken.setdefault(test, []).append((begin, end))
    return len(
        {
            stay.test
            for stay in stays
            if stay.test not in flaky and any(a <= stay.begin < b for a, b in broken.get(stay.test, ()))
        }
    )


def _found(
    world: World, stays: Sequence[Stay], flaky: dict[int, Flaky], rates: Mapping[int, float]
) -> dict[str, float]:
    """Return the share of each class that was ever found, and how many days that took."""
    first: dict[int, float] = {}
    for stay in sorted(stays, key=lambda one: one.begin):
        if stay.test in flaky and stay.end > flaky[stay.test].born:
            first.setdefault(stay.test, stay.begin)
    told = {}
    for name, low, high in CLASSES:
        wanted = [
            one
            for one in flaky.values()
            if low <= rates[one.test] < high and min(one.mended, world.hours) - one.born >= _LOOK_DAYS * _DAY
        ]
        if wanted:
            days = [max(0.0, first[one.test] - one.born) / _DAY for one in wanted if one.test in first]
            told[f"found, {name}"] = len(days) / len(wanted)
            if days:
                told[f"days to entry, {name}"] = median(days)
    return told


def _released(world: World, stays: Sequence[Stay], flaky: dict[int, Flaky]) -> dict[str, float]:
    """Return the share of releases of tests that still flake, and how many there are in a year of one flaky test."""
    exits = [stay for stay in stays if stay.end < world.hours]
    still = [stay for stay in exits if stay.test in flaky and flaky[stay.test].flakes_at(stay.end)]
    out = sum(min(stay.end, world.hours) - stay.begin for stay in stays if stay.test in flaky)
    told = {"still flaky, releases": float(len(still))}
    if exits:
        told["still flaky, share of releases"] = len(still) / len(exits)
    if out:
        told["still flaky, releases a test-year"] = len(still) / (out / _YEAR)
    return told


def _kept(world: World, stays: Sequence[Stay], flaky: dict[int, Flaky]) -> dict[str, float]:
    """Return the share of mended tests that are still out so many days later."""
    told = {}
    for days in _KEPT_DAYS:
        mended = [
            stay
            for stay in stays
            if stay.test in flaky
            and stay.begin < flaky[stay.test].mended <= stay.end
            and flaky[stay.test].mended + days * _DAY <= world.hours
        ]
        if mended:
            late = [stay for stay in mended if stay.end > flaky[stay.test].mended + days * _DAY]
            told[f"mended, still out after {days:.0f} days"] = len(late) / len(mended)
    return told


def _against_the_least(
    stays: Sequence[Stay], flaky: dict[int, Flaky], rates: Mapping[int, float], tolerated: float
) -> dict[str, float]:
    """Return the median of trials to entry over `log(1/alpha) / KL(p || p0)`, of tests that flaked from the start.

    That is the expected number of trials of the best test of p against p0 at that level (Wald), p the rate of onsets,
    for rates of 1 % and more. The spacing of onsets and the least span of an entry are not taken out of it.
    """
    fresh = []
    seen: set[int] = set()
    for stay in sorted(stays, key=lambda one: one.begin):
        one = flaky.get(stay.test)
        if one is None or one.born or not stay.trials or stay.test in seen:
            continue
        seen.add(stay.test)
        if rates[one.test] >= 0.01:  # noqa: PLR2004 - from 1 % on
            least = math.log(1 / stay.alpha) / divergence(min(rates[one.test], 0.999), tolerated)
            fresh.append(stay.trials / least)
    return {"trials over the least, fresh": median(fresh)} if fresh else {}


def divergence(rate: float, tolerated: float) -> float:
    """Return `KL(rate || tolerated)` of two Bernoulli variables, in nats."""
    return rate * math.log(rate / tolerated) + (1 - rate) * math.log((1 - rate) / (1 - tolerated))
