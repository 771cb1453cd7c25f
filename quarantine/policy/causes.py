"""Which news belongs to which cause: the thread that a change of standing is told in, and the group within it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from quarantine.domain.notice import NoticeKind
from quarantine.domain.outcome import Mode, Status

__all__ = ["Move", "News", "news_of"]


class News(StrEnum):
    """What a change of standing is to people."""

    ENTERED = "entered quarantine"
    RETURNED = "re-entered quarantine"
    RELEASED = "released"
    HELD = "held"
    LET_GO = "no longer held"
    BROKE = "broke"
    MENDED = "passes again"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A transition as news.

    Attributes:
        news: what it is to people.
        kind: the kind of thread it is told in.
        cause: what it shares with others told there: a signature of failures, a range of commits, a person; "" for
            what has no cause of its own.
        opens: whether a thread is begun for it where there is none; else it only follows up on one.
    """

    news: News
    kind: NoticeKind
    cause: str
    opens: bool


def news_of(
    before: Status, after: Status, mode: Mode, evidence: Mapping[str, Any], *, was_quarantined: bool
) -> tuple[Move, ...]:
    """Return what a transition is to people; nothing for what nobody needs to be told.

    While a project observes, nothing is taken out of its gating set: then entries, returns, releases and being held are
    no news. That trunk is broken is news in any mode.

    Args:
        before: where the test stood.
        after: where it stands.
        mode: the project's mode when it was decided.
        evidence: what the transition keeps.
        was_quarantined: whether it had been quarantined before, ever.
    """
    begun: tuple[Move, ...] = ()
    if after is Status.BROKEN:
        found = evidence.get("range") or {}
        cause = str(found.get("first_failing") or found.get("last_passing") or "")
        begun = (Move(news=News.BROKE, kind=NoticeKind.BROKEN, cause=cause, opens=True),)
    elif mode is Mode.OBSERVE:
        pass
    elif after is Status.QUARANTINED:
        news = News.RETURNED if was_quarantined else News.ENTERED
        begun = (Move(news=news, kind=NoticeKind.ENTRIES, cause=_signature(evidence), opens=True),)
    elif after is Status.HELD:
        obstacle = str(evidence.get("obstacle") or evidence.get("never") or "")
        begun = (Move(news=News.HELD, kind=NoticeKind.HELD, cause=obstacle, opens=True),)
    return (*begun, *_ended(before, mode))


def _ended(before: Status, mode: Mode) -> tuple[Move, ...]:
    """Return what the end of a standing is: a follow-up wherever its beginning was told."""
    if before is Status.BROKEN:
        return (Move(news=News.MENDED, kind=NoticeKind.BROKEN, cause="", opens=False),)
    if mode is Mode.OBSERVE:
        return ()
    if before is Status.HELD:
        return (Move(news=News.LET_GO, kind=NoticeKind.HELD, cause="", opens=False),)
    if before is Status.QUARANTINED:
        return (Move(news=News.RELEASED, kind=NoticeKind.ENTRIES, cause="", opens=True),)
    return ()


def _signature(evidence: Mapping[str, Any]) -> str:
    """Return the signature that most onsets of an entry share, the newest of equals; "" when it rests on none."""
    heads: list[Mapping[str, Any]] = evidence.get("inputs", {}).get("heads", [])
    counted = set(evidence.get("result", {}).get("onsets") or [])
    signatures = [str(head["signature"]) for head in heads if head["number"] in counted and head.get("signature")]
    return max(reversed(signatures), key=signatures.count, default="")
