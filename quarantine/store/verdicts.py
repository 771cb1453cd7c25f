"""Verdicts, the runs they rest on, base results by fingerprint, and how loops ended."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, and_, func, or_, select, union_all, update

from quarantine.store.sql import in_chunks, insert_new, last_number, upsert
from quarantine.store.tables import AUDIT, BASE_RESULT, BUILD, LOOP_END, VERDICT, VERDICT_RUN

_FIGURES = (
    *("number", "build_seq", "ticket", "attempt", "lane", "change", "outcome", "final", "suspect", "plain_rejects"),
    *("prevented", "is_random", "runner_s", "tokens", "cost", "asked_at", "key"),
)


def add(connection: Connection, project_id: int, values: Mapping[str, Any]) -> int:
    """Store a verdict and return its number; the columns are those of `tables.VerdictRow`."""
    number = last_number(connection, VERDICT, project_id) + 1
    connection.execute(VERDICT.insert().values(project_id=project_id, number=number, **values))
    return number


def rewrite(connection: Connection, project_id: int, number: int, values: Mapping[str, Any]) -> None:
    """Store what has become of a verdict."""
    which = (VERDICT.c.project_id == project_id, VERDICT.c.number == number)
    connection.execute(update(VERDICT).where(*which).values(dict(values)))


def get(connection: Connection, project_id: int, number: int) -> dict[str, Any] | None:
    """Return the verdict of this number; None when there is none."""
    query = select(VERDICT).where(VERDICT.c.project_id == project_id, VERDICT.c.number == number)
    row = connection.execute(query).mappings().first()
    return dict(row) if row else None


def of_build(connection: Connection, project_id: int, build_seq: int) -> list[dict[str, Any]]:
    """Return the verdicts on this build, the newest first."""
    query = select(VERDICT).where(VERDICT.c.project_id == project_id, VERDICT.c.build_seq == build_seq)
    return [dict(row) for row in connection.execute(query.order_by(VERDICT.c.number.desc())).mappings()]


def add_run(connection: Connection, project_id: int, values: Mapping[str, Any]) -> None:
    """Note a run that a verdict rests on; one that is there already stays as it was."""
    insert_new(connection, VERDICT_RUN, [{"project_id": project_id, **values}])


def runs_of(connection: Connection, project_id: int, number: int) -> list[dict[str, Any]]:
    """Return the runs that a verdict rests on, in order of arrival, with their builds' counts."""
    query = (
        select(VERDICT_RUN)
        .where(VERDICT_RUN.c.project_id == project_id, VERDICT_RUN.c.verdict == number)
        .order_by(VERDICT_RUN.c.build_seq)
    )
    return [dict(row) for row in connection.execute(query).mappings()]


