"""Renamed tests over HTTP and on pages: who may join names, what is refused, and what is shown."""

from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from quarantine.domain.outcome import Lane
from tests.web.acting import Actor, audited, offered, wrong
from tests.web.conftest import SUITE
from tests.web.site import AT, Site, problem
from tests.world import CLASSNAME, PROJECT

HOME = f"/projects/{PROJECT}"
HOSTILE = "t_flaky<u>"
BODY = {"to": "t_flaky_total", "reason": "cleaned up"}


def suite(present: str) -> dict[str, str]:
    return {present if name == "t_flaky" else name: tries for name, tries in SUITE.items() if name != "t_broken"}


@pytest.fixture
def renamed(judged: Site) -> Site:
    """Return a site whose trunk has just run the quarantined test by another name."""
    judged.world.send("renamed", suite("t_flaky_total"))
    return judged


@pytest.fixture
def admin(renamed: Site) -> TestClient:
    """Return a person with an admin token."""
    return renamed.client(token=renamed.token("admin", label="maria"))


def test_old_links_go_on_working(renamed: Site, admin: TestClient) -> None:
    """Both names and both ids find the one test, in the gating set and on its page."""
    ids = [admin.get(f"{AT}/tests/{name}").json()["test"] for name in ("t_flaky", "t_flaky_total")]
    admin.post(f"{AT}/mode", json={"mode": "enforce"})
    assert admin.get(f"{AT}/gating/{ids[1]}").json()["gating"] is True
    answer = admin.post(f"{AT}/tests/t_flaky/alias", json=BODY)
    assert (answer.status_code, answer.json()["formerly"]) == (200, f"{CLASSNAME}::t_flaky")
    names = [*ids, f"{CLASSNAME}::t_flaky", f"{CLASSNAME}::t_flaky_total", "tests/test_ledger.py::t_flaky"]
    listed = admin.get(f"{AT}/gating").json()
    for name in names:
        at = quote(name, safe="")
        assert admin.get(f"{AT}/gating/{at}").json()["gating"] is False
        assert name in listed["not_gating"]
        assert admin.get(f"{AT}/tests/{at}").json()["test"] == ids[0]
    for name in ids:
        page = renamed.client(token=renamed.token("read"), browser=True).get(f"{HOME}/tests/{name}")
        assert page.status_code in (200, 303)
    done = admin.post(f"{AT}/tests/t_flaky/alias/end", json=BODY)
    assert (done.status_code, done.json()["apart_id"]) == (200, ids[1])
    assert admin.get(f"{AT}/gating/{ids[1]}").json()["gating"] is True


def test_the_pages_say_what_it_was_called(renamed: Site) -> None:
    """The test's page leads with the present name, tells the former, and who joined them and why."""
    from quarantine.services import aliases
    from tests.world import OWNER

    aliases.alias(renamed.world.app, PROJECT, "t_flaky", "t_flaky_total", bearer=OWNER, reason="cleaned up")
    page = renamed.page(f"{HOME}/tests/t_flaky")
    assert f"Formerly {CLASSNAME}::t_flaky. It is one test" in page.text
    assert "cleaned up" in page.text[page.text.index("What people did") :]
    assert f"formerly {CLASSNAME}::t_flaky" in renamed.page(f"{HOME}/quarantined").text


def test_the_overview_asks_a_person(renamed: Site) -> None:
    """What has something to lose is named with what to do; the rest is one sentence."""
    text = renamed.page(HOME).text
    needs = text[text.index("What needs a person now") :]
    assert "1 looks renamed Say so with `quarantine alias`" in needs
    assert f"{CLASSNAME}::t_flaky looks like {CLASSNAME}::t_flaky_total (quarantined)" in needs
    renamed.world.send(
        "more", {"t_zero" if name == "t0" else name: one for name, one in suite("t_flaky_total").items()}
    )
    renamed.world.send(
        "most", {"t_zeros" if name == "t0" else name: one for name, one in suite("t_flaky_total").items()}
    )
    assert "1 other test that never failed right after a pass looks renamed too." in renamed.page(HOME).text


