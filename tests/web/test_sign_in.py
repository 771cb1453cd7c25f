"""Signing in: a token once typed, kept where no script and no other site can use it."""

from datetime import timedelta
from urllib.parse import quote, unquote

import pytest
from starlette.testclient import TestClient

from quarantine.services import decisions
from quarantine.web.sign_in import local_path
from tests.web.site import Page, Site, upload
from tests.world import OWNER, PROJECT

HOME = f"/projects/{PROJECT}"
AWAY = (
    "//evil.example/",
    "/\\evil.example",
    "/\t/evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "",
    "evil.example",
    "/ok\r\nset-cookie: a=b",
    "\\\\evil.example",
    " //evil.example",
    "/\n/evil.example",
)


def signed_in(site: Site, token: str, **more: str) -> TestClient:
    """Return a browser that has signed in with this token."""
    client = site.client(browser=True)
    assert client.post("/sign-in", data={"token": token, "next": "/"}, headers=more).status_code == 303
    return client


def test_a_page_asks_who_reads_it_and_remembers_where_they_were_going(judged: Site) -> None:
    """Without a token a browser is sent to sign in, and from there to the page it wanted, query and all."""
    token = judged.token("read")
    client = judged.client(browser=True)
    sent = client.get(f"{HOME}/tests/t_flaky?x=1")
    assert sent.status_code == 303
    assert sent.headers["location"] == f"/sign-in?next={quote(f'{HOME}/tests/t_flaky?x=1', safe='')}"
    form = Page.of(client.get(sent.headers["location"]))
    [wanted] = [shown["value"] for tag, shown in form.elements if tag == "input" and shown.get("name") == "next"]
    answer = client.post("/sign-in", data={"token": f" {token} ", "next": wanted or ""})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"{HOME}/tests/t_flaky?x=1"
    assert "t_flaky" in Page.of(client.get(answer.headers["location"])).text


