"""What pages ask of verdicts, on either database."""

import pytest

from quarantine.errors import NotFound
from quarantine.services import verdict_listing
from tests.scenarios.asking import BASE, ask, settle, stored, suite
from tests.web.loops import attempt, end
from tests.world import World


@pytest.fixture
def based(world: World) -> World:
    """Return a project whose trunk ran the base, and every test passed."""
    world.send(BASE, suite())
    world.wait(hours=1)
    return world


def test_a_verdict_comes_with_the_runs_that_were_made_for_it(based: World) -> None:
    """The judged build first, then its reruns, with their counts; and what was stored of the question."""
    verdict = settle(based, ask(based, "head", suite(t1="F")), "head", head=[suite(t1="F")])
    told = verdict_listing.evidence(based.app, based.project, verdict["id"])
    assert told["answer"] == stored(based, verdict)["answer"]
    assert [(run["build"], run["side"], run["passed"], run["failed"]) for run in told["runs"]] == [
        ("head", "head", 19, 1), ("head-rerun-1", "head", 19, 1), ("head-rerun-2", "head", 19, 1),
    ]  # fmt: skip
    assert (told["build"]["build"], told["ticket"], told["key"]) == ("head", "ticket-1", verdict["key"])


@pytest.mark.parametrize("number", ["2", "0", "x", "", "9" * 30, "1\n"])
def test_a_verdict_that_nobody_gave_is_not_found(based: World, number: str) -> None:
    """Whatever is asked for, however long the number."""
    ask(based, "head", suite())
    with pytest.raises(NotFound, match="ledger has no verdict"):
        verdict_listing.evidence(based.app, based.project, number)


def test_the_newest_verdicts_are_a_bounded_list(based: World) -> None:
    """The newest first, with the names of their builds."""
    for number in range(verdict_listing.LATEST + 2):
        ask(based, f"head-{number}", suite())
    told = verdict_listing.latest(based.app, based.project)
    assert [row["build"] for row in told] == [f"head-{number}" for number in range(verdict_listing.LATEST + 1, 1, -1)]
    assert {row["outcome"] for row in told} == {"accept"}


def test_the_tickets_heard_of_last_come_first(based: World) -> None:
    """A ticket is heard of when a verdict is asked for it and when its loop ends, with verdicts or without."""
    attempt(based, "A", 1, suite())
    attempt(based, "B", 1, suite(t1="F"))
    ask(based, "B-full", suite(), change="B", question={})
    attempt(based, "B", 3, suite())
    based.wait(hours=1)
    end(based, "C", "exhausted", 2)
    based.wait(hours=1)
    end(based, "A", "accepted", 1)
    told = verdict_listing.tickets(based.app, based.project)
    assert [row["ticket"] for row in told["newest"]] == ["A", "C", "B"]
    assert [row["at"][11:16] for row in told["newest"]] == ["15:00", "14:00", "13:00"]
    by_ticket = {row["ticket"]: row["verdicts"] for row in told["newest"]}
    assert by_ticket["C"] == {}
    assert {number: [one["number"] for one in several] for number, several in by_ticket["B"].items()} == {
        1: [2, 3], 3: [4],
    }  # fmt: skip
    [alone] = verdict_listing.tickets(based.app, based.project, ticket="B")["newest"]
    assert alone == told["newest"][2]
    assert verdict_listing.tickets(based.app, based.project, ticket="D")["newest"] == []
    with pytest.raises(NotFound):
        verdict_listing.tickets(based.app, based.project, ticket="A\0")


def test_only_so_many_tickets_are_listed(based: World) -> None:
    """The others are counted, and in the answer to `GET attempts`."""
    for number in range(verdict_listing.TICKETS_SHOWN + 3):
        end(based, f"T-{number}", "exhausted", 1)
        based.wait(minutes=1)
    told = verdict_listing.tickets(based.app, based.project)
    assert (told["tickets"], len(told["newest"])) == (verdict_listing.TICKETS_SHOWN + 3, verdict_listing.TICKETS_SHOWN)
    assert told["newest"][0]["ticket"] == f"T-{verdict_listing.TICKETS_SHOWN + 2}"
