"""The next change of standing, from assessments: which moves there are, and in which order they are considered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from quarantine.domain.outcome import Mode, Status
from quarantine.domain.standing import Standing, Transition
from quarantine.errors import BadInput
from quarantine.policy.broken import BrokenAssessment
from quarantine.policy.cap import Cap
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import EntryAssessment
from quarantine.policy.exit import ExitAssessment
from quarantine.policy.probation import ProbationAssessment

__all__ = ["LEGAL_MOVES", "Findings", "gates", "next_transition", "transition_by_hand"]

LEGAL_MOVES = frozenset(
    {
        (Status.GATING, Status.QUARANTINED),
        (Status.GATING, Status.HELD),
        (Status.GATING, Status.BROKEN),
        (Status.HELD, Status.QUARANTINED),
        (Status.HELD, Status.GATING),
        (Status.HELD, Status.BROKEN),
        (Status.BROKEN, Status.GATING),
        (Status.QUARANTINED, Status.GATING),
        (Status.QUARANTINED, Status.HELD),
    }
)
"""(from, to). A quarantined test never becomes broken, and a broken one is never quarantined."""

_Move = tuple[Status, str, Mapping[str, Any], bool]
"""(to, reason, evidence, whether the evidence restarts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What has been found out about one (test, variant); what was not assessed is None.

    Attributes:
        entry, broken, exit, probation: the assessments.
        cap: the room left in the project's quarantine.
        never: why the test must always gate (a never-quarantine glob, an id that is not unique), as a sentence.
        hold: why a person has to agree first (the flake came with an agent's change), as a sentence.
    """

    cap: Cap
    entry: EntryAssessment | None = None
    broken: BrokenAssessment | None = None
    exit: ExitAssessment | None = None
    probation: ProbationAssessment | None = None
    never: str | None = None
    hold: str | None = None

    @property
    def obstacle(self) -> str | None:
        """What keeps a test gating although the evidence for quarantine is there."""
        return self.never or self.hold or (None if self.cap.has_room else self.cap.sentence)

    @property
    def case(self) -> EntryAssessment | ProbationAssessment | None:
        """The assessment on which the test is to be quarantined, if there is one."""
        return next((one for one in (self.entry, self.probation) if one is not None and one.is_met), None)


def gates(status: Status, mode: Mode) -> bool:
    """Return whether a test of this status belongs to the gating set; in observe mode all do."""
    return mode is Mode.OBSERVE or status is not Status.QUARANTINED


def next_transition(
    standing: Standing, findings: Findings, *, mode: Mode, now: datetime, policy: Policy
) -> Transition | None:
    """Return the one move that is due, or None. The mode changes no decision, only whether it is acted on.

    Broken comes first, for entry waits until it ends; then leaving, then entering. A test that is held is asked again
    with each assessment, so that it enters as soon as the obstacle is gone.
    """
    move = _MOVES[standing.status](standing, findings, now)
    if move is None:
        return None
    to, reason, evidence, restarts = move
    if (standing.status, to) not in LEGAL_MOVES:
        raise ValueError(f"no move leads from {standing.status} to {to}")
    return Transition(
        from_status=standing.status,
        to_status=to,
        at=now,
        reason=reason,
        evidence=evidence,
        mode=mode,
        policy_version=policy.version,
        restarts=restarts,
    )


def _from_gating(_standing: Standing, findings: Findings, _now: datetime) -> _Move | None:
    return _to_broken(findings) or _to_quarantine(findings) or _to_held(findings)


def _from_held(_standing: Standing, findings: Findings, _now: datetime) -> _Move | None:
    return _to_broken(findings) or _release(findings) or _to_quarantine(findings) or _unfounded(findings)


def _from_broken(_standing: Standing, findings: Findings, _now: datetime) -> _Move | None:
    broken = findings.broken
    if broken is None or not broken.has_ended:
        return None
    return Status.GATING, broken.sentence, broken.to_json(), False


def _from_quarantined(standing: Standing, findings: Findings, now: datetime) -> _Move | None:
    if findings.never is not None:
        reason = f"Gates again: {findings.never}"
        return Status.HELD, reason, {"kind": "rule", "never": findings.never}, False
    if standing.expires_at is not None and standing.expires_at <= now:
        expired = standing.expires_at.isoformat()
        return Status.GATING, f"The quarantine by hand ended at {expired}.", {"kind": "expiry", "at": expired}, False
    return _release(findings)


_MOVES = {
    Status.GATING: _from_gating,
    Status.HELD: _from_held,
    Status.BROKEN: _from_broken,
    Status.QUARANTINED: _from_quarantined,
}


def _to_broken(findings: Findings) -> _Move | None:
    broken = findings.broken
    if broken is None or not broken.is_met:
        return None
    return Status.BROKEN, broken.sentence, broken.to_json(), False


def _to_quarantine(findings: Findings) -> _Move | None:
    if findings.case is None or findings.obstacle is not None:
        return None
    return Status.QUARANTINED, findings.case.sentence, findings.case.to_json(), False


def _to_held(findings: Findings) -> _Move | None:
    if findings.case is None or findings.obstacle is None:
        return None
    evidence = {**findings.case.to_json(), "obstacle": findings.obstacle}
    return Status.HELD, f"{findings.case.sentence} Held, still gating: {findings.obstacle}", evidence, False


def _release(findings: Findings) -> _Move | None:
    if findings.exit is None or not findings.exit.is_met:
        return None
    return Status.GATING, findings.exit.sentence, findings.exit.to_json(), True


def _unfounded(findings: Findings) -> _Move | None:
    entry = findings.entry
    if entry is None or findings.case is not None:
        return None
    return Status.GATING, f"The evidence no longer suffices. {entry.sentence}", entry.to_json(), False


def transition_by_hand(
    standing: Standing,
    to: Status,
    *,
    reason: str,
    by: str,
    expires_at: datetime | None,
    mode: Mode,
    now: datetime,
    policy: Policy,
    never: str | None = None,
) -> Transition:
    """Return the move a person asks for: into quarantine until a date, or out of quarantine or of being held.

    A release restarts the evidence, so that the same onsets do not send the test straight back.

    Raises:
        BadInput: there is no reason, no expiry in the future, or no such move by hand.
    """
    if not reason.strip():
        raise BadInput("A decision by hand needs a reason.", mend="Say why, for whoever reads it in a month.")
    if to is Status.QUARANTINED:
        _check_quarantine_by_hand(standing, expires_at, now, never)
    elif to is not Status.GATING or standing.status not in (Status.QUARANTINED, Status.HELD):
        raise BadInput(
            f"No decision by hand makes a {standing.status} test {to}.",
            mend="By hand a test can be quarantined until a date, or released from quarantine or from being held.",
        )
    return Transition(
        from_status=standing.status,
        to_status=to,
        at=now,
        reason=reason.strip(),
        evidence={"kind": "by-hand"},
        by=by,
        mode=mode,
        policy_version=policy.version,
        restarts=to is Status.GATING,
        expires_at=expires_at if to is Status.QUARANTINED else None,
    )


def _check_quarantine_by_hand(
    standing: Standing, expires_at: datetime | None, now: datetime, never: str | None
) -> None:
    if standing.status is Status.BROKEN:
        raise BadInput(
            "A broken test is not a flaky one, so it cannot be quarantined.",
            mend="Mend or revert what broke it; it gates again by itself once it passes.",
        )
    if (standing.status, Status.QUARANTINED) not in LEGAL_MOVES:
        raise BadInput(f"The test is {standing.status} already.", mend="Nothing needs to be done.")
    if never is not None:
        raise BadInput(f"This test always gates: {never}", mend="Change that rule on trunk first.")
    if expires_at is None or expires_at <= now:
        raise BadInput("A quarantine by hand needs an expiry in the future.", mend="Say until when.")
