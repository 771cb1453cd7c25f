"""The product's own policy let loose on a world: `policy.entry`, `exit`, `broken`, `storms` and `cap` decide.

What is simulated here is only what stands between the builds and the policy in the product: which trials count, which
failures are heads, when a tree is known to have passed, and the counts that a streak is made of.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise

import numpy as np

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.policy.cap import assess_cap
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import EntryAssessment, assess_entry
from quarantine.policy.exit import Streak, assess_exit
from quarantine.policy.storms import BuildFailures, recognise
from quarantine.simulate.world import AGENT, Bools, Failures, Floats, Ints, World
from quarantine.stats.multiplicity import pair_alpha, reserve_size, restarted_alpha

__all__ = ["Confirming", "Stay", "Story", "let_loose", "seen"]

_BEGAN = datetime(2026, 1, 5, tzinfo=UTC)
_LANES = (Lane.TRUNK, Lane.REVIEW, Lane.AGENT)
_LOOK_H = 3.0
"""Hours between two assessments of a test: onsets count once in six, so that little is seen late, and much is saved."""


class Confirming(StrEnum):
    """When what is confirmed becomes known: an enemy of any rule that counts failures at their confirmation."""

    PROMPT = "prompt"
    LATE = "late"
    BATCHED = "batched"
    SELECTIVE = "selective"
    """Only those heads that lie close after another one, as somebody would choose who wants to see it quarantined."""


@dataclass(frozen=True, slots=True)
class Stay:
    """A time in quarantine, in hours of the world; `end` is infinite for one that has not ended.

    Attributes:
        trials: counted trials from the beginning of its evidence to the entry; 0 where a rule does not count them.
        onsets: what the entry rests on.
        alpha: what it might spend; 0 for a rule that does not say.
    """

    test: int
    begin: float
    end: float
    trials: int = 0
    onsets: int = 0
    alpha: float = 0.0


@dataclass(frozen=True, slots=True)
class Story:
    """What a rule made of a world: when which test was in quarantine, and which were held at the cap."""

    stays: tuple[Stay, ...]
    held: int = 0


def seen(world: World) -> Failures:
    """Return the failures that leave a trace: a runner that hides retries shows none of those that passed at once."""
    failures = world.failures
    return failures.where(~(world.builds.hidden[failures.build] & (failures.tries == 1)))


def let_loose(world: World, policy: Policy, confirming: Confirming = Confirming.PROMPT) -> Story:
    """Return what the policy makes of a world."""
    failures = seen(world)
    struck = _storms(world, failures, policy)
    company = Counter(zip(failures.build.tolist(), failures.signature.tolist(), strict=True))
    reserve = reserve_size(world.shape.tests)
    edges = np.flatnonzero(np.diff(failures.test, prepend=-1, append=-2))
    stays: list[Stay] = []
    for first, last in zip(edges.tolist(), edges[1:].tolist(), strict=False):
        test = int(failures.test[first])
        alpha = pair_alpha(test + 1, budget=policy.budget, reserve=reserve)
        part = failures.where(_between(len(failures), first, last))
        stays += _Replay(world, policy, test, alpha, part, struck, company, confirming).stays()
    return _capped(world, policy, stays)


def _between(size: int, first: int, last: int) -> Bools:
    chosen = np.zeros(size, np.bool_)
    chosen[first:last] = True
    return chosen


def _capped(world: World, policy: Policy, stays: Sequence[Stay]) -> Story:
    """Leave out entries for which there was no room when they came; they are held."""
    kept: list[Stay] = []
    for stay in sorted(stays, key=lambda one: one.begin):
        taken = sum(one.end > stay.begin for one in kept)
        if assess_cap(taken, world.shape.tests, policy).has_room:
            kept.append(stay)
    return Story(tuple(kept), held=len(stays) - len(kept))


def _storms(world: World, failures: Failures, policy: Policy) -> frozenset[int]:
    """Return the builds that the policy takes for struck by a storm."""
    order = np.argsort(failures.build, kind="stable")
    builds, tests, signatures = failures.build[order], failures.test[order], failures.signature[order]
    edges = np.flatnonzero(np.diff(builds, prepend=-1, append=-1))
    large = [(a, b) for a, b in zip(edges.tolist(), edges[1:].tolist(), strict=False) if b - a >= policy.storm_tests]
    known = _Known(world, failures)
    struck: set[int] = set()
    window: list[tuple[int, BuildFailures]] = []
    for first, last in large:
        build = int(builds[first])
        if world.builds.lane[build] == AGENT:
            continue
        at = float(world.builds.at[build])
        window = [(number, one) for number, one in window if at - world.builds.at[number] <= policy.storm_hours]
        named = {str(test): str(sig) for test, sig in zip(tests[first:last], signatures[first:last], strict=True)}
        window.append((build, _failed(world, build, named, known)))
        found = recognise([one for _, one in window], known.rates, world.shape.tests, policy)
        struck |= {int(name) for storm in found for name in storm.builds}
    return frozenset(struck)


class _Known:
    """What is known of tests when a storm is looked for: the share of trials they fail, and trunk's last word."""

    def __init__(self, world: World, failures: Failures) -> None:
        self.world = world
        counts = np.bincount(failures.test, minlength=world.shape.tests)
        self.rates = {str(test): counts[test] / len(world.builds) for test in np.flatnonzero(counts > 2).tolist()}  # noqa: PLR2004 - more than twice
        trunk = np.flatnonzero(world.builds.is_trunk)
        self.trunk = trunk
        on_trunk = failures.where(world.builds.is_trunk[failures.build])
        self.failed = set(zip(on_trunk.test.tolist(), on_trunk.build.tolist(), strict=True))

    def failing_before(self, build: int, tests: Sequence[str]) -> frozenset[str]:
        """Return which of these tests failed in the last trunk build before this one."""
        place = int(np.searchsorted(self.trunk, build))
        before = int(self.trunk[place - 1]) if place else -1
        return frozenset(test for test in tests if (int(test), before) in self.failed)


