"""The settings: what is refused, and what the environment fills in."""

from pathlib import Path

import pytest

from quarantine.bootstrap import mail_of, people_of
from quarantine.config import Settings, load
from quarantine.errors import BadConfiguration

PEOPLE = """
[slack]
admins = ["U02ALICE"]
[project.ledger]
zone = "Europe/Berlin"
channel = "C0LEDGER"
quiet = {begin = "18:00", end = "08:00"}
[project.ledger.owners]
"@acme/mail" = "C0MAIL"
"""


def settings(tmp_path: Path, text: str, **environment: str) -> Settings:
    path = tmp_path / "quarantine.toml"
    path.write_text(text, encoding="utf-8")
    return load(path, environment)


def test_secrets_come_from_the_environment_and_are_never_shown(tmp_path: Path) -> None:
    """A token that the environment states is there, and in no representation of the settings."""
    found = settings(tmp_path, PEOPLE, QUARANTINE_SLACK_TOKEN="xoxb-secret")
    assert found.slack.token is not None
    assert found.slack.token.get_secret_value() == "xoxb-secret"
    assert "xoxb-secret" not in repr(found)


def test_a_project_says_who_is_told(tmp_path: Path) -> None:
    """What the file says of a project is read, and the rest has its defaults."""
    ledger = settings(tmp_path, PEOPLE).project["ledger"]
    assert ledger.owners == {"@acme/mail": "C0MAIL"}
    assert (ledger.escalate_after_days, ledger.escalate_again_days, ledger.zone) == (30, 7, "Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "key", "known"),
    [
        ("porch = 1", "porch", "port"),
        ("[slack]\ntokn = 'x'", "slack.tokn", "signing_secret"),
        ("[project.ledger]\nchanel = 'C'", "project.ledger.chanel", "channel"),
        ("[project.ledger.quiet]\nbegin='18:00'\nend='08:00'\nx=1", "project.ledger.quiet.x", "days"),
        ("[mail]\nhots = 'x'", "mail.hots", "security"),
        ("[[spool]]\ndirectory='x'\nproject='p'\nlane='trunk'\nlan=1", "spool.0.lan", "lane"),
    ],
)
def test_an_unknown_key_is_named_with_those_beside_it(tmp_path: Path, text: str, key: str, known: str) -> None:
    """A slip of the pen is refused, and what could have been meant is listed."""
    with pytest.raises(BadConfiguration, match="does not exist") as refused:
        settings(tmp_path, text)
    assert repr(key) in str(refused.value)
    assert known in refused.value.mend


@pytest.mark.parametrize(
    "text",
    [
        "[project.ledger.quiet]\nbegin = '25:00'\nend = '08:00'",
        "[project.ledger]\nescalate_after_days = 91",
        "address = 'quarantine.example.org'",
        "[mail]\nport = 0",
        "[mail]\nsecurity = 'ssl'",
        "[mail]\nhost = 'smtp://mail.example.org'",
        "[mail]\nsender = 'Quarantine <q@example.org>'",
        "[project.ledger]\nmail = ['lead@example.org', 'lead']",
        "mail = 'mail.example.org'",
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    """The error names the file and the key."""
    with pytest.raises(BadConfiguration, match=r"quarantine\.toml: "):
        settings(tmp_path, text)


MAIL = """
[mail]
host = "mail.example.org"
user = "quarantine"
sender = "quarantine@example.org"
[project.ledger]
mail = ["lead@example.org"]
"""


def test_a_mail_server_is_read_with_the_password_from_the_environment(tmp_path: Path) -> None:
    """The port follows the security, and the password is in no representation."""
    found = settings(tmp_path, MAIL, QUARANTINE_MAIL_PASSWORD="mail-secret")
    server = mail_of(found)
    assert server is not None
    assert (server.host, server.port, server.security) == ("mail.example.org", 587, "starttls")
    assert (server.user, server.password, server.sender) == ("quarantine", "mail-secret", "quarantine@example.org")
    assert "mail-secret" not in repr(found) + repr(server)
    assert people_of(found).of("ledger").mail == ("lead@example.org",)
    tls = mail_of(settings(tmp_path, MAIL.replace("user =", "security = 'tls'\nuser ="), QUARANTINE_MAIL_PASSWORD="x"))
    assert tls is not None
    assert tls.port == 465


def test_nobody_who_is_written_to_needs_no_mail_server(tmp_path: Path) -> None:
    """Without [mail] there is none; a password that lies in the environment changes nothing."""
    assert mail_of(settings(tmp_path, PEOPLE, QUARANTINE_MAIL_PASSWORD="x")) is None


@pytest.mark.parametrize(
    ("text", "key", "password"),
    [
        ("[project.ledger]\nmail = ['lead@example.org']", "mail.host", ""),
        ("[mail]\nsender = 'q@example.org'", "mail.host", ""),
        ("[mail]\nhost = 'mail.example.org'", "mail.sender", ""),
        (MAIL, "mail.password", ""),
        (MAIL.replace('user = "quarantine"', ""), "mail.user", "x"),
        (MAIL.replace("user =", "security = 'none'\nuser ="), "mail.security", "x"),
    ],
)
def test_settings_of_mail_that_do_not_fit_each_other_are_refused(
    tmp_path: Path, text: str, key: str, password: str
) -> None:
    """The error names the key and the mend, before a daemon starts with them."""
    found = settings(tmp_path, text, QUARANTINE_MAIL_PASSWORD=password)
    with pytest.raises(BadConfiguration, match=key) as refused:
        mail_of(found)
    assert refused.value.mend
