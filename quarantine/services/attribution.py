"""What the change under test can explain: which first tries speak about trunk, and each test's reach fingerprint."""

import zlib
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from quarantine.domain.outcome import Lane
from quarantine.reach.columns import whole_tree_fingerprint
from quarantine.services.counting import Batch
from quarantine.services.intake import Intake
from quarantine.services.reach_index import ReachIndex
from quarantine.services.reaching import parse_manifest
from quarantine.store import builds, reaches, roster
from quarantine.store.outcomes import Mask

_IS_UNIQUE = attrgetter("origin.unique")


@dataclass(frozen=True, slots=True)
class Attribution:
    """For the tests of a batch, shape (n,).

    Attributes:
        counted: whether the first try is a counted trial, storms aside.
        fingerprints: the reach fingerprint of each test in the tree that was tested, unsigned 64 bits.
    """

    counted: Mask
    fingerprints: NDArray[np.uint64]


def attribute(intake: Intake, batch: Batch) -> Attribution:
    """Return which first tries count, and the fingerprints.

    A trial counts on trunk, and on another lane when the test's fingerprint was seen on trunk: the tree itself ran
    there, or the base did and no changed part lies in the test's reach. A test without a reach map reaches everything,
    and so does every test where the client could not say what changed. Reruns, later uploads of a test already seen in
    the build, skipped tests and ids that are not unique make no trials.
    """
    index = intake.app.reach.of(intake.connection, intake.project, intake.tests)
    counted = batch.fresh & batch.ran
    if intake.build.is_rerun:
        counted &= False
    elif intake.build.lane is not Lane.TRUNK:
        counted &= _seen_on_trunk(intake, batch, index)
    if not all(map(_IS_UNIQUE, batch.runs)):  # only trunk marks an id for good; elsewhere it spoils just this build
        counted &= np.fromiter(map(_IS_UNIQUE, batch.runs), np.bool_, len(batch.runs))
    ambiguous = roster.not_unique(intake.connection, intake.project.id)
    if ambiguous:
        counted &= ~np.isin(batch.tests, np.fromiter(ambiguous, np.intp))
    return Attribution(counted, _fingerprints(intake, batch, index))


def _seen_on_trunk(intake: Intake, batch: Batch, index: ReachIndex | None) -> Mask:
    build, connection, project_id = intake.build, intake.connection, intake.project.id
    if builds.trunk_tree_exists(connection, project_id, build.tree):
        return np.ones(len(batch.tests), np.bool_)
    based = build.base_commit is not None and build.base_commit in builds.trunk_positions(
        connection, project_id, [build.base_commit]
    )
    if index is None or build.changed is None or not based:
        return np.zeros(len(batch.tests), np.bool_)
    return index.untouched(build.changed, intake.tests)[batch.tests]


def _fingerprints(intake: Intake, batch: Batch, index: ReachIndex | None) -> NDArray[np.uint64]:
    """Return the fingerprints where there are failures to keep them with; elsewhere nobody asks for them."""
    build = intake.build
    whole = whole_tree_fingerprint(intake.project.secret, build.tree or f"unknown:{intake.seq}")
    found = np.full(len(batch.tests), whole, np.uint64)
    if index is None or build.changed is None or build.manifest is None or not batch.first_failed.any():
        return found
    body = reaches.manifest(intake.connection, intake.project.id, build.manifest)
    if body is None:
        return found
    base = parse_manifest(zlib.decompress(body))
    by_test = index.fingerprints(intake.project.secret, base, build.changed, intake.tests)[batch.tests]
    return np.where(index.known(intake.tests)[batch.tests], by_test, found)
