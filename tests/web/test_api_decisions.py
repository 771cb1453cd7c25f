"""What a person decides over HTTP, and what every answer keeps to."""

import json

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from quarantine.services import listing
from quarantine.store.engine import reading
from quarantine.store.tables import AUDIT
from quarantine.web.headers import HEADERS
from tests.web.site import AT, Page, Site, problem

RELEASE = f"{AT}/tests/t_flaky/release"
MODE = f"{AT}/mode"


@pytest.fixture
def admin(judged: Site) -> TestClient:
    """Return a person with an admin token."""
    return judged.client(token=judged.token("admin", label="maria"))


def audit(site: Site, action: str) -> list[tuple[str, dict[str, object]]]:
    """Return who did this and with which detail, in order."""
    with reading(site.world.app.engine) as connection:
        query = select(AUDIT.c.actor, AUDIT.c.detail).where(AUDIT.c.action == action).order_by(AUDIT.c.number)
        return [(row[0], row[1]) for row in connection.execute(query)]


def test_a_release_lets_the_test_gate_and_is_written_down(judged: Site, admin: TestClient) -> None:
    """It gates at once under every spelling, its evidence begins anew, and the audit says who and why."""
    admin.post(MODE, json={"mode": "enforce"})
    assert admin.get(f"{AT}/gating/tests.test_ledger::t_flaky").json()["gating"] is False
    answer = admin.post(RELEASE, json={"reason": "The clock is injected now."})
    assert (answer.status_code, answer.json()["released"]) == (200, 1)
    assert admin.get(f"{AT}/gating/tests.test_ledger::t_flaky").json()["gating"] is True
    [(actor, detail)] = audit(judged, "release")
    assert "maria" in actor
    assert (detail["reason"], detail["test"]) == ("The clock is injected now.", answer.json()["test"])
    [variant] = judged.world.explain("t_flaky")["variants"]
    assert (variant["status"], variant["life"], variant["heads"]) == ("gating", 1, [])
    assert variant["transitions"][0]["reason"] == "The clock is injected now."
    assert variant["disagreements"] == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'"x"',
        b'{"reason": 7}',
        b'{"reason": null}',
        b'{"reason": "  "}',
        b'{"reason": "\\ud800"}',
        b'{"reason": "a\\u0000b"}',
        b"{",
        b"[" * 60_000,
        b"\xff",
    ],
)
def test_a_release_needs_a_reason(judged: Site, admin: TestClient, body: bytes) -> None:
    """Without a text that says why nothing is released, and the answer is never a crash."""
    problem(admin.post(RELEASE, content=body), 422, "bad-input")
    assert audit(judged, "release") == []
    assert judged.world.explain("t_flaky")["variants"][0]["status"] == "quarantined"


def test_a_body_beyond_its_bound_is_too_large(admin: TestClient) -> None:
    """A reason is a sentence, not a file."""
    problem(admin.post(RELEASE, json={"reason": "x" * 70_000}), 413, "too-large")


def test_what_is_not_quarantined_cannot_be_released(judged: Site, admin: TestClient) -> None:
    """A healthy and a broken test are a conflict, an unknown one is not found; nothing is written down."""
    problem(admin.post(f"{AT}/tests/t1/release", json={"reason": "x"}), 409, "conflict")
    problem(admin.post(f"{AT}/tests/t_broken/release", json={"reason": "x"}), 409, "conflict")
    problem(admin.post(f"{AT}/tests/nope/release", json={"reason": "x"}), 404, "not-found")
    assert audit(judged, "release") == []


def test_a_held_test_can_be_released_too(judged: Site, admin: TestClient) -> None:
    """Its evidence begins anew."""
    assert admin.post(f"{AT}/tests/t_held/release", json={"reason": "mended"}).status_code == 200
    assert judged.world.explain("t_held")["variants"][0]["status"] == "gating"


def test_the_mode_is_switched_and_switched_back(judged: Site, admin: TestClient) -> None:
    """The answer says what it was and how many tests it concerns; saying it twice changes and records nothing more."""
    assert admin.post(MODE, json={"mode": "enforce"}).json() == {
        "project": "ledger", "mode": "enforce", "was": "observe", "quarantined": 1,
    }  # fmt: skip
    assert admin.post(MODE, json={"mode": "enforce"}).json()["was"] == "enforce"
    assert admin.get(f"{AT}/gating").json()["mode"] == "enforce"
    assert admin.post(MODE, json={"mode": "observe"}).json()["mode"] == "observe"
    assert [detail["mode"] for _actor, detail in audit(judged, "set-mode")] == ["enforce", "observe"]


