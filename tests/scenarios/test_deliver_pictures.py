"""A message with a picture, taken to a Slack that fails in every way: one message, with its picture where it can be."""

import json
import urllib.request
from typing import Any

import pytest

from quarantine.domain.chart import SizeChart, SizeWeek
from quarantine.domain.notice import Notice, NoticeKind
from quarantine.services.deliver import FORSAKEN, Round, deliver
from quarantine.services.people import People
from quarantine.services.ways import PICTURE_TRIES
from quarantine.slack.fake import FakeSlack, Fault
from quarantine.slack.sending import Bot, Webhook
from quarantine.store import outbox, projects, threads
from quarantine.store.engine import reading, writing
from quarantine.store.outbox import Form
from tests.channels import HERE, connect
from tests.world import World

CHART = SizeChart("Ledger, week by week", (SizeWeek("5 Jan", 3, 3, 0), SizeWeek("12 Jan", 5, 4, 2)))
NOTICE = Notice(
    kind=NoticeKind.WEEKLY,
    project="ledger",
    title="The week of ledger",
    lead="It grew.",
    path="/projects/ledger/weekly",
    small=("said weekly",),
    chart=CHART,
)
START, BYTES, END = "files.getUploadURLExternal", "upload", "files.completeUploadExternal"


@pytest.fixture
def wired(world: World, slack: FakeSlack) -> World:
    """Return a project whose daemon reaches that Slack."""
    connect(world, slack, timeout_s=1)
    world.app.people = People(address="https://q.example")
    return world


def put(world: World, thread: str = "w", *, form: Form = Form.POST, key: str = "w:first") -> None:
    """Put the notice into the outbox as a first message, or as an update of it."""
    with writing(world.app.engine) as connection:
        project, now = projects.by_slug(connection, world.project, lock=True), world.clock()
        content = {"items": [], "notice": NOTICE.to_json()}
        threads.save(
            connection, project.id, thread, kind="weekly", channel=HERE, opened_at=now, content=content, tests=()
        )
        outbox.put(
            connection, project.id,
            key=key, channel=HERE, form=form, content={}, thread=thread, now=now, due_at=now,
        )  # fmt: skip


def rounds(world: World, most: int = 40) -> int:
    """Deliver, letting time pass between the rounds, until nothing is on its way; return how many it took."""
    for number in range(1, most):
        deliver(world.app, by="one")
        with reading(world.app.engine) as connection:
            if not outbox.waiting(connection, projects.by_slug(connection, world.project).id):
                return number
        world.wait(hours=1, minutes=1)
    raise AssertionError("messages are still on their way")


def pictures(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in message["blocks"] if block["type"] == "image"]


def words(message: dict[str, Any]) -> str:
    return json.dumps(message["blocks"], ensure_ascii=False)


def test_the_picture_stands_in_the_one_message(wired: World, slack: FakeSlack) -> None:
    """It is uploaded where nobody sees it, and the message shows it with its words for those who do not."""
    put(wired)
    assert deliver(wired.app, by="one") == Round(sent=1)
    [message] = slack.messages[HERE]
    [shown] = pictures(message)
    assert shown["alt_text"] == CHART.alternative
    [(file_id, file)] = slack.files.items()
    assert shown["slack_file"] == {"id": file_id}
    assert file.content.startswith(b"\x89PNG")
    assert file.name == "quarantine-size.png"
    assert [values.get("channel_id") for method, values in slack.calls if method == END] == [None]


FAULTS = [
    {"drop": "before"},
    {"drop": "after"},
    {"status": 500},
    {"status": 503},
    {"delay_s": 1.5},
    {"status": 429, "retry_after": "7"},
    {"status": 429},
    {"error": "internal_error"},
]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("method", [START, BYTES, END, "chat.postMessage"])
def test_whatever_goes_wrong_once_there_is_one_message_with_its_picture(
    wired: World, slack: FakeSlack, method: str, fault: dict[str, Any]
) -> None:
    """At every step of the way the whole is tried again, and what was uploaded in vain is seen by nobody."""
    if method == BYTES and "error" in fault:
        fault = {"status": 502}
    slack.faults.append(Fault(method=method, **fault))
    put(wired)
    assert deliver(wired.app, by="one") == Round(postponed=1)
    rounds(wired)
    [message] = slack.messages[HERE]
    assert len(pictures(message)) == 1


@pytest.mark.parametrize("method", [START, BYTES, END])
def test_retry_after_is_heeded_at_every_step(wired: World, slack: FakeSlack, method: str) -> None:
    """Where an upload has to wait for a minute, nothing is sent before."""
    slack.faults.append(Fault(method=method, status=429, retry_after="60"))
    put(wired)
    deliver(wired.app, by="one")
    wired.wait(seconds=59)
    assert deliver(wired.app, by="one") == Round()
    wired.wait(seconds=2)
    assert deliver(wired.app, by="one") == Round(sent=1)
    assert len(pictures(slack.messages[HERE][0])) == 1


