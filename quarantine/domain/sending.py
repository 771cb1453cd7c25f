"""What came of sending something, whichever way it went: one frozen answer."""

from dataclasses import dataclass

__all__ = ["Ambiguous", "Failed", "Later", "Sending", "Sent"]


@dataclass(frozen=True, slots=True)
class Sent:
    """It has arrived; `ts` names it within a Slack channel, None behind a webhook and for a mail."""

    channel_id: str | None
    ts: str | None


@dataclass(frozen=True, slots=True)
class Later:
    """The other side asks to wait for so many seconds before anything more is sent there."""

    after_s: float


@dataclass(frozen=True, slots=True)
class Failed:
    """It has not arrived. `permanent` says that only a person can mend that, and `mend` how."""

    code: str
    mend: str
    permanent: bool


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """It may have arrived, or not."""

    reason: str


Sending = Sent | Later | Failed | Ambiguous
