"""Lies told to the forms: none of them does anything, and each hears what is wrong with it."""

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlencode

import pytest

from quarantine.domain.outcome import Lane
from quarantine.services import decisions
from quarantine.services.people import People
from quarantine.web.auth import COOKIE
from quarantine.web.sealing import Seals
from tests.web.acting import HOME, OURS, Actor, answered, offered, status_of
from tests.web.site import ADDRESS, Page, Site
from tests.web.test_sign_in import AWAY
from tests.world import OWNER, PROJECT

FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def enforced(judged: Site) -> Iterator[Site]:
    """Return a project with a quarantined test, which nothing here may change."""
    decisions.set_mode(judged.world.app, PROJECT, "enforce", bearer=OWNER)
    judged.world.wait(days=1)
    yield judged
    assert status_of(judged, "t_flaky") == "quarantined"
    assert answered(judged) == []


@pytest.fixture
def admin(enforced: Site) -> Actor:
    """Return an admin of it, signed in."""
    return Actor.of(enforced)


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site", "origin": "https://evil.example"},
        {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "same-site", "origin": ADDRESS},
        {"origin": "https://evil.example"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "http://["},
        {"origin": ""},
    ],
)
def test_a_page_of_another_site_gets_nothing_done(admin: Actor, headers: dict[str, str]) -> None:
    """Not even one that has got hold of a form of ours; another port of this machine is another site."""
    page = admin.refused("t_flaky", "release", status=403, headers=headers, reason="x")
    assert "The form was sent from another site." in page.text


def test_a_form_needs_the_seal_of_this_sign_in(enforced: Site, admin: Actor) -> None:
    """None, a made-up one, one cut short, another admin's, one of another test, and what another seal of ours says."""
    theirs = Actor.of(enforced).form("t_flaky")["form"]
    token = str(admin.client.cookies.get(COOKIE))
    test = enforced.world.explain("t_flaky")["test"]
    said = Seals(enforced.world.app).of(PROJECT, token).closed(f"said {HOME}/tests/{test}", {"nonce": "n", "mark": "m"})
    own = admin.form("t_flaky")["form"]
    for form in ("", "x", ".", "e30.e30", own[:-1], own + "A", theirs, admin.form("t1")["form"], said, "\u00e9\0"):
        page = admin.refused("t_flaky", "release", status=403, form=form, reason="typed by a stranger")
        assert "The form was not made for this sign-in." in page.text
        assert "typed by a stranger" not in page.text
    body = urlencode({"answer": "release", "reason": "x"})
    page = Page.of(admin.client.post(f"{HOME}/tests/t_flaky", content=body, headers=OURS | FORM), status=403)
    assert "The form was not made for this sign-in." in page.text


@pytest.mark.parametrize(("scope", "lane"), [("read", None), ("report", "agent"), ("report", "trunk")])
def test_only_an_admin_finds_forms_and_is_heeded(enforced: Site, admin: Actor, scope: str, lane: str | None) -> None:
    """Others read how to get there, and what they send is refused, whatever form they got hold of."""
    form = admin.form("t_flaky")["form"]
    who = Actor.of(enforced, enforced.token(scope, lane=lane))
    page = who.page("t_flaky", "?answer=snooze")
    assert offered(page) == []
    assert "sign in with another token, one of the scope admin" in page.text
    [link] = [one for one in page.attributes("href") if one.startswith("/sign-in")]
    assert link.endswith("%3Fanswer%3Dsnooze%23answer")
    refused = who.refused("t_flaky", "release", status=403, form=form, reason="x")
    assert "This needs a token with the admin scope." in refused.text


def test_a_token_of_another_project_is_refused(enforced: Site) -> None:
    """An admin there is nobody here, and a form of their own project does nothing here."""
    decisions.create_project(enforced.world.app, "atlas", bearer=OWNER)
    token = enforced.token("admin", project="atlas")
    who = Actor.of(enforced, token)
    test = enforced.world.explain("t_flaky")["test"]
    form = Seals(enforced.world.app).of("atlas", token).closed(f"form {test}", {"nonce": "n", "mark": "m"})
    assert "This token is not for project" in who.refused("t_flaky", "release", status=403, form=form, reason="x").text
    elsewhere = who.client.post(
        f"/projects/atlas/tests/{test}", data={"form": form, "answer": "release", "reason": "x"}, headers=OURS
    )
    assert "has the id" in Page.of(elsewhere, status=404).text


