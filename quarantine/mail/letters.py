"""A letter as a mail program reads it: plain text, HTML and the picture that the HTML shows, with sound headers."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from quarantine.domain.mail_content import PICTURE
from quarantine.domain.plain import clean, cut, one_line

__all__ = ["ADDRESS_CHARACTERS", "Letter", "is_address", "message_id", "written"]

ADDRESS_CHARACTERS = 190
"""The longest address that is taken: with what stands before it, it is the name of a channel of the outbox."""
_SUBJECT_CHARACTERS = 200
_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_LOCAL_CHARACTERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A letter.

    Attributes:
        subject: one line; what breaks a line or cannot be seen is left out of it.
        text, html: the same in both forms; the HTML names the picture by `PICTURE`.
        picture: PNG; None for none.
        key: which letter it is. A letter of the same key to the same person has the same Message-ID, so that mail
            programs know the second one for the first.
    """

    subject: str
    text: str
    html: str
    picture: bytes | None
    key: str


def is_address(text: str) -> bool:
    """Return whether this is one plain address, such as `lead@example.org`: no name, no quotes, only ASCII."""
    local = text.partition("@")[0]
    return len(text) <= ADDRESS_CHARACTERS and len(local) <= _LOCAL_CHARACTERS and _ADDRESS.fullmatch(text) is not None


def message_id(key: str, to: str, sender: str) -> str:
    """Return what the letter of this key to this person is called, in every try."""
    digest = hashlib.sha256(f"{key}\0{to}".encode("utf-8", "replace")).hexdigest()[:40]
    return f"<{digest}@{sender.rpartition('@')[2]}>"


def written(letter: Letter, to: str, sender: str, at: datetime) -> bytes:
    """Return the whole mail as it goes over the wire, lines ended by CRLF, all of it ASCII.

    Raises ValueError where `to` or `sender` is no plain address.
    """
    if not is_address(to) or not is_address(sender):
        raise ValueError("a letter goes from one plain address to another")
    message = EmailMessage(policy=SMTP)
    message["Subject"] = cut(one_line(letter.subject), _SUBJECT_CHARACTERS) or "quarantine"
    message["From"] = Address("quarantine", addr_spec=sender)
    message["To"] = Address(addr_spec=to)
    message["Date"] = format_datetime(at)
    message["Message-ID"] = message_id(letter.key, to, sender)
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(clean(letter.text), cte="quoted-printable")
    message.add_alternative(clean(letter.html), subtype="html", cte="quoted-printable")
    if letter.picture is not None:
        *_, html = message.iter_parts()
        if isinstance(html, EmailMessage):
            html.add_related(
                letter.picture,
                "image",
                "png",
                cid=f"<{PICTURE.removeprefix('cid:')}>",
                disposition="inline",
                filename="chart.png",
            )
    return message.as_bytes()