def test_without_the_scope_the_message_goes_in_words_and_says_what_to_do(wired: World, slack: FakeSlack) -> None:
    """An app that may not upload files still tells everything else, the chart's words included."""
    slack.faults.append(Fault(method=START, error="missing_scope"))
    put(wired)
    assert deliver(wired.app, by="one") == Round(sent=1)
    [message] = slack.messages[HERE]
    assert not pictures(message)
    assert CHART.alternative in words(message)
    small = next(block for block in message["blocks"] if block["type"] == "context")
    assert "files:write" in words({"blocks": [small]})
    assert "said weekly" in words({"blocks": [small]})


@pytest.mark.parametrize(
    "fault", [{"status": 500}, {"status": 429, "retry_after": "1"}, {"drop": "before"}], ids=["500", "429", "dropped"]
)
def test_an_upload_that_never_works_does_not_keep_the_message(
    wired: World, slack: FakeSlack, fault: dict[str, Any]
) -> None:
    """After a few tries it goes without its picture, and says so."""
    slack.faults.extend(Fault(method=BYTES, **fault) for _ in range(50))
    put(wired)
    assert rounds(wired) == PICTURE_TRIES + 1
    [message] = slack.messages[HERE]
    assert not pictures(message)
    assert "could not be uploaded" in words(message)


def test_a_file_that_is_not_usable_yet_is_waited_for(wired: World, slack: FakeSlack) -> None:
    """Slack refuses to show a file in the second after it got it; the message is posted again, and once."""
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        slack.usable_after_s = 3_600.0 if len(waits) < 2 else 0.0

    slack.usable_after_s = 3_600.0
    assert isinstance(wired.app.slack, Bot)
    wired.app.slack.wait = wait
    put(wired)
    assert deliver(wired.app, by="one") == Round(sent=1)
    assert waits == [1.0, 2.0]
    [message] = slack.messages[HERE]
    assert len(pictures(message)) == 1


def test_a_file_that_never_becomes_usable_is_told_in_words(wired: World, slack: FakeSlack) -> None:
    """The message does not depend on its picture."""
    slack.usable_after_s = 3_600.0
    assert isinstance(wired.app.slack, Bot)
    wired.app.slack.wait = lambda _: None
    put(wired)
    assert deliver(wired.app, by="one") == Round(sent=1)
    [message] = slack.messages[HERE]
    assert not pictures(message)
    assert CHART.alternative in words(message)
    assert "did not show" in words(message)


def test_a_daemon_that_dies_after_the_upload_leaves_one_message(wired: World, slack: FakeSlack) -> None:
    """What it uploaded is shared nowhere; another daemon begins anew."""
    put(wired)
    with writing(wired.app.engine) as connection:
        project = projects.by_slug(connection, wired.project)
        letter = outbox.claim(connection, project.id, HERE, wired.clock(), by="dead", forsaken=FORSAKEN)
    assert letter is not None
    assert isinstance(wired.app.slack, Bot)
    orphan = wired.app.slack.upload(b"\x89PNG", name="x.png", title="x", alternative="x")
    wired.wait(minutes=6)
    assert deliver(wired.app, by="two") == Round(sent=1)
    [message] = slack.messages[HERE]
    [shown] = pictures(message)
    assert shown["slack_file"]["id"] != orphan
    assert len(slack.files) == 2


def test_an_updated_message_has_its_picture_still(wired: World, slack: FakeSlack) -> None:
    """Writing it anew uploads what its chart shows by now."""
    put(wired)
    deliver(wired.app, by="one")
    put(wired, form=Form.UPDATE, key="w:again")
    assert deliver(wired.app, by="one") == Round(sent=1)
    [message] = slack.messages[HERE]
    assert "edited" in message
    assert [block["slack_file"]["id"] for block in pictures(message)] == [list(slack.files)[-1]]


def test_a_webhook_tells_the_chart_in_words(wired: World, slack: FakeSlack) -> None:
    """It cannot upload, so it has the chart's words and the link to the page."""
    wired.app.slack = Webhook(f"{slack.address}/services/T/B/x", wired.clock, timeout_s=1)
    put(wired)
    assert deliver(wired.app, by="one") == Round(sent=1)
    [message] = slack.messages["WEBHOOK"]
    assert not pictures(message)
    assert not slack.files
    assert CHART.alternative in words(message)
    assert "https://q.example/projects/ledger/weekly" in words(message)


def test_the_page_of_the_fake_shows_the_picture(wired: World, slack: FakeSlack) -> None:
    """Whoever tries it out sees what the channel would."""
    put(wired)
    deliver(wired.app, by="one")
    [file_id] = slack.files
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    page = opener.open(f"{slack.address}/", timeout=5).read().decode()
    assert f'src="/files/{file_id}"' in page
    with opener.open(f"{slack.address}/files/{file_id}", timeout=5) as answer:
        assert answer.headers["Content-Type"] == "image/png"
        assert answer.read() == slack.files[file_id].content