def test_an_ended_sign_in_is_asked_for_again(enforced: Site) -> None:
    """A token that was revoked or has expired does nothing, and the page leads to signing in."""
    admin = Actor.of(enforced, enforced.token("admin", lifetime=timedelta(hours=1)))
    form = admin.form("t_flaky")["form"]
    enforced.world.wait(hours=2)
    ended = Actor(enforced.client(browser=True))
    ended.client.cookies.update(admin.client.cookies)
    page = ended.refused("t_flaky", "release", status=401, form=form, reason="x")
    assert "The token is unknown, expired or revoked." in page.text
    admin.client.cookies.delete(COOKIE)
    page = admin.refused("t_flaky", "release", status=401, form=form, reason="x")
    assert "Nobody is signed in." in page.text
    assert any(one.startswith(f"/sign-in?next={HOME}") for one in page.attributes("href"))
    admin.client.cookies.set(COOKIE, "qt_wrong")
    assert "unknown, expired or revoked" in admin.refused("t_flaky", "release", status=401, form=form, reason="x").text


def test_a_header_signs_nobody_in(enforced: Site) -> None:
    """Programs have routes of their own; by the header nobody gets forms, nor gets one heeded."""
    token = enforced.token("admin")
    client = enforced.client(token=token, browser=True)
    assert offered(Page.of(client.get(f"{HOME}/tests/t_flaky"))) == []
    test = enforced.world.explain("t_flaky")["test"]
    form = Seals(enforced.world.app).of(PROJECT, token).closed(f"form {test}", {"nonce": "n", "mark": "m"})
    data = {"form": form, "answer": "release", "reason": "x"}
    assert client.post(f"{HOME}/tests/t_flaky", data=data, headers=OURS).status_code == 401


def test_a_proxy_that_asks_for_a_password_of_its_own_is_in_nobodys_way(admin: Actor) -> None:
    """What a browser tells it in the header is not for us; who is signed in here finds the forms."""
    answer = admin.client.get(f"{HOME}/tests/t_flaky", headers={"authorization": "Basic ZXZlOng="})
    assert "release" in offered(Page.of(answer))


def test_loopback_without_tokens_is_never_an_admin(judged: Site) -> None:
    """It reads which command makes the first token; whatever is sent there is refused, by other names above all."""
    client = judged.open(browser=True)
    page = Page.of(client.get(f"{HOME}/tests/t_flaky?answer=release"))
    assert offered(page) == []
    assert f"quarantine token create --project {PROJECT} --scope admin --label YOU" in page.text
    assert "this server has no tokens yet" in page.text
    test = judged.world.explain("t_flaky")["test"]
    for session in ("", "loopback without token"):
        form = Seals(judged.world.app).of(PROJECT, session).closed(f"form {test}", {"nonce": "n", "mark": "m"})
        data = {"form": form, "answer": "release", "reason": "x"}
        client.cookies.set(COOKIE, session)
        assert client.post(f"{HOME}/tests/t_flaky", data=data, headers=OURS).status_code == 401
    rebound = judged.open(browser=True, address="http://evil.example:8321")
    assert rebound.get(f"{HOME}/tests/t_flaky").status_code == 303
    answer = rebound.post(f"{HOME}/tests/t_flaky", data=data, headers=OURS | {"origin": "http://evil.example:8321"})
    assert answer.status_code == 401
    assert status_of(judged, "t_flaky") == "quarantined"
    judged.token("admin")
    assert judged.client(browser=True, open_lane=Lane.TRUNK).get(f"{HOME}/tests/t_flaky").status_code == 303