def _failed(world: World, build: int, named: dict[str, str], known: _Known) -> BuildFailures:
    change = int(world.builds.change[build])
    return BuildFailures(
        build=str(build),
        change=None if change < 0 else str(change),
        trunk_position=int(world.builds.position[build]),
        arrived_at=_moment(float(world.builds.at[build])),
        failures=named,
        already_failing=known.failing_before(build, list(named)),
    )


def _moment(hour: float) -> datetime:
    return _BEGAN + timedelta(hours=hour)


class _Replay:
    """One test's way through a world."""

    def __init__(  # noqa: PLR0917 - all that a test's way depends on
        self,
        world: World,
        policy: Policy,
        test: int,
        alpha: float,
        failures: Failures,
        struck: frozenset[int],
        company: Mapping[tuple[int, int], int],
        confirming: Confirming,
    ) -> None:
        self.world, self.policy, self.test, self.alpha = world, policy, test, alpha
        builds = world.builds
        counts = ~world.reached(test)[1]
        self.counted: Ints = np.cumsum(counts, dtype=np.int64)
        self.trunk = np.flatnonzero(builds.is_trunk)
        self.failures = failures
        self.fails_on_trunk = failures.build[builds.is_trunk[failures.build]]
        self.struck, self.company = struck, company
        self.heads = self._heads(counts, confirming)

    def _heads(self, counts: Bools, confirming: Confirming) -> list[tuple[Head, float]]:
        """Return the heads with the hour at which each is confirmed, numbered as if there were one life only."""
        failures, builds = self.failures, self.world.builds
        counted = failures.where(counts[failures.build])
        index: Ints = self.counted[counted.build]
        is_head = np.diff(index, prepend=-1) != 1
        trunk_trials = np.searchsorted(self.trunk, counted.build, side="right")
        known = _known_at(builds.at[counted.build], counted.confirmed, index, confirming)
        found: list[tuple[Head, float]] = []
        for place in np.flatnonzero(is_head).tolist():
            build, hour = int(counted.build[place]), float(builds.at[counted.build[place]])
            change = int(builds.change[build])
            head = Head(
                number=len(found) + 1,
                index=int(index[place]),
                arrived_at=_moment(hour),
                lane=_LANES[int(builds.lane[build])],
                change=None if change < 0 else str(change),
                build=str(build),
                tree=str(build),
                fingerprint=0,
                signature=str(counted.signature[place]),
                trunk_trials=int(trunk_trials[place]),
                trunk_days=int(hour // 24) + 1,
                incident="storm" if build in self.struck else None,
                company=self.company[build, int(counted.signature[place])] - 1,
            )
            found.append((head, float(known[place])))
        return found

    def stays(self) -> Iterator[Stay]:
        """Return its stays in quarantine, in order."""
        life, since = 0, 0.0
        while True:
            alpha = restarted_alpha(self.alpha, life)
            entered = self._enters(since, alpha)
            if entered is None:
                return
            hour, entry = entered
            left = self._leaves(hour, entry, alpha)
            yield Stay(self.test, hour, left, entry.trials, len(entry.onsets), alpha)
            if left == np.inf:
                return
            life, since = life + 1, left

    def _enters(self, since: float, alpha: float) -> tuple[float, EntryAssessment] | None:
        """Return when it enters after an hour, and by what; None when it never does."""
        base = int(self._index_at(since)) if since else 0
        theirs = [(head, at) for head, at in self.heads if _hour(head) > since]
        lived = [
            (replace(head, number=place, index=head.index - base), at)
            for place, (head, at) in enumerate(theirs, start=1)
        ]
        hours = sorted({at for head, at in lived if at < self.world.hours and head.incident is None})
        looked = -_LOOK_H
        for seen_of, hour in enumerate(hours, start=1):
            if seen_of < 2:  # noqa: PLR2004 - no window has fewer onsets
                continue
            if hour < looked + _LOOK_H:
                continue
            looked = hour
            if self._fails_in_a_row(hour) >= self.policy.broken_failures:
                continue
            known = [
                replace(head, confirmed_at=_moment(at) if at <= hour else None)
                for head, at in lived
                if _hour(head) <= hour
            ]
            found = assess_entry(known, self._index_at(hour) - base, alpha, self.policy)
            if found.is_met:
                return hour, found
        return None

    def _index_at(self, hour: float) -> int:
        """Return how many counted trials there were up to an hour."""
        build = int(np.searchsorted(self.world.builds.at, hour, side="right"))
        return int(self.counted[build - 1]) if build else 0

    def _fails_in_a_row(self, hour: float) -> int:
        """Return how many trunk trials it failed in a row up to an hour."""
        last = int(np.searchsorted(self.world.builds.at, hour, side="right"))
        trunk_before = self.trunk[: np.searchsorted(self.trunk, last)]
        failed = set(self.fails_on_trunk[max(0, bisect_left(self.fails_on_trunk, last) - 8) :].tolist())
        streak = 0
        for build in trunk_before[::-1][:8].tolist():
            if build not in failed:
                break
            streak += 1
        return streak

    def _leaves(self, entered: float, entry: EntryAssessment, alpha: float) -> float:
        """Return when it is let go; infinite when it never is."""
        at = self.world.builds.at
        first = int(entry.onsets[0].head.build)
        since_entry = self.trunk[np.searchsorted(at[self.trunk], entered, side="right") :]
        fails = [build for build in self.fails_on_trunk.tolist() if at[build] > entered and build not in self.struck]
        onsets = [int(onset.head.build) for onset in entry.onsets if onset.is_trunk]
        begins = [int(since_entry[0]) - 1 if len(since_entry) else len(at), *fails]
        for streak, begin in enumerate(begins, start=1):
            end = begins[streak] if streak < len(begins) else len(at)
            runs = self.trunk[bisect_right(self.trunk, begin) : bisect_left(self.trunk, end)]
            leaves = self._within(runs, begin, first, [*onsets, *begins[1:streak]], streak, alpha)
            if leaves is not None:
                return leaves
        return np.inf

    def _within(  # noqa: PLR0917 - what one streak is made of
        self, runs: Ints, begin: int, first: int, failed: Sequence[int], ordinal: int, alpha: float
    ) -> float | None:
        """Return when the streak after a build would release it, within its clean runs; None when it breaks before."""
        at = self.world.builds.at
        days = sorted({int(at[build] // 24) for build in failed})
        window = self.trunk[bisect_left(self.trunk, first) : bisect_right(self.trunk, begin)]
        streak = Streak(
            failures=len(failed),
            trials=max(len(window), len(failed), 1),
            clean_trials=0,
            clean_days=0,
            failing_days=len(days),
            days=max(1, len(np.unique(at[window] // 24))),
            longest_gap_days=max((later - earlier for earlier, later in pairwise(days)), default=0),
            presence=1.0,
            ordinal=ordinal,
        )
        needs = assess_exit(streak, alpha, self.policy)
        if len(runs) < needs.trials_needed:
            return None
        run_days: Floats = at[runs] // 24
        fresh = np.cumsum(np.diff(run_days, prepend=at[begin] // 24 if begin < len(at) else -1) > 0)
        enough = np.flatnonzero((np.arange(1, len(runs) + 1) >= needs.trials_needed) & (fresh >= needs.days_needed))
        return float(at[runs[enough[0]]]) if len(enough) else None


def _hour(head: Head) -> float:
    return (head.arrived_at - _BEGAN).total_seconds() / 3_600


def _known_at(at: Floats, confirmed: Floats, index: Ints, confirming: Confirming) -> Floats:
    """Return when each confirmation becomes known."""
    late: dict[Confirming, Callable[[], Floats]] = defaultdict(
        lambda: lambda: confirmed,
        {
            Confirming.LATE: lambda: confirmed + 120.0,
            Confirming.BATCHED: lambda: np.ceil(confirmed / 100.0) * 100.0,
            Confirming.SELECTIVE: lambda: np.where(np.diff(index, prepend=-10_000) < 300, confirmed, np.inf),  # noqa: PLR2004 - trials apart
        },
    )
    return np.maximum(late[confirming](), at)
