"""One world: its builds, the truth about its tests, and every failure there would be. All of it follows from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from quarantine.simulate.samples import FLAKY_SHARE, changed_files

__all__ = ["AGENT", "NEVER", "REVIEW", "TRUNK", "Builds", "Failures", "Flaky", "Kind", "Shape", "World", "builds_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

TRUNK, REVIEW, AGENT = 0, 1, 2
NEVER = 99
"""Tries in a row that fail where every one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a world is like.

    Attributes:
        tests, days, builds_a_day: its size; every build runs the whole suite.
        trunk_share: share of the builds that are trunk's; the rest are of changes, half of them agents'.
        flaky_share: share of the tests that flake, at rates drawn from the data, cause by cause.
        bursty: share of causes whose failures come several in a row, by tries or by the clock.
        hidden: share of builds whose runner leaves no trace of a retry that passed.
        late_share: share of causes that begin only within the world, after a clean past.
        mended_share: share of causes that are mended within it.
        regressions_a_week: commits that break tests on trunk until they are mended.
        outages, storms_a_week, bad_host_days: hours in which a service is away; builds struck together; days for which
            one of `hosts` is bad.
        miss: share of what a change reaches that the reach map does not have.
        agents: hostile tickets, each of fifty attempts that make a covered test random while the map and the build
            part claim that nothing of it was touched.
    """

    tests: int = 4_812
    days: int = 60
    builds_a_day: int = 100
    trunk_share: float = 0.4
    hosts: int = 10
    flaky_share: float = FLAKY_SHARE
    bursty: float = 0.88
    hidden: float = 0.2
    late_share: float = 0.3
    mended_share: float = 0.3
    regressions_a_week: float = 5.0
    outages: int = 4
    storms_a_week: float = 3.0
    bad_host_days: float = 2.0
    miss: float = 0.01
    agents: int = 3

    @property
    def builds(self) -> int:
        """How many builds there are."""
        return self.days * self.builds_a_day


class Kind(IntEnum):
    """What a failure came from."""

    FLAKE = 0
    REGRESSION = 1
    OUTAGE = 2
    HOST = 3
    STORM = 4
    HOSTILE = 5


@dataclass(frozen=True, slots=True)
class Builds:
    """The builds, in order of arrival.

    Attributes:
        at: hours since the world began.
        lane: `TRUNK`, `REVIEW` or `AGENT`.
        change: the change it speaks for; -1 on trunk.
        position: how many commits trunk had when its tree, or the base of it, was made.
        host: the machine.
        hidden: whether its runner hides a retry that passed.
        touched: the share of tests that its change reaches; 0 on trunk.
    """

    at: Floats
    lane: Ints
    change: Ints
    position: Ints
    host: Ints
    hidden: Bools
    touched: Floats

    def __len__(self) -> int:
        return len(self.at)

    @property
    def is_trunk(self) -> Bools:
        """Which are trunk's."""
        found: Bools = self.lane == TRUNK
        return found


@dataclass(frozen=True, slots=True)
class Failures:
    """Failed first tries, by test and within a test in order of builds.

    Attributes:
        test, build: of each.
        tries: how many tries in a row fail on this tree at once; `NEVER` where every one does.
        confirmed: the hour at which a planned rerun of the tree is known to have passed; infinite where none does.
        signature: what the failure says; failures of one cause share it.
        kind: what it came from.
    """

    test: Ints
    build: Ints
    tries: Ints
    confirmed: Floats
    signature: Ints
    kind: Ints

    @classmethod
    def joined(cls, parts: Sequence["Failures"]) -> "Failures":
        """Return all of them, sorted; of several of one test in one build the one that fails for longest."""
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__}
        order = np.lexsort((-columns["tries"], columns["build"], columns["test"]))
        columns = {name: column[order] for name, column in columns.items()}
        same = (np.diff(columns["test"]) == 0) & (np.diff(columns["build"]) == 0)
        first = np.concatenate(([True], ~same)) if len(order) else np.zeros(0, np.bool_)
        return cls(**{name: column[first] for name, column in columns.items()})

    @classmethod
    def none(cls) -> "Failures":
        """Return no failure."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, np.zeros(0), empty, empty)

    def __len__(self) -> int:
        return len(self.test)

    def where(self, chosen: Bools) -> "Failures":
        """Return those that are chosen."""
        return Failures(**{name: getattr(self, name)[chosen] for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Flaky:
    """A test that flakes: at which rate, from when until when (hours), by which cause; it ends with the world."""

    test: int
    rate: float
    born: float
    mended: float
    cause: int

    def flakes_at(self, hour: float) -> bool:
        """Whether it does at that hour."""
        return self.born <= hour < self.mended


@dataclass(slots=True)
class World:
    """Everything there is to know about a world.

    Attributes:
        flaky: the tests that flake.
        broken: (test, from, until) in hours: when a test fails on trunk in every run.
        failures: what fails, whatever anybody makes of it.
    """

    shape: Shape
    seed: int
    builds: Builds
    flaky: dict[int, Flaky] = field(default_factory=dict)
    broken: list[tuple[int, float, float]] = field(default_factory=list)
    failures: Failures = field(default_factory=Failures.none)

    @property
    def hours(self) -> float:
        """How long it lasts."""
        return 24.0 * self.shape.days

    def reached(self, test: int) -> tuple[Bools, Bools]:
        """Return in which builds the change reaches a test, and in which the reach map says so; nowhere on trunk."""
        dice = np.random.default_rng((self.seed, 1, test))
        changes = int(self.builds.change.max(initial=-1)) + 1
        draws, seen = dice.random(changes + 1), dice.random(changes + 1) >= self.shape.miss
        truly = (draws[self.builds.change] < self.builds.touched) & ~self.builds.is_trunk
        return truly, truly & seen[self.builds.change]


_HUB_SHARE, _HUB_REACH, _FILE_REACH = 0.05, 0.6, 0.02
"""Share of changed files that are hubs, and the share of tests that reach a hub, and any other file."""
_BASE_AGE_H = 12.0
_BUILDS_A_CHANGE = 2


def builds_of(shape: Shape, dice: np.random.Generator) -> Builds:
    """Draw the builds of a world."""
    count = shape.builds
    at = np.sort(dice.uniform(0, 24.0 * shape.days, count))
    is_trunk = dice.random(count) < shape.trunk_share
    lane = np.where(is_trunk, TRUNK, np.where(dice.random(count) < 0.5, REVIEW, AGENT))  # noqa: PLR2004 - half of them
    change = np.full(count, -1, np.int64)
    for one in (REVIEW, AGENT):
        theirs = np.flatnonzero(lane == one)
        change[theirs] = change.max(initial=-1) + 1 + np.arange(len(theirs)) // _BUILDS_A_CHANGE
    trunk_at = at[is_trunk]
    based_at = np.where(is_trunk, at, at - dice.exponential(_BASE_AGE_H, count))
    position = np.searchsorted(trunk_at, based_at, side="right")
    changes = int(change.max(initial=-1)) + 1
    sizes = changed_files(dice, changes + 1)
    hubs = dice.binomial(sizes, _HUB_SHARE)
    touched = 1 - (1 - _HUB_REACH) ** hubs * (1 - _FILE_REACH) ** (sizes - hubs)
    return Builds(
        at=at,
        lane=lane.astype(np.int64),
        change=change,
        position=position.astype(np.int64),
        host=dice.integers(0, shape.hosts, count),
        hidden=dice.random(count) < shape.hidden,
        touched=np.where(is_trunk, 0.0, touched[change]),
    )
