"""What a rule does to a loop of four attempts: good patches it rejects, bad ones it accepts, attempts it wastes.

Every rule sees the same tickets, patches and failures. The product's verdict is `policy.findings.find`, asked again
after every rerun it wants; the others take what is quarantined out and reject whatever else is red.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from quarantine.domain.outcome import Status
from quarantine.domain.verdict import Effect
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import TestFacts, Tries, find
from quarantine.policy.regressions import alarm_reruns
from quarantine.simulate.ours import Story
from quarantine.simulate.samples import failing_tests
from quarantine.simulate.world import World

__all__ = ["Reading", "Tally", "Ticket", "counted", "tickets_of"]

ATTEMPTS = 4
IMPACTED = 200
RIGHT = 0.4
"""Chance that an attempt's patch is right."""

RACY = 0.1
"""Share of the wrong patches that make one test random instead of breaking any; it then fails so often:"""
RACY_RATE = 0.3
_AGAIN = 0.5
"""Chance that a flaky test that just failed fails again at once."""
_MOST_BROKEN = 50
_REFAILED, _RERUN = 10, 20
"""What is known of reruns of a quarantined test, as so many that failed of so many."""


@dataclass(frozen=True, slots=True)
class Failing:
    """A test that fails its first try in an attempt: at which rate it fails again on the head, and on the base.

    Attributes:
        rate: its rate on trunk; 0 for one that fails by the patch alone.
    """

    test: int
    again: float
    on_base: float
    rate: float

    @property
    def is_own(self) -> bool:
        """Whether the patch is what makes it fail."""
        return self.rate == 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """A patch, whether it is right, and what is red in its first run."""

    is_right: bool
    failing: tuple[Failing, ...]


@dataclass(frozen=True, slots=True)
class Ticket:
    """A ticket taken up at an hour, with the patches its agent comes up with, and a seed for the reruns."""

    hour: float
    attempts: tuple[Attempt, ...]
    seed: int


def tickets_of(world: World, count: int) -> list[Ticket]:
    """Draw tickets of a world."""
    dice = np.random.default_rng((world.seed, 2))
    return [_ticket(world, dice, number) for number in range(count)]


def _ticket(world: World, dice: np.random.Generator, number: int) -> Ticket:
    hour = float(dice.uniform(0.25, 1.0) * world.hours)
    impacted = dice.choice(world.shape.tests, min(IMPACTED, world.shape.tests), replace=False)
    flaky = [world.flaky[test] for test in impacted.tolist() if test in world.flaky]
    alive = [one for one in flaky if one.flakes_at(hour)]
    attempts = []
    for _ in range(ATTEMPTS):
        failing = [
            Failing(one.test, max(_AGAIN, one.rate), one.rate, one.rate) for one in alive if dice.random() < one.rate
        ]
        is_right = bool(dice.random() < RIGHT)
        if not is_right:
            failing = _worse(dice, impacted.tolist(), failing)
        attempts.append(Attempt(is_right, tuple(failing)))
    return Ticket(hour, tuple(attempts), number)


def _worse(dice: np.random.Generator, impacted: Sequence[int], failing: list[Failing]) -> list[Failing]:
    """Return what else is red where the patch is wrong: tests that it breaks, or one that it makes random."""
    if dice.random() < RACY:
        test = int(dice.choice(impacted))
        return [*failing, Failing(test, RACY_RATE, 0.0, 0.0)] if dice.random() < RACY_RATE else failing
    broken = dice.choice(impacted, min(int(failing_tests(dice, 1)[0]), _MOST_BROKEN, len(impacted)), replace=False)
    kept = [one for one in failing if one.test not in set(broken.tolist())]
    return [*kept, *(Failing(test, 1.0, 0.0, 0.0) for test in broken.tolist())]


@dataclass(slots=True)
class Tally:
    """What came of the attempts of all tickets."""

    right: int = 0
    right_rejected: int = 0
    right_undecided: int = 0
    wrong: int = 0
    wrong_accepted: int = 0
    wrong_excused: int = 0
    tickets: int = 0

    def measures(self) -> dict[str, float]:
        """Return the shares, and the right attempts that were not accepted, per ticket."""
        return {
            "good patches rejected": self.right_rejected / max(1, self.right),
            "bad patches accepted": self.wrong_accepted / max(1, self.wrong),
            "bad patches accepted though red by themselves": self.wrong_excused / max(1, self.wrong),
            "attempts wasted per ticket": (self.right_rejected + self.right_undecided) / max(1, self.tickets),
        }


