"""What can be done about a test is what the services then do, and a possible regression is answered once."""

from typing import Any

import pytest

from quarantine.domain.notice import Action
from quarantine.domain.outcome import Status
from quarantine.errors import BadInput, Conflict, NotAllowed, NotFound
from quarantine.services import decisions, naming, raising
from quarantine.services.access import of_slack
from quarantine.services.answering import answer
from quarantine.services.choices import Choices, choices
from quarantine.services.raising import Was
from quarantine.store import audit, projects, raised
from quarantine.store.engine import reading, writing
from tests.world import OWNER, World, sender

MEMBER = of_slack("U0BOB", "bob", is_admin=False)


@pytest.fixture
def ledger(world: World) -> World:
    """Return an enforcing project in which t1 has been quarantined by hand for a day."""
    world.send("first", {"t1": "P", "t2": "P"})
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    decisions.quarantine(world.app, world.project, "t1", bearer=OWNER, reason="x", days=20)
    world.wait(days=1)
    return world


def of(world: World, name: str = "t1") -> Choices:
    return choices(world.app, world.project, name)


def doubt(world: World, name: str = "t1") -> int:
    """Write a possible regression down; return its number."""
    with writing(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        number = raised.newest_number(connection, project.id) + 1
        raised.note(
            connection,
            project.id,
            test=naming.find(connection, project, name)["ordinal"],
            variant_hash="0" * 16,
            verdict=number,
            build_seq=1,
            change="T-1",
            at=world.clock.now,
            sentence="It failed 4 of 4.",
        )
    return number


def test_choices_follow_what_is_done(ledger: World) -> None:
    """Each answer shows in what is possible next, and in the mark by which a page sees that things have moved on."""
    before = of(ledger)
    assert (before.statuses, before.enters, before.is_answerable) == ((Status.QUARANTINED,), 0, True)
    assert (before.snoozes_left, before.own_days, before.responsible) == (2, 30.0, "")
    assert (of(ledger, "t2").statuses, of(ledger, "t2").enters, of(ledger, "t2").is_answerable) == ((), 1, False)
    marks = [before.mark, of(ledger).mark]
    assert marks[0] == marks[1]
    answer(ledger.app, ledger.project, "t1", Action.SNOOZE, bearer=MEMBER, reason="x", days=2)
    assert of(ledger).snoozes_left == 1
    marks.append(of(ledger).mark)
    answer(ledger.app, ledger.project, "t1", Action.OWN, bearer=MEMBER, days=5)
    assert of(ledger).responsible == MEMBER.actor
    assert of(ledger).own_days == 5.0
    marks.append(of(ledger).mark)
    doubt(ledger)
    marks.append(of(ledger).mark)
    decisions.release(ledger.app, ledger.project, "t1", bearer=OWNER, reason="x")
    marks.append(of(ledger).mark)
    assert (of(ledger).enters, of(ledger).is_answerable) == (1, False)
    assert len(set(marks)) == 5


def test_a_possible_regression_is_answered_once_and_audited(ledger: World) -> None:
    """By a member as well; the answer says what it was, and the next one finds nothing open."""
    number = doubt(ledger)
    assert [one.number for one in of(ledger).doubts] == [number]
    said: dict[str, Any] = {"bearer": MEMBER, "reason": "the trace says so"}
    told = raising.answer(ledger.app, ledger.project, "t1", number, was=Was.REGRESSION, **said)
    assert told["sentence"] == "Noted. What tests.test_ledger::t1 raised was a regression."
    assert of(ledger).doubts == ()
    with pytest.raises(Conflict, match="no open possible regression 1"):
        raising.answer(ledger.app, ledger.project, "t1", number, was=Was.FLAKE, **said)
    with reading(ledger.app.engine) as connection:
        project = projects.by_slug(connection, ledger.project)
        [row] = audit.of_action(connection, project.id, "answer-regression")
        [kept] = raised.since(connection, project.id, 0)
    assert (row["actor"], row["detail"]["was"]) == (MEMBER.actor, "regression")
    assert (kept["state"], kept["closed_by"], kept["closed_why"]) == (
        "regression", MEMBER.actor, "the trace says so"
    )  # fmt: skip
    assert kept["closed_at"] == ledger.clock.now


def test_a_possible_regression_is_not_answered_by_just_anybody(ledger: World) -> None:
    """No reporter answers, nobody without a reason, nobody for another test."""
    number = doubt(ledger)
    asked = (ledger.app, ledger.project)
    with pytest.raises(NotAllowed):
        raising.answer(*asked, "t1", number, was=Was.FLAKE, bearer=sender(), reason="x")
    with pytest.raises(BadInput, match="needs a reason"):
        raising.answer(*asked, "t1", number, was=Was.FLAKE, bearer=OWNER, reason=" \n")
    with pytest.raises(Conflict):
        raising.answer(*asked, "t2", number, was=Was.FLAKE, bearer=OWNER, reason="x")
    with pytest.raises(NotFound):
        raising.answer(*asked, "t9", number, was=Was.FLAKE, bearer=OWNER, reason="x")
    assert len(of(ledger).doubts) == 1
