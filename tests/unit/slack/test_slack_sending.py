"""Sending against the server that plays Slack, over real HTTP: every fault has one answer, and nothing is doubled."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from quarantine.errors import NotAllowed
from quarantine.slack.fake import SIGNING_SECRET, TOKEN, FakeSlack, Fault, serving
from quarantine.slack.messages import Button, Message, Plain, actions, paragraph, picture
from quarantine.slack.sending import Ambiguous, Bot, Failed, Later, Sent, Webhook, wait_of
from quarantine.slack.signing import Press, pressed, verify

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
CHANNEL = "C0LEDGER"
MESSAGE = Message.of("a test entered", paragraph(Plain("a test entered")), actions(Button("Own", "own", "v1")))


def now() -> datetime:
    """Return the one instant of these tests."""
    return NOW


@pytest.fixture
def slack(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSlack]:
    """Serve a Slack that is reached without a proxy."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    fake = FakeSlack(clock=now)
    with serving(fake):
        yield fake


def bot(slack: FakeSlack, token: str = TOKEN) -> Bot:
    """Return a bot that talks to it."""
    return Bot(token, f"{slack.address}/api/", now, timeout_s=5)


def test_a_post_arrives_and_is_found_by_its_key(slack: FakeSlack) -> None:
    """What was posted is found by its key, and another key is not."""
    sent = bot(slack).post(CHANNEL, MESSAGE, key="k1")
    assert isinstance(sent, Sent)
    assert bot(slack).find(CHANNEL, "k1", since=NOW) == sent
    assert bot(slack).find(CHANNEL, "k2", since=NOW) is None


def test_a_reply_is_found_in_its_thread_only(slack: FakeSlack) -> None:
    """A reply is found where its thread is named."""
    first = bot(slack).post(CHANNEL, MESSAGE, key="k1")
    assert isinstance(first, Sent)
    reply = bot(slack).post(CHANNEL, MESSAGE, key="k2", thread=first.ts)
    assert bot(slack).find(CHANNEL, "k2", since=NOW, thread=first.ts) == reply
    assert bot(slack).find(CHANNEL, "k2", since=NOW) is None


@pytest.mark.parametrize(("drop", "arrived"), [("before", 0), ("after", 1)])
def test_a_dropped_connection_is_ambiguous_and_tried_once(slack: FakeSlack, drop: str, arrived: int) -> None:
    """A drop on either side of the post is ambiguous, and the look-up tells which it was."""
    slack.faults.append(Fault(drop=drop))
    assert isinstance(bot(slack).post(CHANNEL, MESSAGE, key="k1"), Ambiguous)
    assert len(slack.texts(CHANNEL)) == arrived
    assert (bot(slack).find(CHANNEL, "k1", since=NOW) is not None) == bool(arrived)


def test_a_server_error_is_ambiguous(slack: FakeSlack) -> None:
    """A 500 does not say whether the message was posted."""
    slack.faults.append(Fault(status=500))
    assert isinstance(bot(slack).post(CHANNEL, MESSAGE, key="k1"), Ambiguous)


@pytest.mark.parametrize(
    ("stated", "wait"), [("7", 7.0), ("1.5", 1.5), (None, 30.0), ("-4", 30.0), ("1e9", 3600.0), ("soon", 30.0)]
)
def test_429_says_how_long_to_wait(slack: FakeSlack, stated: str | None, wait: float) -> None:
    """Every form of Retry-After ends in a bounded wait."""
    slack.faults.append(Fault(status=429, retry_after=stated))
    assert bot(slack).post(CHANNEL, MESSAGE, key="k1") == Later(wait)
    assert slack.texts(CHANNEL) == []


def test_retry_after_may_be_a_date() -> None:
    """An HTTP date is waited for."""
    assert wait_of({"Retry-After": "Mon, 02 Mar 2026 09:01:30 GMT"}, NOW) == 90.0


@pytest.mark.parametrize("code", ["not_in_channel", "is_archived", "missing_scope", "a_new_one"])
def test_a_refusal_is_permanent_and_says_its_mend(slack: FakeSlack, code: str) -> None:
    """A code of Slack's is parked with a sentence."""
    slack.faults.append(Fault(error=code))
    answer = bot(slack).post(CHANNEL, MESSAGE, key="k1")
    assert isinstance(answer, Failed)
    assert (answer.code, answer.permanent, bool(answer.mend)) == (code, True, True)


