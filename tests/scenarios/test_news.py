"""What people are told, and how often: by cause, one message a day, kept up to date, never twice."""

from collections.abc import Iterator
from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from quarantine.domain.notice import Notice
from quarantine.domain.outcome import Lane
from quarantine.policy.calendar import QuietHours
from quarantine.services import decisions, news
from quarantine.services.deliver import deliver
from quarantine.services.people import People, ProjectPeople
from quarantine.slack.fake import FakeSlack
from quarantine.store import outbox, projects
from quarantine.store.engine import reading, writing
from quarantine.store.people_tables import THREAD
from tests.channels import HERE, connect
from tests.world import OWNER, World

SUITE = [f"t{number}" for number in range(90)]


def suite(**tries: str) -> dict[str, str]:
    return dict.fromkeys(SUITE, "P") | tries


@pytest.fixture
def told(world: World, slack: FakeSlack) -> World:
    """Return an enforcing project whose people hear of it."""
    connect(world, slack)
    world.app.people = People(projects={world.project: ProjectPeople(channel=HERE)}, address="https://q.example")
    world.send("first", suite())
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    return world


def speak(world: World) -> None:
    news.tell(world.app, world.project)
    deliver(world.app, by="one")


def by_hand(world: World, *names: str) -> None:
    for name in names:
        decisions.quarantine(world.app, world.project, name, bearer=OWNER, reason="the sandbox is down", days=9)


def notices(world: World) -> list[Notice]:
    with reading(world.app.engine) as connection:
        rows = connection.execute(THREAD.select().order_by(THREAD.c.opened_at)).mappings().all()
    return [Notice.from_json(row["content"]["notice"]) for row in rows]


def words(message: dict[str, Any]) -> str:
    """Return everything a message of Slack's shows."""

    def inside(value: Any) -> Iterator[str]:
        if isinstance(value, dict):
            for name, one in value.items():
                if isinstance(one, str) and name == "text":
                    yield one
                else:
                    yield from inside(one)
        elif isinstance(value, list):
            for one in value:
                yield from inside(one)

    return " ".join(inside(message.get("blocks", [])))


def test_a_day_with_eighty_entries_is_one_message(told: World, slack: FakeSlack) -> None:
    """However they come in, one by one or all at once; the follow-ups are in its thread."""
    for batch in range(8):
        by_hand(told, *SUITE[batch * 10 : batch * 10 + 10])
        speak(told)
        told.wait(minutes=20)
    firsts = [message for message in slack.messages[HERE] if "thread_ts" not in message]
    assert len(firsts) == 1
    assert "80 tests in quarantine" in firsts[0]["text"]
    assert len(slack.messages[HERE]) == 8
    assert len(notices(told)) == 1


def test_a_release_follows_in_the_thread_and_the_first_message_says_so(told: World, slack: FakeSlack) -> None:
    """Whoever reads only the first message knows how it stands by now."""
    by_hand(told, "t1", "t2")
    speak(told)
    told.wait(days=2)
    decisions.release(told.app, told.project, "t1", bearer=OWNER, reason="the clock is injected now")
    speak(told)
    first, reply = slack.messages[HERE]
    assert reply["thread_ts"] == first["ts"]
    assert "1 test in quarantine since 2026-01-05 and 1 test released" in first["text"]
    assert "the clock is injected now" in words(reply)


def test_a_test_that_comes_back_is_told_today_and_in_its_old_thread(told: World, slack: FakeSlack) -> None:
    """A return would go unseen if it were only told in a thread of last week."""
    by_hand(told, "t1")
    speak(told)
    told.wait(days=3)
    decisions.release(told.app, told.project, "t1", bearer=OWNER, reason="mended")
    speak(told)
    told.wait(days=3)
    by_hand(told, "t1")
    speak(told)
    firsts = [message for message in slack.messages[HERE] if "thread_ts" not in message]
    assert len(firsts) == 2
    assert "had been released before" in words(firsts[1])
    assert len([message for message in slack.messages[HERE] if message.get("thread_ts") == firsts[0]["ts"]]) == 2


def broken(world: World, *names: str) -> None:
    """Play trunk until these tests are broken."""
    run = suite(**dict.fromkeys(names, "F"))
    for number in range(3):
        build = f"red-{number}-{'-'.join(names)}"
        world.send(build, run)
        for rerun in (1, 2):
            world.rerun(build, run, number=rerun)
        world.wait(hours=1)


def test_what_broke_together_is_one_message_and_passes_again_in_its_thread(told: World, slack: FakeSlack) -> None:
    """One range of commits, one thread, whatever the number of tests."""
    broken(told, "t1", "t2", "t3", "t4")
    speak(told)
    [first] = slack.messages[HERE]
    assert "4 tests broken on trunk since commit" in first["text"]
    for number in range(3):
        told.send(f"green-{number}", suite())
        told.wait(hours=1)
    speak(told)
    first, reply = slack.messages[HERE]
    assert "trunk passes again" in first["text"]
    assert reply["thread_ts"] == first["ts"]


