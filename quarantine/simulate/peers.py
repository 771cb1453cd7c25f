"""What others publish, each rule as a small function of one test's history: when it takes the test out, and back in.

Every rule sees what its runner leaves a trace of: first tries, retries in the same build, which builds are trunk's. The
thresholds are those their documentation names; where it names a range, the middle of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from quarantine.simulate.ours import Stay, Story, seen
from quarantine.simulate.world import Bools, Floats, Ints, World

__all__ = ["RULES", "History", "let_loose"]

_DAY, _WEEK = 24.0, 168.0
_CROWD, _SWAMPED = 100, 0.8
"""More failures than this leave a build out by one rule; a larger share of the suite does by another."""


@dataclass(frozen=True, slots=True)
class History:
    """What one test did: every build in order, with what failed in it.

    Attributes:
        at: hours, of every build.
        is_trunk: which are trunk's.
        change: the change of each; -1 on trunk.
        failed: where its first try failed.
        flipped: where it failed and then passed in the same build.
        crowded: where more than 100 tests failed; `swamped`: where four fifths of the suite did.
    """

    at: Floats
    is_trunk: Bools
    change: Ints
    failed: Bools
    flipped: Bools
    crowded: Bools
    swamped: Bools

    def __len__(self) -> int:
        return len(self.at)


Rule = Callable[[History], tuple[Bools, Bools]]
"""(where it would be taken out, where it would be let back in), for every build."""


def let_loose(world: World, rule: Rule) -> Story:
    """Return what a rule makes of a world. A test that never fails is not looked at: no rule takes one out."""
    failures, builds = seen(world), world.builds
    crowd = np.bincount(failures.build, minlength=len(builds))
    stays: list[Stay] = []
    edges = np.flatnonzero(np.diff(failures.test, prepend=-1, append=-2))
    for first, last in zip(edges.tolist(), edges[1:].tolist(), strict=False):
        failed, flipped = np.zeros(len(builds), np.bool_), np.zeros(len(builds), np.bool_)
        failed[failures.build[first:last]] = True
        flipped[failures.build[first:last]] = failures.tries[first:last] <= 2  # noqa: PLR2004 - runners retry twice
        history = History(
            builds.at,
            builds.is_trunk,
            builds.change,
            failed,
            flipped,
            crowd > _CROWD,
            crowd > _SWAMPED * world.shape.tests,
        )
        stays += _stays(int(failures.test[first]), builds.at, *rule(history))
    return Story(tuple(stays))


def _stays(test: int, at: Floats, enters: Bools, leaves: Bools) -> list[Stay]:
    """Walk from one entry to the next exit."""
    ins, outs = np.flatnonzero(enters), np.flatnonzero(leaves & ~enters)
    stays, place = [], 0
    while place < len(ins):
        begin = int(ins[place])
        after = int(np.searchsorted(outs, begin, side="right"))
        end = int(outs[after]) if after < len(outs) else -1
        stays.append(Stay(test, float(at[begin]), float(at[end]) if end >= 0 else np.inf))
        if end < 0:
            break
        place = int(np.searchsorted(ins, end))
    return stays


def _within(history: History, events: Bools, hours: float) -> Ints:
    """Return how many events there were in the hours before each build, that build included."""
    counted = np.concatenate(([0], np.cumsum(events)))
    begin = np.searchsorted(history.at, history.at - hours, side="left")
    found: Ints = counted[np.arange(len(history)) + 1] - counted[begin]
    return found


def _quiet(history: History, events: Bools, hours: float) -> Bools:
    """Return where there was no event for so many hours."""
    found: Bools = (_within(history, events, hours) == 0) & (history.at >= hours)
    return found


def _passes(history: History) -> Ints:
    """Return how many builds in a row it passed up to each."""
    numbers = np.arange(len(history))
    last = np.maximum.accumulate(np.where(history.failed, numbers, -1))
    found: Ints = numbers - last
    return found


def _fails(history: History) -> Ints:
    """Return how many builds in a row it failed up to each."""
    numbers = np.arange(len(history))
    last = np.maximum.accumulate(np.where(history.failed, -1, numbers))
    found: Ints = numbers - last
    return found


def _flip(hours: float, *, passes: int | None = None) -> Rule:
    """Fail and pass on one commit; out again after a quiet time, or so many passes in a row."""

    def rule(history: History) -> tuple[Bools, Bools]:
        leaves = _quiet(history, history.flipped, hours)
        return history.flipped, leaves if passes is None else leaves | (_passes(history) >= passes)

    return rule


def _failure_rate(history: History) -> tuple[Bools, Bools]:
    """15 % of at least 50 trunk runs in a day; back below 7.5 %. Runs of which four fifths fail are left out."""
    counted = history.is_trunk & ~history.swamped
    runs, failed = _within(history, counted, _DAY), _within(history, counted & history.failed, _DAY)
    share = failed / np.maximum(runs, 1)
    return (runs >= 50) & (share >= 0.15), share < 0.075  # noqa: PLR2004 - as published


def _flip_share(history: History) -> tuple[Bools, Bools]:
    """Ten results and flips in 5 % of them, or failures in 30 %, over a fortnight; back by hand only."""
    runs = _within(history, np.ones(len(history), np.bool_), 2 * _WEEK)
    flips, failed = _within(history, history.flipped, 2 * _WEEK), _within(history, history.failed, 2 * _WEEK)
    return (runs >= 10) & ((flips >= 0.05 * runs) | (failed > 0.3 * runs)), np.zeros(len(history), np.bool_)  # noqa: PLR2004 - as published


def _luci_flakes(history: History) -> tuple[Bools, Bools]:
    """Two flaky positions within a week and 1 % of the verdicts, one run a change; lapses with the criterion."""
    first = np.concatenate(([True], np.diff(history.change) != 0)) | history.is_trunk
    flips, runs = _within(history, history.flipped & first, _WEEK), _within(history, first, _WEEK)
    holds = (flips >= 2) & (flips >= 0.01 * runs)  # noqa: PLR2004 - as published
    return holds, ~holds


def _luci_failures(history: History) -> tuple[Bools, Bools]:
    """Six of the last ten trunk runs, or three in a row; lapses with the criterion."""
    places = np.flatnonzero(history.is_trunk)
    failed = history.failed[places].astype(np.int64)
    last_ten = np.convolve(failed, np.ones(10, np.int64))[: len(failed)]
    last_three = np.convolve(failed, np.ones(3, np.int64))[: len(failed)]
    holds = np.zeros(len(history), np.bool_)
    known = np.searchsorted(places, np.arange(len(history)), side="right") - 1
    of_trunk = (last_ten >= 6) | (last_three >= 3)  # noqa: PLR2004 - as published
    if len(places):
        holds = np.where(known >= 0, of_trunk[np.maximum(known, 0)], False)
    return holds, ~holds


def _chromium(history: History) -> tuple[Bools, Bools]:
    """Three flaky builds in five days and one in the last; builds with more than 100 failures are left out."""
    flips = history.flipped & ~history.crowded
    holds = (_within(history, flips, 5 * _DAY) >= 3) & (_within(history, flips, _DAY) >= 1)  # noqa: PLR2004 - as published
    return holds, ~holds


def _pytorch(history: History) -> tuple[Bools, Bools]:
    """More than two flips on trunk within six hours; back after 14 untouched days, 150 green and none red in seven."""
    enters = _within(history, history.flipped & history.is_trunk, 6.0) > 2  # noqa: PLR2004 - as published
    green = _within(history, history.is_trunk & ~history.failed, _WEEK)
    leaves = (green >= 150) & _quiet(history, history.failed & history.is_trunk, _WEEK)  # noqa: PLR2004 - as published
    return enters, leaves & _quiet(history, history.flipped, 2 * _WEEK)


def _flutter(history: History) -> tuple[Bools, Bools]:
    """2 % of a fortnight's trunk runs flaky; back after 50 straight passes."""
    runs, flips = (
        _within(history, history.is_trunk, 2 * _WEEK),
        _within(history, history.flipped & history.is_trunk, 2 * _WEEK),
    )
    return (runs >= 50) & (flips >= 0.02 * runs), _passes(history) >= 50  # noqa: PLR2004 - as published