def test_a_hostile_name_is_only_text(judged: Site) -> None:
    """A proposal and an alias of a name full of markup."""
    judged.world.send("renamed", suite(HOSTILE))
    admin = judged.client(token=judged.token("admin"))
    [one] = admin.get(f"{AT}/renames").json()["proposed"]
    assert one["present_name"] == f"{CLASSNAME}::{HOSTILE}"
    assert (
        admin.post(f"{AT}/tests/{one['former']}/alias", json={"to": one["present"], "reason": "<b>"}).status_code == 200
    )
    reader = judged.client(token=judged.token("read"))
    for path in (HOME, f"{HOME}/tests/{one['former']}", f"{HOME}/quarantined"):
        text = reader.get(path, headers={"accept": "text/html"}).text
        assert "<u>" not in text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"reason": "x"}',
        b'{"to": "t1"}',
        b'{"to": 7, "reason": "x"}',
        b'{"to": "\\u0000", "reason": "x"}',
    ],
)
@pytest.mark.parametrize("what", ["alias", "alias/end", "alias/dismiss"])
def test_a_body_that_is_none_is_refused(admin: TestClient, body: bytes, what: str) -> None:
    """Both texts are needed."""
    problem(admin.post(f"{AT}/tests/t_flaky/{what}", content=body), 422, "bad-input")


def test_only_an_admin_may(renamed: Site) -> None:
    """Whoever reports or reads is refused, and nothing is joined."""
    callers: list[dict[str, Any]] = [{"scope": "report", "lane": lane.value} for lane in Lane] + [{"scope": "read"}]
    for asked in callers:
        client = renamed.client(token=renamed.token(asked["scope"], lane=asked.get("lane")))
        for what in ("alias", "alias/end", "alias/dismiss"):
            assert client.post(f"{AT}/tests/t_flaky/{what}", json=BODY).status_code == 403
    assert renamed.world.explain("t_flaky_total")["formerly"] == []


def test_what_cannot_be_is_a_conflict_or_not_found(admin: TestClient) -> None:
    """With its mend."""
    told = problem(admin.post(f"{AT}/tests/t1/alias", json={"to": "t2", "reason": "x"}), 409, "conflict")
    assert "Trunk still runs" in told["detail"]
    problem(admin.post(f"{AT}/tests/t_flaky/alias", json={"to": "nobody", "reason": "x"}), 404, "not-found")
    problem(admin.post(f"{AT}/tests/t_flaky/alias/end", json=BODY), 409, "conflict")


def test_an_admin_says_it_on_the_page_and_takes_it_back(renamed: Site) -> None:
    """The form stands where trunk runs the test no longer, names what it looks like, and is audited."""
    admin = Actor.of(renamed)
    page = admin.page("t_flaky")
    assert offered(page) == ["release", "alias"]
    assert f"one that it looks like: {CLASSNAME}::t_flaky_total." in page.text
    assert "alias" not in offered(admin.page("t_flaky_total"))
    assert wrong(admin.refused("t_flaky", "alias", status=422, to=" ", reason="x")) == {"to"}
    assert wrong(admin.refused("t_flaky", "alias", status=422, to="nobody", reason="x")) == {"to"}
    assert wrong(admin.refused("t_flaky", "alias", status=422, to="t_flaky_total", reason="")) == {"reason"}
    typed = admin.refused("t_flaky", "alias", status=422, to='"><u>x', reason="x")
    assert "<u>" not in typed.html
    assert "Trunk still runs" in admin.refused("t1", "alias", status=409, to="t2", reason="x").text
    page = admin.done("t_flaky", "alias", to="t_flaky_total", reason="cleaned up")
    assert f"{CLASSNAME}::t_flaky goes by {CLASSNAME}::t_flaky_total now." in page.text
    assert f"Formerly {CLASSNAME}::t_flaky." in page.text
    assert [detail["reason"] for _, detail in audited(renamed, "alias")] == ["cleaned up"]
    renamed.world.send("joined", suite("t_flaky_total"))
    page = admin.page("t_flaky")
    assert offered(page) == ["release", "apart"]
    [name] = [one["value"] for _tag, one in page.elements if one.get("name") == "to"]
    assert "is a test of its own again" in admin.done("t_flaky", "apart", to=name, reason="two tests").text
    assert [detail["reason"] for _, detail in audited(renamed, "end-alias")] == ["two tests"]
