"""Whether the evidence suffices to quarantine a test: the entry rule, with what it rests on and what is lacking."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.policy.onsets import Onset, counted_onsets
from quarantine.policy.wording import listed, percent, plural
from quarantine.stats.binomial import FloatArray, IntArray, binomtest_p, clopper_pearson
from quarantine.stats.entry import Window, nearest_window

__all__ = ["EntryAssessment", "assess_entry", "head_from_json", "head_to_json", "judge"]

_MOST_FURTHER_ONSETS = 64
_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAssessment:
    """The entry rule applied to all heads of one (test, variant).

    Attributes:
        is_met: whether the test is to be quarantined on this evidence.
        window: the winning window, or the nearest one; None below two counted onsets.
        onsets: the counted onsets inside that window, in order of arrival.
        counted: counted onsets in all.
        pending: heads that no pass has confirmed yet, storms left out.
        interval: the 95 % Clopper-Pearson interval of the rate in the window.
        lacking: what would change the answer, as phrases; empty when met.
        sentence: the answer with its numbers.
        heads, trials, alpha, p0, policy: what was assessed.
    """

    is_met: bool
    window: Window | None
    onsets: tuple[Onset, ...]
    counted: int
    pending: int
    interval: tuple[float, float] | None
    lacking: tuple[str, ...]
    sentence: str
    heads: tuple[Head, ...]
    trials: int
    alpha: float
    p0: float
    policy: Policy

    @property
    def nearness(self) -> float:
        """P-value over limit of the window: at most 1 when the numbers suffice, infinite without a window."""
        return math.inf if self.window is None else self.window.p_value / self.window.limit

    @property
    def rate(self) -> float | None:
        """Onsets per trial inside the window."""
        return None if self.window is None else self.window.seen / self.window.trials

    def to_json(self) -> dict[str, Any]:
        """Return inputs, policy and result as JSON values, enough to recompute the decision from."""
        return {
            "kind": "entry",
            "policy_version": self.policy.version,
            "policy": self.policy.to_json(),
            "inputs": {
                "heads": [head_to_json(head) for head in self.heads],
                "trials": self.trials,
                "alpha": self.alpha,
                "p0": self.p0,
            },
            "result": {
                "is_met": self.is_met,
                "window": None if self.window is None else _window_to_json(self.window),
                "onsets": [onset.number for onset in self.onsets],
                "counted": self.counted,
                "pending": self.pending,
                "rate": self.rate,
                "interval": None if self.interval is None else list(self.interval),
                "lacking": list(self.lacking),
                "sentence": self.sentence,
            },
        }


def assess_entry(
    heads: Sequence[Head], trials: int, alpha: float, policy: Policy, *, p0: float | None = None
) -> EntryAssessment:
    """Assess one (test, variant).

    Args:
        heads: every head since its evidence began, in order of number and without gaps.
        trials: its counted trials so far; at least the last head's index.
        alpha: what this pair may spend (`stats.multiplicity`), restarts taken into account.
        policy: the criteria.
        p0: another tolerance than the policy's, as for the drift of a quarantined test above its known rate.

    Raises ValueError when heads are missing: a window could then not be counted from its start.
    """
    if heads and heads[-1].number != len(heads):
        raise ValueError(f"{len(heads)} heads end with number {heads[-1].number}: some are missing")
    tolerance = policy.p0 if p0 is None else p0
    onsets = counted_onsets(heads, policy)
    met = judge(heads, onsets, alpha, policy, p0=tolerance)
    is_met = met is not None and met.is_met
    window = met if is_met else judge(heads, onsets, alpha, None, p0=tolerance)
    inside = () if window is None else onsets[window.last + 1 - window.seen : window.last + 1]
    if is_met and window is not None:
        window = replace(window, p_value=binomtest_p(window.count, window.trials, tolerance))
    pending = sum(not head.is_confirmed and head.incident is None for head in heads)
    lacking = (
        ()
        if is_met
        else _lacking(
            window,
            onsets,
            pending=pending,
            further=lambda: _further_onsets(heads, onsets, trials, alpha, tolerance),
            policy=policy,
        )
    )
    return EntryAssessment(
        is_met=is_met,
        window=window,
        onsets=inside,
        counted=len(onsets),
        pending=pending,
        interval=None if window is None else clopper_pearson(window.seen, window.trials),
        lacking=lacking,
        sentence=_sentence(window, lacking, len(onsets), trials, tolerance, is_met=is_met),
        heads=tuple(heads),
        trials=trials,
        alpha=alpha,
        p0=tolerance,
        policy=policy,
    )


def judge(
    heads: Sequence[Head], onsets: Sequence[Onset], alpha: float, conditions: Policy | None, *, p0: float
) -> Window | None:
    """Return the nearest window; with `conditions`, each judged where span and trunk onsets suffice (`stats.entry`)."""
    if len(onsets) < 2:  # noqa: PLR2004 - the smallest count of any window
        return None
    numbers = np.fromiter((onset.number for onset in onsets), np.int64, len(onsets))
    ready = None if conditions is None else _ready(len(heads), numbers, onsets, conditions)
    judged_at = None if conditions is None else _trunk_positions(onsets)
    return nearest_window(_indices(heads), numbers, p0=p0, alpha=alpha, ready=ready, judged_at=judged_at)


def _trunk_positions(onsets: Sequence[Onset]) -> IntArray:
    """For each position 0..len: the first onset of trunk from there on. So trunk has at least half of every window."""
    trunk = np.array([position for position, onset in enumerate(onsets) if onset.is_trunk], np.int64)
    following = np.searchsorted(trunk, np.arange(len(onsets) + 1), side="left")
    return np.append(trunk, len(onsets))[following]


def _indices(heads: Sequence[Head]) -> IntArray:
    return np.fromiter((head.index for head in heads), np.int64, len(heads))


def _ready(heads: int, numbers: IntArray, onsets: Sequence[Onset], policy: Policy) -> IntArray:
    """For each start 0..heads: the first position at which span and trunk onsets suffice; len(onsets) where never."""
    first = np.searchsorted(numbers, np.arange(heads + 1), side="right")
    arrived: FloatArray = np.maximum.accumulate([onset.arrived_at.timestamp() for onset in onsets])
    begins = np.append(arrived, np.inf)[first]
    span = np.searchsorted(arrived, begins + policy.entry_span_hours * _HOUR_S - 1e-3, side="left")
    trunk = np.concatenate(([0], np.cumsum([onset.is_trunk for onset in onsets])))
    enough = np.searchsorted(trunk[1:], trunk[first] + policy.entry_trunk_onsets, side="left")
    return np.maximum(span, enough)


def _lacking(
    window: Window | None, onsets: Sequence[Onset], *, pending: int, further: Callable[[], int], policy: Policy
) -> tuple[str, ...]:
    phrases = []
    if window is not None and window.is_met:
        phrases += _missing_conditions(onsets[window.last + 1 - window.seen :], policy)
    if not phrases:
        phrases.append(f"at least {plural(further(), 'more onset')}")
    if pending:
        phrases.append(f"a passing rerun of {plural(pending, 'pending head')}")
    return tuple(phrases)


def _missing_conditions(since: Sequence[Onset], policy: Policy) -> list[str]:
    """Return what the counted onsets since a window's start still miss of span and trunk onsets."""
    phrases = []
    span = (since[-1].arrived_at - since[0].arrived_at).total_seconds() / _HOUR_S
    if span < policy.entry_span_hours:
        phrases.append(
            f"an onset at least {policy.entry_span_hours:g} h after the first (they span {span:.1f} h so far)"
        )
    trunk = policy.entry_trunk_onsets - sum(onset.is_trunk for onset in since)
    if trunk > 0:
        phrases.append(f"{plural(trunk, 'more onset')} on trunk")
    return phrases


