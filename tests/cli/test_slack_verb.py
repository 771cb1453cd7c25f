"""`quarantine slack`: a trial message that explains itself, and what is parked."""

from collections.abc import Iterator

import pytest

from quarantine.slack.fake import TOKEN, FakeSlack, Fault, serving
from tests.cli.shell import Shell


@pytest.fixture
def slack() -> Iterator[FakeSlack]:
    fake = FakeSlack()
    with serving(fake):
        yield fake


def trial(shell: Shell, slack: FakeSlack, *words: str, code: int = 0, channel: str = "C0LEDGER") -> str:
    told = shell.run("slack", "test", "--channel", channel, "--url", f"{slack.address}/api/", *words, code=code)
    return told.out + told.err


def test_a_trial_message_arrives(shell: Shell, slack: FakeSlack) -> None:
    """A real message, and a word that it did."""
    assert "It arrived." in trial(shell, slack, "--token", TOKEN)
    assert slack.texts("C0LEDGER") == ["A trial message of quarantine"]


def test_an_app_that_may_not_upload_is_told_so(shell: Shell, slack: FakeSlack) -> None:
    """The message arrives all the same, and it is said what charts will look like."""
    said = trial(shell, slack, "--token", TOKEN)
    assert "words" not in said
    assert len(slack.files) == 1
    slack.faults.append(Fault(method="files.getUploadURLExternal", error="missing_scope"))
    assert "files:write" in trial(shell, slack, "--token", TOKEN)
    slack.faults.append(Fault(method="upload", status=500))
    assert "could not be uploaded" in trial(shell, slack, "--token", TOKEN)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(error="not_in_channel"), "/invite"),
        (Fault(error="invalid_auth"), "xoxb-"),
        (Fault(status=429, retry_after="7"), "wait for 7 seconds"),
        (Fault(drop="after"), "Look into the channel"),
    ],
    ids=str,
)
def test_what_goes_wrong_is_explained(shell: Shell, slack: FakeSlack, fault: Fault, said: str) -> None:
    """Exit code 1, and a sentence that says what to do."""
    slack.faults.append(fault)
    assert said in trial(shell, slack, "--token", TOKEN, code=1)


def test_a_webhook_is_told_what_it_cannot_do(shell: Shell, slack: FakeSlack) -> None:
    """Posting is all there is."""
    assert "no threads" in trial(shell, slack, "--webhook", f"{slack.address}/services/T/B/x")


def test_nothing_to_send_with_is_wrong_usage(shell: Shell, slack: FakeSlack) -> None:
    """Neither token nor webhook: exit code 2, and what to set."""
    assert "QUARANTINE_SLACK_TOKEN" in trial(shell, slack, code=2)
