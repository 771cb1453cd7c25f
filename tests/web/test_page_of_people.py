"""What the pages say of owners and of who is told: broken lines, owners nobody can reach, messages that wait."""

from functools import partial

from quarantine.domain.mail_content import MailContent
from quarantine.services import decisions, letters
from quarantine.services.deliver import deliver
from quarantine.services.news import tell
from quarantine.services.ownership import names_of_owners
from quarantine.services.people import People, ProjectPeople
from quarantine.services.quarantined_list import Wanted, quarantined_list
from quarantine.slack.fake import FakeSlack
from quarantine.store import projects
from quarantine.store.engine import writing
from tests.channels import connect
from tests.postoffice import Mishap, open_office
from tests.web.site import Site
from tests.world import OWNER, PROJECT

POLICY = f"/projects/{PROJECT}/policy"
TEXT = "* @acme/ledger\n/tests/ @acme/mail\n/docs/ <b>@evil</b>\n/src/[a-z]/ @acme/ranges\n"


def owned(site: Site) -> None:
    """Let trunk say who owns what, and take a test out."""
    world = site.world
    world.app.people = People(projects={PROJECT: ProjectPeople(channel="C0GONE", owners={"@acme/mail": "C0OTHER"})})
    text = {"path": ".github/CODEOWNERS", "text": TEXT, "dialect": "github"}
    world.send("first", {"t1": "P", "t2": "P"}, owners=text)
    decisions.set_mode(world.app, PROJECT, "enforce", bearer=OWNER)
    decisions.quarantine(world.app, PROJECT, "t1", bearer=OWNER, reason="x", days=3)


def test_a_project_that_tells_nobody_says_how_to_begin(site: Site) -> None:
    """No channel, no owners: the page names the setting and the verb."""
    page = site.page(POLICY)
    page.check_inert()
    assert "[project.ledger]" in page.text
    assert "Trunk never sent a CODEOWNERS file" in page.text


def test_broken_lines_and_owners_nobody_can_reach_are_named(site: Site) -> None:
    """By line and by name, as words; the rest of the file is used."""
    owned(site)
    page = site.page(POLICY)
    page.check_inert()
    text = page.text
    assert "@acme/ledger" in text
    assert "1 of its owners can be reached" in text
    assert "Lines of it that cannot be used" in text
    assert "ine 4" in text


def test_what_is_parked_is_shown_with_how_to_mend_it(site: Site, slack: FakeSlack) -> None:
    """A channel that vanished is found by whoever looks at the page."""
    owned(site)
    connect(site.world, slack)
    tell(site.world.app, PROJECT)
    deliver(site.world.app, by="one")
    page = site.page(POLICY)
    assert "There is no such channel" in page.text
    assert "quarantine slack parked" in page.text


def test_the_list_is_filtered_by_owner(site: Site) -> None:
    """Whose a test is shows in the list, and the list of one owner has no other's."""
    owned(site)
    page = site.page(f"/projects/{PROJECT}/quarantined")
    assert "@acme/mail" in page.text
    app = site.world.app
    find = partial(names_of_owners, app)
    told = quarantined_list(app, PROJECT, Wanted(), owners=find)
    [owner] = told["owners"]
    assert len(quarantined_list(app, PROJECT, Wanted(owner=owner), owners=find)["rows"]) == 1
    assert quarantined_list(app, PROJECT, Wanted(owner="@somebody/else"), owners=find)["rows"] == []


def test_a_parked_letter_is_shown_as_a_parked_message_is(site: Site) -> None:
    """What the mail server said is words on the page, whatever it said."""
    owned(site)
    app = site.world.app
    people = ProjectPeople(channel="C0GONE", mail=("lead@example.org",))
    app.people = People(projects={PROJECT: people})
    content = MailContent(subject="The <b>week</b>", text="x", html="x")
    with open_office() as office:
        app.mail = office.server()
        office.mishaps.append(Mishap("rcpt", answer="550 <script>alert(1)</script>"))
        with writing(app.engine) as connection:
            project = projects.by_slug(connection, PROJECT, lock=True)
            letters.post(connection, project, people.mail, content, key="k", now=app.clock())
        assert deliver(app, by="one").parked == 1
    page = site.page(POLICY)
    page.check_inert()
    assert "Reports are mailed to 1 address." in page.text
    assert "The <b>week</b>" in page.text
    assert "The server takes no mail for lead@example.org" in page.text
