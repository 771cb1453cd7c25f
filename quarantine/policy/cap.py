"""How many clusters may be quarantined at once: beyond it entries are held, and a person is told."""

from dataclasses import dataclass

from quarantine.policy.criteria import Policy
from quarantine.policy.wording import plural

__all__ = ["Cap", "assess_cap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The room left for quarantine.

    Attributes:
        limit: clusters allowed.
        taken: clusters quarantined now.
        sentence: the state with its numbers.
    """

    limit: int
    taken: int
    sentence: str

    @property
    def has_room(self) -> bool:
        """Whether one more cluster may be quarantined."""
        return self.taken < self.limit


def assess_cap(taken: int, tests: int, policy: Policy) -> Cap:
    """Return the cap for a suite of `tests` (in the last trunk build) with `taken` clusters quarantined.

    A test that belongs to no cluster is a cluster of its own. The limit is `max(cap_slots, cap_share * tests)`.
    """
    limit = max(policy.cap_slots, int(policy.cap_share * tests + 1e-9))
    return Cap(
        limit=limit,
        taken=taken,
        sentence=f"{taken} of the {plural(limit, 'slot')} for a suite of {plural(tests, 'test')} are taken.",
    )
