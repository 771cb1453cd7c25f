"""The small closed sets of words: outcomes, lanes, kinds of build, states of a test."""

from enum import StrEnum


class Outcome(StrEnum):
    """What one try of one test came to, as reported and never rewritten."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    SKIPPED = "skipped"

    @property
    def is_failure(self) -> bool:
        """Whether the try ran and did not pass."""
        return self in (Outcome.FAILED, Outcome.ERRORED)


class Lane(StrEnum):
    """Where a build's tree came from. Bound to the token, never claimed in a request."""

    TRUNK = "trunk"
    REVIEW = "review"
    AGENT = "agent"

    @property
    def speaks_for(self) -> "frozenset[Lane]":
        """The lanes whose failures a pass on this lane may confirm: no lane confirms what a more trusted one reported.

        Else an agent that claims to have passed on a trunk tree could turn a real regression into a flake.
        """
        order = list(Lane)
        return frozenset(order[order.index(self) :])


class BuildKind(StrEnum):
    """Whether a build is an execution of its own or was ordered because of an earlier one."""

    RUN = "run"
    RERUN = "rerun"


class Status(StrEnum):
    """The standing of one (test, variant) on trunk."""

    GATING = "gating"
    QUARANTINED = "quarantined"
    BROKEN = "broken"
    HELD = "held"
    """The evidence for quarantine is there, but the cap or a rule keeps the test gating."""


class Mode(StrEnum):
    """Whether a project acts on its decisions."""

    OBSERVE = "observe"
    ENFORCE = "enforce"
