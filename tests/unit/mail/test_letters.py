"""What a letter looks like on the wire, whatever stands in it."""

from datetime import UTC, datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.domain.mail_content import PICTURE
from quarantine.mail.letters import Letter, is_address, message_id, written

AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
TO, SENDER = "lead@example.org", "q@mail.example.org"
HOSTILE = st.one_of(
    st.text(max_size=80),
    st.sampled_from(
        ["x\r\nBcc: evil@example.org", "a\n\nbody", ".\r\n.\r\nQUIT", "\u2028Bcc: e@e", "=?utf-8?q?x?=", "\ud800"]
    ),
)


def letter(
    subject: str = "The week", text: str = "words\n", html: str = "<p>words</p>", picture: bytes | None = None
) -> Letter:
    return Letter(subject=subject, text=text, html=html, picture=picture, key="k")


def read(content: bytes) -> EmailMessage:
    return message_from_bytes(content, policy=default)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_nothing_in_a_letter_adds_a_header_or_ends_it(subject: str, text: str, html: str) -> None:
    """Names from reports are words: the headers are those we set, and every line is short and ASCII."""
    content = written(letter(subject, text, html), TO, SENDER, AT)
    made = read(content)
    assert sorted(made.keys()) == [
        "Auto-Submitted", "Content-Type", "Date", "From", "MIME-Version", "Message-ID", "Subject", "To",
    ]  # fmt: skip
    assert made["To"].addresses[0].addr_spec == TO
    assert len(made["To"].addresses) == 1
    assert "\n" not in made["Subject"]
    assert max(map(len, content.split(b"\r\n"))) <= 998
    assert content.isascii()
    assert b"\n" not in content.replace(b"\r\n", b"")


def test_both_forms_and_the_picture_are_in_it() -> None:
    """Plain text first, then HTML, whose picture is beside it under the address the HTML uses."""
    made = read(written(letter(html=f'<img src="{PICTURE}">', picture=b"\x89PNG..."), TO, SENDER, AT))
    assert made.get_content_type() == "multipart/alternative"
    plain, related = made.iter_parts()
    assert plain.get_content_type() == "text/plain"
    assert related.get_content_type() == "multipart/related"
    html, picture = related.iter_parts()
    assert html.get_content_type() == "text/html"
    assert picture["Content-ID"] == "<chart@quarantine>"
    assert picture["Content-Disposition"].startswith("inline")
    assert picture.get_payload(decode=True) == b"\x89PNG..."
    assert made["Date"].datetime == AT


def test_a_letter_has_one_name_and_another_letter_another() -> None:
    """The same key to the same person is the same Message-ID in every try."""
    assert message_id("k", TO, SENDER) == message_id("k", TO, SENDER)
    assert message_id("k", TO, SENDER).endswith("@mail.example.org>")
    assert len({message_id(key, to, SENDER) for key in "kl" for to in (TO, "other@example.org")}) == 4


@pytest.mark.parametrize("text", ["lead@example.org", "a.b+c@x.org", "root@localhost", "x@1-2.example"])
def test_a_plain_address_is_one(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "lead", "@example.org", "lead@", "a b@example.org", "a@b@c", "a@x.org\nBcc: b@x.org", "a@x.org, b@x.org",
        "Lead <lead@example.org>", '"a b"@example.org', "a..b@x.org", ".a@x.org", "a@x..org", "a@-x.org",
        "l\u00e9a@x.org",
        "a@" + "x" * 200, "a" * 65 + "@x.org",
    ],
)  # fmt: skip
def test_what_is_no_plain_address_is_refused(text: str) -> None:
    """Nor can it be written to."""
    assert not is_address(text)
    with pytest.raises(ValueError, match="plain address"):
        written(letter(), text, SENDER, AT)
