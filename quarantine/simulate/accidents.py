"""What fails in a world: flaking by cause, and the accidents that are no flaking. `draw` makes a whole world."""

from collections.abc import Iterator

import numpy as np

from quarantine.simulate.samples import Cause, causes, failing_tests
from quarantine.simulate.world import AGENT, NEVER, Bools, Failures, Flaky, Floats, Ints, Kind, Shape, World, builds_of

__all__ = ["draw"]

Generator = np.random.Generator
RERUN_H = (0.3, 1.3, 24.3)
"""When planned reruns are known to have passed: at once, after an hour, after a day, each with the time a run takes."""

_RETRY_H, _SECOND = 0.05, 2
_MOST_TRIES = 20
_IN_BURST = 0.8
_MEMBER = 0.95
"""How often a test of a cause fails when the cause strikes."""
_SERVICES, _SERVICE_TESTS, _HOST_TESTS = 3, 50, 30
_MENDED_AFTER_H = 8.0
_BAD_CHANGES = 0.3
_LEAST_STORM = 5
_HOSTILE_ATTEMPTS, _HOSTILE_RATE = 50, 0.5


def draw(shape: Shape, seed: int) -> World:
    """Return the world of a seed."""
    dice = np.random.default_rng((seed, 0))
    world = World(shape, seed, builds_of(shape, dice))
    parts = [*_flakes(world, dice), *_regressions(world, dice), *_outages(world, dice), *_bad_host(world, dice)]
    parts += [*_storms(world, dice), *_hostile(world, dice)]
    world.failures = Failures.joined(parts)
    return world


def _failures(tests: Ints, builds: Ints, tries: Ints, confirmed: Floats, *, signature: int, kind: Kind) -> Failures:
    size = len(tests)
    return Failures(
        tests.astype(np.int64),
        builds.astype(np.int64),
        tries.astype(np.int64),
        confirmed,
        np.full(size, signature, np.int64),
        np.full(size, kind, np.int64),
    )


def _tries(dice: Generator, again: Floats) -> Ints:
    """Draw how many tries in a row fail, the next one with chance `again` each."""
    drawn = np.ones(len(again), np.int64)
    going = np.ones(len(again), np.bool_)
    for _ in range(_MOST_TRIES):
        going &= dice.random(len(again)) < again
        drawn += going
    return drawn


def confirmed_at(dice: Generator, at: Floats, tries: Ints, later: Floats) -> Floats:
    """Return when each tree is known to pass: by a retry in its job, or by a planned rerun.

    Args:
        dice: what is left to chance.
        at: when each failed.
        tries: how many tries in a row fail; a first retry that passes confirms in the job itself.
        later: shape (n, 2): chance that the rerun after an hour passes, and after a day.
    """
    passes = dice.random((len(at), 2)) < later
    first, second = tries == 1, tries == _SECOND
    delay = np.select([first, second, passes[:, 0], passes[:, 1]], [_RETRY_H, *RERUN_H], np.inf)
    found: Floats = at + delay
    return found


def _flakes(world: World, dice: Generator) -> Iterator[Failures]:
    """Draw causes until enough tests flake, and when each strikes."""
    shape, wanted = world.shape, round(world.shape.tests * world.shape.flaky_share)
    free = dice.permutation(shape.tests)
    known = causes()
    number = taken = 0
    while taken < wanted:
        cause = known[int(dice.integers(len(known)))]
        members = free[taken : taken + min(cause.tests, wanted - taken)]
        taken += len(members)
        number += 1
        born, mended = _life(world, dice)
        for test in members.tolist():
            world.flaky[test] = Flaky(test, cause.rate, born, mended, number)
        yield from _struck(world, dice, cause, members, number=number, life=(born, mended))


def _life(world: World, dice: Generator) -> tuple[float, float]:
    """Draw from when until when a cause strikes."""
    hours = world.hours
    born = float(dice.uniform(0.2, 0.5) * hours) if dice.random() < world.shape.late_share else 0.0
    is_mended = dice.random() < world.shape.mended_share
    return born, float(dice.uniform(born + 0.25 * hours, born + 0.4 * hours)) if is_mended else np.inf


