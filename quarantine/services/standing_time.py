"""How long tests have been out of the gating set: in any variant, while the project enforced."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.domain.standing import Transition
from quarantine.policy.escalation import Answer, AnswerKind, Case, Span, Told, enforced_spans, overlap, spans_of, union
from quarantine.store import answers, audit, standings
from quarantine.store.projects import Project


def cases_of(connection: Connection, project: Project, tests: Iterable[int]) -> dict[int, Case]:
    """Return what the ladder needs to know of each of these tests."""
    wanted = sorted(set(tests))
    spans = spans_out(connection, project.id, wanted)
    enforced = enforced_spans(_mode_changes(connection, project))
    told = answers.escalations_of(connection, project.id, wanted)
    said = answers.of_tests(connection, project.id, wanted)
    return {
        test: Case(
            spans=overlap(spans.get(test, ()), enforced),
            told=tuple(map(_told, told.get(test, ()))),
            answers=tuple(map(_answer, said.get(test, ()))),
        )
        for test in wanted
    }


def spans_out(connection: Connection, project_id: int, tests: Iterable[int]) -> dict[int, tuple[Span, ...]]:
    """Return when each test was quarantined in any variant, whatever the mode; one that never was is left out."""
    moves: dict[tuple[int, str], list[Transition]] = defaultdict(list)
    for row in standings.moves_of_tests(connection, project_id, tests):
        moves[row["test"], row["variant_hash"]].append(_transition(row))
    spans: dict[int, list[Span]] = defaultdict(list)
    for (test, _), transitions in moves.items():
        spans[test] += spans_of(transitions)
    return {test: union(found) for test, found in spans.items() if found}


def _transition(row: Mapping[str, Any]) -> Transition:
    return Transition(
        from_status=Status(row["from_status"]),
        to_status=Status(row["to_status"]),
        at=row["at"],
        reason=row["reason"],
        mode=Mode(row["mode"]),
        policy_version=row["policy_version"],
        by=row["actor"],
    )


def _mode_changes(connection: Connection, project: Project) -> list[tuple[datetime, Mode]]:
    """Return when the project took which mode; it began by observing."""
    changes = [(project.created_at, Mode.OBSERVE)]
    changes += [(row["at"], Mode(row["detail"]["mode"])) for row in audit.of_action(connection, project.id, "set-mode")]
    return changes


def _told(row: Mapping[str, Any]) -> Told:
    return Told(number=row["step"], level=row["level"], at=row["at"], is_proposal=row["is_proposal"])


def _answer(row: Mapping[str, Any]) -> Answer:
    return Answer(
        kind=AnswerKind(row["kind"]),
        by=row["by"],
        at=row["at"],
        until=row["until"],
        reason=row["reason"],
        level=row["level"],
    )
