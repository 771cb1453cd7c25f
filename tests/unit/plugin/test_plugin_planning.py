"""How often failing tests are tried again: the daemon plans it, options bound it, and trouble costs only the plan."""

import json

import pytest

from quarantine.client.snapshot import variant_hash
from tests.unit.plugin.projects import REFUSES, Project, SmallDaemon

SUITE = """
import pytest

def test_pass():
    pass

def test_one():
    assert 0

@pytest.mark.parametrize("word", ["a b", "[x]"])
def test_two(word):
    assert 0
"""
ONE, TWO, THREE = "test_suite::test_one", "test_suite::test_two[a b]", "test_suite::test_two[[x]]"
WORKERS = pytest.mark.parametrize("words", [(), ("-n", "2")], ids=" ".join)


@pytest.fixture
def suite(project: Project) -> Project:
    """A project in which three tests always fail."""
    return project.write(test_suite=SUITE)


def tries(suite: Project, *words: str) -> tuple[dict[str, int], list[str]]:
    """Run it, and return how often each failing test ran and what was said of the plan."""
    ran = suite.pytest("--quarantine", "--junit-prefix", "", *words)
    assert ran.status == 1, ran.text
    made = {name: len(outcomes) for name, outcomes in ran.tries().items() if name != "test_pass"}
    return made, ran.told[:-1]


@WORKERS
def test_each_test_is_tried_as_often_as_planned(suite: Project, daemon: SmallDaemon, words: tuple[str, ...]) -> None:
    """Up to N, which bounds the plan; each worker asks about its own failures and says which of how many it is."""
    daemon.plan = {ONE: 0, TWO: 1, THREE: 9}
    assert tries(suite, "--quarantine-reruns", "3", *words) == (
        {"test_one": 1, "test_two[a b]": 2, "test_two[[x]]": 4},
        [],
    )
    asked = [name for plan in daemon.plans for name in plan["failing"]]
    assert sorted(asked) == sorted([ONE, TWO, THREE])
    assert all(plan["workers"] == (2 if words else 1) > plan["worker"] for plan in daemon.plans)
    assert len({plan["worker"] for plan in daemon.plans}) == len(daemon.plans)


def test_the_variant_is_the_sessions(suite: Project, daemon: SmallDaemon) -> None:
    """As its report will state it, so that the daemon knows what was seen there."""
    tries(suite, "--quarantine-upload", "--quarantine-variant", "job=unit")
    [asked], [[build, _report]] = daemon.plans, daemon.uploads
    assert asked["variant"] == variant_hash(build["variant"] | {"job": "unit"})


def test_where_the_report_is_sent_the_plan_decides_alone(suite: Project, daemon: SmallDaemon) -> None:
    """Evidence is worth making where it arrives; 0 forbids it, and without a report nothing is tried unasked."""
    daemon.plan = {ONE: 5}
    daemon.plan_others = 0
    assert tries(suite, "--quarantine-upload")[0]["test_one"] == 6
    for words in [("--quarantine-upload", "--quarantine-reruns", "0"), ()]:
        assert tries(suite, *words)[0] == {"test_one": 1, "test_two[a b]": 1, "test_two[[x]]": 1}
    assert len(daemon.plans) == 1


def test_the_setting_bounds_the_plan_too(suite: Project, daemon: SmallDaemon) -> None:
    """`quarantine_reruns = 1` in the file, and `0` there forbids tries as the option does."""
    (suite.root / "pytest.ini").write_text("[pytest]\nquarantine_reruns = 1\n", encoding="utf-8")
    assert tries(suite)[0] == {"test_one": 2, "test_two[a b]": 2, "test_two[[x]]": 2}
    (suite.root / "pytest.ini").write_text("[pytest]\nquarantine_reruns = 0\n", encoding="utf-8")
    assert tries(suite, "--quarantine-upload")[0]["test_one"] == 1
    assert len(daemon.plans) == 1


def test_what_rerunfailures_tried_is_made_already(suite: Project, daemon: SmallDaemon) -> None:
    """The plan says how often in all; what the session has done of it is not done again."""
    daemon.plan = {ONE: 3, TWO: 1, THREE: 2}
    made, _ = tries(suite, "--quarantine-upload", "--reruns", "2")
    assert made == {"test_one": 4, "test_two[a b]": 3, "test_two[[x]]": 3}


def test_nobody_is_asked_when_nothing_failed(project: Project, daemon: SmallDaemon) -> None:
    """Nor when the session is green but for what was skipped."""
    project.write(test_suite="def test_pass():\n    pass\n")
    assert project.pytest("--quarantine-upload").status == 0
    assert daemon.plans == []


@WORKERS
def test_an_old_daemon_leaves_it_to_the_number(suite: Project, daemon: SmallDaemon, words: tuple[str, ...]) -> None:
    """Each failing test runs up to N more times as before, and one line says why."""
    daemon.plan = None
    made, remarks = tries(suite, "--quarantine-reruns", "1", *words)
    assert made == {"test_one": 2, "test_two[a b]": 2, "test_two[[x]]": 2}
    why = "does not know this project, or is too old to plan tries: each failing test is, up to 1 time."
    assert remarks == [f"quarantine: Nobody planned what to run again, for {daemon.url} {why}"]


def test_a_daemon_that_is_down_costs_the_plan_alone(suite: Project, daemon: SmallDaemon) -> None:
    """The number holds, and no other word fails the session."""
    suite.url = REFUSES
    made, [remark] = tries(suite, "--quarantine-reruns", "2")
    assert made == {"test_one": 3, "test_two[a b]": 3, "test_two[[x]]": 3}
    assert "for http://127.0.0.1:9 cannot be reached (ConnectionRefusedError" in remark
    assert remark.endswith(": each failing test is, up to 2 times.")
    assert daemon.plans == []


def test_a_daemon_that_takes_too_long_is_not_waited_for(suite: Project, daemon: SmallDaemon) -> None:
    """Five seconds, once."""
    daemon.plan_wait_s = 7
    made, [remark] = tries(suite, "--quarantine-reruns", "1")
    assert made["test_one"] == 2
    assert "cannot be reached (" in remark
    assert len(daemon.plans) == 1


def test_no_daemon_named_is_no_remark(suite: Project) -> None:
    """A fork without secrets tries its failing tests as often as the number says."""
    suite.url = ""
    made, remarks = tries(suite, "--quarantine-reruns", "1")
    assert (made["test_one"], remarks) == (2, [])


def test_what_was_left_out_is_said(suite: Project, daemon: SmallDaemon) -> None:
    """In the daemon's own sentence."""
    daemon.plan_others = 0
    daemon.plan_sentence = "3 failing tests for 0 further tries: none of them are tried again."
    made, remarks = tries(suite, "--quarantine-reruns", "1")
    assert made["test_one"] == 1
    assert remarks == [f"quarantine: {daemon.plan_sentence}"]


def test_odd_answers_are_no_plan(suite: Project, daemon: SmallDaemon) -> None:
    """A portal that answers 200 to anything, numbers that are none: the number of the option holds."""
    odd = [{"schema": 2, "tests": [], "sentence": ""}, {"schema": 1, "tests": [{"name": "t", "most": "9"}]}, [], "plan"]
    for answer in odd:
        daemon.planned = lambda _asked, answer=answer: (200, answer)  # type: ignore[method-assign,misc]
        made, [remark] = tries(suite, "--quarantine-reruns", "1")
        assert made["test_one"] == 2, json.dumps(answer)
        assert "gave an answer that is no plan" in remark
