"""Which heads count as onsets. Every rule here only drops onsets, which keeps the entry test valid (stats.entry)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy

__all__ = ["Onset", "counted_onsets"]


@dataclass(frozen=True, slots=True)
class Onset:
    """A confirmed head that counts."""

    head: Head

    @property
    def number(self) -> int:
        """Its head number m, from 1."""
        return self.head.number

    @property
    def index(self) -> int:
        """Its trial index."""
        return self.head.index

    @property
    def arrived_at(self) -> datetime:
        """When its head arrived, whenever it was confirmed."""
        return self.head.arrived_at

    @property
    def is_trunk(self) -> bool:
        """Whether its head comes from the trunk lane."""
        return self.head.lane is Lane.TRUNK


def counted_onsets(heads: Iterable[Head], policy: Policy) -> tuple[Onset, ...]:
    """Return the counted onsets among `heads` (in order of number), in the same order.

    A head counts when it is confirmed and belongs to no incident, at most one per change and at most one per
    `policy.onset_spacing`, by arrival, the earliest first: an onset keeps later ones out until the spacing has passed.
    Lanes other than trunk are never the majority: their onset counts only right after one of trunk's, so between two
    onsets of trunk at most one other is heard. Whoever claims to have seen trunk's tree flake can at most second trunk.
    A failure that `policy.company_tests` tests or more share with its signature, in one build, is a head in company: an
    outage, a bad host or a broken service rather than one test's flaking. Of those at most one counts in
    `policy.company_spacing_hours`, so that two outages of two days, weeks apart, are some six onsets and not thirty. A
    cause that really strikes together day after day is still found, a few days later (docs/evidence.md has both).

    A trunk head inside the slot of an agent's head takes it over: the agent's onset is dropped, its change may count
    again, and the slot then begins at the trunk head's arrival.

    The result is a subset of the true onsets whatever is confirmed when. It is not monotone in every case: a head that
    counts begins a slot and may so displace a later one (see tests/unit/policy/test_onsets.py).
    """
    counted: list[Head] = []
    for head in heads:
        if not head.is_confirmed or head.incident is not None or _is_crowded(head, counted, policy):
            continue
        last = counted[-1] if counted else None
        if last is not None and head.arrived_at < last.arrived_at + policy.onset_spacing:
            if last.lane is Lane.AGENT and head.lane is Lane.TRUNK:
                counted[-1] = head
        elif head.lane is Lane.TRUNK or (
            last is not None and last.lane is Lane.TRUNK and all(head.change != other.change for other in counted)
        ):
            counted.append(head)
    return tuple(Onset(head) for head in counted)


def _is_crowded(head: Head, counted: Sequence[Head], policy: Policy) -> bool:
    """Whether a head in company comes too soon after another one: an outage counts once a day however often it hits."""
    if head.company + 1 < policy.company_tests:
        return False
    last = next((one for one in reversed(counted) if one.company + 1 >= policy.company_tests), None)
    return last is not None and head.arrived_at < last.arrived_at + timedelta(hours=policy.company_spacing_hours)
