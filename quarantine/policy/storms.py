"""Storms: builds whose failures have one common cause outside the tests. They make no trials."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import combinations

import numpy as np

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import plural
from quarantine.stats.binomial import poisson_binomial_tail

__all__ = ["BuildFailures", "Storm", "recognise"]

Failed = tuple[str, str]
"""(test, signature)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFailures:
    """What failed in one build.

    Attributes:
        build: its key.
        change: the change it speaks for; None on trunk.
        trunk_position: where on trunk its tree begins: the ordinal of its own commit on trunk, of its base elsewhere;
            larger is later. 0 when unknown, which makes fewer builds unrelated.
        arrived_at: aware, UTC.
        failures: signature by test, of first tries.
        on_base: tests that failed with the same signature when the base was run as a control.
        already_failing: tests whose last trunk trial before this build had failed: no storm is needed to explain them.
    """

    build: str
    change: str | None
    trunk_position: int
    arrived_at: datetime
    failures: Mapping[str, str]
    on_base: frozenset[str] = frozenset()
    already_failing: frozenset[str] = frozenset()

    @property
    def is_trunk(self) -> bool:
        """Whether it ran on trunk."""
        return self.change is None

    @property
    def unexplained(self) -> frozenset[Failed]:
        """Its failures without those that trunk explains."""
        return frozenset((t, signature) for t, signature in self.failures.items() if t not in self.already_failing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storm:
    """One incident.

    Attributes:
        key: 32 hexadecimal digits over its tests and signatures: a recurring incident has the same.
        builds: the builds it struck, in order of arrival; they make no trials.
        failed: the (test, signature) pairs it consists of, sorted.
        first_at, last_at: arrival of the first and the last of the builds.
        chance: at most this chance that the tests' own rates explain it, all pairs of builds looked at.
        sentence: what was seen, with its numbers.
    """

    key: str
    builds: tuple[str, ...]
    failed: tuple[Failed, ...]
    first_at: datetime
    last_at: datetime
    chance: float
    sentence: str


@dataclass(slots=True)
class _Group:
    """Builds found to be struck by the same cause, growing as pairs are joined."""

    builds: set[int] = field(default_factory=set)
    failed: set[Failed] = field(default_factory=set)
    chance: float = 0.0

    def holds(self, policy: Policy) -> bool:
        """Whether enough builds were struck; one whose base shows the same is enough."""
        return len(self.builds) == 1 or len(self.builds) >= policy.storm_builds


def recognise(
    builds: Sequence[BuildFailures], rates: Mapping[str, float], suite: int, policy: Policy, *, rest_rate: float = 1e-4
) -> tuple[Storm, ...]:
    """Return the storms among the builds of the last hour or so, by first arrival.

    Two builds of unrelated changes within `policy.storm_hours` are joined when at least `policy.storm_tests` tests fail
    with the same signature in both, and the chance that so many tests of the suite fail twice by their own rates,
    `P(X >= s)` with X Poisson-binomial over rate squared, is at most `policy.storm_chance` after multiplying by the
    pairs looked at. So is one build whose failures its base control shows too. One flaky test that fails twice is none.

    Builds are unrelated when no change is in both. A trunk build holds every change before it, and a build based on or
    after a failing trunk commit holds that commit: a commit that breaks trunk is thus one change however many builds
    it fails, and is left to the broken rule.

    Args:
        builds: the builds to look at.
        rates: known chance of a failed trial by test.
        suite: tests in the suite.
        policy: the criteria.
        rest_rate: the rate supposed for every test not in `rates`.
    """
    ordered = sorted(builds, key=lambda build: (build.arrived_at, build.build))
    looks = len(ordered) * (len(ordered) - 1) // 2 + len(ordered)
    twice = np.array([*rates.values(), *[rest_rate] * max(0, suite - len(rates))]) ** 2

    @cache
    def chance(tests: int) -> float:
        return min(1.0, looks * poisson_binomial_tail(twice, tests))

    groups: list[_Group] = []
    for members, failed in _candidates(ordered, policy):
        if len(failed) >= policy.storm_tests and chance(len(failed)) <= policy.storm_chance:
            groups = _joined(groups, _Group(set(members), set(failed), chance(len(failed))))
    held = sorted((group for group in groups if group.holds(policy)), key=lambda group: min(group.builds))
    return tuple(_storm(ordered, group) for group in held)


def _candidates(builds: Sequence[BuildFailures], policy: Policy) -> list[tuple[tuple[int, ...], frozenset[Failed]]]:
    """Pairs of unrelated builds, and single builds with their base, each with the failures they have in common."""
    window = timedelta(hours=policy.storm_hours)
    found: list[tuple[tuple[int, ...], frozenset[Failed]]] = []
    for place, build in enumerate(builds):
        if not build.is_trunk:
            found.append(((place,), frozenset(pair for pair in build.unexplained if pair[0] in build.on_base)))
    broken_at = _first_trunk_failures(builds)
    for one, two in combinations(range(len(builds)), 2):
        if builds[two].arrived_at - builds[one].arrived_at <= window:
            common = builds[one].unexplained & builds[two].unexplained
            common = frozenset(pair for pair in common if _unrelated(builds[one], builds[two], broken_at.get(pair)))
            found.append(((one, two), common))
    return found


def _first_trunk_failures(builds: Sequence[BuildFailures]) -> dict[Failed, int]:
    """The earliest trunk position at which each failure is seen on trunk itself."""
    first: dict[Failed, int] = {}
    for build in builds:
        if build.is_trunk:
            for pair in build.unexplained:
                first[pair] = min(build.trunk_position, first.get(pair, build.trunk_position))
    return first


def _unrelated(one: BuildFailures, two: BuildFailures, broken_at: int | None) -> bool:
    if one.change == two.change:
        return False
    return broken_at is None or min(one.trunk_position, two.trunk_position) < broken_at


def _joined(groups: list[_Group], new: _Group) -> list[_Group]:
    apart = []
    for group in groups:
        if group.builds & new.builds and group.failed & new.failed:
            new = _Group(group.builds | new.builds, group.failed | new.failed, max(group.chance, new.chance))
        else:
            apart.append(group)
    return [*apart, new]


def _storm(builds: Sequence[BuildFailures], group: _Group) -> Storm:
    struck = [builds[place] for place in sorted(group.builds)]
    failed = tuple(sorted(group.failed))
    signatures: dict[str, int] = defaultdict(int)
    for _, signature in failed:
        signatures[signature] += 1
    common = max(signatures, key=lambda signature: (signatures[signature], signature))
    together = "in its build and on the base" if len(struck) == 1 else f"in {len(struck)} builds of unrelated changes"
    return Storm(
        key=hashlib.sha256(repr(failed).encode("utf-8", "surrogatepass")).hexdigest()[:32],
        builds=tuple(build.build for build in struck),
        failed=failed,
        first_at=struck[0].arrived_at,
        last_at=struck[-1].arrived_at,
        chance=group.chance,
        sentence=(
            f"{plural(len(failed), 'test')} failed together with the same signatures {together} (most often "
            f"{common!r}); their own rates would do that with chance {group.chance:.2g}."
        ),
    )
