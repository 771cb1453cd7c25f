"""Verdicts over HTTP: who may ask, what a request may hold, and what goes over the wire."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.web.site import AT, Files, Site, bearer, part, problem
from tests.world import CLASSNAME, PROJECT, Tries, commit, junit, tree

POST = f"{AT}/verdicts"
SUITE = {"t1": "P", "t2": "P", "t3": "P"}
WIRE = {
    "schema", "id", "verdict", "final", "sentence", "suspect", "causes", "tests", "tests_left_out", "gating",
    "not_shown", "incident", "record", "wanted", "key", "evidence", "receipt",
}  # fmt: skip


def asking(
    *reports: Tries | bytes, build: str | None = None, question: dict[str, Any] | str | None = None
) -> dict[str, Any]:
    """Return the arguments of a request that asks for a verdict."""
    if not isinstance(question, str):
        question = json.dumps({"schema": 1} | (question or {}))
    stated = part("head", exit_code=0, base_commit=commit("base")) if build is None else build
    files: list[tuple[str, tuple[str | None, str | bytes]]] = [
        ("build", (None, stated)),
        ("question", (None, question)),
    ]
    bodies = [report if isinstance(report, bytes) else junit(report) for report in reports]
    files += [("report", (f"report-{number}.xml", body)) for number, body in enumerate(bodies, start=1)]
    return {"files": files}


@pytest.fixture
def agent(site: Site) -> TestClient:
    """Return the harness of one ticket; trunk ran the base."""
    site.world.send("base", SUITE)
    return site.client(token=site.token("report", lane="agent", change="T-1"))


def rerun(build: str = "again", **fields: Any) -> str:
    """Return the build part of a rerun of the head."""
    stated = {"kind": "rerun", "rerun_of": "head", "tree": tree("head"), "commit": commit("head"), "exit_code": 1}
    return part(build, **(stated | fields))


def test_a_question_is_answered_in_one_call(site: Site, agent: TestClient) -> None:
    """200 with the verdict and the receipt; the reports are stored, and the verdict can be read again."""
    answer = agent.post(POST, **asking(SUITE))
    assert answer.status_code == 200
    told = answer.json()
    assert told.keys() == WIRE
    assert (told["schema"], told["id"], told["verdict"], told["final"]) == (1, "1", "accept", True)
    assert (told["receipt"]["new"], told["receipt"]["passed"]) == (True, 3)
    assert told["evidence"] == f"/projects/{PROJECT}/verdicts/1"
    again = agent.get(f"{POST}/1").json()
    assert again == {name: told[name] for name in WIRE - {"receipt"}}
    assert site.world.summary()["latest_builds"][0]["build"] == "head"


def test_reruns_bring_it_to_an_end(agent: TestClient) -> None:
    """What is wanted comes back as evidence, and the answer is what the verdict is now."""
    red = part("head", exit_code=1, base_commit=commit("base"))
    told = agent.post(POST, **asking(SUITE | {"t2": "F"}, build=red, question={"can_rerun": True})).json()
    assert (told["verdict"], told["final"], told["wanted"]["head"]) == ("inconclusive", False, 2)
    for number in (1, 2):
        build = rerun(f"again-{number}")
        answer = agent.post(f"{POST}/1/reruns", **asking(SUITE | {"t2": "F"}, build=build, question={"runner_s": 1.5}))
        assert answer.status_code == 200
    told = answer.json()
    assert (told["verdict"], told["final"], told["wanted"]["head"]) == ("reject", True, 0)
    [test] = told["tests"]
    assert test.keys() >= {"id", "name", "variant", "finding", "effect", "sentence", "evidence", "head", "base"}
    assert test["variant"] == {"job": "unit"}
    assert told["causes"][0].keys() == {"code", "effect", "sentence", "tests"}
    assert f"{CLASSNAME}::t2" in told["record"]["text"]
    without_note: Files = [item for item in asking(SUITE, build=rerun("again-3"))["files"] if item[0] != "question"]
    assert agent.post(f"{POST}/1/reruns", files=without_note).status_code == 200


def test_a_crash_is_sent_without_a_report(site: Site, agent: TestClient) -> None:
    """No report at all is an answer too; POST reports takes it when the exit code is stated, and only then."""
    told = agent.post(POST, **asking(build=part("head", exit_code=139))).json()
    assert (told["verdict"], told["receipt"]["run_events"]) == ("inconclusive", 1)
    trunk = bearer(site.token("report", lane="trunk"))
    crashed: Files = [("build", (None, part("crash", exit_code=139)))]
    answer = site.client().post(f"{AT}/reports", files=crashed, headers=trunk)
    assert (answer.status_code, answer.json()["run_events"]) == (202, 1)
    silent: Files = [("build", (None, part("silent")))]
    told = problem(site.client().post(f"{AT}/reports", files=silent, headers=trunk), 422, "bad-input")
    assert "no `report` part" in told["detail"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("{", "whole"),
        ("[]", "whole"),
        ("{}", "`schema`"),
        ({"schema": 2}, "`schema`"),
        ({"lane": "trunk"}, "`lane`"),
        ({"expected": "t1"}, "`expected`"),
        ({"expected": [""]}, "`expected.0`"),
        ({"expected": ["a\0b"]}, "`expected.0`"),
        ({"must_pass": ["x" * 4_001]}, "`must_pass.0`"),
        ({"canary": {"name": "c", "exit_code": "1"}}, "`canary.exit_code`"),
        ({"canary": {"exit_code": 1}}, "`canary.name`"),
        ({"base_tree": "main"}, "`base_tree`"),
        ({"runner_s": -1}, "`runner_s`"),
        ({"cost": 1e300}, "`cost`"),
        ({"tokens": 2**40}, "`tokens`"),
        ({"attempt": 0}, "`attempt`"),
        ({"record_tokens": 1}, "`record_tokens`"),
        ('{"schema": 1, "cost": NaN}', "`cost`"),
        ('{"schema": 1, "ticket": "\\ud800"}', "whole"),
        ("[" * 100_000, "whole"),
    ],
)
def test_a_malformed_question_is_refused_by_the_name_of_its_fault(
    site: Site, agent: TestClient, question: dict[str, Any] | str, said: str
) -> None:
    """A field that is unknown or wrong is named, and nothing is stored."""
    told = problem(agent.post(POST, **asking(SUITE, question=question)), 422, "bad-question")
    assert said in told["detail"]
    assert len(site.world.summary()["latest_builds"]) == 1


def test_a_question_names_so_many_tests_and_no_more(agent: TestClient) -> None:
    """The lists are bounded, and so is the part as a whole."""
    many = {"expected": ["t"] * 200_001}
    assert "`expected`" in problem(agent.post(POST, **asking(SUITE, question=many)), 422, "bad-question")["detail"]
    huge = '{"schema": 1, "log": "' + "x" * (16 * 1024 * 1024 + 10) + '"}'
    assert agent.post(POST, **asking(SUITE, question=huge)).status_code == 422


def test_the_question_comes_exactly_once(agent: TestClient) -> None:
    """Without one nobody knows what is asked; with two nobody knows which; a misspelt part is named."""
    files = asking(SUITE)["files"]
    without: Files = [item for item in files if item[0] != "question"]
    assert "no `question` part" in problem(agent.post(POST, files=without), 422, "bad-question")["detail"]
    twice: Files = [*files, ("question", (None, '{"schema": 1}'))]
    assert "2 `question` parts" in problem(agent.post(POST, files=twice), 422, "bad-input")["detail"]
    misspelt: Files = [*files, ("questions", (None, "{}"))]
    assert "'questions'" in problem(agent.post(POST, files=misspelt), 422, "bad-input")["detail"]
    assert "'question'" in problem(agent.post(f"{AT}/reports", files=files), 422, "bad-input")["detail"]


def test_who_may_ask_and_who_may_read(site: Site, agent: TestClient) -> None:
    """Asking needs the scope to report; reading a verdict is for everybody who may read."""
    assert agent.post(POST, **asking(SUITE)).status_code == 200
    reader = bearer(site.token("read"))
    anyone = site.client()
    problem(anyone.post(POST, **asking(SUITE)), 401, "token-needed")
    problem(anyone.post(POST, headers=reader, **asking(SUITE)), 403, "not-allowed")
    problem(anyone.post(f"{POST}/1/reruns", headers=reader, **asking(SUITE, build=rerun())), 403, "not-allowed")
    problem(anyone.post(f"{AT}/attempts", headers=reader, content=b"{}"), 403, "not-allowed")
    problem(anyone.get(f"{POST}/1"), 401, "token-needed")
    problem(anyone.get(f"{AT}/attempts"), 401, "token-needed")
    assert anyone.get(f"{POST}/1", headers=reader).json()["verdict"] == "accept"
    assert anyone.get(f"{AT}/attempts", headers=reader).status_code == 200
    other = bearer(site.token("report", lane="agent", change="T-2"))
    problem(anyone.post(f"{POST}/1/reruns", headers=other, **asking(SUITE, build=rerun())), 403, "not-allowed")
    for name in ("2", "x", "1.0", "9" * 30):
        problem(anyone.get(f"{POST}/{name}", headers=reader), 404, "not-found")


def test_a_foreign_rerun_is_refused_with_its_reason(agent: TestClient) -> None:
    """The field that differs is named."""
    agent.post(POST, **asking(SUITE | {"t2": "F"}, question={"can_rerun": True}))
    for fields, said in (({"tree": tree("x")}, "neither the head's nor the base's"), ({"command": "x"}, "`command`")):
        answer = agent.post(f"{POST}/1/reruns", **asking(SUITE, build=rerun(**fields)))
        assert said in problem(answer, 422, "foreign-rerun")["detail"]


def test_attempts_are_told_and_asked_for(agent: TestClient) -> None:
    """How a loop ended goes in; what all of them came to comes out, of one ticket if it is named."""
    agent.post(POST, **asking(SUITE, question={"attempt": 1, "runner_s": 2}))
    end = {"schema": 1, "ticket": "T-1", "end": "accepted", "attempts": 1, "sentence": "Mended.", "verdict": "1"}
    assert agent.post(f"{AT}/attempts", json=end).json() == {"schema": 1, "ticket": "T-1", "end": "accepted"}
    told = agent.get(f"{AT}/attempts").json()
    assert (told["tickets"], told["ends"]["accepted"], told["runner_s"]) == (1, 1, 2.0)
    assert agent.get(f"{AT}/attempts", params={"ticket": "T-9"}).json()["tickets"] == 0
    assert agent.get(f"{AT}/attempts", params={"ticket": "T-1"}).json()["by_ticket"][0]["sentence"] == "Mended."
    for wrong in ({"end": "won"}, {"verdict": "0"}, {"attempts": -1}, {"more": 1}, {"ticket": ""}):
        problem(agent.post(f"{AT}/attempts", json=end | wrong), 422, "bad-question")
    problem(agent.post(f"{AT}/attempts", json=end | {"ticket": "T-2"}), 403, "not-allowed")
    problem(agent.post(f"{AT}/attempts", json=end | {"verdict": "9"}), 404, "not-found")
    problem(agent.post(f"{AT}/attempts", content=b"x" * 70_000), 413, "too-large")
    problem(agent.post(f"{AT}/attempts", content=b"\xff"), 422, "bad-question")


def test_hostile_names_survive_the_wire(agent: TestClient) -> None:
    """Ids with spaces, brackets, newlines and other scripts come back as they were sent."""
    name = 'test_x[a b-"<&>\n\N{GREEK SMALL LETTER ALPHA}::.py-\N{PILE OF POO}]'
    told = agent.post(POST, **asking(SUITE, question={"must_pass": [name]})).json()
    assert [test["name"] for test in told["tests"]] == [name]
    assert told["verdict"] == "reject"
