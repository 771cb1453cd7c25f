"""Storms at ingest: a build whose failures have a common cause outside the tests makes no trials."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quarantine.domain.outcome import Lane
from quarantine.policy.history import History
from quarantine.policy.storms import BuildFailures, Storm, recognise
from quarantine.services.counting import Batch
from quarantine.services.intake import Intake
from quarantine.store import builds, heads, incidents


def strikes(intake: Intake, batch: Batch, history: History, already_failing: NDArray[np.bool_]) -> bool:
    """Return whether the build under way is struck by a storm; record the incident, also for the builds before it.

    `history` is the variant's before this build is counted.

    Earlier builds keep their trials (an index once given never changes), but their heads belong to the incident from
    now on and are no onsets: dropping onsets is safe for entry. Builds of the agent lane neither make a storm nor
    belong to one: else an agent that copies trunk's failures could have them dropped.
    """
    failed = np.flatnonzero(batch.fresh & batch.first_failed & ~already_failing).tolist()
    if intake.build.is_rerun or intake.build.lane is Lane.AGENT or len(failed) < intake.policy.storm_tests:
        return False
    here = _here(intake, batch, already_failing)
    others = _others(intake)
    rates, suite = _rates(intake, batch.variant_hash, history)
    for storm in recognise([*others, here], rates, suite, intake.policy):
        if here.build in storm.builds:
            _record(intake, storm)
            return True
    return False


def _here(intake: Intake, batch: Batch, already_failing: NDArray[np.bool_]) -> BuildFailures:
    places = np.flatnonzero(batch.fresh & batch.first_failed).tolist()
    build = intake.build
    commit = (build.commit if build.change is None else build.base_commit) or ""
    known = builds.trunk_positions(intake.connection, intake.project.id, [commit])
    return BuildFailures(
        build=str(intake.seq),
        change=build.change,
        trunk_position=known.get(commit, intake.seq if build.change is None and commit else 0),
        arrived_at=intake.now,
        failures={str(batch.tests[place]): batch.signature_of(place) for place in places},
        already_failing=frozenset(str(batch.tests[place]) for place in places if already_failing[place]),
    )


def _others(intake: Intake) -> list[BuildFailures]:
    """Return the failures of the other builds of the last hour."""
    since = intake.now - timedelta(hours=intake.policy.storm_hours)
    by_build: dict[int, list[dict[str, Any]]] = {}
    for row in builds.failures_since(intake.connection, intake.project.id, since):
        if row["build_seq"] != intake.seq and row["lane"] != Lane.AGENT:
            by_build.setdefault(row["build_seq"], []).append(row)
    commits = {_commit(rows[0]) for rows in by_build.values()}
    positions = builds.trunk_positions(intake.connection, intake.project.id, commits)
    return [
        BuildFailures(
            build=str(seq),
            change=rows[0]["change"],
            trunk_position=positions.get(_commit(rows[0]), 0),
            arrived_at=rows[0]["received_at"],
            failures={str(row["test"]): row["signature"] for row in rows},
            already_failing=frozenset(str(row["test"]) for row in rows if row["already_failing"]),
        )
        for seq, rows in by_build.items()
        if len(rows) >= intake.policy.storm_tests
    ]


def _commit(row: Mapping[str, Any]) -> str:
    return (row["commit"] if row["change"] is None else row["base_commit"]) or ""


def _rates(intake: Intake, variant_hash: str, history: History) -> tuple[dict[str, float], int]:
    """Return each failing test's share of failed trials (one more of each added), and the size of the suite."""
    failures = builds.failure_counts(intake.connection, intake.project.id, variant_hash)
    rates = {
        str(test): (count + 1) / (max(int(history.trials[test]), count) + 2)
        for test, count in failures.items()
        if test < len(history)
    }
    return rates, max(intake.tests - intake.project.retired, len(rates))


def _record(intake: Intake, storm: Storm) -> None:
    seqs = [int(build) for build in storm.builds]
    earlier = [seq for seq in seqs if seq != intake.seq]
    heads.assign_incident(intake.connection, intake.project.id, earlier, storm.key)
    builds.assign_incident(intake.connection, intake.project.id, seqs, storm.key)
    first_at = incidents.first_seen(intake.connection, intake.project.id, storm.key) or storm.first_at
    incidents.save(
        intake.connection,
        project_id=intake.project.id,
        id=storm.key,
        first_at=first_at,
        last_at=storm.last_at,
        builds=seqs,
        tests=[int(test) for test, _ in storm.failed],
        sentence=storm.sentence,
        evidence=asdict(storm) | {"first_at": storm.first_at.isoformat(), "last_at": storm.last_at.isoformat()},
    )
