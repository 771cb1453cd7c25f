"""Who may ask for what."""

from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.services import decisions, listing
from quarantine.web import auth
from tests.web.site import AT, ELSEWHERE, Site, bearer, problem, upload
from tests.world import OWNER

Call = tuple[str, str, dict[str, Any]]

READS: list[Call] = [
    ("GET", f"{AT}/{resource}", {})
    for resource in ("gating", "gating/t1", "reruns", "summary", "tests", "tests/t1", "variants", "whoami")
]
REPORTS: list[Call] = [("POST", f"{AT}/reports", upload({"t1": "P"}))]
TRUNK: list[Call] = [
    ("POST", f"{AT}/reach", {"content": b'{"test": "t1", "files": ["a.py"]}\n'}),
    ("PUT", f"{AT}/manifests/{'0' * 64}", {"content": b"{}"}),
]
ADMINS: list[Call] = [
    ("POST", f"{AT}/tests/t1/release", {"json": {"reason": "mended"}}),
    ("POST", f"{AT}/mode", {"json": {"mode": "enforce"}}),
]
EVERY = [*READS, *REPORTS, *TRUNK, *ADMINS]


@pytest.mark.parametrize(("method", "path", "body"), EVERY)
def test_without_a_token_every_route_asks_for_one(site: Site, method: str, path: str, body: dict[str, Any]) -> None:
    """401 with the scheme, the same with a token nobody made, and no word on whether the project exists."""
    client = site.client()
    for headers in ({}, bearer("qt_unknown"), {"authorization": "Basic YTpi"}, {"authorization": "Bearer "}):
        answer = client.request(method, path, headers=headers, **body)
        problem(answer, 401, "token-needed")
        assert answer.headers["www-authenticate"] == "Bearer"
    other = client.request(method, path.replace("ledger", "nope"), **body)
    assert other.status_code == 401


@pytest.mark.parametrize(("method", "path", "body"), [*REPORTS, *TRUNK, *ADMINS])
def test_a_reader_changes_nothing(site: Site, method: str, path: str, body: dict[str, Any]) -> None:
    """A read token is refused by every route that changes something."""
    problem(site.client(token=site.token("read")).request(method, path, **body), 403, "not-allowed")


@pytest.mark.parametrize("lane", list(Lane))
@pytest.mark.parametrize(("method", "path", "body"), ADMINS)
def test_no_reporter_decides(site: Site, lane: Lane, method: str, path: str, body: dict[str, Any]) -> None:
    """A report token of whatever lane can release nothing and configure nothing."""
    problem(site.client(token=site.token("report", lane=lane)).request(method, path, **body), 403, "not-allowed")


@pytest.mark.parametrize("lane", [Lane.REVIEW, Lane.AGENT])
@pytest.mark.parametrize(("method", "path", "body"), TRUNK)
def test_only_trunk_says_what_tests_reach(site: Site, lane: Lane, method: str, path: str, body: dict[str, Any]) -> None:
    """A reach map or a manifest from an agent's or a reviewer's token is refused."""
    problem(site.client(token=site.token("report", lane=lane)).request(method, path, **body), 403, "not-allowed")


def test_an_admin_does_not_report(site: Site) -> None:
    """A report needs a lane, and an admin token has none."""
    told = problem(
        site.client(token=site.token("admin")).post(f"{AT}/reports", **upload({"t": "P"})), 403, "not-allowed"
    )
    assert "--scope report --lane LANE" in told["mend"]


@pytest.mark.parametrize(("method", "path", "body"), EVERY)
def test_a_token_of_another_project_is_refused(site: Site, method: str, path: str, body: dict[str, Any]) -> None:
    """Whatever its scope, and without a word on what is there."""
    decisions.create_project(site.world.app, "atlas", bearer=OWNER)
    for token in (site.token("admin", project="atlas"), site.token("report", lane="trunk", project="atlas")):
        told = problem(site.client(token=token).request(method, path, **body), 403, "not-allowed")
        assert told["detail"] == "This token is not for project 'ledger'."
    missing = site.client(token=token).request(method, path.replace("ledger", "nope"), **body)
    assert missing.status_code == 403


@pytest.mark.parametrize(("scope", "lane"), [("read", None), ("report", "agent"), ("admin", None)])
def test_every_token_reads(site: Site, scope: str, lane: str | None) -> None:
    """A CI job needs the gating set, and an admin sees what is decided on."""
    site.world.send("b1", {"t1": "P"})
    client = site.client(token=site.token(scope, lane=lane))
    assert [client.request(*call[:2]).status_code for call in READS] == [200] * len(READS)


