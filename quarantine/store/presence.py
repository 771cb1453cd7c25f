"""Which tests the project has at a commit: those that trunk ran there. The roster never forgets a test; this does."""

import numpy as np
from sqlalchemy import ColumnElement, Connection, select

from quarantine.domain.outcome import Lane
from quarantine.store.aliases import carriers
from quarantine.store.outcomes import ABSENT, Mask, unpack
from quarantine.store.tables import BUILD, OUTCOMES

__all__ = ["tests_of_trunk"]


def tests_of_trunk(connection: Connection, project_id: int, commit: str | None, *, tests: int) -> Mask:
    """Return which tests trunk ran on a commit, shape (tests,), all its jobs together.

    Where trunk never ran that commit, or none is named, the last one it ran completely counts; where no run was ever
    complete, the last one it ran at all. Nothing is set before trunk has run.
    """
    present = _present(connection, project_id, BUILD.c.commit == commit, tests=tests) if commit else None
    for is_complete in (True, False):
        if present is not None and present.any():
            break
        present = _present(connection, project_id, _last(connection, project_id, is_complete), tests=tests)
    return np.zeros(tests, np.bool_) if present is None else _each_once(connection, project_id, present)


def _each_once(connection: Connection, project_id: int, present: Mask) -> Mask:
    """Return the same with each test that was renamed in its own place, whichever of its names trunk ran."""
    for name, test in carriers(connection, project_id).items():
        present[test] |= present[name]
        present[name] = False
    return present


def _present(connection: Connection, project_id: int, which: ColumnElement[bool], *, tests: int) -> Mask:
    """Return which tests are in any trunk run of these builds."""
    query = (
        select(OUTCOMES.c.codes)
        .join(BUILD, (BUILD.c.project_id == OUTCOMES.c.project_id) & (BUILD.c.seq == OUTCOMES.c.build_seq))
        .where(*_runs(project_id), which)
    )
    present = np.zeros(tests, np.bool_)
    for codes in connection.execute(query).scalars():
        present |= unpack(codes, tests) != ABSENT
    return present


def _last(connection: Connection, project_id: int, is_complete: bool) -> ColumnElement[bool]:  # noqa: FBT001 - a column's value
    """Return what picks the builds of the commit that trunk ran last; that build alone where it has no commit."""
    query = (
        select(BUILD.c.seq, BUILD.c.commit)
        .where(*_runs(project_id), BUILD.c.complete.is_(is_complete))
        .order_by(BUILD.c.seq.desc())
        .limit(1)
    )
    found = connection.execute(query).first()
    which: ColumnElement[bool] = BUILD.c.seq.is_(None)
    if found is not None:
        which = BUILD.c.commit == found.commit if found.commit else BUILD.c.seq == found.seq
    return which


def _runs(project_id: int) -> list[ColumnElement[bool]]:
    return [BUILD.c.project_id == project_id, BUILD.c.lane == Lane.TRUNK.value, BUILD.c.kind == "run"]
