"""The pieces evidence is made of: heads and what became of them. The words are defined in docs/glossary.md."""

from dataclasses import dataclass
from datetime import datetime

from quarantine.domain.outcome import Lane


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A counted failed trial whose previous counted trial passed: the only thing that can become an onset.

    Attributes:
        number: m, from 1, in order of arrival within one (test, variant) since its evidence began.
        index: the trial index s_m, from 1; counted trials get it on arrival, failures included.
        arrived_at: when the report was accepted; aware, UTC.
        lane: the lane of the build, from its token.
        change: the change that the build spoke for; None on trunk.
        build: the key of the build it failed in.
        tree: the exact content tested.
        fingerprint: the reach fingerprint of the test in that tree (unsigned 64 bits).
        runner: the machine, as the build part named it.
        signature: the normalised failure signature.
        confirmed_at: when a pass of the identical tree, in the same variant, job and environment, became known;
            None while the head is pending.
        confirmed_by: the key of the build that passed; the head's own build when a retry inside it passed.
        reruns_failed: reruns of the identical tree in which the test failed again.
        trunk_trials: trunk trials of the test up to and including this one (it marks where a window starts).
        trunk_days: distinct days with trunk trials up to and including this one.
        incident: the storm this failure belongs to; such a head is no onset. None otherwise.
        company: how many other tests failed in the same build with the same signature.
    """

    number: int
    index: int
    arrived_at: datetime
    lane: Lane
    change: str | None
    build: str
    tree: str
    fingerprint: int
    runner: str = ""
    signature: str = ""
    confirmed_at: datetime | None = None
    confirmed_by: str | None = None
    reruns_failed: int = 0
    trunk_trials: int = 0
    trunk_days: int = 0
    incident: str | None = None
    company: int = 0

    @property
    def is_confirmed(self) -> bool:
        """Whether the identical tree is known to have both failed and passed."""
        return self.confirmed_at is not None
