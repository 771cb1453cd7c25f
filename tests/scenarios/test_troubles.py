"""Troubles of the daemon itself: told once, in one thread each, and said to be over when they are."""

from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import pytest

from quarantine.daemon import people
from quarantine.daemon.spool import Spool
from quarantine.daemon.watching import Watch
from quarantine.domain.outcome import Lane
from quarantine.errors import BadReport, Busy
from quarantine.policy.troubles import Trouble
from quarantine.services import news, overview, troubles
from quarantine.services.deliver import deliver
from quarantine.services.people import People, ProjectPeople
from quarantine.slack.fake import FakeSlack
from quarantine.store import outbox, projects
from quarantine.store.engine import writing
from quarantine.store.outbox import Form
from tests.channels import HERE, THERE, connect
from tests.world import World

GREEN = {"t1": "P"}


@pytest.fixture
def told(world: World, slack: FakeSlack) -> World:
    """Return a project whose trunk reports twice a day, and whose people hear of trouble."""
    connect(world, slack)
    world.app.people = People(projects={world.project: ProjectPeople(channel=HERE)}, address="https://q.example")
    news.begin(world.app, world.project)
    for number in range(12):
        world.send(f"b{number}", GREEN)
        world.wait(hours=12)
    return world


def look(world: World, seen: troubles.Seen | None = None) -> bool:
    """Look for trouble as a daemon does, and deliver."""
    changed = troubles.look(world.app, world.project, seen or {})
    deliver(world.app, by="one")
    return changed


def standing(world: World) -> list[str]:
    """Return the titles of the troubles that the project's page shows."""
    return [one["title"] for one in overview.overview(world.app, world.project)["needs"]["troubles"]]


def test_silence_is_told_once_and_is_over_when_a_report_comes(told: World, slack: FakeSlack) -> None:
    """One message however often daemons look; then it is written anew and followed up in its thread."""
    assert not look(told)
    told.wait(days=2, hours=1)
    assert [look(told) for _ in range(5)] == [True, False, False, False, False]
    [first] = slack.messages[HERE]
    assert "no report from trunk" in first["text"]
    assert standing(told) == ["no report from trunk"]
    told.wait(days=3)
    assert not look(told)
    told.send("back", GREEN)
    look(told)
    assert standing(told) == []
    assert len(slack.messages[HERE]) == 1
    told.wait(hours=1)
    assert [look(told) for _ in range(3)] == [True, False, False]
    first, reply = slack.messages[HERE]
    assert reply["thread_ts"] == first["ts"]
    assert "over: no report from trunk" in first["text"]


def test_several_daemons_say_it_once(told: World, slack: FakeSlack) -> None:
    """What stands is stored with the message, so another daemon, or this one after a restart, finds it told."""
    told.wait(days=3)
    for daemon in range(3):
        troubles.look(told.app, told.project, {})
        deliver(told.app, by=f"daemon {daemon}")
    assert len(slack.messages[HERE]) == 1


def test_reports_that_cannot_be_read_are_told_after_three(told: World, slack: FakeSlack) -> None:
    """In a row, and from trunk: what a branch or an agent sends is its own affair. A good report ends it."""

    def refuse(number: int, lane: Lane = Lane.TRUNK) -> None:
        with pytest.raises(BadReport):
            told.send(f"bad-{number}", b"<html>" + str(number).encode(), lane=lane)
        told.wait(minutes=5)

    refuse(1)
    refuse(2)
    assert not look(told)
    refuse(3)
    assert look(told)
    assert "reports from trunk cannot be read" in slack.messages[HERE][0]["text"]
    told.wait(days=8)
    with writing(told.app.engine) as connection:
        connection.exec_driver_sql("DELETE FROM refused_report")
    look(told)
    assert "reports from trunk cannot be read" in standing(told)
    told.send("good", GREEN)
    look(told)
    assert standing(told) == []


def test_a_trouble_that_comes_and_goes_is_one(told: World, slack: FakeSlack) -> None:
    """It is over once it has not been seen for an hour."""
    trouble = Trouble("job:escalation@host", "its work 'escalation' keeps failing", "It said no.", "Read the log.")
    for _ in range(6):
        look(told, {trouble.code: trouble})
        told.wait(minutes=10)
        look(told, {trouble.code: None})
        told.wait(minutes=10)
    assert len(slack.messages[HERE]) == 1
    look(told)
    told.wait(hours=2)
    look(told)
    assert len(slack.messages[HERE]) == 1  # nobody said that it is fine
    look(told, {trouble.code: None})
    assert len(slack.messages[HERE]) == 2
    look(told, {trouble.code: trouble})
    assert len({message.get("thread_ts", message["ts"]) for message in slack.messages[HERE]}) == 2


