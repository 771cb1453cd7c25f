"""What further tries inside one session are worth: a runner that has its failing tests at hand tries them again.

Such a try is one test, run again in the same process, on the identical tree, when the others are done. It is no rerun
of the recorded command: a further failure in one and the same build proves nothing. A pass does: the tree both failed
and passed, which makes the failure an onset and answers the verdict. So a test is tried until it passes, at most as
often as the verdict would have the head rerun, and a session's tries are shared out among its failing tests by value.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quarantine.domain.outcome import Status
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import TestFacts, Tries, find
from quarantine.policy.wording import plural

__all__ = ["FailingTest", "Repeat", "SessionPlan", "plan_session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingTest:
    """A test that has failed in a session, and what is known about it in the session's variant.

    Attributes:
        name: as the session spells it.
        is_known: whether trunk has run it in this variant.
        standing: on trunk.
        is_excusable: whether its quarantine takes it out of the gating set: the project enforces.
        alarm_reruns: failed reruns in a row that its flaking does not explain, when it is quarantined.
        nearness: p-value over limit of its nearest window if this failure became an onset; infinite when unknown.
        completes: whether the entry rule would then be met, by a window that it is part of.
    """

    name: str
    is_known: bool = True
    standing: Status = Status.GATING
    is_excusable: bool = False
    alarm_reruns: int = 1
    nearness: float = math.inf
    completes: bool = False

    def worth(self, policy: Policy) -> int:
        """Return how many tries are worth making: what the verdict asks for; none of what is known to be broken."""
        if self.standing is Status.BROKEN:
            return 0
        facts = TestFacts(
            name=self.name,
            head=Tries(failed=1),
            standing=self.standing,
            is_excusable=self.is_excusable,
            alarm_reruns=self.alarm_reruns,
        )
        found = find(facts, policy, can_rerun=True)
        return min(found.head, policy.verdict_reruns_most) if found else 0

    @property
    def value(self) -> tuple[bool, bool, float]:
        """Sorts the most valuable first: what may decide now, then what gates, then the nearest to an entry."""
        return (not self.completes, self.is_excusable, self.nearness)


class Repeat(NamedTuple):
    """How often one test is tried again.

    Attributes:
        name: as it was asked about.
        most: tries at most; they end with the first pass.
        code: `completes`, `new`, `unsettled`, `quarantined`, `broken`, `wide` or `spent`; stable.
        why: one sentence.
    """

    name: str
    most: int
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class SessionPlan:
    """What a session, or the part of it that asked, tries again.

    Attributes:
        tests: one entry for each test asked about, in that order.
        budget: the tries it may make.
        sentence: what was left out for want of budget; empty when nothing was.
    """

    tests: tuple[Repeat, ...]
    budget: int
    sentence: str

    @property
    def planned(self) -> int:
        """How many tries it makes at most."""
        return sum(one.most for one in self.tests)


def plan_session(failing: Sequence[FailingTest], policy: Policy, *, worker: int = 0, workers: int = 1) -> SessionPlan:
    """Return how often each failing test is tried again.

    Each gets one try before any gets another, the most valuable first, until it has what it is worth or the budget is
    spent. When there are more of them than tries, they most likely fail for one reason, and a few tell whether it is
    gone: as many as make a storm.

    Args:
        failing: the tests that failed; several workers each ask about their own.
        policy: the criteria.
        worker: which part of the session asks, from 0.
        workers: how many parts it has; they share the budget of one session, to the last try.
    """
    budget = _share(policy.session_reruns_most, worker, workers)
    worth = {one.name: one.worth(policy) for one in failing}
    ranked = sorted((one for one in failing if worth[one.name]), key=lambda one: one.value)
    is_wide = 0 < budget < len(ranked)
    chosen = ranked[: max(1, _share(policy.storm_tests, worker, workers))] if is_wide else ranked
    given = _dealt([one.name for one in chosen], worth, budget)
    tests = tuple(_repeat(one, given.get(one.name, 0), len(ranked) if is_wide else 0, policy) for one in failing)
    return SessionPlan(tests, budget, _sentence(tests, len(ranked), budget))


def _share(whole: int, worker: int, workers: int) -> int:
    """Return this worker's part of a number, so that all the parts add up to it."""
    return whole // workers + (worker < whole % workers)


def _dealt(names: Sequence[str], worth: dict[str, int], budget: int) -> dict[str, int]:
    given = dict.fromkeys(names, 0)
    for turn in range(1, max(worth.values(), default=0) + 1):
        for name in names:
            if budget and worth[name] >= turn:
                given[name] += 1
                budget -= 1
    return given


def _repeat(test: FailingTest, most: int, wide: int, policy: Policy) -> Repeat:
    """Return the entry of one test; `wide` is how many tests failed at once when those were too many."""
    code, why = _left_out(test, wide, policy) if not most else _tried(test)
    return Repeat(test.name, most, code, why)


def _left_out(test: FailingTest, wide: int, policy: Policy) -> tuple[str, str]:
    if test.standing is Status.BROKEN:
        return "broken", "It is broken on trunk, which one more failure would only repeat."
    if wide:
        failed = plural(wide, "test")
        return "wide", f"{failed} failed at once, most likely for one reason, and others tell whether it is gone."
    return "spent", f"A session makes {_further(policy.session_reruns_most)} at most, and others are worth more."


def _tried(test: FailingTest) -> tuple[str, str]:
    if test.completes:
        return "completes", "A pass would complete the evidence for quarantine."
    if test.is_excusable:
        return (
            "quarantined",
            "It is quarantined: a pass would be news, or more failures than its flaking explains.",
        )
    if not test.is_known:
        return "new", "Trunk has not run it here: further tries show whether it always fails."
    return "unsettled", "Further tries show whether it always fails."


def _sentence(tests: Sequence[Repeat], worthy: int, budget: int) -> str:
    chosen = sum(one.most > 0 for one in tests)
    if chosen == worthy:
        return ""
    return (
        f"{plural(worthy, 'failing test')} for {_further(budget)}: {chosen or 'none'} of them "
        f"{'is' if chosen == 1 else 'are'} tried again."
    )


def _further(tries: int) -> str:
    return f"{tries:,} further {'try' if tries == 1 else 'tries'}"
