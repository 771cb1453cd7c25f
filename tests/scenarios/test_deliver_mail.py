"""Letters of the outbox, taken to a mail server that goes wrong: none is lost, and a second copy is known for one."""

import base64
from collections.abc import Iterator

import pytest

from quarantine.domain.chart import SizeChart, SizeWeek
from quarantine.domain.mail_content import PICTURE, MailContent
from quarantine.services import letters, parked_messages
from quarantine.services.deliver import FORSAKEN, Round, deliver
from quarantine.slack.fake import FakeSlack
from quarantine.store import outbox, projects
from quarantine.store.engine import reading, writing
from tests.channels import HERE, connect
from tests.postoffice import Mishap, PostOffice, open_office
from tests.scenarios.test_deliver import post as post_to_slack
from tests.world import World

LEAD, OWNER = "lead@example.org", "owner@example.org"
CHART = SizeChart("Ledger", (SizeWeek("5 Jan", 3, 3, 0),))
CONTENT = MailContent(subject="The week of ledger", text="It grew.\n", html=f'<img src="{PICTURE}">', chart=CHART)


@pytest.fixture
def office(world: World) -> Iterator[PostOffice]:
    """Return the mail server that the daemon hands letters to."""
    with open_office() as opened:
        world.app.mail = opened.server()
        yield opened


def write(world: World, *to: str, key: str = "weekly:2026-01-05", content: MailContent = CONTENT) -> int:
    with writing(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project, lock=True)
        return letters.post(connection, project, to, content, key=key, now=world.clock())


def names(office: PostOffice) -> list[str]:
    return [letter["Message-ID"] for letter in office.letters]


def receivers(office: PostOffice) -> list[str]:
    return sorted(person for _, people in office.envelopes for person in people)


def test_each_person_gets_a_letter_of_their_own_with_the_picture(world: World, office: PostOffice) -> None:
    """One recipient a letter, the chart drawn when it is sent, and never twice for the same key."""
    assert write(world, LEAD, OWNER, LEAD) == 2
    assert write(world, LEAD, OWNER) == 0
    assert deliver(world.app, by="one") == Round(sent=2)
    assert receivers(office) == [LEAD, OWNER]
    assert len(set(names(office))) == 2
    for letter, (_, people) in zip(office.letters, office.envelopes, strict=True):
        assert letter["To"] == people[0]
        [picture] = [part for part in letter.walk() if part.get_content_type() == "image/png"]
        assert base64.b64decode(str(picture.get_payload())).startswith(b"\x89PNG")
    assert write(world, LEAD, key="weekly:2026-01-12") == 1
    assert deliver(world.app, by="one") == Round(sent=1)
    assert len(set(names(office))) == 3


@pytest.mark.parametrize(
    "mishap",
    [Mishap("mail", answer="421 busy"), Mishap("rcpt", answer="451 greylisted"), Mishap("rcpt", drop=True),
     Mishap("data", answer="452 full")],
    ids=str,
)  # fmt: skip
def test_what_failed_before_it_was_taken_is_sent_once(world: World, office: PostOffice, mishap: Mishap) -> None:
    """It is tried again after a pause, and arrives once."""
    office.mishaps.append(mishap)
    write(world, LEAD)
    assert deliver(world.app, by="one") == Round(postponed=1)
    assert deliver(world.app, by="one") == Round()
    world.wait(seconds=6)
    assert deliver(world.app, by="one") == Round(sent=1)
    assert receivers(office) == [LEAD]


def test_one_mailbox_that_is_refused_for_now_delays_no_other(world: World, office: PostOffice) -> None:
    """Each address waits by itself."""
    office.mishaps.append(Mishap("rcpt", answer="450 mailbox busy"))
    write(world, LEAD, OWNER)
    assert deliver(world.app, by="one") == Round(sent=1, postponed=1)
    world.wait(seconds=6)
    assert deliver(world.app, by="one") == Round(sent=1)
    assert receivers(office) == [LEAD, OWNER]


