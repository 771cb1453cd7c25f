"""How often a session tries its failing tests again, over HTTP."""

import json
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.session_plan import NoPlan, ask_session_plan
from quarantine.client.snapshot import variant_hash
from quarantine.client.target import Target
from quarantine.domain.outcome import Lane
from quarantine.services import decisions
from quarantine.store.tables import metadata
from tests.cli.hosting import hosted
from tests.unit.plugin.projects import Project
from tests.web.conftest import SUITE
from tests.web.site import AT, Site, problem
from tests.world import OWNER, PROJECT

VARIANT = variant_hash({"job": "unit"})
PLAN = f"{AT}/reruns/plan"
FLAKY, HELD, BROKEN, SOUND = (f"tests.test_ledger::{name}" for name in ("t_flaky", "t_held", "t_broken", "t1"))


def asking(*failing: str, **fields: Any) -> dict[str, Any]:
    """Return a question about these tests."""
    return {"schema": 1, "variant": VARIANT, "failing": list(failing)} | fields


def enforced(site: Site) -> Site:
    """Let the project act on its decisions."""
    decisions.set_mode(site.world.app, PROJECT, "enforce", bearer=OWNER)
    return site


def test_each_test_gets_what_it_is_worth(judged: Site) -> None:
    """A quarantined one more tries than others, a broken one none, one that nobody knows as a new test."""
    site = enforced(judged)
    told = site.open().post(PLAN, json=asking(FLAKY, HELD, BROKEN, SOUND, "no::such")).json()
    codes = {one["name"]: one["code"] for one in told["tests"]}
    assert codes == {FLAKY: "quarantined", HELD: "unsettled", BROKEN: "broken", SOUND: "unsettled", "no::such": "new"}
    most = {one["name"]: one["most"] for one in told["tests"]}
    assert (most[HELD], most[BROKEN], most[SOUND], most["no::such"]) == (2, 0, 2, 2)
    assert 1 <= most[FLAKY] <= site.world.app.policy.verdict_reruns_most
    assert (told["schema"], told["project"], told["sentence"]) == (1, PROJECT, "")
    assert told["budget"] == {"most": 40, "planned": sum(most.values())}
    assert all(one["why"].endswith(".") for one in told["tests"])


def test_a_quarantined_test_of_an_observing_project_gates(judged: Site) -> None:
    """There its failure counts, so it is tried as any other."""
    [told] = judged.open().post(PLAN, json=asking(FLAKY)).json()["tests"]
    assert (told["most"], told["code"]) == (2, "unsettled")


def test_in_a_variant_trunk_never_ran_every_test_is_new(judged: Site) -> None:
    """Nothing was seen of any test there."""
    asked = asking(FLAKY, BROKEN, variant=variant_hash({"job": "other"}))
    told = enforced(judged).open().post(PLAN, json=asked).json()["tests"]
    assert [(one["most"], one["code"]) for one in told] == [(2, "new"), (2, "new")]


def test_any_spelling_will_do_and_a_name_counts_once(judged: Site) -> None:
    """As everywhere else; a test named twice is one test."""
    told = enforced(judged).open().post(PLAN, json=asking("t_broken", "tests/test_ledger.py::t_broken", "t_broken"))
    assert [(one["name"], one["code"]) for one in told.json()["tests"]] == [
        ("t_broken", "broken"),
        ("tests/test_ledger.py::t_broken", "broken"),
    ]


def test_workers_share_one_budget(judged: Site) -> None:
    """The parts of a session add up to what one process may do."""
    names = [f"new::t{number}" for number in range(9)]
    client = judged.open()
    told = [client.post(PLAN, json=asking(*names, worker=worker, workers=3)).json() for worker in range(3)]
    assert sum(one["budget"]["most"] for one in told) == 40


