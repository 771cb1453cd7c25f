"""A reach map: tests by columns, stored as a compressed sparse row matrix of ones."""

import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from quarantine.errors import BadReach
from quarantine.reach.columns import Column, Values

__all__ = ["ReachMap", "fingerprints", "touched", "union"]

_MAGIC = b"reach-map-1\n"
_MAX_BYTES = 2 * 1024**3
"""A stored map is not unpacked beyond this size."""


@dataclass(frozen=True, slots=True, eq=False)
class ReachMap:
    """What each test reaches. Tests and columns are sorted and distinct.

    Attributes:
        tests: names as the runner gave them, n of them.
        columns: m of them.
        indptr: shape (n + 1,): the columns of test i are `indices[indptr[i]:indptr[i + 1]]`.
        indices: positions in `columns`, ascending within a test.
    """

    tests: tuple[str, ...]
    columns: tuple[Column, ...]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]

    @classmethod
    def of(cls, reach: Mapping[str, Iterable[Column]]) -> Self:
        """Return the map of what each test reaches."""
        tests = tuple(sorted(reach))
        rows = [set(reach[test]) for test in tests]
        columns = tuple(sorted(set().union(*rows)))
        position = {column: number for number, column in enumerate(columns)}
        indptr = np.zeros(len(tests) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=indptr[1:])
        indices = np.fromiter(
            (number for row in rows for number in sorted(position[column] for column in row)), np.int32, int(indptr[-1])
        )
        return cls(tests, columns, indptr, indices)

    def reach(self, test: str) -> frozenset[Column]:
        """Return what one test reaches; empty for a test that is not in the map."""
        row = bisect_left(self.tests, test)
        if row == len(self.tests) or self.tests[row] != test:
            return frozenset()
        return frozenset(self.columns[number] for number in self.indices[self.indptr[row] : self.indptr[row + 1]])

    def items(self) -> Iterator[tuple[str, frozenset[Column]]]:
        """Yield every test with what it reaches."""
        for test, start, end in zip(self.tests, self.indptr, self.indptr[1:], strict=False):
            yield test, frozenset(self.columns[number] for number in self.indices[start:end])

    def paths(self) -> frozenset[str]:
        """Return the files that any test reaches."""
        return frozenset(path for path, _ in self.columns)

    def to_bytes(self) -> bytes:
        """Return the map as bytes, equal for equal maps."""
        header = json.dumps([self.tests, self.columns], separators=(",", ":")).encode()
        content = b"".join(
            [
                len(header).to_bytes(8, "big"),
                header,
                self.indptr.astype("<i8").tobytes(),
                self.indices.astype("<i4").tobytes(),
            ]
        )
        return _MAGIC + zlib.compress(content, level=6)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the map that `to_bytes` wrote; raises BadReach when the bytes are no intact map."""
        try:
            return cls._unpacked(data)
        except (ValueError, TypeError, zlib.error) as error:
            raise BadReach(f"A stored reach map cannot be read: {error}.", mend="Upload the map again.") from error

    @classmethod
    def _unpacked(cls, data: bytes) -> Self:
        if not data.startswith(_MAGIC):
            raise ValueError("it does not begin as one")
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(data[len(_MAGIC) :], _MAX_BYTES)
        if not unpacker.eof:
            raise ValueError("it is cut off, or too large")
        start = 8 + int.from_bytes(content[:8], "big")
        tests, columns = json.loads(content[8:start])
        middle = start + 8 * (len(tests) + 1)
        indptr = np.frombuffer(content[start:middle], "<i8").astype(np.int64)
        indices = np.frombuffer(content[middle:], "<i4").astype(np.int32)
        ends_fit = indptr[0] == 0 and indptr[-1] == len(indices) and bool(np.all(np.diff(indptr) >= 0))
        if not ends_fit or (len(indices) and not 0 <= indices.min() <= indices.max() < len(columns)):
            raise ValueError("its parts do not fit together")
        return cls(tuple(tests), tuple((path, part) for path, part in columns), indptr, indices)


def union(older: ReachMap, newer: ReachMap) -> ReachMap:
    """Return the map in which each test reaches what it reaches in either map; tests of both maps are kept."""
    tests = tuple(sorted({*older.tests, *newer.tests}))
    columns = tuple(sorted({*older.columns, *newer.columns}))
    row = {test: number for number, test in enumerate(tests)}
    position = {column: number for number, column in enumerate(columns)}
    pairs = np.sort(np.concatenate([_pairs(one, row, position) for one in (older, newer)]), kind="stable")
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    rows, indices = np.divmod(pairs, max(1, len(columns)))
    indptr = np.searchsorted(rows, np.arange(len(tests) + 1)).astype(np.int64)
    return ReachMap(tests, columns, indptr, indices.astype(np.int32))


def _pairs(one: ReachMap, row: Mapping[str, int], position: Mapping[Column, int]) -> NDArray[np.int64]:
    """Return row * columns + column of every entry, ascending, in the numbering of the union."""
    rows = np.repeat(np.fromiter((row[test] for test in one.tests), np.int64, len(one.tests)), np.diff(one.indptr))
    places = np.fromiter((position[column] for column in one.columns), np.int64, len(one.columns))
    return rows * max(1, len(position)) + places[one.indices]


def fingerprints(reach: ReachMap, values: Values, common: int = 0) -> Values:
    """Return each test's reach fingerprint in one tree, shape (tests,): the sum of its columns' values modulo 2^64.

    Args:
        reach: the map.
        values: shape (columns,), from `column_values`.
        common: the sum over what every test reaches besides its map.
    """
    sums = np.zeros(len(reach.indices) + 1, np.uint64)
    np.cumsum(values[reach.indices], out=sums[1:])
    return sums[reach.indptr[1:]] - sums[reach.indptr[:-1]] + np.uint64(common)


def touched(reach: ReachMap, changed: Iterable[Column]) -> NDArray[np.bool_]:
    """Return which tests reach any of the changed columns, shape (tests,)."""
    wanted = set(changed)
    hit = np.fromiter((column in wanted for column in reach.columns), np.int64, len(reach.columns))
    counts = np.zeros(len(reach.indices) + 1, np.int64)
    np.cumsum(hit[reach.indices], out=counts[1:])
    mask: NDArray[np.bool_] = counts[reach.indptr[1:]] > counts[reach.indptr[:-1]]
    return mask