def test_a_letter_in_doubt_is_sent_again_under_the_same_name(world: World, office: PostOffice) -> None:
    """The connection ended between the letter and the answer: it is there twice, and mail programs can tell."""
    office.mishaps.append(Mishap("data", drop=True))
    write(world, LEAD)
    assert deliver(world.app, by="one") == Round(postponed=1)
    world.wait(seconds=6)
    assert deliver(world.app, by="one") == Round(sent=1)
    assert receivers(office) == [LEAD, LEAD]
    assert len(set(names(office))) == 1
    assert len({letter["Date"] for letter in office.letters}) == 1


def test_a_daemon_that_dies_before_it_sent_loses_nothing(world: World, office: PostOffice) -> None:
    """Another one takes the letter over once it is clear that nobody works on it."""
    write(world, LEAD)
    with writing(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        claimed = outbox.claim(connection, project.id, f"mail:{LEAD}", world.clock(), by="dead", forsaken=FORSAKEN)
    assert claimed is not None
    assert deliver(world.app, by="two") == Round()
    world.wait(minutes=6)
    assert deliver(world.app, by="two") == Round(sent=1)
    assert receivers(office) == [LEAD]


def test_what_a_person_has_to_mend_is_parked_with_what_the_server_said(world: World, office: PostOffice) -> None:
    """It is shown beside parked messages of Slack, holds up no other letter, and goes out once it is released."""
    office.mishaps.append(Mishap("rcpt", answer="550 5.1.1 no such user"))
    write(world, LEAD)
    assert deliver(world.app, by="one") == Round(parked=1)
    write(world, LEAD, key="weekly:2026-01-12")
    assert deliver(world.app, by="one") == Round(sent=1)
    [told] = parked_messages.of(world.app, world.project)
    assert (told["channel"], told["title"], told["code"]) == (f"mail:{LEAD}", "The week of ledger", "smtp-550")
    assert "no such user" in told["mend"]
    assert LEAD in told["mend"]
    assert parked_messages.send_again(world.app, world.project) == 1
    assert deliver(world.app, by="one") == Round(sent=1)
    assert receivers(office) == [LEAD, LEAD]


def test_each_way_waits_for_itself_alone(world: World, slack: FakeSlack, office: PostOffice) -> None:
    """Without a mail server letters wait and Slack goes on, and the other way round."""
    server, world.app.mail = world.app.mail, None
    connect(world, slack)
    write(world, LEAD)
    post_to_slack(world, "a")
    assert deliver(world.app, by="one") == Round(sent=1)
    assert slack.texts(HERE) == ["a"]
    world.app.mail, world.app.slack = server, None
    post_to_slack(world, "b")
    assert deliver(world.app, by="one") == Round(sent=1)
    assert receivers(office) == [LEAD]
    with reading(world.app.engine) as connection:
        assert outbox.waiting(connection, projects.by_slug(connection, world.project).id) == 1


def test_the_same_key_in_two_projects_is_two_letters(world: World, office: PostOffice) -> None:
    """Somebody who leads both gets both, and no mail program takes one for the other."""
    write(world, LEAD)
    with writing(world.app.engine) as connection:
        projects.create(connection, "other", world.clock())
        other = projects.by_slug(connection, "other", lock=True)
        letters.post(connection, other, [LEAD], CONTENT, key="weekly:2026-01-05", now=world.clock())
    assert deliver(world.app, by="one") == Round(sent=2)
    assert len(set(names(office))) == 2


def test_hostile_names_stay_words(world: World, office: PostOffice) -> None:
    """A name of a test in the subject adds no header and no recipient."""
    content = MailContent(subject="x\r\nBcc: evil@example.org\r\n\r\n.\r\nQUIT", text=".\r\n.\r\n", html="<p>x</p>")
    write(world, LEAD, content=content)
    assert deliver(world.app, by="one") == Round(sent=1)
    [letter] = office.letters
    assert letter["Bcc"] is None
    assert letter["Subject"] == "x Bcc: evil@example.org . QUIT"
    assert office.envelopes == [(office.server().sender, [LEAD])]
