"""What the attempts at tickets come to: solved on which attempt, what it cost, and what flakes would have cost."""

from typing import Any

import pytest
from sqlalchemy import select, update

from quarantine.domain.outcome import Lane
from quarantine.errors import NotFound
from quarantine.services import attempts, verdict_listing
from quarantine.services.question import parse_loop_end
from quarantine.store.engine import writing
from quarantine.store.tables import AUDIT
from tests.scenarios.asking import BASE, ask, settle, suite
from tests.world import World, commit, sender, tree


def end(world: World, ticket: str, how: str, number: int, verdict: str | None = None) -> None:
    """Note how the loop on a ticket ended."""
    told = f'{{"schema": 1, "ticket": "{ticket}", "end": "{how}", "attempts": {number}, "sentence": "So.", '
    told += f'"verdict": {"null" if verdict is None else chr(34) + verdict + chr(34)}}}'
    attempts.note_end(world.app, world.project, sender(Lane.AGENT, change=ticket), parse_loop_end(told.encode()))


def attempt(
    world: World, ticket: str, number: int | None, *runs: dict[str, str], build: str = "", **question: Any
) -> dict[str, Any]:
    """Play one attempt: the run that is judged, then its reruns."""
    stated = {"question": {"attempt": number, "tokens": 100, "cost": 0.25, "runner_s": 2.0} | question}
    build = build or f"{ticket}-{number}"
    verdict = ask(world, build, runs[0], change=ticket, **stated)
    if len(runs) == 1:
        return verdict
    return settle(world, verdict, build, head=runs[1:], base=[suite()], change=ticket, note={"runner_s": 3.0})


@pytest.fixture
def told(world: World) -> World:
    """Play four tickets: solved at once, solved on the third attempt, solved in spite of flakes, and never."""
    world.send(BASE, suite(t9="F"), said="always")
    attempt(world, "A", 1, suite())
    end(world, "A", "accepted", 1, "1")
    attempt(world, "B", 1, suite(t1="F"), suite(t1="F"))
    attempt(world, "B", 2, suite(t1="F"), suite(t1="F"))
    attempt(world, "B", 3, suite())
    end(world, "B", "accepted", 3)
    attempt(world, "C", 1, suite(t2="F"), suite())
    end(world, "C", "accepted", 1)
    attempt(world, "D", 1, suite(t3="F"), can_rerun=False)
    verdict = ask(world, "D-2", suite(t4="F"), change="D", question={"attempt": 2})
    world.answer(verdict, "D-2", suite(), change="D", exit_code=0)
    return world


def test_the_share_solved_on_attempt_k(told: World) -> None:
    """With our verdicts, and as a plain harness would have had it; loops that said nothing are unfinished."""
    summary = attempts.summary(told.app, told.project)
    assert summary["tickets"] == 4
    assert summary["ends"] == {"accepted": 3, "exhausted": 0, "inconclusive": 0, "suspect": 0, "unfinished": 1}
    assert [(row["on"], row["share"]) for row in summary["solved"]] == [(2, 0.5), (0, 0.5), (1, 0.75)]
    assert [(row["on"], row["share"]) for row in summary["plain"]] == [(1, 0.25), (0, 0.25), (1, 0.5)]


def test_what_it_cost_and_what_was_prevented(told: World) -> None:
    """Seconds of every run, tokens and cost once an attempt, rejections prevented, attempts wasted by flakes."""
    summary = attempts.summary(told.app, told.project)
    [ticket] = attempts.summary(told.app, told.project, ticket="C")["by_ticket"]
    reruns = ticket["runner_s"] - 2.0
    assert reruns > 0
    assert reruns % 3.0 == 0
    assert (summary["tokens"], summary["cost"]) == (600, 1.5)
    assert summary["prevented"] == {"failures": 1, "rejections": 1}
    assert summary["wasted_by_flakes"] == 2
    assert {row["ticket"]: row["wasted_by_flakes"] for row in summary["by_ticket"]} == {"A": 0, "B": 0, "C": 1, "D": 1}
    assert (ticket["solved_on"], ticket["plainly_solved_on"], ticket["end"]) == (1, None, "accepted")


def test_a_ticket_is_solved_when_the_whole_suite_agrees(world: World) -> None:
    """An attempt has several verdicts; one that rejects spoils it, and its tokens count once."""
    world.send(BASE, suite())
    attempt(world, "A", 1, suite())
    question = {"attempt": 1, "tokens": 100, "can_rerun": False}
    ask(world, "full", suite(t1="F"), change="A", question=question, complete=True)
    summary = attempts.summary(world.app, world.project)
    assert summary["solved"] == [{"attempt": 1, "on": 0, "share": 0.0}]
    assert summary["tokens"] == 100


