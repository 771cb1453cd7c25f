"""The words of an owners' file: who is named, by which line, and what is wrong with a line."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Dialect", "Fault", "Owner", "OwnerKind", "Rule"]


class Dialect(StrEnum):
    """Whose rules a CODEOWNERS file follows; they differ in patterns, sections and what becomes of a broken line."""

    GITHUB = "github"
    GITLAB = "gitlab"


class OwnerKind(StrEnum):
    """What an owner is, as far as its spelling tells."""

    USER = "user"
    """`@name`; on GitLab it may be a group as well."""
    TEAM = "team"
    """`@org/team`, or a GitLab subgroup."""
    ROLE = "role"
    """`@@maintainer`: whoever has the role in the project. GitLab only."""
    EMAIL = "email"


@dataclass(frozen=True, slots=True)
class Owner:
    """Somebody named in a file.

    Attributes:
        kind: what it is.
        text: as it is written: `@org/team`, `dev@example.com`; roles in lower case and the singular.
    """

    kind: OwnerKind
    text: str

    @property
    def key(self) -> str:
        """What owners are compared by: neither host tells upper from lower case here."""
        return self.text.casefold()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One line that says who owns what.

    Attributes:
        line: its number, from 1.
        pattern: as it is written.
        owners: who owns what matches; empty when the line says that nobody does.
        section: the name of its GitLab section, as first written; empty outside of any.
        is_exclusion: `!pattern`: its section says nothing about what matches. GitLab only.
        expression: the regular expression of the pattern, for paths from the root of the repository.
    """

    line: int
    pattern: str
    owners: tuple[Owner, ...]
    section: str = ""
    is_exclusion: bool = False
    expression: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with one line; the others are used.

    Attributes:
        line: its number, from 1; 0 when it is about the whole file.
        message: one sentence that names the line, and says what becomes of it.
        mend: what to do about it.
    """

    line: int
    message: str
    mend: str
