"""What the attempts at tickets came to: how often the loop solved one, on which attempt, and what flakes cost it.

An *attempt* is every verdict that a loop asked with one ticket and one attempt number: of the impacted tests, then
perhaps of the whole suite. It is solved when each of its verdicts is final and accepts, and a ticket is solved on
attempt k when k is its first solved attempt.

A ticket may be taken up again. What comes after the end of a loop belongs to the next one, and so does an attempt of a
lower number than the one before it, for the loop before may have died without a word. Whether and when a ticket was
solved is what its last loop says; what was spent, prevented and wasted is counted over all of its loops.

A *plain harness* is one with neither quarantine, nor reruns, nor a base to compare with: it rejects whatever is red in
the first run. It solves a ticket on its first attempt that is green throughout. Its share is no experiment: what an
agent would have done after a rejection that we did not make nobody knows (such a ticket counts as not solved by it),
and green is not right (a run from which tests vanished is green to it).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quarantine.domain.verdict import Verdict
from quarantine.errors import NotFound
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.question import LoopEnd
from quarantine.services.verdicts import ticket_of
from quarantine.store import audit, projects, verdicts
from quarantine.store.engine import reading, writing
from quarantine.store.sql import storable

_ENDS = ("accepted", "exhausted", "inconclusive", "suspect")
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a ticket: its verdicts in order of asking, and the number the loop gave it."""

    number: int
    verdicts: tuple[Row, ...]

    @property
    def is_solved(self) -> bool:
        """Whether every verdict is final and accepts."""
        return all(row["final"] and row["outcome"] == Verdict.ACCEPT for row in self.verdicts)

    @property
    def is_plainly_solved(self) -> bool:
        """Whether a plain harness would have accepted it."""
        return not any(row["plain_rejects"] for row in self.verdicts)

    @property
    def is_wasted_by_flakes(self) -> bool:
        """Whether flakes would have cost a plain harness this attempt, or did cost us ours.

        The plain harness rejects what we accepted; or we ended undecided because a test was random under the change.
        """
        undecided = self.verdicts[-1]["outcome"] == Verdict.INCONCLUSIVE and self.verdicts[-1]["is_random"]
        return (self.is_solved and not self.is_plainly_solved) or undecided


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop on a ticket: its verdicts in order of asking, and its attempts in order of their numbers."""

    rows: tuple[Row, ...]
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Worked:
    """What was done on a ticket.

    Attributes:
        loops: in order, at least one.
        end: how the last of them ended; None when it has not said so.
    """

    loops: tuple[Loop, ...]
    end: Row | None

    @property
    def last(self) -> Loop:
        """The loop that says whether the ticket is solved."""
        return self.loops[-1]

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt of every loop."""
        return [attempt for loop in self.loops for attempt in loop.attempts]

    @property
    def rows(self) -> list[Row]:
        """Every verdict, in order of asking."""
        return [row for loop in self.loops for row in loop.rows]


def note_end(app: App, slug: str, bearer: Bearer, end: LoopEnd) -> dict[str, Any]:
    """Store how the loop on a ticket ended; saying it again overwrites it.

    Raises:
        NotFound: there is no such project, or no such verdict.
        NotAllowed: the bearer may not report, or not for this ticket.
    """
    bearer.reporting_lane()
    ticket = ticket_of(bearer, end.ticket)
    number = None if end.verdict is None else int(end.verdict)
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        if number is not None and verdicts.get(connection, project.id, number) is None:
            raise NotFound(f"{slug} has no verdict {number}.", mend="Leave it out, or name one of this project.")
        row = {
            "project_id": project.id,
            "ticket": ticket,
            "ended": end.end,
            "attempts": end.attempts,
            "sentence": end.sentence,
            "verdict": number,
            "at": now,
        }
        verdicts.save_end(connection, row)
        detail = {"ticket": ticket, "end": end.end, "attempts": end.attempts, "verdict": number}
        detail["after"] = verdicts.last_of(connection, project.id, ticket)
        audit.record(connection, project.id, at=now, actor=bearer.actor, action=verdicts.LOOP_ENDED, detail=detail)
    return {"schema": 1, "ticket": ticket, "end": end.end}


def summary(app: App, slug: str, *, ticket: str | None = None) -> dict[str, Any]:
    """Return what the attempts came to, in all and by ticket; of one ticket if it is named.

    - `tickets`: how many there are. `ends`: how the last loop on each ended; those that said nothing are `unfinished`.
    - `solved`: for each k, how many tickets were solved on attempt k (`on`), and the share of tickets solved by then
      (`share`); `plain` the same for a plain harness. k runs from 1 to the most attempts any ticket's last loop has.
    - `runner_s`: seconds of test runs, reruns included. `tokens`, `cost`: what the agents spent, as far as loops said.
    - `prevented`: failures that a plain harness would have rejected and that were excused, and the verdicts that
      accept though the plain harness rejects (`rejections`).
    - `wasted_by_flakes`: attempts that flakes would have cost a plain harness though ours accepted, and those that
      cost us one because a test was random under the change.
    - `by_ticket`: the same of each ticket, with how many `loops` there were on it, the `verdicts` of all of them and
      those of the last one (`last_loop`).

    Raises NotFound when there is no such project.
    """
    ticket = None if ticket is None else storable(ticket)
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = verdicts.figures(connection, project.id, ticket)
        ends = {row["ticket"]: row for row in verdicts.ends(connection, project.id, ticket)}
        ended = verdicts.every_end(connection, project.id) if ends else []
    by_ticket: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_ticket[row["ticket"]].append(row)
    of_ticket: dict[str, list[Row]] = defaultdict(list)
    for row in ended:
        of_ticket[row["detail"]["ticket"]].append(row)
    every = {
        name: _worked(by_ticket.get(name, ()), ends.get(name), of_ticket.get(name, ()))
        for name in sorted(by_ticket.keys() | ends.keys())
    }
    last = {name: worked.last.attempts for name, worked in every.items()}
    counted = Counter(worked.end["ended"] if worked.end else "unfinished" for worked in every.values())
    return {
        "schema": 1,
        "project": slug,
        "tickets": len(every),
        "ends": {end: counted[end] for end in (*_ENDS, "unfinished")},
        "solved": _solved(last, lambda attempt: attempt.is_solved),
        "plain": _solved(last, lambda attempt: attempt.is_plainly_solved),
        **_spent(loop for worked in every.values() for loop in worked.loops),
        "prevented": {"failures": sum(row["prevented"] for row in rows), "rejections": _rejections(rows)},
        "wasted_by_flakes": sum(
            attempt.is_wasted_by_flakes for worked in every.values() for attempt in worked.attempts
        ),
        "by_ticket": [_ticket(name, worked) for name, worked in every.items()],
    }


