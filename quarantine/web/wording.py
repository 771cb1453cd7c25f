"""What pages call a standing and a change of standing. While a project observes, decisions are what would have been."""

from quarantine.domain.outcome import Mode, Status

_NAMES = {
    (Status.GATING, Mode.ENFORCE): "gating",
    (Status.GATING, Mode.OBSERVE): "gating",
    (Status.QUARANTINED, Mode.ENFORCE): "quarantined",
    (Status.QUARANTINED, Mode.OBSERVE): "would have been quarantined",
    (Status.HELD, Mode.ENFORCE): "held",
    (Status.HELD, Mode.OBSERVE): "would have been held",
    (Status.BROKEN, Mode.ENFORCE): "broken",
    (Status.BROKEN, Mode.OBSERVE): "broken",
}
_NOTES = {
    (
        Status.QUARANTINED,
        Mode.ENFORCE,
    ): "Out of the gating set, each in the variant shown. They go on running and being reported.",
    (Status.QUARANTINED, Mode.OBSERVE): "The evidence would have taken them out of the gating set. They still gate.",
    (Status.HELD, Mode.ENFORCE): "The evidence for quarantine is there, but a rule or the cap keeps them gating.",
    (Status.HELD, Mode.OBSERVE): "The evidence is there, but a rule or the cap would have kept them gating.",
    (Status.BROKEN, Mode.ENFORCE): "They fail run after run, reruns too. They gate: a broken test is not a flaky test.",
    (Status.BROKEN, Mode.OBSERVE): "They fail run after run, reruns too. A broken test is not a flaky test.",
}
_BACK = {
    (Status.QUARANTINED, Mode.ENFORCE): "gates again",
    (Status.QUARANTINED, Mode.OBSERVE): "would have gated again",
    (Status.HELD, Mode.ENFORCE): "no longer held",
    (Status.HELD, Mode.OBSERVE): "would no longer have been held",
    (Status.BROKEN, Mode.ENFORCE): "no longer broken",
    (Status.BROKEN, Mode.OBSERVE): "no longer broken",
}


def standing_name(status: str, mode: str) -> str:
    """Return what a standing is called in a project of this mode."""
    return _NAMES[Status(status), Mode(mode)]


def standing_note(status: str, mode: str) -> str:
    """Return what follows for tests that stand so."""
    return _NOTES[Status(status), Mode(mode)]


def move_name(from_status: str, to_status: str, mode: str) -> str:
    """Return what a transition is called that was decided in this mode."""
    to = Status(to_status)
    return _BACK[Status(from_status), Mode(mode)] if to is Status.GATING else _NAMES[to, Mode(mode)]
