"""What pages call a standing, a change of standing, and a finding.

While a project observes, decisions are what would have been.
"""

from quarantine.domain.outcome import Mode, Status
from quarantine.domain.verdict import Finding

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


_FOUND = {
    Finding.EXPLAINED: "They fail on the head every time, and the base does not fail like that: the change did it.",
    Finding.PRE_EXISTING: "They fail on the base just the same.",
    Finding.FLAKY: "They fail and pass, on the base too.",
    Finding.NONDETERMINISTIC: "They fail and pass on the head while the base passes: random under this change.",
    Finding.QUARANTINED: "They are in quarantine, and nothing speaks against their usual flaking.",
    Finding.POSSIBLE_REGRESSION: "They are in quarantine, but fail more often in a row than their flaking explains.",
    Finding.STORM: "They fail here and on the base alike, together with many others: a sick environment.",
    Finding.UNSETTLED: "They failed, and were not run often enough to say more.",
    Finding.MISSING: "They were expected and are in no report.",
    Finding.VANISHED: "They are there on the base and not here.",
    Finding.TURNED_SKIPPED: "They ran on the base and are skipped here.",
    Finding.MUST_PASS: "The change was ordered to make them pass.",
    Finding.REMOVED: "They are gone or skipped, and the change says that this is meant.",
}


def finding_name(finding: str) -> str:
    """Return a finding as a heading."""
    joined = (Finding.PRE_EXISTING, Finding.MUST_PASS)
    return (finding if finding in joined else finding.replace("-", " ")).capitalize()


def finding_note(finding: str) -> str:
    """Return what a finding means for the tests that share it."""
    return _FOUND[Finding(finding)]
