"""The outbox, taken to a Slack that fails in every way it can: nothing is lost, nothing is said twice."""

import random
import threading
from collections import Counter
from datetime import timedelta

import pytest

from quarantine.domain.notice import Notice, NoticeKind, Section
from quarantine.services import parked_messages
from quarantine.services.app import App
from quarantine.services.deliver import FORSAKEN, Round, deliver, pause_after
from quarantine.services.people import People
from quarantine.slack.fake import TOKEN, FakeSlack, Fault
from quarantine.slack.sending import Bot, Webhook
from quarantine.store import outbox, projects, threads
from quarantine.store.engine import reading, writing
from quarantine.store.outbox import Form
from tests.channels import HERE, THERE, connect
from tests.world import World


@pytest.fixture
def wired(world: World, slack: FakeSlack) -> World:
    """Return a project whose daemon reaches that Slack."""
    connect(world, slack, timeout_s=1)
    world.app.people = People(address="https://q.example")
    return world


def notice(title: str, *lines: str) -> Notice:
    return Notice(kind=NoticeKind.ENTRIES, project="ledger", title=title, sections=(Section(text=lines),))


def post(world: World, thread: str, title: str | None = None, *, channel: str = HERE) -> None:
    """Put the first message of a thread into the outbox."""
    with writing(world.app.engine) as connection:
        project, now = projects.by_slug(connection, world.project, lock=True), world.clock()
        content = {"items": [], "notice": notice(title or thread).to_json()}
        threads.save(
            connection, project.id, thread, kind="entries", channel=channel, opened_at=now, content=content, tests=()
        )
        outbox.put(
            connection, project.id,
            key=f"{thread}:first", channel=channel, form=Form.POST, content={}, thread=thread, now=now, due_at=now,
        )  # fmt: skip


def follow(world: World, thread: str, title: str, *, form: Form = Form.REPLY, channel: str = HERE) -> None:
    """Put a follow-up in a thread into the outbox."""
    with writing(world.app.engine) as connection:
        project, now = projects.by_slug(connection, world.project, lock=True), world.clock()
        outbox.put(
            connection, project.id,
            key=f"{thread}:{title}", channel=channel, form=form, content=notice(title).to_json(), thread=thread,
            now=now, due_at=now,
        )  # fmt: skip


def rounds(world: World, most: int = 40) -> None:
    """Deliver, letting time pass between the rounds, until nothing is on its way."""
    for _ in range(most):
        deliver(world.app, by="one")
        with reading(world.app.engine) as connection:
            if not outbox.waiting(connection, projects.by_slug(connection, world.project).id):
                return
        world.wait(hours=1, minutes=1)
    raise AssertionError("messages are still on their way")


def parked(app: App, slug: str) -> list[tuple[str, str]]:
    with reading(app.engine) as connection:
        rows = outbox.every_parked(connection, projects.by_slug(connection, slug).id)
    return [(row["error_code"], row["error"]) for row in rows]


def test_a_message_its_follow_ups_and_its_update_arrive_in_order(wired: World, slack: FakeSlack) -> None:
    """The reply is in the thread of the first message, which then says what it has come to."""
    post(wired, "a", "one entered")
    assert deliver(wired.app, by="one") == Round(sent=1)
    follow(wired, "a", "one released")
    with writing(wired.app.engine) as connection:
        project = projects.by_slug(connection, wired.project)
        content = {"items": [], "notice": notice("one released by now").to_json()}
        threads.save(
            connection, project.id, "a",
            kind="entries", channel=HERE, opened_at=wired.clock(), content=content, tests=(),
        )  # fmt: skip
    follow(wired, "a", "first", form=Form.UPDATE)
    assert deliver(wired.app, by="one").sent == 1  # `a:first` is the key of the first message: it is not put in twice
    follow(wired, "a", "t2:first", form=Form.UPDATE)
    assert deliver(wired.app, by="one") == Round(sent=1)
    first, reply = slack.messages[HERE]
    assert (first["text"], reply["text"]) == ("one released by now", "one released")
    assert reply["thread_ts"] == first["ts"]