def canary_codes(connection: Connection, project_id: int, seqs: Iterable[int]) -> dict[int, int]:
    """Return what the runner had to exit with in those of these builds that had a canary."""
    c = VERDICT_RUN.c
    query = select(c.build_seq, c.canary_exit_code).where(
        c.project_id == project_id, c.build_seq.in_(set(seqs)), c.canary_exit_code.is_not(None)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def figures(connection: Connection, project_id: int, ticket: str | None) -> list[dict[str, Any]]:
    """Return the verdicts asked by loops on tickets (or on one), in order, without what was asked and answered."""
    query = select(*[VERDICT.c[name] for name in _FIGURES]).where(
        VERDICT.c.project_id == project_id,
        VERDICT.c.ticket.is_not(None) if ticket is None else VERDICT.c.ticket == ticket,
    )
    return [dict(row) for row in connection.execute(query.order_by(VERDICT.c.number)).mappings()]


def settled_within(connection: Connection, project_id: int, begin: datetime, end: datetime) -> list[dict[str, Any]]:
    """Return the final verdicts asked for from `begin` until before `end`, in order, as `figures` does."""
    query = select(*[VERDICT.c[name] for name in _FIGURES]).where(
        VERDICT.c.project_id == project_id,
        VERDICT.c.asked_at >= begin,
        VERDICT.c.asked_at < end,
        VERDICT.c.final.is_(True),
    )
    return [dict(row) for row in connection.execute(query.order_by(VERDICT.c.number)).mappings()]


def newest(connection: Connection, project_id: int, limit: int) -> list[dict[str, Any]]:
    """Return the newest verdicts with their sentences, the newest first, without what was asked and answered."""
    query = select(*[VERDICT.c[name] for name in (*_FIGURES, "sentence")]).where(VERDICT.c.project_id == project_id)
    return [dict(row) for row in connection.execute(query.order_by(VERDICT.c.number.desc()).limit(limit)).mappings()]


def newest_tickets(connection: Connection, project_id: int, ticket: str | None, limit: int) -> dict[str, datetime]:
    """Return when tickets (or this one) were heard of last, the newest first: asked about, or their loop ended."""
    asked = select(VERDICT.c.ticket, VERDICT.c.asked_at.label("at")).where(
        VERDICT.c.project_id == project_id, VERDICT.c.ticket.is_not(None)
    )
    ended = select(LOOP_END.c.ticket, LOOP_END.c.at).where(LOOP_END.c.project_id == project_id)
    heard = union_all(asked, ended).subquery()
    last = func.max(heard.c.at)
    query = (
        select(heard.c.ticket, last) if ticket is None else select(heard.c.ticket, last).where(heard.c.ticket == ticket)
    )
    query = query.group_by(heard.c.ticket).order_by(last.desc(), heard.c.ticket).limit(limit)
    return {row[0]: row[1] for row in connection.execute(query)}


def figures_of(connection: Connection, project_id: int, tickets: Iterable[str]) -> list[dict[str, Any]]:
    """Return the verdicts on these tickets as `figures` does."""
    query = select(*[VERDICT.c[name] for name in _FIGURES]).where(
        VERDICT.c.project_id == project_id, VERDICT.c.ticket.in_(set(tickets))
    )
    return [dict(row) for row in connection.execute(query.order_by(VERDICT.c.number)).mappings()]


def base_results(
    connection: Connection, project_id: int, variant_hash: str, tests: Iterable[int], environment_hash: str | None
) -> list[dict[str, Any]]:
    """Return every cached base result of these tests in an environment that does not contradict this one."""
    stated = [BASE_RESULT.c.environment_hash.in_({"", environment_hash})] if environment_hash else []
    found: list[dict[str, Any]] = []
    for chunk in in_chunks(tests):
        query = select(BASE_RESULT).where(
            BASE_RESULT.c.project_id == project_id,
            BASE_RESULT.c.variant_hash == variant_hash,
            BASE_RESULT.c.test.in_(chunk),
            *stated,
        )
        found += [dict(row) for row in connection.execute(query).mappings()]
    return found


def save_base_results(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store base results as given; the columns are those of `tables.BaseResultRow`."""
    upsert(connection, BASE_RESULT, rows)


def save_end(connection: Connection, values: Mapping[str, Any]) -> None:
    """Store how the loop on a ticket ended; the columns are those of `tables.LoopEndRow`."""
    upsert(connection, LOOP_END, [values])


LOOP_ENDED = "loop-end"
"""What the audit calls the end of a loop; `loop_end` itself has only the last one of a ticket."""


def every_end(connection: Connection, project_id: int) -> list[dict[str, Any]]:
    """Return (at, detail) of every end of a loop that was ever noted, in order."""
    query = select(AUDIT.c.at, AUDIT.c.detail).where(AUDIT.c.project_id == project_id, AUDIT.c.action == LOOP_ENDED)
    return [dict(row) for row in connection.execute(query.order_by(AUDIT.c.number)).mappings()]


def last_of(connection: Connection, project_id: int, ticket: str | None) -> int:
    """Return the number of the last verdict on a ticket; 0 when there is none."""
    query = select(func.coalesce(func.max(VERDICT.c.number), 0)).where(
        VERDICT.c.project_id == project_id, VERDICT.c.ticket == ticket
    )
    number: int = connection.execute(query).scalar_one()
    return number


def ends(connection: Connection, project_id: int, ticket: str | None) -> list[dict[str, Any]]:
    """Return how the loops ended (or the one on this ticket), by ticket."""
    query = select(LOOP_END).where(LOOP_END.c.project_id == project_id)
    query = query if ticket is None else query.where(LOOP_END.c.ticket == ticket)
    return [dict(row) for row in connection.execute(query.order_by(LOOP_END.c.ticket)).mappings()]


def base_trees_run(connection: Connection, project_id: int, row: Mapping[str, Any]) -> set[str]:
    """Return the trees that were run as the base of this verdict, or of another on its lane, change and base commit."""
    same = VERDICT.c.number == row["number"]
    if row["base_commit"] is not None:
        same = or_(same, VERDICT.c.base_commit == row["base_commit"])
    query = (
        select(BUILD.c.tree)
        .join(VERDICT_RUN, and_(VERDICT_RUN.c.project_id == BUILD.c.project_id, VERDICT_RUN.c.build_seq == BUILD.c.seq))
        .join(VERDICT, and_(VERDICT.c.project_id == BUILD.c.project_id, VERDICT.c.number == VERDICT_RUN.c.verdict))
        .where(
            BUILD.c.project_id == project_id,
            BUILD.c.tree.is_not(None),
            VERDICT_RUN.c.side == "base",
            VERDICT.c.lane == row["lane"],
            VERDICT.c.change.is_not_distinct_from(row["change"]),
            same,
        )
    )
    return set(connection.execute(query.distinct()).scalars())


def trunk_trees(connection: Connection, project_id: int, commit: str, *, unchanged: bytes) -> set[str]:
    """Return the trees that trunk ran under this commit, but for those that were judged as a change of it.

    A person's uncommitted edits carry the commit they were made on. `unchanged` is how a verdict's `changed` is stored
    when nothing was.
    """
    of_trunk = and_(
        BUILD.c.project_id == project_id,
        BUILD.c.commit == commit,
        BUILD.c.lane == "trunk",
        BUILD.c.tree.is_not(None),
    )
    edited = (
        select(BUILD.c.tree)
        .join(VERDICT, and_(VERDICT.c.project_id == BUILD.c.project_id, VERDICT.c.build_seq == BUILD.c.seq))
        .where(of_trunk, VERDICT.c.changed.is_not(None), VERDICT.c.changed != unchanged)
    )
    found = set(connection.execute(select(BUILD.c.tree).where(of_trunk).distinct()).scalars())
    return found - set(connection.execute(edited).scalars())