def _testgrid(history: History) -> tuple[Bools, Bools]:
    """Three failures in a row; back after one pass."""
    return _fails(history) >= 3, _passes(history) >= 1  # noqa: PLR2004 - as published


def _mozilla(history: History) -> tuple[Bools, Bools]:
    """150 failures in 21 days; a person brings it back."""
    return _within(history, history.failed, 3 * _WEEK) >= 150, np.zeros(len(history), np.bool_)  # noqa: PLR2004 - as published


def _aspnetcore(history: History) -> tuple[Bools, Bools]:
    """Two failures of different sources, never two in a row without a pass, in 30 days; back after 30 clean ones."""
    alone = history.failed & (_fails(history) == 1)
    sources = alone & (np.concatenate(([True], np.diff(history.change) != 0)) | history.is_trunk)
    enters = (_within(history, sources, 30 * _DAY) >= 2) & history.failed & (_fails(history) < 2)  # noqa: PLR2004 - as published
    return enters, _quiet(history, history.failed, 30 * _DAY)


def _naive(history: History) -> tuple[Bools, Bools]:
    """A binomial test of failures against one in a thousand, after every report, at 1 %; back after 50 passes."""
    runs, failed = np.arange(1, len(history) + 1), np.cumsum(history.failed)
    enters = (binom.sf(failed - 1, runs, 0.001) <= 0.01) & history.failed  # noqa: PLR2004 - the usual level
    return enters, _passes(history) >= 50  # noqa: PLR2004 - as published


def _nothing(history: History) -> tuple[Bools, Bools]:
    """No quarantine at all."""
    nowhere = np.zeros(len(history), np.bool_)
    return nowhere, nowhere


RULES: Mapping[str, Rule] = {
    "no quarantine": _nothing,
    "retry twice": _nothing,
    "CircleCI": _flip(2 * _WEEK),
    "Harness CI": _flip(2 * _WEEK, passes=5),
    "Trunk, pass on retry": _flip(_WEEK),
    "Trunk, failure rate": _failure_rate,
    "Buildkite": _flip(_WEEK, passes=100),
    "BuildPulse": _flip_share,
    "Datadog": _flip(30 * _DAY),
    "LUCI, flake rate": _luci_flakes,
    "LUCI, failure rate": _luci_failures,
    "Chromium": _chromium,
    "PyTorch": _pytorch,
    "Flutter": _flutter,
    "TestGrid": _testgrid,
    "Mozilla": _mozilla,
    "aspnetcore": _aspnetcore,
    "naive binomial test": _naive,
}
"""By the name of who publishes it. The first two quarantine nothing; they differ in what a loop does with a failure."""
