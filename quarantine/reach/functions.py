"""Which functions each test ran, as a map of its own beside the reach map: no fingerprint rests on it.

Its columns are (path, qualified name); `<module>` is the name of what lies in no function, and says that the file was
measured. Unlike a reach map it has columns that no test has: functions that no test ran.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quarantine.reach.columns import Column
from quarantine.reach.reach_map import ReachMap

__all__ = ["MODULE_LEVEL", "MOST_FUNCTIONS", "MOST_RUN", "FunctionRows", "function_table"]

MODULE_LEVEL = "<module>"
MOST_FUNCTIONS = 200_000
"""Rows of a table of functions."""
MOST_RUN = 20_000_000
"""Pairs of a test and a function that it ran, in one map."""
_MOST_CHARACTERS = 1_000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def function_table(items: Any) -> list[Column]:
    """Return the table that JSON holds; raises ValueError, worded to follow `Line 3 of the reach map`."""
    if not isinstance(items, list):
        raise ValueError("has a table of functions that is no list")  # noqa: TRY004 - one kind of error for a line
    if len(items) > MOST_FUNCTIONS:
        raise ValueError(f"has {len(items):,} functions; at most {MOST_FUNCTIONS:,} are read")
    table = [_function(item) for item in items]
    if len(set(table)) < len(table):
        raise ValueError("has a function twice in its table")
    return table


def _function(item: Any) -> Column:
    if not (isinstance(item, list) and len(item) == 2 and all(isinstance(one, str) and one for one in item)):  # noqa: PLR2004
        raise ValueError(f"names a function {item!r:.200}, which is no [path, qualified name]")
    path, name = item
    if len(name) > _MOST_CHARACTERS or _CONTROL.search(name):
        raise ValueError(f"names a function {name[:80]!r}: more than a line of text")
    return path, name


class FunctionRows:
    """The rows of such a map while its lines are read.

    Args:
        table: the columns, distinct, in the order in which rows number them.
    """

    def __init__(self, table: list[Column]) -> None:
        order = sorted(range(len(table)), key=table.__getitem__)
        self._columns = tuple(table[place] for place in order)
        self._sorted = np.zeros(len(table), np.int32)
        self._sorted[order] = np.arange(len(table), dtype=np.int32)
        self._rows: dict[str, NDArray[np.int32]] = {}
        self._run = 0

    def add(self, test: str, places: Any) -> None:
        """Note what a test ran, by places in the table; raises ValueError, worded as `function_table` does."""
        if not isinstance(places, list) or not set(map(type, places)) <= {int}:
            raise ValueError("has functions that are no list of places in the table")
        if places and not 0 <= min(places) <= max(places) < len(self._columns):
            raise ValueError(f"names a function by a place that the table of {len(self._columns):,} has not")
        found = np.unique(np.concatenate([self._rows.get(test, _NONE), self._sorted[places]]))
        self._run += len(places)
        if self._run > MOST_RUN:
            raise ValueError(f"is one too many: at most {MOST_RUN:,} pairs of a test and a function are read")
        self._rows[test] = found

    def reach_map(self) -> ReachMap:
        """Return the map."""
        tests = tuple(sorted(self._rows))
        rows = [self._rows[test] for test in tests]
        indptr = np.zeros(len(tests) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=indptr[1:])
        return ReachMap(tests, self._columns, indptr, np.concatenate([_NONE, *rows]))


_NONE: NDArray[np.int32] = np.zeros(0, np.int32)