DROPS = [
    Fault(drop="before"),
    Fault(drop="after"),
    Fault(status=500),
    Fault(status=503),
    Fault(delay_s=1.5),
    Fault(drop="before", delay_s=1.5),
    Fault(status=429, retry_after="7"),
    Fault(status=429, retry_after="1.5"),
    Fault(status=429, retry_after="Mon, 05 Jan 2026 09:00:30 GMT"),
    Fault(status=429),
    Fault(status=429, retry_after="soon"),
    Fault(status=429, retry_after="-3"),
    Fault(status=429, retry_after="999999999"),
    Fault(error="internal_error"),
    Fault(error="ratelimited"),
]


@pytest.mark.parametrize("fault", DROPS, ids=str)
def test_whatever_goes_wrong_once_the_message_is_there_once(wired: World, slack: FakeSlack, fault: Fault) -> None:
    """Dropped before or after it was posted, slow, refused for now: in the end it is there, and only once."""
    slack.faults.append(fault)
    post(wired, "a")
    assert deliver(wired.app, by="one") == Round(postponed=1)
    rounds(wired)
    assert slack.texts(HERE) == ["a"]


def test_a_look_up_that_fails_is_no_licence_to_send_again(wired: World, slack: FakeSlack) -> None:
    """As long as nobody can say whether it arrived, it is not sent a second time."""
    slack.faults.append(Fault(drop="after"))
    slack.faults.extend(Fault(method="conversations.history", status=500) for _ in range(3))
    slack.faults.append(Fault(method="conversations.history", status=429, retry_after="5"))
    post(wired, "a")
    rounds(wired)
    assert slack.texts(HERE) == ["a"]
    assert sum(method == "chat.postMessage" for method, _ in slack.calls) == 1


def test_random_faults_lose_nothing_and_double_nothing(wired: World, slack: FakeSlack) -> None:
    """Forty messages in two channels, their follow-ups, and a fault for half of all calls: each is there once."""
    rng = random.Random(7)  # noqa: S311 - a fixed seed for a test
    quick = [fault for fault in DROPS if not fault.delay_s]
    methods = ("chat.postMessage", "chat.postMessage", "conversations.history", "conversations.replies")
    for number in range(20):
        for channel in (HERE, THERE):
            post(wired, f"{channel}-{number}", channel=channel)
            follow(wired, f"{channel}-{number}", f"{channel}-{number}-more", channel=channel)
    for _ in range(60):
        fault = rng.choice(quick)
        slack.faults.append(
            Fault(
                method=rng.choice(methods), status=fault.status, retry_after=fault.retry_after, error=fault.error,
                drop=fault.drop,
            )
        )  # fmt: skip
    rounds(wired, most=400)
    for channel in (HERE, THERE):
        said = Counter(slack.texts(channel))
        names = [f"{channel}-{number}" for number in range(20)]
        assert said == Counter([*names, *(f"{name}-more" for name in names)])
        for message in slack.messages[channel]:
            if message["text"].endswith("-more"):
                [first] = [one for one in slack.messages[channel] if one["ts"] == message["thread_ts"]]
                assert message["text"] == f"{first['text']}-more"


def test_one_channel_that_has_to_wait_delays_no_other(wired: World, slack: FakeSlack) -> None:
    """Slack asks one channel to wait for ten minutes; the other gets its messages at once."""
    slack.faults.append(Fault(channel=HERE, status=429, retry_after="600"))
    for number in range(3):
        post(wired, f"here-{number}", channel=HERE)
        post(wired, f"there-{number}", channel=THERE)
    deliver(wired.app, by="one")
    assert slack.texts(THERE) == ["there-0", "there-1", "there-2"]
    wired.wait(minutes=9)
    deliver(wired.app, by="one")
    assert slack.texts(HERE) == []
    wired.wait(minutes=2)
    deliver(wired.app, by="one")
    assert slack.texts(HERE) == ["here-0", "here-1", "here-2"]


@pytest.mark.parametrize("code", ["not_in_channel", "channel_not_found", "invalid_auth", "is_archived", "no_idea"])
def test_what_a_person_has_to_mend_is_parked_with_how(wired: World, slack: FakeSlack, code: str) -> None:
    """It is not tried again and again; it holds up its own thread and no other, and goes out once it is released."""
    slack.faults.append(Fault(error=code))
    post(wired, "a")
    follow(wired, "a", "a-more")
    post(wired, "b")
    assert deliver(wired.app, by="one") == Round(sent=1, parked=1)
    [(found, mend)] = parked(wired.app, wired.project)
    assert found == code
    assert mend.endswith(".")
    assert slack.texts(HERE) == ["b"]
    [told] = parked_messages.of(wired.app, wired.project)
    assert (told["title"], told["code"], told["mend"]) == ("a", code, mend)
    assert parked_messages.send_again(wired.app, wired.project) == 1
    deliver(wired.app, by="one")
    assert slack.texts(HERE) == ["b", "a", "a-more"]


