"""Taking reports in over HTTP."""

import gzip
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from quarantine.services.build_part import MAX_BYTES
from quarantine.store.engine import reading
from quarantine.web import uploads
from tests.web.site import AT, Files, Site, bearer, part, problem, upload
from tests.world import PROJECT, junit

POST = f"{AT}/reports"
SUITE = {"t1": "P", "t2": "F", "t3": "S", "t4": "FP"}


@pytest.fixture
def client(site: Site) -> TestClient:
    """Return a CI job of the trunk lane."""
    return site.client(token=site.token("report", lane="trunk"))


def stored(site: Site) -> tuple[int, int, int]:
    """Return how many builds, reports and uploads another process sees in the database."""
    counted = "SELECT (SELECT count(*) FROM build), (SELECT count(*) FROM report), uploads FROM project"
    with closing(sqlite3.connect(str(site.world.app.engine.url.database))) as connection:
        builds, reports, uploads_taken = connection.execute(counted).fetchone()
    return builds, reports, uploads_taken


def test_accepted_means_committed(site: Site, client: TestClient) -> None:
    """With 202 the report is in the database for everybody, and the answer counts what was read."""
    answer = client.post(POST, **upload(SUITE))
    assert answer.status_code == 202
    told = answer.json()
    assert stored(site) == (1, 1, 1)
    assert {name: told[name] for name in ("passed", "failed", "skipped", "flaky", "new_tests", "new")} == {
        "passed": 1, "failed": 1, "skipped": 1, "flaky": 1, "new_tests": 4, "new": True,
    }  # fmt: skip
    [report] = told["reports"]
    assert (report["name"], report["status"], len(report["sha256"])) == ("report-1.xml", "ok", 64)


def test_the_same_report_again_counts_once(site: Site, client: TestClient) -> None:
    """A client that is unsure whether it got through may send again: it is told so, and nothing changes."""
    first = client.post(POST, **upload(SUITE)).json()
    again = client.post(POST, **upload(SUITE))
    assert again.status_code == 202
    assert again.json()["new"] is False
    assert {name: again.json()[name] for name in ("build", "passed", "failed", "flaky", "skipped")} == {
        name: first[name] for name in ("build", "passed", "failed", "flaky", "skipped")
    }
    assert stored(site) == (1, 1, 1)


def test_a_compressed_report_is_read_and_is_kept_as_it_came(site: Site, client: TestClient) -> None:
    """Reports may be gzip; what is kept as evidence is byte for byte what was sent."""
    packed = gzip.compress(junit(SUITE), mtime=0)
    assert client.post(POST, **upload(packed)).json()["failed"] == 1
    with reading(site.world.app.engine) as connection:
        assert connection.execute(text("SELECT body FROM report_body")).scalar_one() == packed


def test_a_broken_report_among_good_ones_is_refused_alone(site: Site, client: TestClient) -> None:
    """The good ones count, and the answer says of each what became of it."""
    answer = client.post(POST, **upload({"t1": "P"}, b"<coverage line-rate='1'/>", {"t2": "F"}))
    assert answer.status_code == 202
    assert [report["status"] for report in answer.json()["reports"]] == ["ok", "rejected", "ok"]
    refused = answer.json()["reports"][1]
    assert (refused["name"], refused["code"]) == ("report-2.xml", "not-junit")
    assert "coverage" in refused["sentence"]
    assert (answer.json()["passed"], answer.json()["failed"]) == (1, 1)
    [kept] = site.world.summary()["refused"]
    assert kept["name"] == "report-2.xml"


def test_when_no_report_can_be_read_the_upload_is_refused(site: Site, client: TestClient) -> None:
    """422 with each document's reason; no build is made, and the refused documents are listed."""
    told = problem(client.post(POST, **upload(b"<html/>", b"")), 422, "not-junit")
    assert "report-1.xml" in told["detail"]
    assert "report-2.xml" in told["detail"]
    assert told["mend"]
    assert stored(site) == (0, 0, 0)
    assert {row["name"] for row in site.world.summary()["refused"]} == {"report-1.xml", "report-2.xml"}


def test_reports_of_one_build_may_come_in_several_uploads(site: Site, client: TestClient) -> None:
    """The second upload adds to the build."""
    client.post(POST, **upload({"t1": "P"}))
    second = client.post(POST, **upload({"t2": "F"})).json()
    assert (second["new"], second["passed"], second["failed"]) == (True, 1, 1)
    assert stored(site) == (1, 2, 2)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        ("{", "whole"),
        ("[]", "whole"),
        ('{"schema": 1}', "`build`"),
        ('{"schema": 2, "build": "b"}', "`schema`"),
        ('{"schema": 1, "build": "b", "lane": "trunk"}', "`lane`"),
        ('{"schema": 1, "build": "b", "attempt": "2"}', "`attempt`"),
        ('{"schema": 1, "build": "b", "tree": "main"}', "`tree`"),
        ('{"schema": 1, "build": "b", "started_at": "2026-01-01T00:00:00"}', "`started_at`"),
        ('{"schema": 1, "build": "\\ud800"}', "whole"),
        ("[" * 100_000, "whole"),
        (b"\xff\xfe", "whole"),
    ],
)
def test_a_malformed_build_part_is_refused_by_the_name_of_its_fault(
    site: Site, client: TestClient, build: str | bytes, said: str
) -> None:
    """A field that is unknown, missing or wrong is named, and nothing is stored."""
    told = problem(client.post(POST, **upload({"t1": "P"}, build=build)), 422, "bad-build-part")
    assert said in told["detail"]
    assert stored(site) == (0, 0, 0)


