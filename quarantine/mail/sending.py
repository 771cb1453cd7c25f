"""Handing one letter to a mail server: one call, one frozen answer. Nothing is tried twice here.

Until the last line of the letter has left, nothing has been sent, and every end is a failure. From then until the
server's answer it may have arrived, or not; SMTP has no way to ask. So that wait is all there is in which a letter may
be doubled, and a second one has the Message-ID of the first.
"""

import re
import smtplib
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from quarantine.domain.plain import cut, one_line
from quarantine.domain.sending import Ambiguous, Failed, Sending, Sent
from quarantine.mail.letters import Letter, is_address, written

__all__ = ["PORTS", "MailServer", "Security", "send"]

Security = Literal["starttls", "tls", "none"]
PORTS: dict[Security, int] = {"starttls": 587, "tls": 465, "none": 25}
TIMEOUT_S = 15.0
ANSWER_S = 60.0
"""How long the server may think about a whole letter: filters for spam take their time. All waits of one sending in all
are shorter than the time after which another daemon takes a letter over."""
_GO_ON, _LATER, _PERMANENT = 354, 400, 500
_SAID_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """How mail leaves.

    Attributes:
        host, port: the server.
        security: `tls` from the first byte, `starttls` before anything is said, or `none`.
        sender: the address that letters come from.
        user, password: what the server is told who we are; None: nothing.
        timeout_s, answer_s: seconds to wait for each answer, and for the one to the whole letter.
    """

    host: str
    port: int
    security: Security
    sender: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    timeout_s: float = TIMEOUT_S
    answer_s: float = ANSWER_S


class _Refused(Exception):
    """The conversation ended before the letter was handed over."""

    def __init__(self, ended: Failed) -> None:
        super().__init__(ended.mend)
        self.ended = ended


def send(letter: Letter, to: str, server: MailServer, *, at: datetime) -> Sending:
    """Send a letter to one person. `at` is the instant it was decided on: the same in each try."""
    if not is_address(to):
        return Failed("address", "This is no plain mail address. Mend it among the project's mail.", permanent=True)
    content = written(letter, to, server.sender, at)
    try:
        with _connected(server) as smtp:
            _introduce(smtp, server)
            _address(smtp, to, server, len(content))
            return _hand_over(smtp, content, server)
    except _Refused as refused:
        return refused.ended
    except (OSError, UnicodeError) as error:
        return _failure(error, server)


def _failure(error: Exception, server: MailServer) -> Failed:
    """Return what ended the conversation before the letter was handed over; every error of smtplib is an OSError."""
    where = f"{server.host}:{server.port}"
    if isinstance(error, smtplib.SMTPResponseException):
        return _refusal(error.smtp_code, error.smtp_error, "The server does not talk to us.")
    if isinstance(error, ssl.SSLCertVerificationError):
        mend = (
            f"{error.verify_message}. Name the host in mail.host as its certificate does; for an authority of your own"
        )
        mend = f"The certificate of {where} is not to be trusted: {mend} set SSL_CERT_FILE."
        return Failed("certificate", mend, permanent=True)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
        mend = "Set mail.security to starttls for port 587, to tls for port 465."
        return Failed("tls", f"{where} does not speak TLS as it should. {mend}", permanent=True)
    if isinstance(error, (socket.gaierror, ConnectionRefusedError, UnicodeError)):
        mend = f"{where} cannot be reached from here. Check mail.host and mail.port. It is tried again."
        return Failed("unreachable", mend, permanent=False)
    mend = f"{where} ended the conversation, or did not answer in time, before it had the letter. It is tried again."
    return Failed("broken-off", mend, permanent=False)


@contextmanager
def _connected(server: MailServer) -> Iterator[smtplib.SMTP]:
    """Yield a connection over which nothing has been said, and end it without waiting for a goodbye."""
    name = socket.gethostname()
    own = name if "." in name else "[127.0.0.1]"
    if server.security == "tls":
        context = ssl.create_default_context()
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, local_hostname=own, timeout=server.timeout_s, context=context
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, local_hostname=own, timeout=server.timeout_s)
    try:
        yield smtp
    finally:
        with suppress(OSError):
            smtp.putcmd("quit")
        smtp.close()


def _introduce(smtp: smtplib.SMTP, server: MailServer) -> None:
    """Secure the connection where that is asked for, and say who we are. A connection is never left less secure."""
    smtp.ehlo_or_helo_if_needed()
    if server.security == "starttls":
        if not smtp.has_extn("starttls"):
            mend = "The server offers no STARTTLS. Set mail.security to tls, or to none within one machine."
            raise _Refused(Failed("no-starttls", mend, permanent=True))
        smtp.starttls(context=ssl.create_default_context())
        smtp.ehlo_or_helo_if_needed()
    if server.user is None or server.password is None:
        return
    try:
        smtp.login(server.user, server.password)
    except smtplib.SMTPAuthenticationError as error:
        mend = "The server does not take mail.user and its password. Set QUARANTINE_MAIL_PASSWORD."
        raise _Refused(_refusal(error.smtp_code, error.smtp_error, mend)) from error
    except (smtplib.SMTPServerDisconnected, smtplib.SMTPResponseException):
        raise
    except (smtplib.SMTPException, UnicodeError) as error:
        mend = (
            "The server takes no user and password in this way. Leave mail.user out, or set mail.security to starttls."
        )
        raise _Refused(Failed("no-auth", mend, permanent=True)) from error


def _address(smtp: smtplib.SMTP, to: str, server: MailServer, size: int) -> None:
    """Say from whom and to whom the letter is."""
    options = [f"size={size}"] if smtp.does_esmtp and smtp.has_extn("size") else []
    code, said = smtp.mail(server.sender, options)
    if not _is_good(code):
        raise _Refused(_refusal(code, said, f"The server sends nothing for {server.sender}. Mend mail.sender."))
    code, said = smtp.rcpt(to)
    if not _is_good(code):
        mend = f"The server takes no mail for {to}. Mend the address among the project's mail."
        raise _Refused(_refusal(code, said, mend))


def _hand_over(smtp: smtplib.SMTP, content: bytes, server: MailServer) -> Sending:
    """Hand the letter over, and say what the server made of it."""
    code, said = smtp.docmd("data")
    if code != _GO_ON:
        return _refusal(code, said, "The server does not take the letter.")
    smtp.send(re.sub(rb"(?m)^\.", b"..", content).removesuffix(b"\r\n") + b"\r\n.\r\n")
    try:
        if smtp.sock is not None:
            smtp.sock.settimeout(server.answer_s)
        code, said = smtp.getreply()
    except OSError:
        return Ambiguous("The server took the letter and did not answer.")
    if _is_good(code):
        return Sent(None, None)
    if code < _LATER:
        return Ambiguous("The server took the letter and answered what is no answer.")
    return _refusal(code, said, "The server refused the letter.")


def _is_good(code: int) -> bool:
    return code // 100 == 2  # noqa: PLR2004 - the first digit says yes


def _refusal(code: int, said: bytes | str, mend: str) -> Failed:
    """Return what a refusal means: from 500 on it is for good, below that the server asks to come again."""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    told = cut(one_line(text), _SAID_CHARACTERS)
    permanent = code >= _PERMANENT
    mend = mend if permanent else "The server asks to come again later."
    return Failed(f"smtp-{code}", f"{mend} It said: {code} {told}".strip(), permanent=permanent)
