"""Which reruns are wanted: a rerun is the recorded command again, whole, on the byte-identical tree, in its variant.

One rerun therefore serves every test that waits on that tree in that variant.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import assess_entry
from quarantine.policy.onsets import counted_onsets
from quarantine.policy.wording import named

__all__ = ["Outlook", "Waiting", "WantedRerun", "outlook_of", "wanted_reruns"]

_LANE_ORDER = {Lane.TRUNK: 0, Lane.REVIEW: 1, Lane.AGENT: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A failed first try that a rerun of its tree could explain: a pending head, or a trial of a broken candidate.

    Attributes:
        test: the test's id.
        variant: the variant's hash.
        lane: the lane of its build.
        tree: the exact content tested; "" when unknown, and then nothing can be rerun.
        commit: where the tree can be had from; "" when unknown.
        failed_at: when the failure arrived.
        reruns: reruns of the tree in which the test failed again.
        is_confirmed: whether a pass of the tree is known; then nothing more is wanted.
        proves_broken: whether the broken rule waits for it: its reruns fall due at once, up to `broken_reruns`.
        nearness: p-value over limit of the test's nearest window if this head were confirmed; infinite when unknown.
        counts: whether this head would be among the counted onsets if it were confirmed.
        completes: whether the entry rule would then be met, by a window that it is part of.
    """

    test: str
    variant: str
    lane: Lane
    tree: str
    commit: str
    failed_at: datetime
    reruns: int = 0
    is_confirmed: bool = False
    proves_broken: bool = False
    nearness: float = math.inf
    counts: bool = True
    completes: bool = False

    def due_at(self, policy: Policy) -> datetime | None:
        """Return when its next rerun falls due; None when it is confirmed or its schedule is exhausted."""
        if self.is_confirmed or not self.tree:
            return None
        if self.proves_broken and self.reruns < policy.broken_reruns:
            return self.failed_at
        if self.reruns >= len(policy.rerun_hours):
            return None
        return self.failed_at + timedelta(hours=policy.rerun_hours[self.reruns])

    @property
    def value(self) -> tuple[bool, int, float, datetime]:
        """Sorts the most valuable first: what may decide now, then trunk, then the nearest to an entry, then age."""
        may_decide = self.completes or self.proves_broken
        return (not may_decide, _LANE_ORDER[self.lane], self.nearness, self.failed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedRerun:
    """One rerun to be made. The daemon makes those of trunk trees; other trees are rerun by whoever still has them.

    Attributes:
        tree, commit, variant, lane: what to rerun, and how.
        tests: the ids of the tests that wait for it, the most valuable first.
        due_at: when the first of them fell or falls due.
        why: one sentence.
    """

    tree: str
    commit: str
    variant: str
    lane: Lane
    tests: tuple[str, ...]
    due_at: datetime
    why: str


class Outlook(NamedTuple):
    """What one head would be worth to the entry rule if it were confirmed; see `Waiting`."""

    counts: bool
    nearness: float
    completes: bool


def outlook_of(supposed: Sequence[Head], number: int, trials: int, alpha: float, policy: Policy) -> Outlook:
    """Return what the head of this number is worth, given every head of the test as if that one were confirmed.

    It is asked of the rule itself: a head of another lane than trunk may not count, and never completes a window.
    """
    assessed = assess_entry(supposed, trials, alpha, policy)
    counts = any(onset.number == number for onset in counted_onsets(supposed, policy))
    completes = assessed.is_met and any(onset.number == number for onset in assessed.onsets)
    return Outlook(counts, assessed.nearness if counts else math.inf, completes)


def wanted_reruns(waiting: Iterable[Waiting], by: datetime, spent: int, policy: Policy) -> tuple[WantedRerun, ...]:
    """Return the reruns that fall due at or before `by`, the most valuable first, within what the day's budget leaves.

    Args:
        waiting: every failure that may still be explained by a rerun.
        by: now, or later to see what is coming.
        spent: reruns already made or ordered today.
        policy: the criteria.
    """
    groups: dict[tuple[str, str], list[tuple[Waiting, datetime]]] = {}
    for one in waiting:
        due_at = one.due_at(policy)
        if due_at is not None and due_at <= by:
            groups.setdefault((one.tree, one.variant), []).append((one, due_at))
    ranked = sorted(
        (sorted(group, key=lambda pair: (pair[0].value, pair[0].test)) for group in groups.values()),
        key=lambda group: (group[0][0].value, group[0][0].tree, group[0][0].variant),
    )
    return tuple(_wanted(group, policy) for group in ranked[: max(0, policy.reruns_per_day - spent)])


def _wanted(group: list[tuple[Waiting, datetime]], policy: Policy) -> WantedRerun:
    best = group[0][0]
    return WantedRerun(
        tree=best.tree,
        commit=next((one.commit for one, _ in group if one.commit), ""),
        variant=best.variant,
        lane=best.lane,
        tests=tuple(dict.fromkeys(one.test for one, _ in group)),
        due_at=min(due_at for _, due_at in group),
        why=_why([one for one, _ in group], policy),
    )


def _why(group: list[Waiting], policy: Policy) -> str:
    best, names = group[0], list(dict.fromkeys(one.test for one in group))
    verb = "waits" if len(names) == 1 else "wait"
    if best.proves_broken:
        purpose = (
            f"rerun {best.reruns + 1} of {policy.broken_reruns}, if it fails too, shows that it is broken, not flaky"
        )
    elif best.completes:
        purpose = "a pass would complete the evidence for quarantine"
    elif not best.counts:
        purpose = "a pass would confirm its failure, which would not count beside the onsets there are so far"
    else:
        purpose = f"a pass would make its failure an onset (rerun {best.reruns + 1} of {len(policy.rerun_hours)})"
    return f"{named(names)} {verb} for this tree: {purpose}."