def test_the_build_part_comes_exactly_once(site: Site, client: TestClient) -> None:
    """Without one nobody knows what ran; with two nobody knows which."""
    report = ("report", ("r.xml", junit({"t1": "P"})))
    told = problem(client.post(POST, files=[report]), 422, "bad-build-part")
    assert "0 `build` parts" in told["detail"]
    twice: Files = [("build", (None, part())), ("build", (None, part("b2"))), report]
    assert "2 `build` parts" in problem(client.post(POST, files=twice), 422, "bad-build-part")["detail"]
    as_file = client.post(POST, files=[("build", ("build.json", part())), report])
    assert as_file.status_code == 202
    assert stored(site) == (1, 1, 1)


def test_parts_by_other_names_are_refused_by_name(site: Site, client: TestClient) -> None:
    """A misspelt part is no silence: it is named."""
    files: Files = [("build", (None, part())), ("reports", ("r.xml", junit({"t1": "P"})))]
    assert "'reports'" in problem(client.post(POST, files=files), 422, "bad-input")["detail"]
    assert stored(site) == (0, 0, 0)


def test_a_report_that_is_no_file_is_not_lost_silently(site: Site, client: TestClient) -> None:
    """An upload with a report in a plain field is refused whole, so that no report goes missing under a 202."""
    files: Files = [
        ("build", (None, part())),
        ("report", ("r.xml", junit({"t1": "P"}))),
        ("report", (None, "<testsuite/>")),
    ]
    assert "1 of its `report` parts" in problem(client.post(POST, files=files), 422, "bad-input")["detail"]
    none: Files = [("build", (None, part()))]
    assert "no `report` part" in problem(client.post(POST, files=none), 422, "bad-input")["detail"]
    assert stored(site) == (0, 0, 0)


def test_an_upload_that_breaks_off_is_refused_whole(site: Site, client: TestClient) -> None:
    """Cut anywhere before its last boundary it is refused, also where every part it still has is readable."""
    whole = client.build_request("POST", POST, **upload({"t1": "P"}, {"t2": "F"}))
    body = whole.read()
    headers = {"content-type": whole.headers["content-type"]}
    for kept in (
        len(body) - 6,
        body.rindex(b"--" + headers["content-type"].partition("boundary=")[2].encode()),
        200,
        1,
    ):
        problem(client.post(POST, content=body[:kept], headers=headers), 422, "bad-input")
    assert stored(site) == (0, 0, 0)
    assert client.post(POST, content=body, headers=headers).status_code == 202


@pytest.mark.parametrize("kind", ["application/json", "text/xml", "multipart/form-data", ""])
def test_what_is_no_multipart_is_refused(client: TestClient, kind: str) -> None:
    """The answer says what the request was and what it should have been."""
    told = problem(client.post(POST, content=b"<testsuite/>", headers={"content-type": kind}), 422, "bad-input")
    assert "multipart" in told["detail"]


def test_an_upload_beyond_the_bound_is_too_large(
    site: Site, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """413, whether its length is announced or it just keeps coming."""
    monkeypatch.setattr(uploads, "MAX_UPLOAD_BYTES", 2_000)
    large = upload({f"t{number}": "P" for number in range(100)})
    told = problem(client.post(POST, **large), 413, "too-large")
    assert told["mend"] == "Send the reports in several uploads of one build."
    request = client.build_request("POST", POST, **large)
    body = request.read()
    pieces = (body[start : start + 500] for start in range(0, len(body), 500))
    headers = {"content-type": request.headers["content-type"], "transfer-encoding": "chunked"}
    problem(client.post(POST, content=pieces, headers=headers), 413, "too-large")
    assert stored(site) == (0, 0, 0)
    assert client.post(POST, **upload({"t1": "P"})).status_code == 202


def test_a_build_part_beyond_its_bound_is_refused(client: TestClient) -> None:
    """A description of the build has its own, smaller bound."""
    huge = part(command="x" * (MAX_BYTES + 10))
    assert client.post(POST, **upload({"t1": "P"}, build=huge)).status_code == 422


def test_the_lane_is_that_of_the_token(site: Site) -> None:
    """What a report counts for follows from who sent it: an agent's is on the agent lane, for one change of its own."""
    agent = site.token("report", lane="agent")
    bound = site.token("report", lane="review", change="pr-7")
    for name, token in (("a", agent), ("r", bound), ("t", site.token("report", lane="trunk"))):
        sent = upload({"t1": "P"}, build=part(name, change="claimed"))
        assert site.client().post(POST, headers=bearer(token), **sent).status_code == 202
    lanes = {row["build"]: (row["lane"], row["change"]) for row in site.world.summary()["latest_builds"]}
    assert lanes["r"] == ("review", "pr-7")
    assert lanes["t"] == ("trunk", None)
    assert lanes["a"][0] == "agent"
    assert lanes["a"][1] != "claimed"


def test_a_locked_database_is_busy_and_stores_nothing(site: Site, client: TestClient) -> None:
    """While another process writes for longer than we wait: 503, when to come back, and nothing stored."""
    with closing(sqlite3.connect(str(site.world.app.engine.url.database), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        answer = client.post(POST, **upload({"t1": "P"}))
        told = problem(answer, 503, "busy")
        assert int(answer.headers["retry-after"]) > 0
        assert "locked" in told["detail"]
        assert client.get(f"{AT}/gating").status_code == 200
        assert client.get("/healthz").json() == {"status": "ok"}
    assert stored(site) == (0, 0, 0)
    assert client.post(POST, **upload({"t1": "P"})).json()["new"] is True


def test_a_refusal_names_the_project(site: Site) -> None:
    """Reports for a project that is not there are refused before they are read."""
    told = problem(site.open().post("/v1/projects/nope/reports", **upload({"t1": "P"})), 404, "not-found")
    assert "'nope'" in told["detail"]
    assert PROJECT not in told["detail"]
