"""Which functions each test ran: what lets a verdict name the changed function that no test was seen to reach.

Attribution does not rest on it. Where columns are charged widely, here too much would be the mistake: a function is
noted for a test when a line of its own body ran in the test's own contexts, or in a set-up that the fixture map says
was made for it; and for all who import the file when it ran outside of every test.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from quarantine.client.functions import MODULE_LEVEL, functions_of

__all__ = ["FunctionReading", "FunctionsRun", "places_of"]

MOST_FUNCTIONS = 200_000
MOST_RUN = 20_000_000
"""A map that has more functions, or more pairs of a test and a function it ran, is sent without them."""
_MOST_CHARACTERS = 1_000
"""A function whose qualified name is longer is left out."""


class FunctionReading(NamedTuple):
    """Which functions ran in which test.

    Attributes:
        table: (path, qualified name) of every function of the files that coverage measured, and (path, `<module>`) of
            each of these files.
        ran: per test the places in `table`: bit n stands for the nth.
    """

    table: tuple[tuple[str, str], ...]
    ran: dict[str, int]


class FunctionsRun:
    """Which functions ran in which contexts; places in `table` are bits of a number."""

    def __init__(
        self, sources: Mapping[str, ast.Module | None], contents: Mapping[str, bytes], measured: Iterable[str]
    ) -> None:
        self.table: list[tuple[str, str]] = []
        self.by_file: dict[str, list[tuple[int, int, int]]] = {}  # of each function its bit, its lines, those shared
        self.by_test: dict[str, int] = defaultdict(int)
        self.by_context: dict[str, int] = {}
        self.outside: dict[str, int] = defaultdict(int)
        self._known: dict[tuple[str, int], int] = {}
        for path in sorted(measured):
            module = sources.get(path)
            if module is None:
                continue
            self.table.append((path, MODULE_LEVEL))
            self.by_file[path] = []
            for function in functions_of(module, contents[path]):
                if len(function.name) > _MOST_CHARACTERS:
                    continue
                self.by_file[path].append((1 << len(self.table), function.lines, function.shared))
                self.table.append((path, function.name))

    def note(self, context: str, test: str | None, files: Mapping[str, int]) -> None:
        """Note the lines that ran in one context, by path; `test` is None for what ran outside of every test."""
        if test is None:
            for path, mask in files.items():
                for bit, lines, shared in self.by_file.get(path, ()):
                    if mask & lines & ~shared:  # a line shared with the header runs when the file is imported
                        self.outside[path] |= bit
            return
        found = 0
        for path, mask in files.items():
            found |= self._run(path, mask)
        self.by_test[test] |= found
        self.by_context[context] = found

    def _run(self, path: str, mask: int) -> int:
        """Return which functions of a file have one of these lines; tests that share set-up share the answer."""
        found = self._known.get((path, mask))
        if found is None:
            found = 0
            for bit, lines, _ in self.by_file.get(path, ()):
                if mask & lines:
                    found |= bit
            self._known[path, mask] = found
        return found

    def run_by(self, test: str, contexts: Iterable[str], modules: Iterable[str]) -> int:
        """Return what ran in a test, in the set-ups made for it, and while the files it imports were loaded."""
        found = self.by_test[test]
        for context in contexts:
            found |= self.by_context.get(context, 0)
        for path in modules:
            found |= self.outside.get(path, 0)
        return found

    def reading(self, ran: dict[str, int]) -> FunctionReading:
        """Return what is sent; nothing when it is too much."""
        if len(self.table) > MOST_FUNCTIONS or sum(mask.bit_count() for mask in ran.values()) > MOST_RUN:
            return FunctionReading((), {})
        return FunctionReading(tuple(self.table), ran)


def places_of(mask: int) -> list[int]:
    """Return the places of the bits that are set, ascending."""
    return [place for place, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]
