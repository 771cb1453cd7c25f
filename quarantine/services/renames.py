"""Renames that trunk shows: tests that vanished in a complete run in which similar ones appeared.

They are written down as they come in and told to people. Nothing else follows from them: see
`quarantine.services.aliases` for what a person makes of one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.outcome import Lane, Status
from quarantine.policy.history import History
from quarantine.policy.renames import MOST_PROPOSED, Candidate, Proposal, propose
from quarantine.services import naming
from quarantine.services.counting import Batch
from quarantine.services.intake import Intake
from quarantine.store import aliases, histories, outcomes, renames, roster, standings
from quarantine.store.outcomes import ABSENT, Outcomes
from quarantine.store.projects import Project

MOST_COMPARED = 5_000
"""So many tests of each kind are compared, those with something to lose first."""


def note(intake: Intake, batch: Batch, history: History, *, is_news: bool) -> None:
    """Write down which tests look renamed, if this upload belongs to a complete trunk run.

    `is_news` says whether it may show anything: a test that trunk had not run before, or more of an earlier upload.
    """
    build = intake.build
    if not is_news or build.is_rerun or not build.complete or build.lane is not Lane.TRUNK:
        return
    connection, project_id, variant_hash = intake.connection, intake.project.id, batch.variant_hash
    where: dict[str, Any] = {"variant_hash": variant_hash, "tests": intake.tests}
    now = outcomes.of_build(connection, project_id, intake.seq, **where)
    before = outcomes.newest_complete_on_trunk(
        connection, project_id, variant_hash, before=intake.seq, tests=intake.tests
    )
    if now is None or before is None:
        return
    found = _found(intake, history, before, now)
    rows = [
        {"former": one.former, "present": one.present, "score": one.score, "why": one.why, "at": intake.now}
        for one in found
    ]
    renames.replace(connection, project_id, build_seq=intake.seq, variant_hash=variant_hash, rows=rows)


def _found(intake: Intake, history: History, before: Outcomes, now: Outcomes) -> list[Proposal]:
    """Return the pairs to write down, those with something to lose first."""
    connection, project_id = intake.connection, intake.project.id
    outcomes.as_one([before, now], aliases.carriers(connection, project_id))
    history.grow(intake.tests)
    is_gone = (before.codes != ABSENT) & (now.codes == ABSENT)
    is_new = (before.codes == ABSENT) & (now.codes != ABSENT) & (history.trunk_trials[: intake.tests] <= 1)
    gone, new = np.flatnonzero(is_gone).tolist(), np.flatnonzero(is_new).tolist()[:MOST_COMPARED]
    if not gone or not new:
        return []
    losing = standings.with_any(connection, project_id, gone)
    gone.sort(key=lambda test: test not in losing)
    rows = roster.rows(connection, project_id, [*gone[:MOST_COMPARED], *new])
    found = propose(
        [_candidate(test, rows[test]) for test in gone[:MOST_COMPARED]], [_candidate(test, rows[test]) for test in new]
    )
    found.sort(key=lambda one: one.former not in losing)  # stable: the likeliest first among equals
    return found[:MOST_PROPOSED]


def _candidate(test: int, row: Mapping[str, Any]) -> Candidate:
    place = "/".join([*row["suite"], row["classname"] or row["file"]])
    return Candidate(test, place, row["name"])


def proposed(connection: Connection, project: Project) -> list[dict[str, Any]]:
    """Return the pairs that still look renamed, those with something to lose first: names, ids, what may be lost.

    One of which trunk runs the former name again, or no longer the present one, is left out.
    """
    rows = _still_so(connection, project, renames.open_ones(connection, project.id))
    if not rows:
        return []
    names = roster.rows(connection, project.id, {test for row in rows for test in (row["former"], row["present"])})
    stakes = _stakes(connection, project, [row["former"] for row in rows])
    told = [
        {
            "former": naming.id_of(names[row["former"]]),
            "former_name": naming.display_of(names[row["former"]]),
            "present": naming.id_of(names[row["present"]]),
            "present_name": naming.display_of(names[row["present"]]),
            "build": row["build_seq"],
            "at": row["at"].isoformat(),
            "score": round(row["score"], 2),
            "because": row["why"],
            "at_stake": stakes.get(row["former"]),
        }
        for row in rows
    ]
    return sorted(told, key=lambda one: one["at_stake"] is None)


def _still_so(connection: Connection, project: Project, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, of each test, the newest pair that the last complete run of trunk in its variant bears out."""
    retired = aliases.carriers(connection, project.id)
    newest: dict[str, Outcomes | None] = {}
    found, seen = [], set[int]()
    for row in rows:
        pair = {row["former"], row["present"]}
        if pair & (seen | retired.keys()):
            continue
        variant = row["variant_hash"]
        if variant not in newest:
            newest[variant] = outcomes.newest_complete_on_trunk(
                connection, project.id, variant, before=project.builds + 1, tests=project.tests
            )
        last = newest[variant]
        if last is not None and last.codes[row["former"]] == ABSENT != last.codes[row["present"]]:
            found.append(row)
            seen |= pair
    return found


def _stakes(connection: Connection, project: Project, tests: Iterable[int]) -> dict[int, str]:
    """Return what each of these tests stands to lose: a standing that is not simply gating, or evidence."""
    wanted = set(tests)
    worst: dict[int, list[str]] = defaultdict(list)
    for row in standings.with_status(connection, project.id, Status.QUARANTINED, Status.HELD, Status.BROKEN):
        worst[row["test"]].append(row["status"])
    stakes = {test: min(worst[test], key=_ORDER.index) for test in wanted & worst.keys()}
    if wanted - stakes.keys():
        for _, history in histories.every(connection, project.id):
            history.grow(project.tests)
            stakes |= {test: "evidence" for test in wanted - stakes.keys() if history.heads[test]}
    return stakes


_ORDER = [Status.QUARANTINED.value, Status.BROKEN.value, Status.HELD.value]