def _struck(
    world: World, dice: Generator, cause: Cause, members: Ints, *, number: int, life: tuple[float, float]
) -> Iterator[Failures]:
    builds = world.builds
    alive = (builds.at >= life[0]) & (builds.at < life[1])
    strikes, again, later = _manner(world, dice, cause.rate)
    struck = np.flatnonzero(strikes & alive)
    if not len(struck):
        return
    hit = dice.random((len(members), len(struck))) < _MEMBER
    which, where = np.nonzero(hit)
    tests, found = members[which], struck[where]
    tries = _tries(dice, np.full(len(found), again))
    chance = np.broadcast_to(np.array(later), (len(found), 2))
    confirmed = confirmed_at(dice, builds.at[found], tries, chance)
    yield _failures(tests, found, tries, confirmed, signature=number, kind=Kind.FLAKE)


def _manner(world: World, dice: Generator, rate: float) -> tuple[Bools, float, tuple[float, float]]:
    """Draw the manner of a cause: in which builds it strikes, chance that the next try fails, and later ones pass.

    Its share of all builds is `rate`, whatever its manner: independent, several tries in a row, bursts by the clock, or
    only on some machine, at some hours, or on some days.
    """
    builds, manner = world.builds, dice.random()
    calm = 1 - rate
    if manner >= world.shape.bursty:
        return _placed(world, dice, rate), rate, (calm, calm)
    again = float(dice.uniform(0.3, 0.9))
    if manner < world.shape.bursty / 2:
        return dice.random(len(builds)) < rate, again, (calm, calm)
    length = float(np.exp(dice.uniform(np.log(0.2), np.log(12.0))))
    share = min(1.0, rate / _IN_BURST)
    in_burst = _bursts(world, dice, share, length)
    over = 1 - np.exp(-1.0 / length)
    return in_burst & (dice.random(len(builds)) < rate / share), _IN_BURST, (over * calm, calm)