def test_work_that_keeps_failing_is_seen(told: World, slack: FakeSlack) -> None:
    """By the daemon that does it, which goes on; its own words are told, those of others are not."""
    watch = Watch(told.app, host="host-1")

    def busy() -> NoReturn:
        raise Busy("The database is locked.", mend="Try again.")

    def crash() -> NoReturn:
        raise ArithmeticError("postgres://user:secret@host")

    for _ in range(3):
        watch.run("escalation", busy)
        watch.run("weekly reports", crash)
        watch.run("messages", lambda: None)
        people.look_for_trouble(told.app, watch, [])
        told.wait(minutes=4)
    assert standing(told) == []
    people.look_for_trouble(told.app, watch, [])
    deliver(told.app, by="one")
    assert sorted(standing(told)) == ["its work 'escalation' keeps failing", "its work 'weekly reports' keeps failing"]
    said = str(slack.messages[HERE])
    assert "The database is locked." in said
    assert "ArithmeticError" in said
    assert "secret" not in said
    people.look_for_trouble(told.app, Watch(told.app, host="host-2"), [])
    assert len(standing(told)) == 2  # another machine cannot tell
    watch.run("escalation", lambda: None)
    for _ in range(2):  # one more, for what ended before everybody could be told
        people.look_for_trouble(told.app, watch, [])
    assert standing(told) == ["its work 'weekly reports' keeps failing"]


def test_what_could_not_be_written_down_is_told_afterwards(told: World, slack: FakeSlack) -> None:
    """While the database takes no writes nobody can be told; once it does they are, though all is well again."""
    watch = Watch(told.app, host="host-1")

    def full() -> NoReturn:
        raise Busy("The disk is full.", mend="Make room.")

    with writing(told.app.engine) as blocking:  # SQLite lets nobody else write by this alone
        if blocking.dialect.name == "postgresql":
            blocking.exec_driver_sql("LOCK TABLE told IN SHARE ROW EXCLUSIVE MODE")
        for _ in range(4):
            watch.run("housekeeping", full)
            told.wait(minutes=4)
        watch.run("housekeeping", lambda: None)
        people.look_for_trouble(told.app, watch, [])
    assert standing(told) == []
    people.look_for_trouble(told.app, watch, [])
    people.look_for_trouble(told.app, watch, [])
    deliver(told.app, by="one")
    [message] = slack.messages[HERE]
    assert "The disk is full." in str(message)
    assert standing(told) == []  # it is fine by now
    told.wait(hours=1)
    people.look_for_trouble(told.app, watch, [])
    deliver(told.app, by="one")
    assert "over: its work 'housekeeping' keeps failing" in slack.messages[HERE][0]["text"]


def test_a_spool_that_refuses_everything_is_seen(told: World, tmp_path: Path) -> None:
    """From what lies in the folder, so a restart forgets nothing; an entry that is stored ends it."""
    spool = Spool(told.app, tmp_path / "unit", told.project, Lane.TRUNK)
    spool.prepare()
    for number in range(3):
        assert spool.seen() in ({}, {"spool:unit": None})
        (spool.directory / f"e{number}").mkdir()
        spool.drain()
    people.look_for_trouble(told.app, Watch(told.app), [spool])
    assert standing(told) == ["the spool unit refuses what comes in"]
    entry = tmp_path / "good"
    entry.mkdir()
    (entry / "build.json").write_text('{"schema": 1, "build": "s", "job": "unit", "exit_code": 1}', encoding="utf-8")
    entry.rename(spool.directory / "good")
    spool.drain()
    assert spool.seen() == {"spool:unit": None}
    people.look_for_trouble(told.app, Watch(told.app), [])
    assert standing(told) == ["the spool unit refuses what comes in"]
    people.look_for_trouble(told.app, Watch(told.app), [spool])
    assert standing(told) == []


def test_a_channel_that_nothing_reaches_is_told_in_the_projects_own(told: World, slack: FakeSlack) -> None:
    """With what to do about it; the project's own channel could not be told of itself."""
    with writing(told.app.engine) as connection:
        project = projects.by_slug(connection, told.project, lock=True)
        for number, channel in enumerate([THERE, HERE]):
            key, now = f"k{number}", told.clock()
            outbox.put(
                connection, project.id, key=key, channel=channel, form=Form.POST, content={}, thread=key, now=now,
                due_at=now,
            )  # fmt: skip
            letter = outbox.claim(connection, project.id, channel, told.clock(), by="d", forsaken=timedelta(hours=1))
            assert letter is not None
            outbox.parked(connection, letter, by="d", code="not_in_channel", error="Invite the app to the channel.")
    look(told)
    assert standing(told) == [f"1 message cannot reach {THERE}"]
    assert "Invite the app to the channel." in str(slack.messages[HERE])
    with writing(told.app.engine) as connection:
        outbox.release_parked(connection, project.id, THERE, told.clock())
    look(told)
    assert standing(told) == []


def test_a_project_without_a_channel_shows_it_on_its_page(told: World, slack: FakeSlack) -> None:
    """And says nothing."""
    told.app.people = People()
    told.wait(days=3)
    assert look(told)
    assert standing(told) == ["no report from trunk"]
    assert HERE not in slack.messages
