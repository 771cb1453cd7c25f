"""A mail server for tests: a real one, in this process, that takes letters and goes wrong when told to."""

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword

from quarantine.mail.sending import MailServer, Security

USER, PASSWORD = "quarantine", "mail-secret"
SENDER = "quarantine@example.org"


@dataclass(frozen=True, slots=True)
class Mishap:
    """How the next letter goes wrong.

    Attributes:
        at: `mail`, `rcpt` or `data`: the command in which it does; `data` is when the whole letter has come.
        answer: what is answered instead of taking it, such as `451 later`; "" takes it.
        drop: end the connection there without an answer. After `data` the letter has been taken all the same.
        delay_s: wait so long before the answer.
    """

    at: str
    answer: str = ""
    drop: bool = False
    delay_s: float = 0.0


@dataclass(slots=True)
class PostOffice:
    """What the server has taken, and what goes wrong next; each mishap is used once, by the first letter it meets."""

    letters: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    envelopes: list[tuple[str, list[str]]] = field(default_factory=list)
    mishaps: deque[Mishap] = field(default_factory=deque)
    port: int = 0
    security: Security = "none"
    with_password: bool = False

    def server(self, **changes: Any) -> MailServer:
        """Return how the product reaches it; waits are short."""
        known: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": self.port,
            "security": self.security,
            "sender": SENDER,
            "user": USER if self.with_password else None,
            "password": PASSWORD if self.with_password else None,
            "timeout_s": 5.0,
            "answer_s": 5.0,
        }
        return MailServer(**(known | changes))

    async def _mishap(self, at: str, server: Any) -> str | None:
        if not self.mishaps or self.mishaps[0].at != at:
            return None
        mishap = self.mishaps.popleft()
        await asyncio.sleep(mishap.delay_s)
        if mishap.drop:
            server.transport.abort()
        return mishap.answer or None

    async def handle_MAIL(self, server: Any, _session: Any, envelope: Any, address: str, options: list[str]) -> str:  # noqa: N802 - aiosmtpd's
        """Take a sender."""
        if answer := await self._mishap("mail", server):
            return answer
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server: Any, _session: Any, envelope: Any, address: str, _options: list[str]) -> str:  # noqa: N802 - aiosmtpd's
        """Take a recipient."""
        if answer := await self._mishap("rcpt", server):
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's
        """Take a whole letter."""
        refuses = bool(self.mishaps and self.mishaps[0].at == "data" and self.mishaps[0].answer)
        if not refuses:
            self.raw.append(bytes(envelope.content))
            self.letters.append(message_from_bytes(envelope.content, policy=default))
            self.envelopes.append((envelope.mail_from, list(envelope.rcpt_tos)))
        return await self._mishap("data", server) or "250 OK"


def _authenticate(_server: Any, _session: Any, _envelope: Any, _mechanism: str, given: Any) -> AuthResult:
    is_known = isinstance(given, LoginPassword) and (given.login, given.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=is_known, handled=False)


def trusted(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> trustme.LeafCert:
    """Return a certificate for these names, of an authority that this process believes from now on."""
    authority = trustme.CA()
    path = folder / "authority.pem"
    authority.cert_pem.write_to_path(str(path))
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    return authority.issue_cert(*names)


@contextmanager
def open_office(
    *, security: Security = "none", certificate: trustme.LeafCert | None = None, with_password: bool = False
) -> Iterator[PostOffice]:
    """Serve until the block ends."""
    office = PostOffice(security=security, with_password=with_password)
    options: dict[str, Any] = {"hostname": "127.0.0.1", "port": _free_port(), "ready_timeout": 20.0}
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate.configure_cert(context)
        options |= {"ssl_context": context} if security == "tls" else {"tls_context": context, "require_starttls": True}
    if with_password:
        options |= {"authenticator": _authenticate, "auth_required": True, "auth_require_tls": security == "starttls"}
    controller = Controller(office, **options)
    controller.start()
    office.port = controller.port
    try:
        yield office
    finally:
        controller.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