def test_a_channel_that_vanished_is_said_and_the_others_go_on(wired: World, slack: FakeSlack) -> None:
    """A channel that Slack does not have parks its messages."""
    post(wired, "a", channel="C0GONE")
    post(wired, "b")
    assert deliver(wired.app, by="one") == Round(sent=1, parked=1)
    [(code, mend)] = parked(wired.app, wired.project)
    assert code == "channel_not_found"
    assert "invite" in mend
    assert slack.texts(HERE) == ["b"]


def test_a_daemon_that_dies_on_the_way_neither_loses_nor_doubles(wired: World, slack: FakeSlack) -> None:
    """Killed after it posted, before it said so: another daemon looks the message up and finds it."""
    for arrived in (True, False):
        name = f"arrived-{arrived}"
        post(wired, name)
        with writing(wired.app.engine) as connection:
            project = projects.by_slug(connection, wired.project)
            letter = outbox.claim(connection, project.id, HERE, wired.clock(), by="dead", forsaken=FORSAKEN)
        assert letter is not None
        if arrived:
            slack.call(
                "chat.postMessage",
                {"channel": HERE, "text": name, "metadata": {"event_payload": {"key": letter.key}}},
            )
        assert deliver(wired.app, by="two") == Round()
        wired.wait(minutes=6)
        assert deliver(wired.app, by="two") == Round(sent=1)
        assert Counter(slack.texts(HERE))[name] == 1


def test_two_daemons_share_the_work_and_say_nothing_twice(wired: World, slack: FakeSlack) -> None:
    """Both deliver at once, as replicas do."""
    for number in range(12):
        post(wired, f"m{number}")
        follow(wired, f"m{number}", f"m{number}-more")
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for _ in range(8):
                deliver(wired.app, by=name)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test has to fail with it
            errors.append(error)

    threads_ = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads_:
        thread.start()
    for thread in threads_:
        thread.join()
    assert errors == []
    rounds(wired)
    assert Counter(slack.texts(HERE)) == Counter(f"m{n}{more}" for n in range(12) for more in ("", "-more"))


def test_a_webhook_says_what_it_can(wired: World, slack: FakeSlack) -> None:
    """It posts first messages and follow-ups, each by itself; updates are let go."""
    wired.app.slack = Webhook(f"{slack.address}/services/T/B/x", wired.clock, timeout_s=1)
    slack.faults.append(Fault(method="webhook", status=429, retry_after="3"))
    post(wired, "a")
    follow(wired, "a", "a-more")
    follow(wired, "a", "t1:first", form=Form.UPDATE)
    rounds(wired)
    assert slack.texts("WEBHOOK") == ["a", "a-more"]
    slack.faults.append(Fault(method="webhook", error="no_service"))
    post(wired, "b")
    assert deliver(wired.app, by="one") == Round(parked=1)


def test_an_unreachable_slack_is_tried_again_ever_more_rarely(wired: World) -> None:
    """The pauses double, up to an hour; nothing is ever given up."""
    wired.app.slack = Bot(TOKEN, "http://127.0.0.1:9/api/", wired.clock, timeout_s=1)
    post(wired, "a")
    assert deliver(wired.app, by="one") == Round(postponed=1)
    assert deliver(wired.app, by="one") == Round()
    wired.wait(seconds=5)
    assert deliver(wired.app, by="one") == Round(postponed=1)
    assert [pause_after(tries) for tries in (1, 2, 3, 20, 4_000)] == [
        timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20), timedelta(hours=1), timedelta(hours=1)
    ]  # fmt: skip


def test_without_a_way_to_slack_everything_waits(wired: World, slack: FakeSlack) -> None:
    """Nothing is lost while nobody has set a token."""
    reachable, wired.app.slack = wired.app.slack, None
    post(wired, "a")
    assert deliver(wired.app, by="one") == Round()
    wired.app.slack = reachable
    assert deliver(wired.app, by="one") == Round(sent=1)
    assert slack.texts(HERE) == ["a"]
