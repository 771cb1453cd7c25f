"""The four ways a loop can end. Only one of them hands a patch on."""

from dataclasses import dataclass

from quarantine.loop.judged import Judged
from quarantine.loop.patch import Patch
from quarantine.loop.ticket import Ticket

__all__ = ["Accepted", "End", "Exhausted", "Inconclusive", "Suspect"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The patch may be handed on, with what its green does not show.

    Attributes:
        patch: the patch.
        attempts: how many were made, this one included.
        judged: the verdict on it.
        owed: sentences: what has still to be run or read by a person.
    """

    patch: Patch
    attempts: int
    judged: Judged
    owed: tuple[str, ...] = ()

    word = "accepted"

    @property
    def sentence(self) -> str:
        """The end, for a person."""
        return self.judged.sentence

    @property
    def last(self) -> Judged:
        """The verdict on the last attempt."""
        return self.judged


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No attempt was accepted, and no further one would be worth its price.

    Attributes:
        attempts: how many were made.
        last: what became of the last one; None when there was no answer to judge.
        sentence: why no further attempt was made.
    """

    ticket: Ticket
    attempts: int
    last: Judged | None
    sentence: str

    word = "exhausted"


@dataclass(frozen=True, slots=True)
class Inconclusive:
    """Nobody can say whether the last patch is right: the environment is sick, or chance was not ruled out.

    Attributes are those of `Exhausted`.
    """

    ticket: Ticket
    attempts: int
    last: Judged | None
    sentence: str

    word = "inconclusive"


@dataclass(frozen=True, slots=True)
class Suspect:
    """The last patch, or a run of it, touched what decides whether it is right. A person has to look.

    Attributes:
        reasons: sentences, at least one.
    """

    ticket: Ticket
    attempts: int
    last: Judged
    reasons: tuple[str, ...]

    word = "suspect"

    @property
    def sentence(self) -> str:
        """The end, for a person."""
        return " ".join(self.reasons)


End = Accepted | Exhausted | Inconclusive | Suspect
