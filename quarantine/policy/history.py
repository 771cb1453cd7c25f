"""What is counted for every test in every build, as columns: trials, heads, trunk streaks, days.

One `History` belongs to one variant. A test's place in each column is its ordinal. `advance` is the whole rule of
counting; the entry rule, broken and exit read what it leaves behind. Everything is vectorised over the tests of a
build, because this is the only work that grows with tests x builds.
"""

import zlib
from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.uint32]
Ordinals = NDArray[np.intp]
Mask = NDArray[np.bool_]

NOTHING, PASSED, FAILED = 0, 1, 2
"""What `History.last` holds: the first try of the last counted trial."""

_MAGIC = b"qh1:"


def _column() -> Counts:
    return np.zeros(0, np.uint32)


@dataclass(slots=True)
class History:
    """The running columns of one variant, all of one length.

    Attributes:
        trials: counted trials since the evidence began; the index of the last one.
        heads: heads among them; the number of the last one.
        last: first try of the last counted trial (NOTHING, PASSED or FAILED).
        trunk_trials: trunk trials ever.
        pass_streak: trunk passes since the last failed trunk trial.
        fail_streak: trunk failures since the last passed trunk trial.
        days: distinct days with trunk trials.
        clean_days: distinct days with trunk trials since the last failed one, that day left out.
        last_day: the last day with trunk trials, as days since 1970 (UTC).
        pair: the number of the (test, variant) pair in the project, from 1; 0 before it is given out.
        last_seen: sequence number of the last build in which the test ran.
    """

    trials: Counts = field(default_factory=_column)
    heads: Counts = field(default_factory=_column)
    last: Counts = field(default_factory=_column)
    trunk_trials: Counts = field(default_factory=_column)
    pass_streak: Counts = field(default_factory=_column)
    fail_streak: Counts = field(default_factory=_column)
    days: Counts = field(default_factory=_column)
    clean_days: Counts = field(default_factory=_column)
    last_day: Counts = field(default_factory=_column)
    pair: Counts = field(default_factory=_column)
    last_seen: Counts = field(default_factory=_column)

    def __len__(self) -> int:
        return len(self.trials)

    def grow(self, tests: int) -> None:
        """Make room for ordinals below `tests`; columns never shrink."""
        missing = tests - len(self)
        if missing > 0:
            for column in fields(self):
                setattr(self, column.name, np.pad(getattr(self, column.name), (0, missing)))

    def restart(self, test: int) -> None:
        """Begin the evidence of one test anew, as after an exit."""
        self.trials[test] = 0
        self.heads[test] = 0

    def to_bytes(self) -> bytes:
        """Return the columns as compressed bytes; `from_bytes` is the inverse."""
        packer = zlib.compressobj(level=1)
        packed = [packer.compress(getattr(self, column.name).astype("<u4", copy=False)) for column in fields(self)]
        return b"".join([_MAGIC, *packed, packer.flush()])

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the columns that `to_bytes` wrote; raises ValueError for anything else."""
        if not data.startswith(_MAGIC):
            raise ValueError("these bytes are no history columns")
        stacked = np.frombuffer(bytearray(zlib.decompress(data[len(_MAGIC) :])), "<u4").astype(np.uint32, copy=False)
        names = [column.name for column in fields(cls)]
        if len(stacked) % len(names):
            raise ValueError("these history columns are of unequal length")
        return cls(**dict(zip(names, np.split(stacked, len(names)), strict=True)))


@dataclass(frozen=True, slots=True)
class Advance:
    """What one build added: for the tests of the build, in the order they were given.

    Attributes:
        is_head: whether the trial is a head.
        new_pairs: how many (test, variant) pairs had their first trunk trial. Other lanes number none: else an agent
            that invents tests would spend the evidence budget.
        new_days: for how many tests it was the first trunk trial of the day in this variant.
    """

    is_head: Mask
    new_pairs: int
    new_days: int = 0


def advance(
    history: History, tests: Ordinals, *, failed: Mask, counted: Mask, trunk: bool, day: int, build_seq: int, pairs: int
) -> Advance:
    """Count one build's first tries, in place.

    Args:
        history: the variant's columns, long enough for every ordinal.
        tests: ordinals without duplicates, shape (n,); those whose first try passed or failed.
        failed: whether the first try failed, shape (n,).
        counted: whether it is a counted trial, shape (n,): on trunk all are, elsewhere those whose reach fingerprint
            was seen on trunk; never in a storm and never for an id that is not unique.
        trunk: whether the build is on the trunk lane.
        day: the day of arrival as days since 1970 (UTC).
        build_seq: the build's sequence number.
        pairs: the highest pair number given out in the project so far.

    Returns:
        Which trials are heads: counted, failed, and the previous counted trial of the test, on any fingerprint,
        passed. A failure after a failure is none, so that an outage or a burst counts once.
    """
    history.last_seen[tests] = build_seq
    new = tests[counted & (history.pair[tests] == 0)] if trunk else tests[:0]
    history.pair[new] = pairs + 1 + np.arange(len(new), dtype=np.uint32)

    is_head = counted & failed & (history.last[tests] == PASSED)
    rows = tests[counted]
    history.trials[rows] += 1
    history.heads[tests[is_head]] += 1
    history.last[rows] = np.where(failed[counted], FAILED, PASSED)
    new_days = _advance_trunk(history, rows, failed[counted], day) if trunk else 0
    return Advance(is_head, len(new), new_days)


def _advance_trunk(history: History, rows: Ordinals, failed: Mask, day: int) -> int:
    history.trunk_trials[rows] += 1
    new_day = history.last_day[rows] != day
    history.days[rows] += new_day
    history.last_day[rows] = day
    history.clean_days[rows] = np.where(failed, 0, history.clean_days[rows] + new_day)
    history.pass_streak[rows] = np.where(failed, 0, history.pass_streak[rows] + 1)
    history.fail_streak[rows] = np.where(failed, history.fail_streak[rows] + 1, 0)
    return int(np.count_nonzero(new_day))
