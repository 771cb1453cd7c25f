"""Deriving a test's heads and decisions again from the stored outcomes, by a second, plainer road than ingest takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.evidence import Head
from quarantine.domain.outcome import Status
from quarantine.policy import evidence
from quarantine.policy.history import History
from quarantine.store import heads, outcomes, standings
from quarantine.store.outcomes import Outcomes
from quarantine.store.projects import Project

_FAILURES = {outcomes.FAILED, outcomes.ERRORED}
_RECOMPUTABLE = {"entry", "broken", "exit", "probation"}


@dataclass(slots=True)
class _Derived:
    """What one test's stored outcomes say."""

    trials: int = 0
    life: int = 0
    last: int = outcomes.ABSENT
    heads: dict[tuple[int, int], Outcomes] = field(default_factory=dict)
    trial_of: dict[tuple[int, int], int] = field(default_factory=dict)
    number: int = 0


def disagreements(connection: Connection, project: Project, row: Mapping[str, Any], history: History) -> list[str]:
    """Return a phrase for each way in which the stored rows of one (test, variant) contradict its stored outcomes.

    Checked are the trial count, every head's place and confirmation, that each decision follows from the evidence kept
    with it, and that the heads in that evidence are heads of the stored outcomes.
    """
    test, variant_hash = row["test"], row["variant_hash"]
    moves = [
        move
        for move in standings.transitions(connection, project.id, test=test, limit=10_000)
        if move["variant_hash"] == variant_hash
    ]
    uploads = list(outcomes.of_variant(connection, project.id, variant_hash, tests=project.tests))
    derived = _derive(test, uploads, moves)
    found = []
    if derived.trials != history.trials[test]:
        found.append(f"trials: stored {int(history.trials[test])}, derived {derived.trials}")
    stored = {
        (life, head.number): head
        for life in range(derived.life + 1)
        for head in heads.of_test(connection, project.id, variant_hash, test, life)
    }
    found += _compare_heads(test, stored, derived, uploads)
    for move in moves:
        found += _compare_move(move, stored.values())
    return found


def _derive(test: int, uploads: Sequence[Outcomes], moves: Sequence[Mapping[str, Any]]) -> _Derived:
    restarts = sorted(move["arrival"] for move in moves if _restarts(move))
    derived = _Derived()
    for upload in uploads:
        while restarts and restarts[0] < upload.arrival:
            restarts.pop(0)
            derived.life, derived.trials, derived.number = derived.life + 1, 0, 0
        if not upload.counted[test]:
            continue
        began = int(upload.codes[test]) & 15
        derived.trials += 1
        if began in _FAILURES and derived.last == outcomes.PASSED:
            derived.number += 1
            derived.heads[derived.life, derived.number] = upload
            derived.trial_of[derived.life, derived.number] = derived.trials
        derived.last = outcomes.FAILED if began in _FAILURES else outcomes.PASSED
    for _ in restarts:
        derived.life, derived.trials, derived.number = derived.life + 1, 0, 0
    return derived


def _restarts(move: Mapping[str, Any]) -> bool:
    """Return whether the evidence began anew: a release by the exit rule or by a person."""
    left = move["from_status"] in (Status.QUARANTINED, Status.HELD) and move["to_status"] == Status.GATING
    return left and move["evidence"].get("kind") in ("exit", "by-hand")


def _compare_heads(
    test: int, stored: Mapping[tuple[int, int], Head], derived: _Derived, uploads: Sequence[Outcomes]
) -> Iterator[str]:
    for key in sorted(stored.keys() | derived.heads.keys()):
        head, upload = stored.get(key), derived.heads.get(key)
        if head is None or upload is None:
            yield f"head {key[1]} of life {key[0]}: {'derived, not stored' if head is None else 'stored, not derived'}"
            continue
        if (head.index, int(head.build)) != (derived.trial_of[key], upload.build_seq):
            yield (
                f"head {key[1]} of life {key[0]}: stored at trial {head.index} of build {head.build}, "
                f"derived at trial {derived.trial_of[key]} of build {upload.build_seq}"
            )
        passed = any(_speaks_for(other, upload) and _passed(other, test) for other in uploads)
        if head.is_confirmed != passed:
            said = "confirmed, but no build of its tree passed" if head.is_confirmed else "pending, but its tree passed"
            yield f"head {key[1]} of life {key[0]}: {said}"


def _speaks_for(other: Outcomes, upload: Outcomes) -> bool:
    if (other.tree, other.setting) != (upload.tree, upload.setting):
        return False
    return upload.lane in other.lane.speaks_for if upload.tree is not None else other.build_seq == upload.build_seq


def _passed(upload: Outcomes, test: int) -> bool:
    code = int(upload.codes[test])
    return outcomes.PASSED in (code & 15, code >> 4)


def _compare_move(move: Mapping[str, Any], stored: Any) -> Iterator[str]:
    kept = move["evidence"]
    if kept.get("kind") not in _RECOMPUTABLE:
        return
    for difference in evidence.recompute(kept):
        yield f"transition {move['number']}: {difference}"
    known = {(head.number, head.index, head.build) for head in stored}
    for head in kept["inputs"].get("heads", ()):
        if (head["number"], head["index"], head["build"]) not in known:
            yield f"transition {move['number']}: its evidence names a head {head['number']} that is not stored"