def _further_onsets(heads: Sequence[Head], onsets: Sequence[Onset], trials: int, alpha: float, p0: float) -> int:
    """Return how many onsets in the very next trials would suffice, conditions aside."""
    indices, numbers = _indices(heads), [onset.number for onset in onsets]
    for further in range(1, _MOST_FURTHER_ONSETS):
        coming = np.arange(1, further + 1)
        window = nearest_window(
            np.concatenate((indices, trials + coming)),
            np.concatenate((numbers, len(heads) + coming)).astype(np.int64),
            p0=p0,
            alpha=alpha,
        )
        if window is not None and window.is_met:
            return further
    return _MOST_FURTHER_ONSETS


def _sentence(
    window: Window | None, lacking: Sequence[str], counted: int, trials: int, p0: float, *, is_met: bool
) -> str:
    if window is None:
        return f"{plural(counted, 'counted onset')} in {plural(trials, 'trial')}; lacking: {listed(lacking)}."
    since = f"since head {window.start}" if window.start else "since the evidence began"
    low, high = clopper_pearson(window.seen, window.trials)
    seen = (
        f"{plural(window.seen, 'onset')} in {plural(window.trials, 'trial')} {since} "
        f"({percent(window.seen / window.trials)}, 95 % interval {percent(low)} to {percent(high)})"
    )
    against = f"p = {window.p_value:.2g} for {window.count} or more at the tolerated {percent(p0)}"
    limit = f"the limit {window.limit:.2g}"
    if is_met:
        return f"The identical tree both failed and passed: {seen}; {against}, at most {limit}."
    compared = "within" if window.is_met else "above"
    return f"Not enough yet: nearest are {seen}; {against}, {compared} {limit}; lacking: {listed(lacking)}."


def _window_to_json(window: Window) -> dict[str, Any]:
    return {
        "m": window.start,
        "k": window.count,
        "l": window.charge,
        "n": window.trials,
        "seen": window.seen,
        "p_value": window.p_value,
        "limit": window.limit,
    }


def head_to_json(head: Head) -> dict[str, Any]:
    """Return a head as JSON values; the fingerprint as 16 hexadecimal digits. `head_from_json` is the inverse."""
    return {
        "number": head.number,
        "index": head.index,
        "arrived_at": head.arrived_at.isoformat(),
        "lane": head.lane.value,
        "change": head.change,
        "build": head.build,
        "tree": head.tree,
        "fingerprint": f"{head.fingerprint:016x}",
        "runner": head.runner,
        "signature": head.signature,
        "confirmed_at": None if head.confirmed_at is None else head.confirmed_at.isoformat(),
        "confirmed_by": head.confirmed_by,
        "reruns_failed": head.reruns_failed,
        "trunk_trials": head.trunk_trials,
        "trunk_days": head.trunk_days,
        "incident": head.incident,
        "company": head.company,
    }


def head_from_json(values: Mapping[str, Any]) -> Head:
    """Return the head that `head_to_json` wrote."""
    known = dict(values)
    confirmed_at = known["confirmed_at"]
    known["arrived_at"] = datetime.fromisoformat(known["arrived_at"])
    known["confirmed_at"] = None if confirmed_at is None else datetime.fromisoformat(confirmed_at)
    known["lane"] = Lane(known["lane"])
    known["fingerprint"] = int(known["fingerprint"], 16)
    return Head(**known)
