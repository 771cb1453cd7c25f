"""Base results cached by reach fingerprint: a base that a test reaches alike need not be run again for it.

Kept are only tests that some verdict asked about, because what is written should grow with failures. The fingerprint
is the one that attribution computes: over the test's reach where the base's manifest and a reach map are known, over
the whole tree otherwise. A result in an environment that was not stated is found by whoever states one, and the other
way round. What only a less trusted lane has run says nothing to a more trusted one, and what only an agent has run
speaks to its own change alone: its results are kept under a name made of the environment and the change.
"""

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane
from quarantine.policy.findings import Tries
from quarantine.reach.columns import whole_tree_fingerprint
from quarantine.services.reach_index import ReachIndex
from quarantine.services.reaching import parse_manifest
from quarantine.store import reaches, verdicts
from quarantine.store.heads import signed
from quarantine.store.projects import Project

Fingerprints = Mapping[int, int]
"""By ordinal; a test whose fingerprint nobody can tell is left out."""


@dataclass(frozen=True, slots=True)
class BaseResult:
    """What a test did on a base of this fingerprint, and the signature of its failure; empty when it did not fail."""

    tries: Tries
    signature: str


def fingerprints_on_base(
    connection: Connection,
    project: Project,
    index: ReachIndex | None,
    *,
    manifest: str | None,
    trees: Iterable[str],
    tests: Sequence[int],
) -> dict[int, int]:
    """Return the fingerprints of these tests on the base, unsigned.

    Args:
        connection: the store.
        project: the project, with its present number of tests.
        index: its reach maps; None when it has none.
        manifest: the id of the base's manifest; None when the client did not say it.
        trees: the base's trees as far as they are known; the whole tree's fingerprint needs exactly one.
        tests: ordinals.
    """
    found: dict[int, int] = {}
    known = list(trees)
    if len(known) == 1:
        whole = whole_tree_fingerprint(project.secret, known[0])
        found = dict.fromkeys(tests, whole)
    body = reaches.manifest(connection, project.id, manifest) if index and manifest and tests else None
    if index is not None and body is not None:
        by_test = index.fingerprints(project.secret, parse_manifest(zlib.decompress(body)), (), project.tests)
        reached = index.known(project.tests)
        found.update({test: int(by_test[test]) for test in tests if reached[test]})
    return found


def cached(
    connection: Connection,
    project_id: int,
    variant_hash: str,
    prints: Fingerprints,
    *,
    environment_hash: str | None,
    lane: Lane,
    change: str | None,
) -> dict[int, BaseResult]:
    """Return each test's newest cached result for its fingerprint, among those that may be told to `lane`."""
    rows = list(verdicts.base_results(connection, project_id, variant_hash, prints, environment_hash))
    rows = [row for row in rows if row["lane"] != Lane.AGENT]
    if lane is Lane.AGENT:
        for environment in {environment_hash, None}:
            named = _of_agent(environment, change)
            own = verdicts.base_results(connection, project_id, variant_hash, prints, named)
            rows += [row for row in own if row["lane"] == Lane.AGENT and row["environment_hash"] == named]
    found: dict[int, tuple[datetime, BaseResult]] = {}
    for row in rows:
        test = row["test"]
        if row["fingerprint"] != signed(prints[test]) or lane not in Lane(row["lane"]).speaks_for:
            continue
        if test in found and found[test][0] >= row["last_at"]:
            continue
        straight = 0 if row["failed"] else row["passed"]
        result = BaseResult(Tries(row["failed"], row["passed"], straight), row["signature"])
        found[test] = (row["last_at"], result)
    return {test: result for test, (_, result) in found.items()}


def keep(
    connection: Connection,
    project_id: int,
    variant_hash: str,
    results: Mapping[int, BaseResult],
    prints: Fingerprints,
    *,
    environment_hash: str | None,
    lane: Lane,
    change: str | None,
    now: datetime,
) -> None:
    """Store under their fingerprints what these tests did on the base; `lane` is the least trusted that ran them."""
    environment = _of_agent(environment_hash, change) if lane is Lane.AGENT else environment_hash or ""
    rows: list[dict[str, Any]] = [
        {
            "project_id": project_id,
            "variant_hash": variant_hash,
            "test": test,
            "fingerprint": signed(prints[test]),
            "environment_hash": environment,
            "lane": lane.value,
            "failed": result.tries.failed,
            "passed": result.tries.passed,
            "signature": result.signature,
            "last_at": now,
        }
        for test, result in results.items()
        if test in prints
    ]
    verdicts.save_base_results(connection, rows)


def _of_agent(environment_hash: str | None, change: str | None) -> str:
    """Return the name that an agent's results are kept under: 64 hexadecimal digits."""
    parts = [environment_hash or "", change or ""]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