def test_a_project_that_observes_is_told_what_broke_and_of_no_entry(told: World, slack: FakeSlack) -> None:
    """Nothing is taken out while it observes, so nothing is said of it."""
    decisions.set_mode(told.app, told.project, "observe", bearer=OWNER)
    by_hand(told, "t9")
    broken(told, "t1")
    speak(told)
    assert [message["text"] for message in slack.messages[HERE]] == [notices(told)[0].title]
    assert "broken" in slack.messages[HERE][0]["text"]


def test_nothing_is_told_twice_and_nothing_twice_put_in(told: World, slack: FakeSlack) -> None:
    """Asked again and again, and by two daemons, there is no news in what was told."""
    by_hand(told, "t1")
    assert news.tell(told.app, told.project)
    assert not news.tell(told.app, told.project)
    for _ in range(3):
        speak(told)
    assert len(slack.messages[HERE]) == 1


def test_a_past_without_a_channel_is_no_news(told: World, slack: FakeSlack) -> None:
    """Whoever sets a channel after a year is not told that year."""
    by_hand(told, *SUITE[:30])
    news.begin(told.app, told.project)
    speak(told)
    assert HERE not in slack.messages
    by_hand(told, "t40")
    news.begin(told.app, told.project)
    speak(told)
    assert "1 test in quarantine" in slack.messages[HERE][0]["text"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_storm_is_one_message_that_grows_with_it(told: World, slack: FakeSlack, *, begun: bool) -> None:
    """Also in a project whose daemon was started before anything had struck it."""
    if begun:
        news.begin(told.app, told.project)
    down = suite(**{f"t{place}": "F" for place in range(12)})
    for number in range(4):
        told.send(f"pr{number}", down, lane=Lane.REVIEW, change=f"pr-{number}", said="Connection refused")
        told.wait(minutes=9)
        speak(told)
    [message] = slack.messages[HERE]
    assert "12 tests failed together in 4 builds" in message["text"]
    assert not news.tell(told.app, told.project)


def test_hostile_names_and_messages_are_words(world: World, slack: FakeSlack) -> None:
    """No mention, no link and no markup from a report is anything but text."""
    evil = "<!channel> <https://evil.example|click> *bold* @here :fire: `code` &amp; \u202eabc"
    connect(world, slack)
    world.app.people = People(projects={world.project: ProjectPeople(channel=HERE)}, address="https://q.example")
    world.send("first", suite(**{evil: "P"}))
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    decisions.quarantine(world.app, world.project, f"tests.test_ledger::{evil}", bearer=OWNER, reason=evil, days=1)
    speak(world)
    [message] = slack.messages[HERE]
    assert {block["type"] for block in message["blocks"]} <= {"header", "rich_text", "context", "divider"}
    kinds = {
        element["type"]
        for block in message["blocks"]
        for part in block.get("elements", ())
        for element in part.get("elements", ())
    }
    assert kinds <= {"text", "link"}
    links = {
        element["url"]
        for block in message["blocks"]
        for part in block.get("elements", ())
        for element in part.get("elements", ())
        if element["type"] == "link"
    }
    assert all(link.startswith("https://q.example/projects/ledger/") for link in links)
    assert "<!channel>" in words(message)
    assert "\u202e" not in words(message)


def test_quiet_hours_and_the_digest_put_off_what_can_wait(told: World, slack: FakeSlack) -> None:
    """An entry waits for the digest; what broke waits for nothing but the morning."""
    berlin = ZoneInfo("Europe/Berlin")
    quiet = QuietHours(time(18), time(8), berlin)
    told.app.people = People(
        projects={told.project: ProjectPeople(channel=HERE, zone=berlin, digest=time(16), quiet=quiet)}
    )
    by_hand(told, "t1")  # 09:00 UTC is 10:00 in Berlin
    broken(told, "t2")  # three hours later
    speak(told)
    assert ["broken" in text for text in slack.texts(HERE)] == [True]
    told.wait(hours=2, minutes=59)
    speak(told)
    assert len(slack.texts(HERE)) == 1
    told.wait(minutes=2)
    speak(told)
    assert len(slack.texts(HERE)) == 2
    told.wait(hours=4)  # 20:01 in Berlin
    by_hand(told, "t3")
    broken(told, "t2", "t5")
    speak(told)
    assert len(slack.texts(HERE)) == 2
    told.wait(hours=9)  # 08:01 and later
    speak(told)
    assert ["broken" in text for text in slack.texts(HERE)] == [True, False, True]
    told.wait(hours=8)  # past 16:00
    speak(told)
    assert ["broken" in text for text in slack.texts(HERE)] == [True, False, True, False]


def test_without_a_channel_nothing_is_put_in(world: World) -> None:
    """A project that names no channel fills no outbox."""
    world.send("first", suite())
    assert not news.tell(world.app, world.project)
    with writing(world.app.engine) as connection:
        assert outbox.waiting(connection, projects.by_slug(connection, world.project).id) == 0