def test_an_end_said_again_overwrites_the_first(world: World) -> None:
    """A ticket taken up again has one end; a verdict that nobody gave is refused."""
    end(world, "A", "exhausted", 4)
    end(world, "A", "accepted", 2)
    [ticket] = attempts.summary(world.app, world.project)["by_ticket"]
    assert (ticket["end"], ticket["attempts"], ticket["solved_on"]) == ("accepted", 2, None)
    with pytest.raises(NotFound):
        end(world, "A", "accepted", 2, "99")


def test_a_ticket_taken_up_again_is_what_its_last_loop_made_of_it(world: World) -> None:
    """The attempts of two loops are not one because of their numbers; what both spent is counted."""
    world.send(BASE, suite())
    attempt(world, "A", 1, suite(t1="F"), suite(t1="F"))
    end(world, "A", "inconclusive", 1)
    [first] = attempts.summary(world.app, world.project)["by_ticket"]
    assert (first["end"], first["loops"], first["solved_on"]) == ("inconclusive", 1, None)
    attempt(world, "A", 1, suite(), build="again")
    [meanwhile] = attempts.summary(world.app, world.project)["by_ticket"]
    assert (meanwhile["end"], meanwhile["loops"]) == (None, 2)
    end(world, "A", "accepted", 1)
    end(world, "A", "accepted", 1)
    summary = attempts.summary(world.app, world.project)
    [ticket] = summary["by_ticket"]
    assert (ticket["end"], ticket["loops"], ticket["attempts"], ticket["solved_on"]) == ("accepted", 2, 1, 1)
    assert (ticket["verdicts"], ticket["last_loop"]) == (["1", "2"], ["2"])
    assert summary["solved"] == [{"attempt": 1, "on": 1, "share": 1.0}]
    [shown] = verdict_listing.tickets(world.app, world.project)["newest"]
    assert [(number, [one["number"] for one in of]) for number, of in shown["verdicts"].items()] == [(1, [2])]
    assert (summary["ends"]["accepted"], summary["tokens"], ticket["cost"]) == (1, 200, 0.5)
    end(world, "A", "inconclusive", 0)
    [ticket] = attempts.summary(world.app, world.project)["by_ticket"]
    assert (ticket["end"], ticket["loops"], ticket["solved_on"], ticket["last_loop"]) == ("inconclusive", 3, None, [])


def test_a_lower_number_begins_a_new_loop(world: World) -> None:
    """The one before it may have died without a word; a verdict without a number goes on with what there is."""
    world.send(BASE, suite())
    for build, number in (("one", 1), ("two", 2), ("one again", 1), ("without", None)):
        attempt(world, "A", number, suite(), build=build)
    [ticket] = attempts.summary(world.app, world.project)["by_ticket"]
    assert (ticket["loops"], ticket["attempts"], ticket["last_loop"]) == (2, 1, ["3", "4"])


def test_an_end_noted_before_loops_were_told_apart_is_placed_by_the_clock(world: World) -> None:
    """What was asked after it belongs to the next loop."""
    world.send(BASE, suite())
    attempt(world, "A", 1, suite(t1="F"), suite(t1="F"))
    end(world, "A", "exhausted", 1)
    with writing(world.app.engine) as connection:
        [noted] = connection.execute(select(AUDIT.c.detail).where(AUDIT.c.action == "loop-end")).scalars()
        older = {name: value for name, value in noted.items() if name != "after"}
        connection.execute(update(AUDIT).where(AUDIT.c.action == "loop-end").values(detail=older))
    world.wait(hours=1)
    attempt(world, "A", 1, suite(), build="again")
    end(world, "A", "accepted", 1)
    [ticket] = attempts.summary(world.app, world.project)["by_ticket"]
    assert (ticket["end"], ticket["loops"], ticket["last_loop"]) == ("accepted", 2, ["2"])


def test_a_project_without_attempts_says_so(world: World) -> None:
    """Nothing is divided by nothing; verdicts without a ticket are no attempts."""
    world.send(BASE, suite())
    ask(world, "head", suite(), lane=Lane.REVIEW, change="PR-1", tree=tree("x"), commit=commit("x"))
    summary = attempts.summary(world.app, world.project)
    assert (summary["tickets"], summary["solved"], summary["plain"]) == (0, [], [])