def test_hundreds_of_failures_do_not_blow_a_session_up(judged: Site) -> None:
    """A few are tried, and the answer says how many of how many."""
    names = [f"new::t{number}" for number in range(10_000)]
    told = judged.open().post(PLAN, json=asking(*names)).json()
    assert sum(one["most"] for one in told["tests"]) == 10
    assert told["sentence"] == "10,000 failing tests for 40 further tries: 5 of them are tried again."


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"", "whole"),
        (b"[]", "whole"),
        (b"\xff", "whole"),
        (json.dumps(asking(variant="unit")).encode(), "variant"),
        (json.dumps(asking("\ud800")).encode(), "whole"),
        (json.dumps(asking("a\0b")).encode(), "failing.0"),
        (json.dumps(asking("x" * 4001)).encode(), "failing.0"),
        (json.dumps(asking(*map(str, range(10_001)))).encode(), "failing"),
        (json.dumps(asking() | {"failing": "t1"}).encode(), "failing"),
        (json.dumps(asking() | {"failing": [1]}).encode(), "failing.0"),
        (json.dumps(asking() | {"failing": None}).encode(), "failing"),
        (json.dumps(asking(worker=2, workers=2)).encode(), "whole"),
        (json.dumps(asking(worker=-1)).encode(), "worker"),
        (json.dumps(asking(workers=1e3)).encode(), "workers"),
        (json.dumps(asking(schema=2)).encode(), "schema"),
        (json.dumps(asking(more=1)).encode(), "more"),
        (b"[" * 100_000, "whole"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(judged: Site, body: bytes, named: str) -> None:
    """Each with the field that is wrong."""
    told = problem(judged.open().post(PLAN, content=body), 422, "bad-question")
    assert f"`{named}`" in told["detail"]
    assert "docs/http.md" in told["mend"]


def test_a_body_too_large_is_not_read(judged: Site) -> None:
    """Nor is it parsed."""
    problem(judged.open().post(PLAN, content=b" " * (4 * 1024**2 + 1)), 413, "too-large")


def test_who_may_ask(judged: Site) -> None:
    """Whoever may read: reporters of every lane too. Other projects' tokens and none at all may not."""
    asked = asking(HELD)
    assert judged.client().post(PLAN, json=asked).status_code == 401
    other = judged.token("read")
    assert judged.client(token=other).post("/v1/projects/other/reruns/plan", json=asked).status_code == 403
    for scope, lane in [("read", None), ("report", "agent"), ("report", "trunk"), ("admin", None)]:
        assert judged.client(token=judged.token(scope, lane=lane)).post(PLAN, json=asked).status_code == 200
    assert judged.client(token=other).get(PLAN).status_code == 405


def test_a_project_that_is_not_there(judged: Site) -> None:
    """A daemon that is too old has the same status, so the client names both."""
    problem(judged.open().post("/v1/projects/nowhere/reruns/plan", json=asking(HELD)), 404, "not-found")


def test_what_completes_an_entry_comes_first(site: Site) -> None:
    """By the entry rule itself, and only where a report of trunk could: an agent's failure completes nothing."""
    world, green = site.world, {f"t{number}": "P" for number in range(60)}
    world.send("before", green)
    world.send("red", green | {"t59": "F"})
    world.rerun("red", green)
    world.wait(hours=80)
    names = [f"tests.test_ledger::t{number}" for number in range(60)]
    trunk = site.client(token=site.token("report", lane="trunk"))
    [told] = trunk.post(PLAN, json=asking(names[59])).json()["tests"]
    assert told["code"] == "unsettled"  # trunk's last trial of it failed: one more failure is no head
    world.send("after", green)
    told = trunk.post(PLAN, json=asking(*names)).json()
    assert [one["name"] for one in told["tests"] if one["most"]] == [*names[:4], names[59]]
    assert told["tests"][59]["code"] == "completes"
    for token in (site.token("report", lane="agent"), site.token("read")):
        [told] = site.client(token=token).post(PLAN, json=asking(names[59])).json()["tests"]
        assert (told["most"], told["code"]) == (2, "unsettled")


def test_asking_changes_nothing(judged: Site) -> None:
    """No row is written: an agent that asks all day spends nothing of what others are given."""

    def rows() -> dict[str, int]:
        with judged.world.app.engine.connect() as connection:
            return {
                name: connection.exec_driver_sql(f'SELECT count(*) FROM "{name}"').scalar_one()  # noqa: S608
                for name in metadata.tables
            }

    before = rows()
    client = judged.open()
    for _ in range(3):
        client.post(PLAN, json=asking(FLAKY, *SUITE))
    assert rows() == before


def test_the_client_reads_what_the_daemon_says(judged: Site) -> None:
    """Over real HTTP; names that no daemon takes are left out, and a refusal is a reason to go without a plan."""
    with hosted(enforced(judged).world.app, open_lane=Lane.TRUNK) as url:
        plan = ask_session_plan(Target(url, PROJECT), VARIANT, [BROKEN, "new::t", "\udc80", "", "x" * 5000, "a\0"])
        assert plan == ({BROKEN: 0, "new::t": 2}, "")
        with pytest.raises(NoPlan, match="does not know this project, or is too old"):
            ask_session_plan(Target(url, "nowhere"), VARIANT, ["t"])
        with pytest.raises(NoPlan, match="does not accept the token"):
            ask_session_plan(Target(url, PROJECT, "qt_wrong"), VARIANT, ["t"])
    with pytest.raises(NoPlan, match="cannot be reached"):
        ask_session_plan(Target(url, PROJECT), VARIANT, ["t"])


def test_a_session_goes_by_the_plan_and_brings_the_evidence(site: Site, tmp_path: Path) -> None:
    """Pytest itself against the real daemon: a flaky test is tried until it passes, and its failure is an onset."""
    (tmp_path / "home").mkdir()
    suite = """
import os

def test_flaky():
    mark = os.environ["MARK"]
    if not os.path.exists(mark):
        open(mark, "w").close()
        assert os.environ["MARK"] == "", "the first time"

def test_fails():
    assert os.environ["RED"] == ""
"""
    with hosted(site.world.app, open_lane=Lane.TRUNK) as url:
        project = Project(tmp_path / "project", tmp_path / "home", url).write(test_suite=suite)
        named = {"QUARANTINE_PROJECT": PROJECT, "MARK": "", "RED": ""}
        (tmp_path / "project" / "empty").touch()
        green = project.pytest("--quarantine-upload", variables=named | {"MARK": str(tmp_path / "project" / "empty")})
        assert green.status == 0, green.text
        site.world.wait(hours=1)
        red = project.pytest("--quarantine-upload", variables=named | {"MARK": str(tmp_path / "mark"), "RED": "red"})
    assert red.status == 1
    assert red.tries() == {"test_flaky": ["failed", "passed"], "test_fails": ["failed"] * 3}
    assert "1 of 2 passed when run again" in red.told[-1]
    [flaky] = site.world.explain("test_flaky")["variants"]
    assert [head["confirmed_at"] is not None for head in flaky["heads"]] == [True], flaky