@dataclass(slots=True)
class Reading:
    """How a rule reads a red run.

    Attributes:
        story: when it has which test in quarantine.
        retries: how often a failing test that is not quarantined is tried again; one pass is enough.
        policy: the product's policy, where it reads.
    """

    story: Story
    retries: int = 0
    policy: Policy | None = None
    _stays: Mapping[int, list[tuple[float, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stays: dict[int, list[tuple[float, float]]] = {}
        for stay in self.story.stays:
            stays.setdefault(stay.test, []).append((stay.begin, stay.end))
        self._stays = stays

    def out_at(self, hour: float, tests: Collection[int]) -> set[int]:
        """Return which of the tests are in quarantine at an hour."""
        return {test for test in tests if any(begin <= hour < end for begin, end in self._stays.get(test, ()))}

    def reads(self, world: World, attempt: Attempt, hour: float, dice: np.random.Generator) -> Effect:
        """Return what it makes of an attempt."""
        out = self.out_at(hour, [one.test for one in attempt.failing])
        effects = {self._test(world, one, one.test in out, dice) for one in attempt.failing}
        worst = (Effect.REJECTS, Effect.UNDECIDED)
        return next((effect for effect in worst if effect in effects), Effect.PASSES)

    def _test(self, world: World, one: Failing, is_out: bool, dice: np.random.Generator) -> Effect:  # noqa: FBT001 - one of two ways
        if self.policy is not None:
            return _found(world, self.policy, one, dice, is_out=is_out)
        passes = is_out or any(dice.random() >= one.again for _ in range(self.retries))
        return Effect.EXCUSED if passes else Effect.REJECTS


def _found(world: World, policy: Policy, one: Failing, dice: np.random.Generator, *, is_out: bool) -> Effect:
    """Return what the policy finds one failing test to be, after every rerun it wants within its budget."""
    a_week = max(one.rate, 1e-4) * 7 * world.shape.builds_a_day
    facts = TestFacts(
        name=str(one.test),
        head=Tries(failed=1),
        standing=Status.QUARANTINED if is_out else Status.GATING,
        is_excusable=is_out,
        same_signature=one.on_base > 0,
        rate=one.rate,
        alarm_reruns=alarm_reruns(a_week, _REFAILED, _RERUN, policy),
        passes_on_trunk=True,
    )
    spent = 0
    while True:
        found = find(facts, policy, can_rerun=True)
        if found is None:
            return Effect.PASSES
        if not (found.head or found.base) or spent >= policy.verdict_reruns_most:
            return found.effect
        spent += 1
        if found.base:
            facts = replace(facts, base=_tried(facts.base, dice.random() < one.on_base), on_base=True)
        if found.head:
            facts = replace(facts, head=_tried(facts.head, dice.random() < one.again))


def _tried(before: Tries, fails: bool) -> Tries:  # noqa: FBT001 - the outcome of a try
    if fails:
        return Tries(before.failed + 1, before.passed, 0)
    return Tries(before.failed, before.passed + 1, before.straight + 1)


def counted(world: World, tickets: Sequence[Ticket], reading: Reading) -> Tally:
    """Return what comes of the tickets under a reading; a loop ends with the first patch that is accepted."""
    tally = Tally(tickets=len(tickets))
    for ticket in tickets:
        dice = np.random.default_rng((world.seed, 3, ticket.seed))
        for attempt in ticket.attempts:
            effect = reading.reads(world, attempt, ticket.hour, dice)
            accepted = effect is Effect.PASSES
            if attempt.is_right:
                tally.right += 1
                tally.right_rejected += effect is Effect.REJECTS
                tally.right_undecided += effect is Effect.UNDECIDED
            else:
                tally.wrong += 1
                tally.wrong_accepted += accepted
                tally.wrong_excused += accepted and any(one.is_own for one in attempt.failing)
            if accepted:
                break
    return tally