def _worked(rows: Sequence[Row], end: Row | None, ended: Sequence[Row]) -> Worked:
    """Return a ticket's loops, from its verdicts in order, the end that is stored and every end that was noted."""
    closings = _closings(rows, ended)
    loops: list[list[Row]] = [[]]
    for row in rows:
        begins_anew = bool(loops[-1]) and (row["attempt"] or _number(loops[-1])) < _number(loops[-1])
        while closings and closings[0] < row["number"]:
            closings.pop(0)
            begins_anew = True
        if begins_anew:
            loops.append([])
        loops[-1].append(row)
    loops += [[] for _ in closings[1:]]  # loops that came to no verdict at all
    is_over = bool(closings) or not rows
    return Worked(tuple(Loop(tuple(loop), tuple(attempts_of(loop))) for loop in loops), end if is_over else None)


def _closings(rows: Sequence[Row], ended: Sequence[Row]) -> list[int]:
    """Return, for each end, the number of the last verdict before it; an end that was only said again is one.

    Ends that were noted before it was written down are placed by the clock.
    """
    closings: list[int] = []
    before = None
    for row in ended:
        after = row["detail"].get("after")
        if after is None:
            after = max((one["number"] for one in rows if one["asked_at"] <= row["at"]), default=0)
        said = {**row["detail"], "after": after}
        closings += [] if said == before else [after]
        before = said
    return closings


def _number(loop: Sequence[Row]) -> int:
    """Return the number of a loop's last attempt so far."""
    return next((row["attempt"] for row in reversed(loop) if row["attempt"] is not None), 1)


def attempts_of(rows: Sequence[Row]) -> list[Attempt]:
    """Return a ticket's attempts in order; a verdict without a number belongs to the attempt before it."""
    found: dict[int, list[Row]] = {}
    number = 1
    for row in rows:
        number = row["attempt"] or number
        found.setdefault(number, []).append(row)
    return [Attempt(number, tuple(several)) for number, several in sorted(found.items())]


def _first(attempts: Sequence[Attempt], holds: Callable[[Attempt], bool]) -> int | None:
    return next((attempt.number for attempt in attempts if holds(attempt)), None)


def _solved(every: Mapping[str, Sequence[Attempt]], holds: Callable[[Attempt], bool]) -> list[dict[str, Any]]:
    firsts = Counter(_first(attempts, holds) for attempts in every.values())
    most = max((attempt.number for attempts in every.values() for attempt in attempts), default=0)
    solved, told = 0, []
    for number in range(1, most + 1):
        solved += firsts[number]
        told.append({"attempt": number, "on": firsts[number], "share": solved / len(every)})
    return told


def _spent(loops: Iterable[Loop]) -> dict[str, Any]:
    """Return what was spent. The verdicts of one attempt all say what the attempt cost, so it counts once."""
    runner_s, total_cost, total_tokens = 0.0, 0.0, 0
    for loop in loops:
        tokens: dict[Any, int] = {}
        cost: dict[Any, float] = {}
        for row in loop.rows:
            key = row["attempt"] if row["attempt"] is not None else f"verdict {row['number']}"
            tokens[key] = max(tokens.get(key, 0), row["tokens"])
            cost[key] = max(cost.get(key, 0.0), row["cost"])
        runner_s += sum(row["runner_s"] for row in loop.rows)
        total_tokens += sum(tokens.values())
        total_cost += sum(cost.values())
    return {"runner_s": runner_s, "tokens": total_tokens, "cost": total_cost}


def _rejections(rows: Sequence[Row]) -> int:
    return sum(row["plain_rejects"] and row["final"] and row["outcome"] == Verdict.ACCEPT for row in rows)


def _ticket(name: str, worked: Worked) -> dict[str, Any]:
    attempts, end, rows = worked.last.attempts, worked.end, worked.rows
    return {
        "ticket": name,
        "end": end["ended"] if end else None,
        "sentence": end["sentence"] if end else "",
        "loops": len(worked.loops),
        "attempts": max([attempt.number for attempt in attempts] + [end["attempts"] if end else 0]),
        "solved_on": _first(attempts, lambda attempt: attempt.is_solved),
        "plainly_solved_on": _first(attempts, lambda attempt: attempt.is_plainly_solved),
        **_spent(worked.loops),
        "prevented": {"failures": sum(row["prevented"] for row in rows), "rejections": _rejections(rows)},
        "wasted_by_flakes": sum(attempt.is_wasted_by_flakes for attempt in worked.attempts),
        "verdicts": [str(row["number"]) for row in rows],
        "last_loop": [str(row["number"]) for row in worked.last.rows],
    }
