"""What the change under test can explain: which first tries speak about trunk, and each test's reach fingerprint."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quarantine.domain.outcome import Lane
from quarantine.services.counting import Batch
from quarantine.services.intake import Intake
from quarantine.store import builds, roster
from quarantine.store.outcomes import Mask


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
    """Return which first tries count.

    A trial counts on trunk, and on another lane when the test's fingerprint was seen on trunk. Reruns, later uploads
    of a test already seen in the build, skipped tests and ids that are not unique make no trials. Without a reach map
    a test reaches everything: its fingerprint is the tree, and an agent's own patch says nothing about trunk.
    """
    counted = batch.fresh & batch.ran
    if intake.build.is_rerun:
        counted &= False
    elif intake.build.lane is not Lane.TRUNK:
        counted &= builds.trunk_tree_exists(intake.connection, intake.project.id, intake.build.tree)
    ambiguous = roster.not_unique(intake.connection, intake.project.id)
    if ambiguous:
        counted &= ~np.isin(batch.tests, np.fromiter(ambiguous, np.intp))
    fingerprint = whole_tree_fingerprint(intake.project.secret, intake.build.tree or f"unknown:{intake.seq}")
    return Attribution(counted, np.full(len(batch.tests), fingerprint, np.uint64))


def whole_tree_fingerprint(secret: bytes, tree: str) -> int:
    """Return the fingerprint of a test that reaches everything: 64 bits of keyed BLAKE2b over the tree."""
    return int.from_bytes(hashlib.blake2b(tree.encode(), key=secret, digest_size=8).digest(), "big")
