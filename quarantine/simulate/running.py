"""Worlds of many seeds, every rule let loose on each, and what came of it with its interval."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from quarantine.policy.criteria import Policy
from quarantine.simulate import loops, ours, peers
from quarantine.simulate.accidents import draw
from quarantine.simulate.loops import Reading
from quarantine.simulate.measures import measured
from quarantine.simulate.ours import Confirming
from quarantine.simulate.world import Shape, World

__all__ = ["OURS", "compared", "names"]

OURS = "quarantine"
TICKETS = 400
_RETRIES = 2
_Z = 1.959964


def compared(
    shape: Shape,
    seeds: Sequence[int],
    policy: Policy,
    *,
    confirming: Confirming = Confirming.PROMPT,
    rules: Sequence[str] | None = None,
    show: Callable[[int, int], None] = lambda _done, _total: None,
) -> dict[str, Any]:
    """Return what each rule made of the worlds of these seeds.

    Args:
        shape: what the worlds are like.
        seeds: one world each.
        policy: the product's.
        confirming: when the product learns of what is confirmed.
        rules: which rules, by name; every one when None.
        show: called with how many worlds are done, and how many there are.

    Returns `{"rules": {name: {measure: {"mean", "low", "high"}}}, "worlds", "seeds"}`; low and high are the 95 %
    interval of the mean over the worlds that have the measure.
    """
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for done, seed in enumerate(seeds, start=1):
        world = draw(shape, seed)
        tickets = loops.tickets_of(world, TICKETS)
        for name, reading in _readings(world, policy, confirming, rules):
            found = measured(world, reading.story, tolerated=policy.p0)
            found |= loops.counted(world, tickets, reading).measures()
            for measure, value in found.items():
                values[name][measure].append(value)
        show(done, len(seeds))
    return {
        "rules": {
            name: {measure: _interval(found) for measure, found in measures.items()}
            for name, measures in values.items()
        },
        "worlds": len(seeds),
        "seeds": list(seeds),
        "policy_version": policy.version,
    }


def names() -> tuple[str, ...]:
    """Return the names of the rules, the product's own first."""
    return (OURS, *peers.RULES)


def _readings(
    world: World, policy: Policy, confirming: Confirming, rules: Sequence[str] | None
) -> Iterator[tuple[str, Reading]]:
    if rules is None or OURS in rules:
        yield OURS, Reading(ours.let_loose(world, policy, confirming), policy=policy)
    for name, rule in peers.RULES.items():
        if rules is None or name in rules:
            retries = _RETRIES if name == "retry twice" else 0
            yield name, Reading(peers.let_loose(world, rule), retries=retries)


def _interval(found: Sequence[float]) -> dict[str, float]:
    mean = float(np.mean(found))
    half = _Z * float(np.std(found, ddof=1)) / math.sqrt(len(found)) if len(found) > 1 else 0.0
    return {"mean": mean, "low": mean - half, "high": mean + half}
