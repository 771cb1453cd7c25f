"""Loops on tickets, played: verdicts of every kind, and how the loops ended."""

import json
from typing import Any

from quarantine.domain.outcome import Lane
from quarantine.services import attempts
from quarantine.services.question import parse_loop_end
from tests.scenarios.asking import BASE, ask, settle, suite
from tests.world import World, commit, sender, tree

COMMAND = "python -m pytest -q"
SAID = "assert Decimal('19.98') == Decimal('20.00')"


def end(world: World, ticket: str, how: str, number: int, sentence: str = "So it ended.") -> None:
    """Note how the loop on a ticket ended."""
    told = {"schema": 1, "ticket": ticket, "end": how, "attempts": number, "sentence": sentence}
    bearer = sender(Lane.AGENT, change=ticket)
    attempts.note_end(world.app, world.project, bearer, parse_loop_end(json.dumps(told).encode()))


def attempt(world: World, ticket: str, number: int, run: dict[str, str]) -> dict[str, Any]:
    """Ask for the verdict on one attempt, an hour after what came before."""
    world.wait(hours=1)
    spent = {"attempt": number, "tokens": 8_000, "cost": 0.5, "runner_s": 61.0, "patch": tree(f"{ticket} {number}")}
    return ask(world, f"{ticket}-{number}", run, change=ticket, said=SAID, command=COMMAND, question=spent)


def play_loops(world: World) -> None:
    """Play four loops; their verdicts, in order, are numbered as said here.

    - T-1: 1 rejects t1 and t2, 2 accepts in spite of t3, which flakes here and on the base; accepted.
    - T-2: 3 rejects, an attempt at which nothing was run, 4 rejects; exhausted.
    - T-3: 5 is suspect, for its canary is in no report; suspect.
    - T-4: 6 is inconclusive and not final, 7 found no report; it has not said how it ended.
    """
    told: dict[str, Any] = {"said": SAID, "command": COMMAND}
    world.send(BASE, suite())
    verdict = attempt(world, "T-1", 1, suite(t1="F", t2="F"))
    settle(world, verdict, "T-1-1", head=[suite(t1="F", t2="F")], change="T-1", **told)
    verdict = attempt(world, "T-1", 2, suite(t3="F"))
    verdict = world.answer(verdict, "T-1-2", suite(), change="T-1", exit_code=0, command=COMMAND)
    base: dict[str, Any] = {"tree": tree(BASE), "commit": commit(BASE)}
    verdict = world.answer(verdict, "T-1-2", suite(t3="F"), number=2, change="T-1", exit_code=1, **base, **told)
    assert verdict["verdict"] == "accept"
    end(world, "T-1", "accepted", 2, "Accepted on attempt 2.")
    for number in (1, 3):
        verdict = attempt(world, "T-2", number, suite(t5="F"))
        settle(world, verdict, f"T-2-{number}", head=[suite(t5="F")], change="T-2", **told)
    end(world, "T-2", "exhausted", 3, "Three attempts, and none of them was accepted.")
    world.wait(hours=1)
    canary = {"attempt": 1, "canary": {"name": "test_zz", "exit_code": 1}}
    ask(world, "T-3-1", suite(), change="T-3", question=canary)
    end(world, "T-3", "suspect", 1)
    verdict = attempt(world, "T-4", 1, suite(t6="F", t7="F"))
    world.answer(verdict, "T-4-1", suite(t7="F"), change="T-4", exit_code=1, **told)
    world.wait(hours=1)
    world.ask("T-4-2", change="T-4", exit_code=139, question={"attempt": 2, "base_commit": commit(BASE)})
    world.wait(hours=3)
