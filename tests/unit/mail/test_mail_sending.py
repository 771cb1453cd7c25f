"""Sending to a real mail server: every fault has one answer, and only one wait leaves a doubt."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quarantine.domain.sending import Ambiguous, Failed, Sending, Sent
from quarantine.mail.letters import Letter
from quarantine.mail.sending import MailServer, Security, send
from tests.postoffice import SENDER, Mishap, PostOffice, open_office, trusted

AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
TO = "lead@example.org"
LETTER = Letter(subject="The week", text=".\nwords\n..\n", html="<p>words</p>", picture=b"\x89PNG", key="k")


@pytest.fixture
def office() -> Iterator[PostOffice]:
    with open_office() as opened:
        yield opened


def sent(office: PostOffice, **changes: Any) -> Sending:
    return send(LETTER, TO, office.server(**changes), at=AT)


def failed(ended: Sending, code: str, *, permanent: bool) -> str:
    """Check how a sending failed, and return its mend."""
    assert isinstance(ended, Failed), ended
    assert (ended.code, ended.permanent) == (code, permanent)
    assert ended.mend
    return ended.mend


def test_a_letter_arrives_as_it_was_written(office: PostOffice) -> None:
    """From us, to one person, lines of dots and all."""
    assert sent(office) == Sent(None, None)
    assert office.envelopes == [(SENDER, [TO])]
    [taken] = office.letters
    plain = taken.get_body(("plain",))
    assert plain is not None
    assert plain.get_content().splitlines() == [".", "words", ".."]
    assert taken["Subject"] == "The week"


@pytest.mark.filterwarnings("ignore:Requiring AUTH")  # the server does not see that its socket has TLS already
@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_a_secured_server_takes_it_from_whom_it_knows(
    security: Security, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TLS from the first byte or after STARTTLS, then user and password; a wrong password is for good."""
    certificate = trusted(tmp_path, monkeypatch, "127.0.0.1")
    with open_office(security=security, certificate=certificate, with_password=True) as office:
        assert sent(office) == Sent(None, None)
        assert "QUARANTINE_MAIL_PASSWORD" in failed(sent(office, password="wrong"), "smtp-535", permanent=True)
        assert failed(sent(office, user=None), "smtp-530", permanent=True)
        assert len(office.letters) == 1


def test_a_certificate_that_is_not_to_be_trusted_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another name in it, or an authority nobody knows: nothing is sent, and it is said what helps."""
    securities: tuple[Security, ...] = ("tls", "starttls")
    for security in securities:
        certificate = trusted(tmp_path, monkeypatch, "mail.elsewhere.example")
        with open_office(security=security, certificate=certificate) as office:
            assert "SSL_CERT_FILE" in failed(sent(office), "certificate", permanent=True)
            monkeypatch.delenv("SSL_CERT_FILE")
            failed(sent(office), "certificate", permanent=True)
            assert not office.letters


def test_a_connection_is_never_less_secure_than_asked_for(office: PostOffice) -> None:
    """A server without STARTTLS gets nothing in the clear; one that speaks no TLS gets nothing either."""
    assert "STARTTLS" in failed(sent(office, security="starttls"), "no-starttls", permanent=True)
    assert "mail.security" in failed(sent(office, security="tls"), "tls", permanent=True)
    assert "mail.user" in failed(sent(office, user="u", password="p"), "no-auth", permanent=True)
    assert not office.letters


@pytest.mark.parametrize("at", ["mail", "rcpt", "data"])
def test_a_refusal_is_for_now_or_for_good(office: PostOffice, at: str) -> None:
    """From 500 on a person has to mend something; below that it is tried again. What the server said is told."""
    office.mishaps.append(Mishap(at, answer="451 4.7.1 greylisted"))
    assert "451 4.7.1 greylisted" in failed(sent(office), "smtp-451", permanent=False)
    office.mishaps.append(Mishap(at, answer="550 5.1.1 no <such> thing"))
    assert "550 5.1.1 no <such> thing" in failed(sent(office), "smtp-550", permanent=True)
    assert not office.letters
    assert sent(office) == Sent(None, None)


@pytest.mark.parametrize("at", ["mail", "rcpt"])
@pytest.mark.parametrize("mishap", [{"drop": True}, {"delay_s": 1.5}], ids=["dropped", "slow"])
def test_an_end_before_the_letter_is_no_doubt(office: PostOffice, at: str, mishap: dict[str, Any]) -> None:
    """Nothing was handed over, so it is a failure that passes."""
    office.mishaps.append(Mishap(at, **mishap))
    failed(sent(office, timeout_s=0.7), "broken-off", permanent=False)
    assert not office.letters


@pytest.mark.parametrize("mishap", [{"drop": True}, {"delay_s": 1.5}], ids=["dropped", "slow"])
def test_an_end_after_the_letter_is_in_doubt(office: PostOffice, mishap: dict[str, Any]) -> None:
    """The whole letter was handed over and nothing was answered."""
    office.mishaps.append(Mishap("data", **mishap))
    assert isinstance(sent(office, answer_s=0.7), Ambiguous)
    assert len(office.letters) == 1


@contextmanager
def talking(*lines: bytes) -> Iterator[int]:
    """Serve one connection that says these lines, one for each that it hears, and then hangs up; yields the port."""

    def talk() -> None:
        with server.accept()[0] as one:
            for line in lines:
                one.sendall(line)
                if not one.recv(65_536):
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(timeout=5)


def to_port(port: int) -> Sending:
    server = MailServer(host="127.0.0.1", port=port, security="none", sender=SENDER, timeout_s=2.0, answer_s=2.0)
    return send(LETTER, TO, server, at=AT)


def test_a_server_that_hangs_up_within_data_has_nothing() -> None:
    """The connection ends before the letter may be sent."""
    with talking(b"220 hi\r\n", b"250 hi\r\n", b"250 ok\r\n", b"250 ok\r\n") as port:
        failed(to_port(port), "broken-off", permanent=False)


def test_a_server_that_talks_nonsense_is_tried_again() -> None:
    """Neither a greeting nor an answer that is none is believed."""
    with talking(b"HTTP/1.1 400 Bad Request\r\n") as port:
        ended = to_port(port)
    assert isinstance(ended, Failed)
    assert not ended.permanent
    with talking(b"220 hi\r\n", b"250 hi\r\n", b"250 ok\r\n", b"250 ok\r\n", b"354 go\r\n", b"what?\r\n") as port:
        assert isinstance(to_port(port), Ambiguous)
    with talking(b"554 go away\r\n") as port:
        failed(to_port(port), "smtp-554", permanent=True)


def test_nobody_there_is_tried_again(office: PostOffice) -> None:
    """A refused connection and a name that there is none of."""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    failed(to_port(port), "unreachable", permanent=False)
    failed(sent(office, host="no-such-host.invalid"), "unreachable", permanent=False)
    failed(send(LETTER, "no address", office.server(), at=AT), "address", permanent=True)


def test_the_password_is_never_shown(office: PostOffice) -> None:
    """No representation holds it."""
    assert "mail-secret" not in repr(office.server(password="mail-secret"))
