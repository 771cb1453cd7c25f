"""Reading a CODEOWNERS file: the lines that can be used, and what is wrong with the others.

What becomes of a broken line is what its host makes of it: GitHub passes over the whole line, GitLab over the part
that it cannot read.
"""

import re
from dataclasses import dataclass, field

from quarantine.errors import BadInput
from quarantine.owners.ownership import OwnersFile
from quarantine.owners.patterns import expression
from quarantine.owners.rules import Dialect, Fault, Owner, OwnerKind, Rule

__all__ = ["MAX_BYTES", "MAX_LINES", "dialect_of", "parse"]

MAX_BYTES = 3 * 1024 * 1024
"""GitHub loads no larger file; neither do we, whatever the host."""
MAX_LINES = 20_000
_MAX_PATTERN = 1_000
_MAX_FAULTS = 200
_SHOWN = 60

_PATTERN = re.compile(r"(?:\\.|[^\s\\])+\\?")
_HEADING = re.compile(r"\^?\[(?P<name>[^\]]*)\](?:\[\d*\])?(?P<owners>(?:\s[^#]*)?)(?P<rest>.*)\Z")
_GITLAB_ONLY = re.compile(r"^(?:\^?\[[^\]\n]+\](?:\[\d*\])?[ \t\r]*(?:[ \t]@.*)?$|!|[^#\n]*[ \t]@@[a-z])", re.MULTILINE)
_GITHUB_OWNERS = {
    OwnerKind.TEAM: re.compile(r"@[A-Za-z0-9-]+/[\w.-]+", re.ASCII),
    OwnerKind.USER: re.compile(r"@[A-Za-z0-9][\w-]*", re.ASCII),
    OwnerKind.EMAIL: re.compile(r"[^@\s]{1,100}@[^@\s]{1,255}(?<=\w)"),
}
_GITLAB_OWNERS = re.compile(
    r"(?P<role>(?<!\S)@@(?:developer|maintainer|owner)(?=s?(?!\S)))"
    r"|(?<![\w@])(?P<name>@[A-Za-z0-9_.][\w.-]*(?:/[A-Za-z0-9_.][\w.-]*)*(?<=[\w-]))"
    r"|(?P<email>[^@\s]{1,100}@[^@\s]{1,255}(?<=\w))",
    re.ASCII | re.IGNORECASE,
)


def dialect_of(path: str, text: str) -> Dialect:
    """Return whose rules a file follows, as its place tells; elsewhere, as what it says tells.

    Sections, `@@role` owners and `!` exclusions are GitLab's alone. Without any of them the file is read as GitHub
    would, whose patterns match all that GitLab's do, and the folders of that name as well.
    """
    if path.startswith(".github/"):
        return Dialect.GITHUB
    if path.startswith(".gitlab/") or _GITLAB_ONLY.search(text[:MAX_BYTES]):
        return Dialect.GITLAB
    return Dialect.GITHUB


def parse(text: str, dialect: Dialect) -> OwnersFile:
    """Read a file. Never raises: what cannot be used is among the faults, and the rest is used."""
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        fault = Fault(0, "The owners' file is larger than 3 MB, and is not read.", "Join its lines by wildcards.")
        return OwnersFile(dialect, (), (fault,))
    lines = text.removeprefix("\ufeff").split("\n")
    reading = _Reading(dialect)
    for number, line in enumerate(lines[:MAX_LINES], start=1):
        reading.read(number, line.strip())
    if len(lines) > MAX_LINES:
        reading.fault(MAX_LINES + 1, f"and all after it are not read: more than {MAX_LINES:,} lines.", "Join lines.")
    return OwnersFile(dialect, tuple(reading.rules), tuple(reading.faults))


