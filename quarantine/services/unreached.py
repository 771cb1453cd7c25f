"""Changed lines that no passing gating test has been seen to reach, as far as the maps and the client say.

Where the client told the changed lines and a map tells which functions tests ran, this is said function by function;
otherwise by the parts of a file.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np

from quarantine.domain.build import ChangedPart
from quarantine.policy.wording import listed, plural
from quarantine.reach.columns import BLOB, BODY, MODULE
from quarantine.reach.functions import MODULE_LEVEL
from quarantine.reach.globs import ReachedBy
from quarantine.services.facts import Case
from quarantine.services.naming import present_spellings_of
from quarantine.services.reach_index import ReachIndex
from quarantine.store import roster
from quarantine.store.outcomes import Mask

__all__ = ["Piece", "UnreachedFile", "unreached_of"]

_PIECES = 40
"""Pieces of one file that are listed."""
_NAMED = 3
_TEST_NAME = re.compile(r"(^|/)test[^/]*$|test\.py$|tests\.py$")
"""What a test, or a file of tests, may be called: whether any is one is then looked up."""
_SAID = {BODY: "functions", MODULE: "module-level code", BLOB: "the whole file"}


@dataclass(frozen=True, slots=True, order=True)
class Piece:
    """Changed lines of one function, of a file's module level, or of a file that is no Python.

    Attributes:
        first, last: lines of the tree that was tested, from 1, both inclusive.
        function: its qualified name, `<module>`, or None.
        is_new: whether it is a function that no map has seen.
    """

    first: int
    last: int
    function: str | None
    is_new: bool

    @property
    def lines(self) -> str:
        """The lines: `line 40`, `lines 40-52`."""
        return f"line {self.first}" if self.first == self.last else f"lines {self.first}-{self.last}"

    @property
    def text(self) -> str:
        """The lines and where they are: `lines 40-52 (in Totals.discount)`."""
        if self.function is None:
            return self.lines
        where = "module-level code" if self.function == MODULE_LEVEL else f"in {self.function}"
        return f"{self.lines} ({where}{'; new, no map has seen it' if self.is_new else ''})"

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "function": self.function,
            "first": self.first,
            "last": self.last,
            "new": self.is_new,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class UnreachedFile:
    """What of one file was not reached.

    Attributes:
        path: from the root of the tree.
        parts: the changed parts that were not reached, or in which a piece was not.
        pieces: the lines, in their order; empty where nobody told them.
        is_blind: whether no map has ever seen the file.
    """

    path: str
    parts: tuple[str, ...]
    pieces: tuple[Piece, ...] = ()
    is_blind: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "path": self.path,
            "parts": list(self.parts),
            "pieces": [piece.to_json() for piece in self.pieces[:_PIECES]],
            "pieces_left_out": max(0, len(self.pieces) - _PIECES),
        }

    def sentences(self) -> Iterable[str]:
        """Yield what is said of a file that maps have seen."""
        known = [piece for piece in self.pieces if not piece.is_new]
        new = list(dict.fromkeys(str(piece.function) for piece in self.pieces if piece.is_new))
        if known:
            shown = [piece.text for piece in known[:_NAMED]]
            more = [plural(len(known) - _NAMED, "other place")] if len(known) > _NAMED else []
            yield f"No passing gating test reached {self.path} {listed([*shown, *more])}."
        if new:
            more = [plural(len(new) - _NAMED, "other")] if len(new) > _NAMED else []
            what, verb, them = ("function", "is", "it") if len(new) == 1 else ("functions", "are", "them")
            yield (
                f"The {what} {listed([*new[:_NAMED], *more])} of {self.path} {verb} new: no map has seen {them}, so "
                f"nobody knows whether a test reaches {them}."
            )
        if not self.pieces:
            said = listed([_SAID.get(part, part) for part in self.parts])
            what = f"{self.path}, which changed" if said == _SAID[BLOB] else f"the changed {said} of {self.path}"
            yield f"No passing gating test reached {what}."


def unreached_of(
    case: Case, index: ReachIndex, changed: Sequence[ChangedPart], passing: Mask
) -> tuple[UnreachedFile, ...]:
    """Return the files with what no passing test reached, by path; `passing` has shape (tests,)."""
    reading = _Reading(case, index, passing)
    by_path = groupby(sorted(changed, key=lambda one: one[:2]), key=lambda one: one[0])
    found = (reading.file(path, [part for _, part, _ in parts]) for path, parts in by_path)
    return tuple(one for one in found if one.parts)


@dataclass(frozen=True)
class _Reading:
    """One reading of the maps: what the passing tests reached of what changed."""

    case: Case
    index: ReachIndex
    passing: Mask
    lines: Mapping[str, list[tuple[str | None, int, int]]] = field(init=False)

    def __post_init__(self) -> None:
        lines: dict[str, list[tuple[str | None, int, int]]] = defaultdict(list)
        for path, function, first, last in self.case.question.changed_lines or ():
            lines[path].append((function, first, last))
        object.__setattr__(self, "lines", lines)

    @cached_property
    def reached(self) -> set[tuple[str, str]]:
        return self.index.reached_by(self.passing)

    @cached_property
    def seen(self) -> frozenset[str]:
        return self.index.reach.paths()

    @cached_property
    def functions_known(self) -> set[tuple[str, str]]:
        return set(self.case.functions.reach.columns) if self.case.functions else set()

    @cached_property
    def functions_reached(self) -> set[tuple[str, str]]:
        return self.case.functions.reached_by(self.passing) if self.case.functions else set()

    @cached_property
    def themselves(self) -> dict[str, set[str]]:
        """The passing tests that are functions, by file and qualified name: whatever maps say, they ran here."""
        found: dict[str, set[str]] = defaultdict(set)
        passed = np.flatnonzero(self.passing).tolist()
        for row in roster.rows(self.case.connection, self.case.project.id, passed).values():
            for spelling in present_spellings_of(row):
                path, _, rest = spelling.partition("::")
                if rest and path.endswith(".py"):
                    found[path].add(rest.partition("[")[0].replace("::", "."))
        return found

    def file(self, path: str, parts: Sequence[str]) -> UnreachedFile:
        """Return what of one file no passing test reached; no parts when there is nothing to say."""
        by = self.index.globs.reached_by(path, seen=path in self.seen)
        is_blind = path not in self.seen
        if by is ReachedBy.NO_TEST or self.index.globs.is_global(path):
            return UnreachedFile(path, ())
        left, pieces = [], []
        for part in parts:
            told = [line for line in self.lines.get(path, ()) if _part_of(line[0]) == part]
            mine = [piece for piece in (self._piece(path, *line, is_blind=is_blind) for line in told) if piece]
            if mine if told else (path, part) not in self.reached:
                left.append(part)
                pieces += mine
        return UnreachedFile(path, tuple(left), tuple(sorted(pieces, key=lambda one: (one.first, one.last))), is_blind)

    def _piece(self, path: str, function: str | None, first: int, last: int, *, is_blind: bool) -> Piece | None:
        """Return changed lines if no passing test reached them; None when one did."""
        if function is None or function == MODULE_LEVEL:
            reached = (path, _part_of(function)) in self.reached
            is_new = False
        elif (path, MODULE_LEVEL) in self.functions_known or is_blind:
            reached = (path, function) in self.functions_reached
            is_new = (path, function) not in self.functions_known
        else:  # maps that do not tell functions apart
            reached = (path, BODY) in self.reached
            is_new = False
        if reached or self._is_a_test_that_passed(path, function):
            return None
        return Piece(first, last, function, is_new)

    def _is_a_test_that_passed(self, path: str, function: str | None) -> bool:
        """Whether lines are those of a passing test itself, or of the module level of its file."""
        telling = path if function == MODULE_LEVEL else (function or "").replace(".", "/")
        if function is None or _TEST_NAME.search(telling) is None:
            return False
        own = [names for at, names in self.themselves.items() if path == at or path.endswith(f"/{at}")]
        return any(function == MODULE_LEVEL or function in names for names in own)


def _part_of(function: str | None) -> str:
    if function is None:
        return BLOB
    return MODULE if function == MODULE_LEVEL else BODY
