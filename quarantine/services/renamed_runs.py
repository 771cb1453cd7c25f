"""Reports of tests that were renamed: each is counted as the one test it is, whichever of its names a report tells.

A tree in which two names of a test are both told of holds two tests, whatever an alias says: that id is then as good as
one that several tests share. It makes no trial, and of the two runs the worse one is kept, so that no pass of the one
covers a failure of the other.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.build import Build
from quarantine.domain.identity import VariantKeys, variant_hash
from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Run
from quarantine.store import outcomes as codes_of
from quarantine.store.outcomes import Outcomes
from quarantine.store.projects import Project
from quarantine.store.roster import Ordinals, Roster

__all__ = ["Told", "told"]


@dataclass(frozen=True, slots=True)
class Told:
    """The runs of one upload in one variant, each test once.

    Attributes:
        tests: the ordinal of each run's test, shape (n,).
        called: of the tests that have several names, the ordinal of the one that the upload told.
    """

    variant: VariantKeys
    runs: Sequence[Run]
    tests: Ordinals
    called: Mapping[int, int] = field(default_factory=dict)


def told(
    connection: Connection,
    project: Project,
    cached: Roster,
    variant: VariantKeys,
    runs: Sequence[Run],
    *,
    names: Ordinals,
    build: Build,
    seq: int,
) -> Told:
    """Return the runs as those of the tests that their `names`, ordinals of the roster, stand for."""
    if not cached.has_aliases:
        return Told(variant, runs, names)
    tests, further = cached.carriers_of(names), cached.further_names()
    places = np.flatnonzero(np.isin(tests, list(further))).tolist()
    called: dict[int, set[int]] = defaultdict(set)
    for place in places:
        called[int(tests[place])].add(int(names[place]))
    if not called:
        return Told(variant, runs, tests)
    stored = _of_the_tree(connection, project, build, seq, variant_hash(variant))
    clashing = {test for test, by in called.items() if _clashes(test, by, stored, further[test])}
    if clashing:
        runs, tests = _each_once(runs, tests, clashing)
    return Told(variant, runs, tests, {test: min(by) for test, by in called.items()})


def _of_the_tree(connection: Connection, project: Project, build: Build, seq: int, variant: str) -> list[Outcomes]:
    """Return what is stored already of the same build, and of its tree in the same variant."""
    own = codes_of.of_build(connection, project.id, seq, variant_hash=variant, tests=project.tests)
    found = [own] if own else []
    if build.tree is not None:
        found += codes_of.of_tree(connection, project.id, variant, tree=build.tree, tests=project.tests)
    return found


def _clashes(test: int, called: set[int], stored: Iterable[Outcomes], names: Iterable[int]) -> bool:
    """Return whether the tree tells of the test by more than one of its names."""
    if len(called) > 1:
        return True
    [name] = called
    return any(
        (upload.codes[test] != codes_of.ABSENT and upload.called.get(test, test) != name)
        or any(upload.codes[other] != codes_of.ABSENT for other in names if other != name)
        for upload in stored
    )


def _each_once(runs: Sequence[Run], tests: Ordinals, clashing: set[int]) -> tuple[list[Run], Ordinals]:
    """Return each test's one run in the order they came, those of the clashing ones marked as not unique."""
    several: dict[int, list[Run]] = defaultdict(list)
    for test, run in zip(tests.tolist(), runs, strict=True):
        several[test].append(run)
    found = [_marked(max(mine, key=_badness)) if test in clashing else mine[0] for test, mine in several.items()]
    return found, np.fromiter(several, np.int64, len(several))


def _badness(run: Run) -> tuple[bool, bool, bool]:
    return run.outcome.is_failure, run.is_flaky, run.outcome is not Outcome.SKIPPED


def _marked(run: Run) -> Run:
    return run._replace(origin=run.origin._replace(unique=False))