@pytest.mark.parametrize("mode", ["", "Enforce", "off", "\N{SNOWMAN}"])
def test_other_modes_are_refused(judged: Site, admin: TestClient, mode: str) -> None:
    """The answer says which there are."""
    told = problem(admin.post(MODE, json={"mode": mode}), 422, "bad-input")
    assert told["mend"] == "Say observe or enforce."
    assert judged.world.summary()["mode"] == "observe"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/nothing", ""),
        ("GET", f"{AT}/nothing", ""),
        ("DELETE", f"{AT}/summary", "GET, HEAD"),
        ("GET", f"{AT}/reports", "POST"),
        ("POST", "/healthz", "GET, HEAD"),
    ],
)
def test_what_no_route_answers_is_a_problem_too(site: Site, method: str, path: str, allowed: str) -> None:
    """Programs get problem documents from every address of theirs, also when a browser asks."""
    for client in (site.open(), site.open(browser=True)):
        answer = client.request(method, path)
        problem(answer, *((405, "method-not-allowed") if allowed else (404, "not-found")))
        assert ", ".join(sorted(answer.headers.get("allow", "").split(", "))) == allowed


def test_every_answer_carries_the_safe_headers(site: Site) -> None:
    """Good, refused and missing ones alike."""
    for path in ("/", "/healthz", f"{AT}/summary", f"{AT}/tests/nope", "/nothing", "/static/style.css"):
        answer = site.open().get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_a_crash_says_nothing_of_our_insides(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 as a problem or a page, with the safe headers, the kind of error, and no more."""

    def crash(*_arguments: object) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(listing, "summary", crash)
    monkeypatch.setattr(listing, "head", crash)
    answer = site.open(raise_server_exceptions=False).get(f"{AT}/summary")
    told = problem(answer, 500, "our-mistake")
    assert "RuntimeError" in told["detail"]
    assert "secret" not in json.dumps(told)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    answer = site.open(raise_server_exceptions=False, browser=True).get("/projects/ledger")
    assert "secret" not in Page.of(answer, status=500).html
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_a_reach_map_and_a_manifest_come_in(site: Site) -> None:
    """A trunk token sends them; the answer says what of it is known."""
    site.world.send("b1", {"t1": "P"})
    client = site.client(token=site.token("report", lane="trunk"))
    line = {"test": "tests.test_ledger::t1", "files": ["src/ledger.py"]}
    answer = client.post(f"{AT}/reach", content=json.dumps(line).encode() + b"\n")
    assert answer.status_code == 201
    assert (answer.json()["tests"], answer.json()["matched"]) == (1, 1)
    problem(client.post(f"{AT}/reach", content=b"{}\n"), 422, "bad-reach")
    problem(client.post(f"{AT}/reach", params={"tree": "main"}, content=b""), 422, "bad-input")
    problem(client.post(f"{AT}/reach", content=b"x", headers={"content-encoding": "br"}), 422, "bad-input")
    problem(
        client.post(f"{AT}/reach", content=b"no gzip at all", headers={"content-encoding": "gzip"}), 422, "bad-input"
    )


@pytest.mark.parametrize(
    "body", [b"", b'{"reason": "x"}', b'{"reason": "x", "days": "7"}', b'{"reason": "x", "days": true}', b'{"days": 7}',
             b'{"reason": "x", "days": 31}', b'{"reason": "x", "days": NaN}', b'{"reason": "x", "days": 1e999}']
)  # fmt: skip
def test_a_quarantine_by_hand_needs_a_reason_and_its_days(judged: Site, admin: TestClient, body: bytes) -> None:
    """Nothing is taken out on half a word, and the answer is never a crash."""
    problem(admin.post(f"{AT}/tests/t1/quarantine", content=body), 422, "bad-input")
    assert audit(judged, "quarantine") == []


def test_a_quarantine_by_hand_takes_the_test_out_at_once(judged: Site, admin: TestClient) -> None:
    """It is out under every spelling, and the audit says who said so."""
    admin.post(MODE, json={"mode": "enforce"})
    answer = admin.post(f"{AT}/tests/t1/quarantine", json={"reason": "the sandbox is down", "days": 2})
    assert (answer.status_code, answer.json()["quarantined"]) == (200, 1)
    assert admin.get(f"{AT}/gating/tests.test_ledger::t1").json()["gating"] is False
    [(actor, detail)] = audit(judged, "quarantine")
    assert "maria" in actor
    assert detail["days"] == 2