def test_the_cookie_is_for_this_server_alone(site: Site) -> None:
    """No script reads it, no other site sends it, and it never leaves an encrypted server unencrypted."""
    token = site.token("read")
    plain = site.client(browser=True).post("/sign-in", data={"token": token})
    parts = {part.strip().lower() for part in plain.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert "secure" not in parts
    safe = site.client(browser=True, address="https://flaky.example").post("/sign-in", data={"token": token})
    assert "secure" in safe.headers["set-cookie"].lower()
    assert not any(part.startswith("domain") for part in parts)


def test_without_a_wish_signing_in_leads_to_the_project_of_the_token(site: Site) -> None:
    """Whoever comes to the first page sees the one project their token is for."""
    answer = site.client(browser=True).post("/sign-in", data={"token": site.token("read")})
    assert answer.headers["location"] == HOME


@pytest.mark.parametrize("token", ["qt_wrong", "", "qt_\N{SNOWMAN}", "a" * 4_000])
def test_a_wrong_token_is_told_and_not_kept(site: Site, token: str) -> None:
    """The form comes back with what is wrong, still knowing where the reader wanted to go, and without the token."""
    answer = site.client(browser=True).post("/sign-in", data={"token": token, "next": HOME})
    page = Page.of(answer, status=401)
    assert "This token is unknown, expired or revoked." in page.text
    assert HOME in page.attributes("value")
    assert "set-cookie" not in answer.headers
    assert not token or token not in answer.text


def test_an_expired_and_a_revoked_token_are_wrong(site: Site) -> None:
    """A token that has ended signs nobody in."""
    ended = site.token("read", lifetime=timedelta(days=1))
    site.world.wait(days=2)
    assert site.client(browser=True).post("/sign-in", data={"token": ended}).status_code == 401


@pytest.mark.parametrize("wanted", AWAY)
def test_signing_in_never_leads_to_another_server(site: Site, wanted: str) -> None:
    """A link that names another server as the next page leads to the first page of this one."""
    assert local_path(wanted) == "/"
    token = site.token("read")
    answer = site.client(browser=True).post("/sign-in", data={"token": token, "next": wanted})
    assert answer.headers["location"] == HOME
    form = Page.of(site.client(browser=True).get("/sign-in", params={"next": wanted}))
    assert "/" in form.attributes("value")
    assert wanted in ("", "/") or wanted not in form.attributes("value")


def test_local_paths_are_kept_as_they_are() -> None:
    """Paths on this server pass, whatever their names and queries hold."""
    for path in ("/", HOME, "/projects/a/tests/v1:00?x=//y", "/projects/a/tests/%2Fb::c[d]", "/é"):
        assert local_path(path) == path


def test_signing_out_forgets_the_token(site: Site) -> None:
    """After it the browser is asked again."""
    client = signed_in(site, site.token("read"))
    assert "Sign out" in Page.of(client.get(HOME)).text
    answer = client.post("/sign-out")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in"
    assert client.get(HOME).status_code == 303


def test_the_cookie_reads_and_does_nothing_else(site: Site) -> None:
    """A page of another site that makes a browser post here finds that the cookie counts for nothing."""
    client = signed_in(site, site.token("admin"))
    assert client.get(f"/v1{HOME}/summary").status_code == 200
    assert client.post(f"/v1{HOME}/mode", json={"mode": "enforce"}).status_code == 401
    assert client.post(f"/v1{HOME}/tests/t1/release", json={"reason": "x"}).status_code == 401
    assert client.post(f"/v1{HOME}/reports", **upload({"t1": "P"})).status_code == 401
    assert site.world.summary()["mode"] == "observe"


def test_a_token_of_another_project_sees_nothing_of_this_one(site: Site) -> None:
    """The list holds its own project only, and the page of another is refused with a way to sign in anew."""
    decisions.create_project(site.world.app, "atlas", bearer=OWNER)
    client = signed_in(site, site.token("read", project="atlas"))
    listed = Page.of(client.get("/"))
    assert "atlas" in listed.text
    assert PROJECT not in listed.text
    for path in (HOME, f"{HOME}/tests/t1", "/projects/nowhere"):
        page = Page.of(client.get(path), status=403)
        assert "This token is not for project" in page.text
        assert f"/sign-in?next={path}" in [unquote(href) for href in page.attributes("href")]


@pytest.mark.parametrize("whence", ["cross-site", "same-site"])
def test_a_form_from_another_site_signs_nobody_in(site: Site, whence: str) -> None:
    """Nobody is made to read, or to decide, with a stranger's token."""
    answer = site.client(browser=True).post(
        "/sign-in", data={"token": site.token("read")}, headers={"sec-fetch-site": whence}
    )
    assert Page.of(answer, status=403).text.count("The sign-in form was sent from another site.") == 1
    assert "set-cookie" not in answer.headers


def test_only_a_small_form_is_read(site: Site) -> None:
    """Anything but a short form of our own kind is refused before it is read in."""
    client = site.client(browser=True)
    assert client.post("/sign-in", json={"token": "x"}).status_code == 415
    assert client.post("/sign-in", files={"token": b"x"}).status_code == 415
    assert client.post("/sign-in", data={"token": "x" * 5_000}).status_code == 400
    assert client.post("/sign-in", data={f"f{number}": "x" for number in range(9)}).status_code == 400


def test_a_link_from_another_site_can_be_followed_by_who_is_signed_in(site: Site) -> None:
    """Such a link comes without the cookie, so the form offers the page itself: a click from here brings the cookie."""
    client = site.client(browser=True)
    page = Page.of(client.get(f"/sign-in?next={HOME}", headers={"sec-fetch-site": "cross-site"}))
    assert HOME in page.attributes("href")
    assert HOME not in Page.of(client.get(f"/sign-in?next={HOME}")).attributes("href")


def test_where_no_token_is_needed_the_form_leads_on(site: Site) -> None:
    """On a server without tokens nobody is asked for one."""
    client = site.open(browser=True)
    answer = client.get("/sign-in", params={"next": HOME})
    assert (answer.status_code, answer.headers["location"]) == (303, HOME)
    assert client.get("/sign-in", params={"next": "//evil.example"}).headers["location"] == "/"
    assert "Sign out" not in Page.of(client.get(HOME)).text


def test_programs_are_not_sent_to_a_form(site: Site) -> None:
    """Without a token a program gets 401 and how to show one, also on the address of a page."""
    for path in ("/", HOME, f"/v1{HOME}/summary"):
        answer = site.client().get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert site.client(browser=True).get(f"/v1{HOME}/summary").status_code == 401