@dataclass
class _Reading:
    """A file while it is read: the section that the present line is in, and what was found so far."""

    dialect: Dialect
    rules: list[Rule] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    section: str = ""
    defaults: tuple[Owner, ...] = ()
    names: dict[str, str] = field(default_factory=lambda: {"codeowners": ""})  # GitLab's name for what is in none

    def fault(self, number: int, message: str, mend: str) -> None:
        """Note what is wrong with a line; beyond a number of them only that there are more."""
        if len(self.faults) < _MAX_FAULTS:
            self.faults.append(Fault(number, f"Line {number}: {message}", mend))
        elif len(self.faults) == _MAX_FAULTS:
            self.faults.append(Fault(0, f"There are more than {_MAX_FAULTS} faults.", "Mend the first ones."))

    def read(self, number: int, line: str) -> None:
        """Take in one line."""
        if not line or line.startswith("#"):
            return
        if self.dialect is Dialect.GITHUB:
            self._read_entry(number, line)
            return
        heading = _HEADING.match(line)
        if heading is not None:
            self._read_heading(number, heading)
            return
        if line.startswith(("[", "^[")):
            self.fault(number, f"`{_short(line)}` is no section: its `[` has no `]`.", "Close the bracket.")
        self._read_entry(number, line)

    def _read_heading(self, number: int, heading: re.Match[str]) -> None:
        name = heading["name"].strip()
        if not name:
            self.fault(number, "the section has no name.", "Give it one, so that people can tell it from others.")
        if heading["rest"]:
            self.fault(number, f"`{_short(heading['rest'])}` behind the heading is not read.", "Put it below.")
        self.section = self.names.setdefault(name.casefold(), name or "[]")
        self.defaults = self._gitlab_owners(number, heading["owners"])

    def _read_entry(self, number: int, line: str) -> None:
        found = _PATTERN.match(line)
        pattern = found[0] if found else ""
        is_exclusion = self.dialect is Dialect.GITLAB and pattern.startswith("!")
        try:
            compiled = self._expression(pattern.removeprefix("!") if is_exclusion else pattern)
            owners = () if is_exclusion else self._owners(number, line[len(pattern) :])
        except BadInput as error:
            self.fault(number, f"`{_short(line)}` is passed over: {error.message}", error.mend)
            return
        self.rules.append(
            Rule(
                line=number,
                pattern=pattern,
                owners=owners,
                section=self.section,
                is_exclusion=is_exclusion,
                expression=compiled,
            )
        )

    def _expression(self, pattern: str) -> str:
        if len(pattern) > _MAX_PATTERN:
            raise BadInput(f"a path of more than {_MAX_PATTERN:,} characters.", mend="Use a wildcard.")
        if "\0" in pattern:
            raise BadInput("it is no text.", mend="Save the file as text in UTF-8.")
        return expression(pattern, self.dialect)

    def _owners(self, number: int, text: str) -> tuple[Owner, ...]:
        if self.dialect is Dialect.GITHUB:
            return _github_owners(text)
        if text.strip():
            return self._gitlab_owners(number, text)
        if not self.defaults:
            self.fault(number, "it names no owner, and neither does its section.", "Name one, or exclude it by `!`.")
        return self.defaults

    def _gitlab_owners(self, number: int, text: str) -> tuple[Owner, ...]:
        found: dict[str, Owner] = {}
        for word in text.split():
            owners = [_gitlab_owner(match) for match in _GITLAB_OWNERS.finditer(word)]
            if not owners:
                self._strange_word(number, word)
            found |= {owner.key: owner for owner in owners}
        return tuple(found.values())

    def _strange_word(self, number: int, word: str) -> None:
        if word.startswith("#"):
            mend = "Put the comment on a line of its own: GitLab takes every @name behind a path for an owner."
        else:
            mend = "Write @user, @group/subgroup, @@maintainer or an address; escape a space in a path by `\\`."
        if not self.faults or self.faults[-1].line != number:
            self.fault(number, f"`{_short(word)}` is no owner; the others of the line are used.", mend)


def _github_owners(text: str) -> tuple[Owner, ...]:
    found: dict[str, Owner] = {}
    for word in text.split():
        if word.startswith("#"):
            break
        kind = next((kind for kind, spelled in _GITHUB_OWNERS.items() if spelled.fullmatch(word)), None)
        if kind is None:
            mend = "Write @user, @org/team or an address; escape a space in a path by `\\`."
            raise BadInput(f"`{_short(word)}` is no owner.", mend=mend)
        found.setdefault(word.casefold(), Owner(kind, word))
    return tuple(found.values())


def _gitlab_owner(match: re.Match[str]) -> Owner:
    if match["role"]:
        return Owner(OwnerKind.ROLE, match["role"].lower())
    if match["email"]:
        return Owner(OwnerKind.EMAIL, match["email"])
    return Owner(OwnerKind.TEAM if "/" in match["name"] else OwnerKind.USER, match["name"])


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
