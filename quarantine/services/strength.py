"""Gate strength: what the tests that still gate reach, and what only quarantined ones do.

A file counts as reached by a test that ran a function body of it, or read it. Files that hold tests are left out: that
a test is the only one to run its own file says nothing about what it guards.
"""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from quarantine.reach.columns import BLOB, BODY, Column
from quarantine.services.app import App
from quarantine.services.reach_index import ReachIndex
from quarantine.store.projects import Project

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """What is guarded by whom.

    Attributes:
        files: how many files any test reaches; 0 without a reach map.
        lost: files that quarantined tests reach and no other test does, sorted.
        functions_lost: (path, qualified name) of functions of which the same holds; None without such maps.
        only_by: by test, the files that it reaches and no other test does, sorted.
    """

    files: int = 0
    lost: tuple[str, ...] = ()
    functions_lost: tuple[Column, ...] | None = None
    only_by: dict[int, tuple[str, ...]] = field(default_factory=dict)


def strength_of(app: App, connection: Connection, project: Project, quarantined: Collection[int]) -> Strength:
    """Return the strength that is lost while these tests do not gate."""
    with app.lock:
        index = app.reach.of(connection, project, project.tests)
        functions = app.reach.functions_of(connection, project, project.tests)
    if index is None:
        return Strength()
    own = {name.partition("::")[0] for name in index.reach.tests}
    reached = _reached(index, quarantined, project.tests)
    files = _by_file(index, reached, own)
    return Strength(
        files=len(files),
        lost=tuple(sorted(path for path, (quiet, gating) in files.items() if quiet and not gating)),
        functions_lost=None if functions is None else _lost_functions(functions, quarantined, project.tests, own),
        only_by=_only_by(index, set(quarantined), reached[1], own),
    )


def _reached(index: ReachIndex, quarantined: Collection[int], tests: int) -> tuple[Counts, Counts]:
    """Return by how many quarantined tests each column is reached, and by how many others; shapes (columns,)."""
    is_quiet = np.zeros(tests, np.bool_)
    is_quiet[list(quarantined)] = True
    quiet_rows = np.bincount(index.rows[is_quiet[index.ordinals]], minlength=len(index.reach.tests))
    other_rows = np.bincount(index.rows[~is_quiet[index.ordinals]], minlength=len(index.reach.tests))
    sizes, columns = np.diff(index.reach.indptr), len(index.reach.columns)
    quiet = np.bincount(index.reach.indices, np.repeat(quiet_rows, sizes), minlength=columns)
    others = np.bincount(index.reach.indices, np.repeat(other_rows, sizes), minlength=columns)
    return quiet.astype(np.int64), others.astype(np.int64)


def _guards(column: Column, own: Collection[str]) -> bool:
    return column[1] in (BODY, BLOB) and column[0] not in own


def _by_file(index: ReachIndex, reached: tuple[Counts, Counts], own: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return, for each file, the most quarantined tests and the most others that reach one of its parts."""
    quiet, others = reached
    files: dict[str, tuple[int, int]] = {}
    for place, column in enumerate(index.reach.columns):
        if _guards(column, own):
            before = files.get(column[0], (0, 0))
            files[column[0]] = max(before[0], int(quiet[place])), max(before[1], int(others[place]))
    return files


def _lost_functions(
    functions: ReachIndex, quarantined: Collection[int], tests: int, own: Collection[str]
) -> tuple[Column, ...]:
    quiet, others = _reached(functions, quarantined, tests)
    places = np.flatnonzero((quiet > 0) & (others == 0)).tolist()
    return tuple(column for column in (functions.reach.columns[place] for place in places) if column[0] not in own)


def _only_by(
    index: ReachIndex, wanted: Collection[int], others: Counts, own: Collection[str]
) -> dict[int, tuple[str, ...]]:
    """Return the files that each of the wanted tests alone reaches; `others` says what any further test does."""
    reach = index.reach
    by_file: dict[str, set[int]] = defaultdict(set)
    for row, ordinal in zip(index.rows.tolist(), index.ordinals.tolist(), strict=True):
        for place in reach.indices[reach.indptr[row] : reach.indptr[row + 1]].tolist() if ordinal in wanted else ():
            if _guards(reach.columns[place], own):
                by_file[reach.columns[place][0]].add(ordinal)
    beside = (reach.columns[place] for place in np.flatnonzero(others > 0).tolist())
    shared = {column[0] for column in beside if _guards(column, own)}
    alone: dict[int, list[str]] = defaultdict(list)
    for path, tests in by_file.items():
        if len(tests) == 1 and path not in shared:
            alone[next(iter(tests))].append(path)
    return {test: tuple(sorted(paths)) for test, paths in alone.items()}
