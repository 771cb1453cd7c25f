"""The words of a verdict: what a build comes to, what each of its failing tests is found to be, and what that does."""

from enum import StrEnum


class Verdict(StrEnum):
    """What a build comes to. Nothing but `accept` is green."""

    ACCEPT = "accept"
    REJECT = "reject"
    INCONCLUSIVE = "inconclusive"


class Finding(StrEnum):
    """What a test that did not simply pass is found to be."""

    EXPLAINED = "explained"
    """Fails on the head every time, and the base does not fail like that: the change did it."""
    PRE_EXISTING = "pre-existing"
    """Fails on the base just the same."""
    FLAKY = "flaky"
    """Fails and passes on the head, and the base does too."""
    NONDETERMINISTIC = "nondeterministic"
    """Fails and passes on the head, while the base only passes: random under this change."""
    QUARANTINED = "quarantined"
    """In quarantine on trunk, and nothing speaks against its usual flaking."""
    POSSIBLE_REGRESSION = "possible-regression"
    """In quarantine, but it fails more often in a row than its flaking explains, while the base passes."""
    STORM = "storm"
    """Fails on the base just the same, together with many others that pass on trunk: a common cause outside."""
    UNSETTLED = "unsettled"
    """Failed, and was not run often enough to say more."""
    MISSING = "missing"
    """Was expected and is in no report."""
    VANISHED = "vanished"
    """Is in the base's reports and in none of the head's."""
    TURNED_SKIPPED = "turned-skipped"
    """Ran on the base and is skipped on the head."""
    MUST_PASS = "must-pass"  # noqa: S105 - a word of ours, no password
    """The change was ordered to make it pass."""
    REMOVED = "removed"
    """Gone or skipped, and the change says so."""


class Effect(StrEnum):
    """What a finding does to the verdict, from the strongest to the weakest."""

    SUSPECT = "suspect"
    """Rejects, and says that somebody tampered with the run."""
    REJECTS = "rejects"
    UNDECIDED = "undecided"
    EXCUSED = "excused"
    """The failure stays a failure and does not count here."""
    IGNORED = "ignored"
    """Neither the change's doing nor its business."""
    PASSES = "passes"
    """Demanded, and shown."""