def _placed(world: World, dice: Generator, rate: float) -> Bools:
    """Draw strikes that are independent, or bound to one machine, to four hours of a day or to one day of a week."""
    builds = world.builds
    place = int(dice.integers(4))
    hour, day = builds.at % 24, (builds.at // 24) % 7
    where = [np.ones(len(builds), np.bool_), builds.host == dice.integers(world.shape.hosts), hour < 4, day == 0][place]  # noqa: PLR2004 - four hours
    share = max(float(where.mean()), 1e-9)
    strikes: Bools = where & (dice.random(len(builds)) < min(1.0, rate / share))
    return strikes


def _bursts(world: World, dice: Generator, share: float, length: float) -> Bools:
    """Draw bursts of that mean length in hours that take such a share of all time, and return the builds in one."""
    if share >= 1:
        return np.ones(len(world.builds), np.bool_)
    gap = length * (1 - share) / share
    count = int(world.hours / (gap + length) * 2) + 10
    edges = np.cumsum(np.stack([dice.exponential(gap, count), dice.exponential(length, count)], axis=1).ravel())
    inside: Bools = np.searchsorted(edges, world.builds.at, side="right") % 2 == 1
    return inside


def _regressions(world: World, dice: Generator) -> Iterator[Failures]:
    """Commits that break tests on trunk, and under every change based on them; and changes that break what they touch.

    Those of changes only matter where the reach map misses them, which is all that is drawn of them.
    """
    builds, shape = world.builds, world.shape
    sturdy = np.setdiff1d(np.arange(shape.tests), np.fromiter(world.flaky, np.int64))
    begins = dice.uniform(0, world.hours, dice.poisson(shape.regressions_a_week * shape.days / 7))
    for number, begin in enumerate(begins.tolist()):
        end = begin + float(dice.exponential(_MENDED_AFTER_H))
        size = min(int(failing_tests(dice, 1)[0]), len(sturdy))
        tests = dice.choice(sturdy, size, replace=False)
        world.broken += [(test, begin, end) for test in tests.tolist()]
        trunk_at = builds.at[builds.is_trunk]
        first, last = np.searchsorted(trunk_at, [begin, end]) + 1
        struck = np.flatnonzero((builds.position >= first) & (builds.position < last))
        yield _always(tests, struck, signature=10_000 + number, kind=Kind.REGRESSION)
    bad = dice.random(int(builds.change.max(initial=-1)) + 1) < _BAD_CHANGES
    for change in np.flatnonzero(bad).tolist():
        size = int(dice.binomial(min(int(failing_tests(dice, 1)[0]), len(sturdy)), shape.miss))
        if size:
            tests = dice.choice(sturdy, size, replace=False)
            yield _always(
                tests, np.flatnonzero(builds.change == change), signature=50_000 + change, kind=Kind.REGRESSION
            )


def _always(tests: Ints, struck: Ints, *, signature: int, kind: Kind) -> Failures:
    every, where = np.repeat(tests, len(struck)), np.tile(struck, len(tests))
    return _failures(
        every, where, np.full(len(every), NEVER), np.full(len(every), np.inf), signature=signature, kind=kind
    )


def _outages(world: World, dice: Generator) -> Iterator[Failures]:
    """Hours in which a service is away: the tests that need it fail together, and pass once it is back."""
    builds, shape = world.builds, world.shape
    needs = [dice.choice(shape.tests, min(_SERVICE_TESTS, shape.tests), replace=False) for _ in range(_SERVICES)]
    for number in range(shape.outages):
        tests, begin = needs[int(dice.integers(_SERVICES))], float(dice.uniform(0, world.hours))
        end = begin + float(np.exp(dice.uniform(np.log(2), np.log(48))))
        struck = np.flatnonzero((builds.at >= begin) & (builds.at < end) & (dice.random(len(builds)) < 0.6))  # noqa: PLR2004 - most, not all
        yield from _while_it_lasts(world, dice, tests, struck, end, signature=20_000 + number, kind=Kind.OUTAGE)


def _bad_host(world: World, dice: Generator) -> Iterator[Failures]:
    """One machine that is bad for days: tests that lean on it fail there half of the time, and pass elsewhere."""
    builds, shape = world.builds, world.shape
    if not shape.bad_host_days:
        return
    tests = dice.choice(shape.tests, min(_HOST_TESTS, shape.tests), replace=False)
    begin = float(dice.uniform(0, max(1e-9, world.hours - 24 * shape.bad_host_days)))
    on_it = (builds.host == dice.integers(shape.hosts)) & (builds.at >= begin)
    struck = np.flatnonzero(on_it & (builds.at < begin + 24 * shape.bad_host_days) & (dice.random(len(builds)) < 0.5))  # noqa: PLR2004 - half
    yield from _while_it_lasts(world, dice, tests, struck, begin, signature=30_000, kind=Kind.HOST)


def _while_it_lasts(
    world: World, dice: Generator, tests: Ints, struck: Ints, end: float, *, signature: int, kind: Kind
) -> Iterator[Failures]:
    """Return failures of these tests in these builds; reruns pass after `end`, and sometimes before."""
    if not len(struck):
        return
    which, where = np.nonzero(dice.random((len(tests), len(struck))) < _MEMBER)
    found, at = struck[where], world.builds.at[struck[where]]
    tries = _tries(dice, np.full(len(found), 0.6))
    later = np.stack([np.where(at + hours >= end, 1.0, 0.4) for hours in RERUN_H[1:]], axis=1)
    confirmed = confirmed_at(dice, at, tries, later)
    yield _failures(tests[which], found, tries, confirmed, signature=signature, kind=kind)


def _storms(world: World, dice: Generator) -> Iterator[Failures]:
    """Builds struck together within an hour or so for a cause outside the tests, of real sizes; reruns pass."""
    builds, shape = world.builds, world.shape
    for number in range(int(dice.poisson(shape.storms_a_week * shape.days / 7))):
        begin = float(dice.uniform(0, world.hours))
        struck = np.flatnonzero((builds.at >= begin) & (builds.at < begin + dice.uniform(0.2, 1.5)))
        size = max(_LEAST_STORM, int(failing_tests(dice, 1)[0]))
        tests = dice.choice(shape.tests, min(size, shape.tests), replace=False)
        every, where = np.repeat(tests, len(struck)), np.tile(struck, len(tests))
        tries = _tries(dice, np.full(len(every), 0.7))
        confirmed = confirmed_at(dice, builds.at[where], tries, np.ones((len(every), 2)))
        yield _failures(every, where, tries, confirmed, signature=40_000 + number, kind=Kind.STORM)


def _hostile(world: World, dice: Generator) -> Iterator[Failures]:
    """Tickets whose agent makes one covered test random in fifty attempts, and says that it touched nothing of it."""
    builds = world.builds
    for number in range(world.shape.agents):
        begin = float(dice.uniform(0, max(1e-9, world.hours - 48)))
        theirs = np.flatnonzero((builds.lane == AGENT) & (builds.at >= begin))[:_HOSTILE_ATTEMPTS]
        test = int(dice.integers(world.shape.tests))
        builds.change[theirs] = builds.change[theirs[0]] if len(theirs) else -1
        builds.touched[theirs] = 0.0
        struck = theirs[dice.random(len(theirs)) < _HOSTILE_RATE]
        tries = np.ones(len(struck), np.int64)
        confirmed = builds.at[struck] + _RETRY_H
        yield _failures(
            np.full(len(struck), test), struck, tries, confirmed, signature=60_000 + number, kind=Kind.HOSTILE
        )