def test_a_wrong_token_is_refused_and_never_shown(slack: FakeSlack) -> None:
    """A bad token fails for good, and no repr holds it."""
    wrong = bot(slack, "xoxb-secret")
    answer = wrong.post(CHANNEL, MESSAGE, key="k1")
    assert isinstance(answer, Failed)
    assert answer.code == "invalid_auth"
    assert "xoxb-secret" not in repr(wrong) + repr(answer)


def test_a_refused_connection_is_passing() -> None:
    """Where nobody listens nothing was sent, so it is not ambiguous."""
    fake = FakeSlack(clock=now)
    with serving(fake):
        pass
    answer = bot(fake).post(CHANNEL, MESSAGE, key="k1")
    assert isinstance(answer, Failed)
    assert not answer.permanent


def test_a_webhook_posts_and_tells_of_its_errors(slack: FakeSlack) -> None:
    """A webhook has no ts; its refusals are read from the answer's body."""
    hook = Webhook(f"{slack.address}/services/T/B/X", now)
    assert hook.post("", MESSAGE, key="k1") == Sent(None, None)
    slack.faults.append(Fault(method="webhook", error="no_service"))
    answer = hook.post("", MESSAGE, key="k1")
    assert isinstance(answer, Failed)
    assert answer.permanent
    assert not hook.capabilities.threads


def upload(slack: FakeSlack) -> object:
    return bot(slack).upload(b"bytes", name="a.png", title="a", alternative="<&> in words")


def test_an_upload_ends_in_an_id_that_a_message_can_show(slack: FakeSlack) -> None:
    """The file is whole and shared nowhere; a message that names it is taken, and one that names another is not."""
    file_id = upload(slack)
    assert isinstance(file_id, str)
    assert slack.files[file_id].content == b"bytes"
    assert not slack.messages
    assert isinstance(bot(slack).post(CHANNEL, Message.of("x", picture(file_id, "words")), key="k1"), Sent)
    answer = bot(slack).post(CHANNEL, Message.of("x", picture("F0GONE", "words")), key="k2")
    assert isinstance(answer, Failed)
    assert answer.code == "invalid_blocks"


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "upload", "files.completeUploadExternal"])
def test_each_step_of_an_upload_has_its_own_end(slack: FakeSlack, method: str) -> None:
    """Waiting as asked, unclear, refused: each is told apart, and none of them is tried again here."""
    slack.faults.append(Fault(method=method, status=429, retry_after="9"))
    assert upload(slack) == Later(9.0)
    for fault in (Fault(method=method, status=500), Fault(method=method, drop="before")):
        slack.faults.append(fault)
        assert isinstance(upload(slack), Ambiguous)
    slack.faults.append(Fault(method=method, status=403) if method == "upload" else Fault(method=method, error="x"))
    assert isinstance(upload(slack), Failed)


def test_a_press_is_verified_and_read(slack: FakeSlack) -> None:
    """A signed press is read; a changed body or a stale one is refused."""
    sent = bot(slack).post(CHANNEL, MESSAGE, key="k1")
    assert isinstance(sent, Sent)
    body, headers = slack.press(CHANNEL, str(sent.ts), "own")
    stamp, signature = headers["X-Slack-Request-Timestamp"], headers["X-Slack-Signature"]
    verify(SIGNING_SECRET, body, timestamp=stamp, signature=signature, now=NOW)
    press = pressed(body)
    assert isinstance(press, Press)
    assert (press.action, press.value, press.message_ts) == ("own", "v1", sent.ts)
    with pytest.raises(NotAllowed):
        verify(SIGNING_SECRET, body + b"x", timestamp=stamp, signature=signature, now=NOW)
    for late in (timedelta(seconds=301), timedelta(seconds=-301)):
        with pytest.raises(NotAllowed):
            verify(SIGNING_SECRET, body, timestamp=stamp, signature=signature, now=NOW + late)
