"""The page of a week and its routes: who may read it, what it says where nothing is, and that text stays text."""

import pytest

from quarantine.services import decisions
from quarantine.services.weekly_issue import issue_due
from tests.web.site import AT, BROWSER, ELSEWHERE, Page, Site, problem
from tests.world import CLASSNAME, OWNER, PROJECT

HOSTILE = "t[<script>alert(1)</script>][x](javascript:alert(1))"


@pytest.fixture
def weeks(site: Site) -> Site:
    """Return a site with one week told, whose quarantined test has a name that would be markup."""
    world = site.world
    world.send("first", {HOSTILE: "P", "t2": "P"})
    decisions.quarantine(world.app, PROJECT, f"{CLASSNAME}::{HOSTILE}", bearer=OWNER, reason="<b>down</b>", days=9)
    world.wait(days=8)
    assert issue_due(world.app, PROJECT) == ["2026-W02"]
    return site


def test_the_page_keeps_its_address(weeks: Site) -> None:
    """The last week told is what the page without a week shows; each week links to the others."""
    last, named = weeks.page(f"/projects/{PROJECT}/weekly"), weeks.page(f"/projects/{PROJECT}/weekly/2026-W02")
    assert last.text == named.text
    assert "The first week: 1 test would be in quarantine, 1 in, 0 out." in last.text
    running = weeks.page(f"/projects/{PROJECT}/weekly/running")
    assert "Quarantine-size report, so far" in running.text
    assert f"/projects/{PROJECT}/weekly/2026-W02" in running.attributes("href")


def test_text_from_reports_stays_text(weeks: Site) -> None:
    """On the page, and in Markdown, which browsers are told not to take for anything else."""
    page = weeks.page(f"/projects/{PROJECT}/weekly")
    page.check_inert()
    assert HOSTILE in page.text
    assert "<b>down</b>" in page.text
    told = weeks.open().get(f"{AT}/weekly/2026-W02?format=markdown")
    assert told.headers["content-type"] == "text/markdown; charset=utf-8"
    assert told.headers["x-content-type-options"] == "nosniff"
    assert r"\<b\>down\</b\>" in told.text


def test_the_routes_tell_the_same(weeks: Site) -> None:
    """The list of weeks, and one week under its name and as the last one."""
    client = weeks.open()
    assert client.get(f"{AT}/weekly").json() == {"schema": 1, "project": PROJECT, "weeks": ["2026-W02"]}
    assert client.get(f"{AT}/weekly/last").json() == client.get(f"{AT}/weekly/2026-W02").json()


def test_what_is_not_there_is_said(weeks: Site) -> None:
    """Weeks outside of the project's time, what no week is called, and formats nobody makes."""
    client = weeks.open()
    assert "2031-W01" in problem(client.get(f"{AT}/weekly/2031-W01"), 404, "not-found")["detail"]
    assert "There is no week" in problem(client.get(f"{AT}/weekly/nonsense"), 422, "bad-input")["detail"]
    assert "json or markdown" in problem(client.get(f"{AT}/weekly/last?format=pdf"), 422, "bad-input")["mend"]
    Page.of(weeks.open(browser=True).get(f"/projects/{PROJECT}/weekly/2031-W01"), status=404)


def test_reading_takes_a_token_of_the_project(weeks: Site) -> None:
    """Nobody from elsewhere, no token of another project."""
    decisions.create_project(weeks.world.app, "atlas", bearer=OWNER)
    theirs, ours = weeks.token("read", project="atlas"), weeks.token("read")
    for path in (f"{AT}/weekly", f"{AT}/weekly/last"):
        assert weeks.client(caller=ELSEWHERE).get(path).status_code == 401
        assert weeks.client(token=theirs).get(path).status_code in (403, 404)
        assert weeks.client(token=ours).get(path).status_code == 200
    answer = weeks.client(token=theirs).get(f"/projects/{PROJECT}/weekly", headers=BROWSER)
    assert answer.status_code in (303, 401, 403, 404)
