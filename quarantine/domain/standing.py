"""Where one (test, variant) stands on trunk, and the append-only rows that moved it there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from quarantine.domain.outcome import Mode, Status

__all__ = ["Standing", "Transition"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The present standing; a test that never had a head has the default one.

    Attributes:
        status: gating, quarantined, broken or held.
        since: when it came to stand there; None before its first transition.
        life: how often its evidence has been restarted by an exit.
        by_hand: whether a person put it there.
        expires_at: when a quarantine by hand ends by itself; None otherwise.
    """

    status: Status = Status.GATING
    since: datetime | None = None
    life: int = 0
    by_hand: bool = False
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One change of standing. Append-only; what it meant is read from this row alone.

    Attributes:
        from_status, to_status: the standing before and after; never equal.
        at: when it was decided; aware, UTC.
        reason: one sentence for a person, with the numbers.
        evidence: what the decision can be recomputed from; JSON values only.
        by: "policy", or who did it by hand.
        mode: the project's mode when it was decided; in observe mode the gating set does not change.
        policy_version: the version of the criteria it was decided by.
        restarts: whether the evidence begins anew with it, as after an exit.
        expires_at: when a quarantine by hand ends by itself; None otherwise.
    """

    from_status: Status
    to_status: Status
    at: datetime
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    by: str = "policy"
    mode: Mode
    policy_version: str
    restarts: bool = False
    expires_at: datetime | None = None
