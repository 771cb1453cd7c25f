"""Escalation on the whole product: whose test it is, what is said, what an answer does, and that each step is once."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest

from quarantine.daemon import people
from quarantine.domain.notice import Action, Notice
from quarantine.errors import BadInput, Conflict, NotAllowed
from quarantine.services import aliases, decisions
from quarantine.services.access import of_slack
from quarantine.services.answering import answer
from quarantine.services.deliver import deliver
from quarantine.services.escalate import escalate
from quarantine.services.people import People, ProjectPeople
from quarantine.slack.fake import FakeSlack
from quarantine.slack.sending import Webhook
from quarantine.store import audit, projects
from quarantine.store.engine import reading, writing
from quarantine.store.people_tables import THREAD
from quarantine.store.tables import STANDING
from tests.channels import HERE, connect
from tests.channels import THERE as MAIL
from tests.world import CLASSNAME, OWNER, World, junit, sender

OWNERS = {"path": "CODEOWNERS", "text": "* @acme/ledger\n/tests/test_ledger.py @acme/mail @alice\n"}
SUITE = [f"t{number}" for number in range(8)]
MEMBER = of_slack("U0BOB", "bob", is_admin=False)
ADMIN = of_slack("U0EVE", "eve", is_admin=True)


@pytest.fixture
def ledger(world: World, slack: FakeSlack) -> World:
    """Return an enforcing project with owners, of which one is mapped to a channel."""
    connect(world, slack)
    ledger = ProjectPeople(channel=HERE, owners={"@acme/mail": MAIL})
    world.app.people = People(projects={world.project: ledger}, address="https://q.example")
    world.send("first", dict.fromkeys(SUITE, "P"), owners=OWNERS)
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    return world


def quarantined(world: World, *names: str) -> None:
    """Quarantine tests by hand and forget when that ends, so that they stay."""
    for name in names:
        decisions.quarantine(world.app, world.project, name, bearer=OWNER, reason="the sandbox is down", days=30)
    with writing(world.app.engine) as connection:
        connection.execute(STANDING.update().values(expires_at=None))


def step(world: World) -> int:
    found = escalate(world.app, world.project)
    deliver(world.app, by="one")
    return found


def said(world: World) -> list[Notice]:
    with reading(world.app.engine) as connection:
        rows = connection.execute(THREAD.select().order_by(THREAD.c.opened_at, THREAD.c.id)).mappings().all()
    return [Notice.from_json(row["content"]["notice"]) for row in rows if row["kind"] == "escalation"]


def facts(notice: Notice) -> dict[str, str]:
    return dict(notice.sections[0].facts)


def test_the_owner_is_told_after_thirty_days_with_all_there_is_to_know(ledger: World, slack: FakeSlack) -> None:
    """In the owner's channel: how long, what it hid, what would release it, and the answers that can be given."""
    quarantined(ledger, "t1")
    ledger.wait(days=10)
    ledger.send("second", dict.fromkeys(SUITE, "P") | {"t1": "F"})
    ledger.wait(days=19, hours=23)
    assert step(ledger) == 0
    ledger.wait(hours=2)
    assert step(ledger) == 1
    [message] = slack.messages[MAIL]
    assert HERE not in slack.messages
    [notice] = said(ledger)
    assert notice.title == "ledger: 1 test of @acme/mail and @alice in quarantine, 30 of the last 90 days"
    assert facts(notice)["has hidden"] == "1 failed trunk run"
    assert "more clean" in facts(notice)["leaves after"]
    assert notice.sections[0].tests[0].name == f"{CLASSNAME}::t1"
    assert "No setting says how @alice can be reached in Slack." in " ".join(notice.small)
    buttons = [
        element["action_id"]
        for block in message["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
    ]
    assert buttons == [f"quarantine:{action.value}" for action in Action]


def test_a_rename_resets_no_clock_and_asks_the_owner_of_the_new_place(ledger: World, slack: FakeSlack) -> None:
    """The days before it count; who is told, and by which name, goes by where the test lies now."""
    quarantined(ledger, "t1")
    ledger.wait(days=20)
    ledger.send("moved", dict.fromkeys(SUITE[2:], "P"), junit({"t1": "P"}, classname="tests.test_money"))
    aliases.alias(ledger.app, ledger.project, f"{CLASSNAME}::t1", "tests.test_money::t1", bearer=OWNER, reason="moved")
    ledger.wait(days=9, hours=23)
    assert step(ledger) == 0
    ledger.wait(hours=2)
    assert step(ledger) == 1
    assert len(slack.messages[HERE]) == 1
    [notice] = said(ledger)
    assert notice.title == "ledger: 1 test of @acme/ledger in quarantine, 30 of the last 90 days"
    assert notice.sections[0].tests[0].name == "tests.test_money::t1"
    assert facts(notice)["formerly"] == f"{CLASSNAME}::t1"


def test_a_step_is_taken_once_and_again_a_week_later(ledger: World, slack: FakeSlack) -> None:
    """However often the ladder is walked."""
    quarantined(ledger, "t1")
    ledger.wait(days=31)
    assert [step(ledger) for _ in range(3)] == [1, 0, 0]
    ledger.wait(days=6)
    assert step(ledger) == 0
    ledger.wait(days=1)
    assert step(ledger) == 1
    assert len(slack.messages[MAIL]) == 2


def test_what_falls_due_later_on_the_same_day_hides_nothing(ledger: World, slack: FakeSlack) -> None:
    """A second walk of the ladder has a message of its own; the first one goes on saying what it said."""
    quarantined(ledger, "t1")
    ledger.wait(hours=3)
    quarantined(ledger, "t2")
    ledger.wait(days=29, hours=22)
    assert step(ledger) == 1
    ledger.wait(hours=3)
    assert step(ledger) == 1
    told = [notice.sections[0].tests[0].name for notice in said(ledger)]
    assert told == [f"{CLASSNAME}::t1", f"{CLASSNAME}::t2"]
    assert len(slack.messages[MAIL]) == 2


def test_the_daemon_walks_the_ladder_once_a_day(ledger: World) -> None:
    """Whatever falls due on a day is told in one message, by whichever daemon walks first."""
    quarantined(ledger, "t1")
    ledger.wait(hours=3)
    quarantined(ledger, "t2")
    ledger.wait(days=29, hours=22)
    people.walk_ladders(ledger.app)
    ledger.wait(hours=3)
    people.walk_ladders(ledger.app)
    assert [len(notice.sections) for notice in said(ledger)] == [1]
    ledger.wait(days=1)
    people.walk_ladders(ledger.app)
    people.walk_ladders(ledger.app)
    assert [notice.sections[0].tests[0].name for notice in said(ledger)] == [f"{CLASSNAME}::t1", f"{CLASSNAME}::t2"]


def test_many_tests_of_one_owner_are_one_message(ledger: World, slack: FakeSlack) -> None:
    """One message an owner and day; it tells of the first few and counts the others."""
    quarantined(ledger, *SUITE)
    ledger.wait(days=31)
    assert step(ledger) == len(SUITE)
    assert len(slack.messages[MAIL]) == 1
    [notice] = said(ledger)
    assert notice.sections[-1].left_out == 2


def links(message: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (label, address) of every link of a message."""
    parts = [part for block in message["blocks"] for part in _elements(block) if part.get("type") == "link"]
    return [(part["text"], part["url"]) for part in parts]


def _elements(block: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield block
    for part in block.get("elements", ()):
        yield from _elements(part)


def test_a_webhook_brings_links_that_do_the_same(ledger: World, slack: FakeSlack) -> None:
    """Where no button can be had each answer is a link to its form; without an address there is none."""
    quarantined(ledger, "t1")
    ledger.wait(days=31)
    step(ledger)
    [with_buttons] = slack.messages[MAIL]
    assert not [one for one in links(with_buttons) if "answer=" in one[1]]
    ledger.app.slack = Webhook(f"{slack.address}/services/T/B/x", ledger.clock, timeout_s=1)
    ledger.wait(days=8)
    step(ledger)
    at = f"https://q.example/projects/ledger/tests/{quote(ledger.explain('t1')['test'])}"
    assert [one for one in links(slack.messages["WEBHOOK"][-1]) if "answer=" in one[1]] == [
        ("Seen it", f"{at}?answer=acknowledge#answer"),
        ("Snooze", f"{at}?answer=snooze#answer"),
        ("I own it", f"{at}?answer=own#answer"),
        ("Let it gate", f"{at}?answer=release#answer"),
    ]
    assert "actions" not in {block["type"] for block in slack.messages["WEBHOOK"][-1]["blocks"]}
    ledger.app.people = replace(ledger.app.people, address="")
    ledger.wait(days=8)
    step(ledger)
    assert links(slack.messages["WEBHOOK"][-1]) == []
    assert len(slack.messages["WEBHOOK"]) == 2


def test_what_nobody_owns_goes_to_the_projects_channel_and_says_so(world: World, slack: FakeSlack) -> None:
    """Without a CODEOWNERS file on trunk there is no owner, and that is said."""
    connect(world, slack)
    world.app.people = People(projects={world.project: ProjectPeople(channel=HERE)})
    world.send("first", dict.fromkeys(SUITE, "P"))
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    quarantined(world, "t1")
    world.wait(days=31)
    assert step(world) == 1
    assert "of nobody in quarantine" in slack.texts(HERE)[0]
    assert "never sent a CODEOWNERS file" in said(world)[0].small[0]


def test_time_spent_observing_is_not_time_out(ledger: World) -> None:
    """While it observed the test gated."""
    quarantined(ledger, "t1")
    ledger.wait(days=20)
    decisions.set_mode(ledger.app, ledger.project, "observe", bearer=OWNER)
    ledger.wait(days=20)
    assert step(ledger) == 0
    decisions.set_mode(ledger.app, ledger.project, "enforce", bearer=OWNER)
    ledger.wait(days=9)
    assert step(ledger) == 0
    ledger.wait(days=1, minutes=1)
    assert step(ledger) == 1


def test_an_answer_is_kept_audited_and_heeded(ledger: World) -> None:
    """Whose it is until a date; then it is back, as something to decide and in the fallback channel too."""
    quarantined(ledger, "t1")
    ledger.wait(days=31)
    step(ledger)
    told = answer(ledger.app, ledger.project, "t1", Action.OWN, bearer=MEMBER, days=20, reason="new host on Monday")
    assert "is yours until" in told["sentence"]
    with reading(ledger.app.engine) as connection:
        project = projects.by_slug(connection, ledger.project)
        [row] = audit.of_action(connection, project.id, "own")
    assert row["actor"] == "slack bob (U0BOB)"
    ledger.wait(days=19, hours=23)
    assert step(ledger) == 0
    ledger.wait(hours=2)
    assert step(ledger) == 1
    notice = said(ledger)[-1]
    assert "Either delete the test, or let it gate again." in notice.lead
    assert facts(notice)["was answered for by"] == "slack bob (U0BOB)"
    assert facts(notice)["level"] == "2"
    assert notice.sections[0].text[0].startswith("Delete it: ")


def test_only_an_admin_releases_and_no_reporter_answers(ledger: World) -> None:
    """A member may answer; a release is an admin's; an agent's token may do neither."""
    quarantined(ledger, "t1")
    give: dict[str, Any] = {"reason": "mended", "days": 3}
    for bearer, actions in ((sender(), Action), (MEMBER, [Action.RELEASE])):
        for action in actions:
            with pytest.raises(NotAllowed):
                answer(ledger.app, ledger.project, "t1", action, bearer=bearer, **give)
    assert "gates again" in answer(ledger.app, ledger.project, "t1", Action.RELEASE, bearer=ADMIN, **give)["sentence"]


def test_an_answer_that_makes_no_sense_says_why(ledger: World) -> None:
    """No reason, no days, too many days, and a test that gates."""
    quarantined(ledger, "t1")
    for action, given in (
        (Action.SNOOZE, {"days": 3.0}),
        (Action.SNOOZE, {"reason": "x"}),
        (Action.OWN, {"days": 1e9}),
    ):
        with pytest.raises(BadInput):
            answer(ledger.app, ledger.project, "t1", action, bearer=MEMBER, **given)
    with pytest.raises(Conflict, match="nothing to answer"):
        answer(ledger.app, ledger.project, "t2", Action.ACKNOWLEDGE, bearer=MEMBER)