def test_only_a_small_form_of_our_kind_is_read(admin: Actor) -> None:
    """Another type, a long body, and what cannot be read are refused before anything is looked at."""
    at, form = f"{HOME}/tests/t_flaky", admin.form("t_flaky")["form"]
    said = {"form": form, "answer": "release", "reason": "x"}
    send = admin.client.post
    assert Page.of(send(at, json=said, headers=OURS), status=415)
    assert Page.of(send(at, files={"form": b"x"}, headers=OURS), status=415)
    assert Page.of(send(at, content=urlencode(said), headers=OURS), status=415)
    large = urlencode(said | {"reason": "x" * 10_000_000})
    assert "The form is larger than 64 KiB." in Page.of(send(at, content=large, headers=OURS | FORM), status=413).text
    for body in (b"\xff\xfe", b"reason=%ff&answer=release", b"&&&=&", b"a=b&" * 400):
        assert Page.of(send(at, content=body, headers=OURS | FORM), status=400)
    for twice in ("reason=a&reason=b", "answer=release&answer=snooze", f"form={form}&form={form}"):
        page = Page.of(send(at, content=f"{urlencode(said)}&{twice}", headers=OURS | FORM), status=400)
        assert "The form says one thing twice." in page.text
    for answer in ("", "nothing", "__class__", "mode"):
        assert Page.of(send(at, data=said | {"answer": answer}, headers=OURS), status=400)
    assert Page.of(send(at, content=b"", headers=OURS | FORM), status=400)


def test_other_methods_and_addresses_do_nothing(admin: Actor) -> None:
    """What a form says counts in its body alone, and only when it is posted to a test that is there."""
    form = admin.form("t_flaky")["form"]
    query = urlencode({"form": form, "answer": "release", "reason": "x"})
    at = f"{HOME}/tests/t_flaky"
    assert admin.client.get(f"{at}?{query}").status_code == 200
    assert admin.client.post(f"{at}?{query}", content=b"", headers=OURS | FORM).status_code == 400
    assert {admin.client.request(method, f"{at}?{query}").status_code for method in ("PUT", "DELETE", "PATCH")} == {405}
    page = Page.of(admin.client.post(f"{HOME}/tests/nope", content=query, headers=OURS | FORM), status=404)
    assert "No test of ledger goes by 'nope'." in page.text


def test_a_proxy_that_calls_us_otherwise_is_known_by_the_settings(enforced: Site, admin: Actor) -> None:
    """Where a browser says no more than its origin, the address people reach the server at is as good as its name."""
    enforced.world.app.people = People(address="https://q.example")
    form = admin.form("t_flaky")["form"]
    said = {"form": form, "reason": ""}
    admin.refused("t_flaky", "release", status=422, headers={"origin": "https://q.example"}, **said)
    admin.refused("t_flaky", "release", status=403, headers={"origin": "https://q.example.evil"}, **said)


@pytest.mark.parametrize("wanted", AWAY)
def test_signing_in_from_a_test_leads_back_to_it_and_nowhere_else(enforced: Site, wanted: str) -> None:
    """To the form that was meant, and never to another server."""
    client = enforced.client(browser=True)
    token = enforced.token("admin")
    page = Page.of(enforced.client(browser=True, token=enforced.token("read")).get(f"{HOME}/tests/t_flaky?answer=own"))
    [link] = [one for one in page.attributes("href") if one.startswith("/sign-in")]
    sign_in = Page.of(client.get(link))
    [goal] = [str(one["value"]) for tag, one in sign_in.elements if tag == "input" and one.get("name") == "next"]
    answer = client.post("/sign-in", data={"token": token, "next": goal})
    assert answer.headers["location"] == goal
    assert goal.endswith("?answer=own#answer")
    assert client.post("/sign-in", data={"token": token, "next": wanted}).headers["location"] == HOME


def test_pages_with_forms_are_never_kept_nor_framed(admin: Actor) -> None:
    """Neither by a cache nor by a page of somebody else's."""
    for answer in (admin.client.get(f"{HOME}/tests/t_flaky"), admin.send("t_flaky", "release", reason="")):
        assert answer.headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "form-action 'self'" in answer.headers["content-security-policy"]


def test_programs_hear_a_problem(admin: Actor) -> None:
    """Whoever asks for no page gets the document that programs read."""
    answer = admin.client.post(
        f"{HOME}/tests/t_flaky", data={"answer": "release"}, headers=OURS | {"accept": "application/json"}
    )
    assert answer.status_code == 403
    assert answer.headers["content-type"] == "application/problem+json"
