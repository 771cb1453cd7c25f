"""Who owns a path: the last line that matches, in each section of its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from quarantine.owners.rules import Dialect, Fault, Owner, Rule

__all__ = ["OwnersFile", "Ownership"]

_CHUNK = 250
"""Rules joined into one expression: so many that a look-up takes few steps in Python, so few that it compiles fast."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who owns one path, and which lines say so.

    Attributes:
        owners: each once, in the order of the file; empty when nobody does.
        rules: the lines that decided, one for each section that has any; empty when no line matches.
    """

    owners: tuple[Owner, ...]
    rules: tuple[Rule, ...]

    @property
    def sentence(self) -> str:
        """How it was decided, as in: Line 12 (docs/) names @a and @b."""
        if not self.rules:
            return "No line of the owners' file matches."
        return " ".join(_told(rule) for rule in self.rules)


@dataclass(frozen=True)
class OwnersFile:
    """A CODEOWNERS file that was read.

    Attributes:
        dialect: whose rules it follows.
        rules: the lines that say who owns what, in the order of the file.
        faults: what is wrong with other lines, or with parts of these.
    """

    dialect: Dialect
    rules: tuple[Rule, ...]
    faults: tuple[Fault, ...] = ()

    def owners_of(self, path: str) -> tuple[Owner, ...]:
        """Return who owns a path; it goes from the root of the repository, with `/`."""
        return self.ownership(path).owners

    def ownership(self, path: str) -> Ownership:
        """Return who owns a path, and which lines say so; it goes from the root of the repository, with `/`."""
        found = [rule for section in self._sections if (rule := section.rule_of(path.lstrip("/"))) is not None]
        owners = {owner.key: owner for rule in reversed(found) for owner in reversed(rule.owners)}
        return Ownership(tuple(reversed(owners.values())), tuple(found))

    @cached_property
    def _sections(self) -> "tuple[_Section, ...]":
        by_name: dict[str, list[Rule]] = {}
        for rule in self.rules:
            by_name.setdefault(rule.section, []).append(rule)
        return tuple(_Section(tuple(rules)) for rules in by_name.values())


@dataclass(frozen=True)
class _Section:
    """The rules of one section, compiled when they are first asked."""

    rules: tuple[Rule, ...]

    def rule_of(self, path: str) -> Rule | None:
        """Return the last rule that matches; none when an exclusion of the section does, wherever it stands."""
        if self._exclusions is not None and self._exclusions.match(path):
            return None
        for rules, pattern in self._chunks:
            found = pattern.match(path)
            if found is not None:
                return rules[(found.lastindex or 1) - 1]
        return None

    @cached_property
    def _exclusions(self) -> re.Pattern[str] | None:
        excluded = [rule.expression for rule in self.rules if rule.is_exclusion]
        return re.compile("|".join(excluded), re.DOTALL) if excluded else None

    @cached_property
    def _chunks(self) -> tuple[tuple[Sequence[Rule], re.Pattern[str]], ...]:
        latest = [rule for rule in reversed(self.rules) if not rule.is_exclusion]
        chunks = [latest[start : start + _CHUNK] for start in range(0, len(latest), _CHUNK)]
        # The empty group behind each alternative tells which one matched, and leaves its first letter to be looked at.
        return tuple(
            (chunk, re.compile("|".join(f"{rule.expression}()" for rule in chunk), re.DOTALL)) for chunk in chunks
        )


def _told(rule: Rule) -> str:
    names = [owner.text for owner in rule.owners] or ["nobody"]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    place = f"{rule.pattern}, section {rule.section}" if rule.section else rule.pattern
    return f"Line {rule.line} ({place}) names {listed}."
