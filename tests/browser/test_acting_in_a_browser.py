"""An admin at a real browser, with the keyboard alone: signs in, decides, is refused, mends it, hears what was done."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from quarantine.services import decisions
from tests.browser.looking import Looker
from tests.browser.shop import Shop
from tests.browser.test_pages_in_a_browser import check
from tests.cli.hosting import hosted
from tests.databases import SqliteFiles
from tests.web.acting import answered, doubts, raise_doubt, status_of
from tests.web.site import Site
from tests.world import OWNER, PROJECT, World

pytestmark = pytest.mark.xdist_group("browser")
HOME = f"/projects/{PROJECT}"


@pytest.fixture
def site(sqlite_files: SqliteFiles, tmp_path: Path) -> Iterator[Site]:
    """Return an enforcing project in which two tests are quarantined, and one of them raised something."""
    shop = Shop.empty(sqlite_files, tmp_path / "acting.db")
    world = World(shop.app, shop.clock).created()
    for number in range(3):
        world.send(f"b{number}", {f"t{place}": "P" for place in range(6)})
        world.wait(hours=8)
    decisions.set_mode(world.app, PROJECT, "enforce", bearer=OWNER)
    for name in ("t1", "t2"):
        decisions.quarantine(world.app, PROJECT, name, bearer=OWNER, reason="the host is gone", days=25)
    world.wait(days=1)
    site = Site(world)
    raise_doubt(site, "t1", sentence="It failed 4 of 4 <b>runs</b>.")
    raise_doubt(site, "t1", change="T-2")
    yield site
    shop.app.engine.dispose()


@pytest.fixture
def admin(browser: Browser, site: Site) -> Iterator[Looker]:
    """Return a tab in which somebody has come to the page of t1 and signed in on the way."""
    token = site.token("admin")
    with hosted(site.world.app, open_lane=None) as home:
        looker = Looker.of(browser, home)
        looker.open(f"{HOME}/tests/t1?answer=snooze")
        assert "/sign-in?next=" in looker.page.url
        looker.tab_to("#token")
        looker.page.keyboard.type(token)
        assert looker.send() == 200
        assert looker.page.url == f"{home}{HOME}/tests/t1?answer=snooze"
        yield looker
        assert looker.noise == []
        assert looker.strays == []
        looker.close()


def in_days(site: Site, days: int) -> str:
    """Return a date so many days off, as it is typed into a date field."""
    return f"{site.world.clock.now + timedelta(days=days):%m%d%Y}"


def begin(looker: Looker, answer: str, test: str = "t1") -> None:
    """Open the page of a test anew, and the form of an answer on it."""
    looker.open(f"{HOME}/tests/{test}")
    looker.tab_to(f"details:has([value={answer}]) > summary")
    looker.page.keyboard.press("Enter")


def fill(looker: Looker, name: str, typed: str) -> None:
    """Type into a field."""
    looker.tab_to(f"[name={name}]")
    looker.page.keyboard.type(typed)


def press(looker: Looker) -> str:
    """Press the button of the form, and return what the page says of it, which has the focus then."""
    looker.tab_to("main form button[type=submit]")
    status = looker.send()
    assert status == 200, looker.page.inner_text("main")[:600]
    assert looker.page.evaluate("document.activeElement.getAttribute('role')") == "status"
    return looker.page.inner_text(".said")


def test_a_link_leads_through_signing_in_to_its_form(site: Site, admin: Looker) -> None:
    """The form that the link meant is open, its first field has the focus, and what is typed is done."""
    assert admin.page.evaluate("document.activeElement.id") == "snooze-until"
    admin.page.keyboard.type(in_days(site, 4))
    fill(admin, "reason", "new host on Monday")
    assert "Nobody is told about tests.test_ledger::t1 until" in press(admin)
    assert answered(site) == [("snooze", "new host on Monday")]
    assert "?" not in admin.page.url


def test_every_answer_is_given_with_the_keyboard(site: Site, admin: Looker) -> None:
    """One after another, each said on the page, and each with its effect."""
    begin(admin, "acknowledge")
    assert "stays on the list" in press(admin)
    begin(admin, "own")
    fill(admin, "until", in_days(site, 9))
    fill(admin, "reason", "I mend it")
    assert "is yours until" in press(admin)
    begin(admin, "regression")
    admin.tab_to("[name=raised]")
    admin.page.keyboard.press("ArrowDown")
    admin.tab_to("[name=was]")
    admin.page.keyboard.press("ArrowDown")
    fill(admin, "reason", "I read the trace")
    assert "was a flake." in press(admin)
    assert [state for state, _, _ in doubts(site)] == ["open", "flake"]
    begin(admin, "release")
    fill(admin, "reason", "it is mended")
    assert "gates again" in press(admin)
    assert status_of(site, "t1") == "gating"
    begin(admin, "enter", "t3")
    fill(admin, "until", in_days(site, 20))
    fill(admin, "reason", "the sandbox is down")
    assert "is quarantined until" in press(admin)
    assert status_of(site, "t3") == "quarantined"
    assert [kind for kind, _ in answered(site)] == ["acknowledge", "own"]


def test_what_is_wrong_is_beside_the_form_and_is_mended_there(site: Site, admin: Looker) -> None:
    """The field that is wrong has the focus, what was typed is there, and the form that came back counts."""
    begin(admin, "snooze")
    fill(admin, "until", in_days(site, 40))
    fill(admin, "reason", "new host on Monday")
    admin.tab_to("main form button[type=submit]")
    assert admin.send() == 422
    admin.expect_refusal()
    assert "A snooze lasts until a date to come, at most 14 days." in admin.page.inner_text("[role=alert]")
    focused = admin.page.evaluate("[document.activeElement.id, document.activeElement.ariaInvalid]")
    assert focused == ["snooze-until", "true"]
    assert admin.page.input_value("#snooze-reason") == "new host on Monday"
    admin.page.keyboard.type(in_days(site, 4))
    assert "Nobody is told" in press(admin)


def test_several_are_ticked_and_released(site: Site, admin: Looker) -> None:
    """On the list, with the space bar."""
    admin.open(f"{HOME}/quarantined")
    for _ in range(2):
        admin.tab_to("[name=test]")
        admin.page.keyboard.press("Space")
    admin.tab_to("[name=answer]")
    for _ in range(3):
        admin.page.keyboard.press("ArrowDown")
    fill(admin, "reason", "the host is new")
    assert "done for 2 tests" in press(admin)
    assert [status_of(site, name) for name in ("t1", "t2")] == ["gating", "gating"]


def test_pages_with_forms_hold_up(site: Site, admin: Looker, subtests: pytest.Subtests) -> None:
    """In every look and for everybody, also when a form came back."""
    for answer in ("release", "own", "snooze", "acknowledge", "regression"):
        with subtests.test(answer):
            admin.open(f"{HOME}/tests/t1?answer={answer}")
            check(admin)
    for path in (f"{HOME}/tests/t3?answer=enter", f"{HOME}/tests/t3?answer=snooze", f"{HOME}/quarantined"):
        with subtests.test(path):
            admin.open(path)
            check(admin)
    with subtests.test("refused"):
        admin.open(f"{HOME}/tests/t1?answer=regression")
        admin.tab_to("main form button[type=submit]")
        assert admin.send() == 422
        admin.expect_refusal()
        check(admin)
    with subtests.test("refused together"):
        admin.open(f"{HOME}/quarantined")
        admin.tab_to("#together button")
        assert admin.send() == 422
        admin.expect_refusal()
        check(admin)
    with subtests.test("read only"):
        admin.page.context.clear_cookies()
        admin.open("/sign-in")
        admin.page.fill("#token", site.token("read"))
        admin.page.press("#token", "Enter")
        admin.open(f"{HOME}/tests/t1?answer=snooze")
        check(admin)