def test_a_revoked_token_ends_within_seconds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may remember a token for a moment, and no longer."""
    token = site.token("read")
    client = site.client(token=token)
    assert auth.REMEMBERED_S <= 5
    monkeypatch.setattr(auth, "REMEMBERED_S", 0.0)
    assert client.get(f"{AT}/gating").status_code == 200
    [made] = listing.tokens_of(site.world.app, "ledger")
    decisions.revoke_token(site.world.app, "ledger", made["id"], bearer=OWNER)
    problem(client.get(f"{AT}/gating"), 401, "token-needed")


def test_on_loopback_without_tokens_everyone_here_reads_and_reports(site: Site) -> None:
    """On the lane that `serve` was told, and nobody is admin."""
    client = site.client(open_lane=Lane.REVIEW)
    assert client.post(f"{AT}/reports", **upload({"t1": "P"})).status_code == 202
    assert site.world.summary()["latest_builds"][0]["lane"] == "review"
    assert all(client.request(*call[:2]).status_code == 200 for call in READS)
    for method, path, body in ADMINS:
        problem(client.request(method, path, **body), 403, "not-allowed")
    assert client.get("/v1/projects/nope/summary").status_code == 404


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8321", "[::1]:8321", "[::1]", "LOCALHOST:80"])
def test_this_machine_may_be_called_by_its_local_names(site: Site, host: str) -> None:
    """Whatever the port and the case."""
    assert site.open().get(f"{AT}/gating", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8321",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "[::1].evil.example",
        "localhost@evil.example",
        "10.0.0.1",
        "",
    ],
)
def test_a_name_that_was_pointed_here_is_not_local(site: Site, host: str) -> None:
    """A page whose own name resolves to this machine gets nothing without a token."""
    problem(site.open().get(f"{AT}/gating", headers={"host": host}), 401, "token-needed")


def test_a_caller_from_elsewhere_is_not_local(site: Site) -> None:
    """Even where the server is open to this machine."""
    problem(site.open(caller=ELSEWHERE).get(f"{AT}/gating"), 401, "token-needed")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:83210"])
def test_a_page_of_another_site_cannot_post_reports_here(site: Site, origin: str) -> None:
    """A browser on this machine may be told to post by any page; its origin gives the page away."""
    client = site.open()
    problem(client.post(f"{AT}/reports", headers={"origin": origin}, **upload({"t1": "F"})), 401, "token-needed")
    assert site.world.summary()["latest_builds"] == []
    own = {"origin": "http://127.0.0.1:8321"}
    assert client.post(f"{AT}/reports", headers=own, **upload({"t1": "P"})).status_code == 202


def test_the_first_token_closes_an_open_server(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the server runs, within seconds, for reading and for reporting."""
    monkeypatch.setattr(auth, "REMEMBERED_S", 0.0)
    client = site.open()
    assert client.get(f"{AT}/gating").status_code == 200
    token = site.token("read")
    problem(client.get(f"{AT}/gating"), 401, "token-needed")
    problem(client.post(f"{AT}/reports", **upload({"t1": "P"})), 401, "token-needed")
    assert client.get(f"{AT}/gating", headers=bearer(token)).status_code == 200


def test_a_caller_is_told_what_it_may_do(site: Site) -> None:
    """The lane and the change of its token; without one those of this machine while no token exists."""
    alone = site.client(open_lane=Lane.REVIEW).get(f"{AT}/whoami").json()
    assert (alone["scopes"], alone["lane"], alone["change"]) == (["read", "report"], "review", None)
    told = site.client(token=site.token("report", lane="agent", change="SHOP-7")).get(f"{AT}/whoami").json()
    assert (told["schema"], told["scopes"], told["lane"], told["change"]) == (1, ["read", "report"], "agent", "SHOP-7")
    assert site.client(token=site.token("read")).get(f"{AT}/whoami").json()["lane"] is None


def test_the_variants_are_those_of_trunk(site: Site) -> None:
    """With their keys; what only a change ran in is none of them."""
    site.world.send("b1", {"t1": "P"}, variant={"python": "3.11"})
    site.world.send("b2", {"t1": "P"}, lane=Lane.AGENT, change="SHOP-7", variant={"python": "3.12"})
    [only] = site.client(token=site.token("read")).get(f"{AT}/variants").json()["variants"]
    assert (only["keys"], len(only["hash"])) == ({"job": "unit", "python": "3.11"}, 16)
