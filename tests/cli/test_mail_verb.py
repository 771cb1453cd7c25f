"""`quarantine mail`: a trial letter that explains itself."""

from collections.abc import Iterator

import pytest

from tests.cli.shell import Shell
from tests.postoffice import SENDER, Mishap, PostOffice, open_office

TO = "you@example.org"


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with open_office() as opened:
        yield opened


def trial(shell: Shell, port: int, *, code: int = 0, to: str = TO, more: str = "") -> str:
    (shell.folder / "quarantine.toml").write_text(
        f'[mail]\nhost = "127.0.0.1"\nport = {port}\nsecurity = "none"\nsender = "{SENDER}"\n{more}'
    )
    told = shell.run("mail", "test", "--to", to, code=code)
    return told.out + told.err


def test_a_trial_letter_is_taken(shell: Shell, office: PostOffice) -> None:
    """A real letter with a picture, and a word that the server took it."""
    assert "took it" in trial(shell, office.port)
    [letter] = office.letters
    assert (letter["To"], letter["Subject"]) == (TO, "A trial letter of quarantine")
    assert "image/png" in {part.get_content_type() for part in letter.walk()}


@pytest.mark.parametrize(
    ("mishap", "said"),
    [
        (Mishap("rcpt", answer="550 no such user"), "no such user"),
        (Mishap("mail", answer="451 later"), "come again later"),
        (Mishap("data", drop=True), "Look into the mailbox"),
    ],
    ids=str,
)
def test_what_goes_wrong_is_explained(shell: Shell, office: PostOffice, mishap: Mishap, said: str) -> None:
    """Exit code 1, and a sentence that says what to do."""
    office.mishaps.append(mishap)
    assert said in trial(shell, office.port, code=1)


def test_nobody_there_is_explained(shell: Shell) -> None:
    """The settings to check are named."""
    assert "mail.port" in trial(shell, 9, code=1)


def test_what_cannot_work_is_wrong_usage(shell: Shell, office: PostOffice) -> None:
    """No server, no address, settings that contradict each other: exit code 2, and what to set."""
    assert "[mail]" in shell.run("mail", "test", "--to", TO, code=2).err
    assert "plain mail address" in trial(shell, office.port, to="You <you@example.org>", code=2)
    assert "QUARANTINE_MAIL_PASSWORD" in trial(shell, office.port, more='user = "u"\n', code=2)
    assert not office.letters
