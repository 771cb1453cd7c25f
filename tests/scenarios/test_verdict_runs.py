"""What is red beside the tests: runs that break off, run events, exit codes, and a canary that does not fail."""

from typing import Any

import pytest
from sqlalchemy import select

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, BadReport
from quarantine.store import builds, projects
from quarantine.store.engine import reading
from quarantine.store.tables import TEST
from tests.scenarios.asking import BASE, ON_BASE, ask, causes, stored, suite
from tests.world import PROJECT, World, commit, junit

COLLECTION_ERROR = (
    b"<testsuite name='pytest'><testcase classname='' name='tests.test_new' time='0'>"
    b"<error message='collection failure'>ImportError: no module named shop</error></testcase></testsuite>"
)
NAME = "test_canary_5f3a"
CANARY = {"name": NAME, "exit_code": 1}
LOST: dict[str, str] = {}


def events(world: World, build: int) -> list[tuple[str, str]]:
    """Return kind and place of the run events of a build."""
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, PROJECT)
        return [(row["kind"], row["where"]) for row in builds.run_events(connection, project.id, [build])]


def names(world: World) -> set[str]:
    """Return the bare names of every stored test."""
    with reading(world.app.engine) as connection:
        return set(connection.execute(select(TEST.c.name)).scalars())


def crash(world: World, build: object, **more: Any) -> dict[str, Any]:
    """Ask about a run that left no report."""
    question = {"base_commit": commit(BASE), "can_rerun": True} | more.pop("question", {})
    return world.ask(build, question=question, **({"exit_code": 139} | more))


@pytest.fixture
def based(world: World) -> World:
    """Return a project whose trunk ran the base, and every test passed."""
    world.send(BASE, suite())
    return world


def test_a_crashed_runner_leaves_a_trace(world: World) -> None:
    """Reports of none: taken when the exit code is stated, stored once, never green; refused without one."""
    world.send("first", suite())
    receipt = world.send("crashed", exit_code=139)
    assert (receipt.new, receipt.run_events, receipt.counts["passed"]) == (True, 1, 0)
    assert events(world, receipt.build_seq) == [("no-report", "")]
    again = world.send("crashed", exit_code=139)
    assert (again.new, again.build_seq) == (False, receipt.build_seq)
    assert events(world, receipt.build_seq) == [("no-report", "")]
    with pytest.raises(BadReport, match="holds no report"):
        world.send("silent")
    assert world.summary()["latest_builds"][0]["build"] == "crashed"
    assert world.disagreements(["t1"]) == []


def test_reports_that_cannot_be_read_or_break_off_are_run_events(world: World) -> None:
    """Each names its file; the readable rest counts."""
    cut = junit(suite())[:-60]
    receipt = world.send("damaged", b"<html/>", cut)
    assert events(world, receipt.build_seq) == [
        ("unreadable-report", "report-1.xml"),
        ("truncated-report", "report-2.xml"),
    ]
    assert receipt.counts["passed"] > 10
    later = world.send("damaged", {"late": "P"})
    assert later.run_events == 0


def test_a_crash_that_only_the_change_has_rejects(based: World) -> None:
    """Without a report nobody knows what failed, but the base comes to its end every time."""
    verdict = crash(based, "head")
    assert (verdict["verdict"], causes(verdict)) == ("inconclusive", {"crash": "undecided"})
    assert verdict["wanted"]["head"] > 0
    for number in range(1, 3):
        verdict = based.answer(verdict, "head", number=number, exit_code=139)
    assert (verdict["verdict"], causes(verdict)) == ("reject", {"crash": "rejects"})
    assert "exit code 139" in verdict["record"]["text"].lower()
    assert stored(based, verdict)["plain_rejects"] is True


def test_a_crash_that_the_base_has_too_is_a_sick_environment(world: World) -> None:
    """Neither accepted nor blamed on the change."""
    verdict = crash(world, "head")
    verdict = world.answer(verdict, "head", number=1, exit_code=139)
    verdict = world.answer(verdict, "head", number=2, exit_code=139)
    verdict = world.answer(verdict, "head", number=3, exit_code=139, **ON_BASE)
    assert (verdict["verdict"], verdict["final"]) == ("inconclusive", True)
    assert causes(verdict) == {"sick-environment": "undecided"}
    assert verdict["record"] is None


@pytest.mark.parametrize(
    ("reports", "more", "code"),
    [
        ([], {"exit_code": 0}, "no-report"),
        ([], {"exit_code": None}, "no-report"),
        ([b"<html/>"], {"exit_code": 1}, "unreadable-report"),
        ([junit(suite())[:-60]], {"exit_code": 0}, "truncated-report"),
        ([junit(suite())], {"question": {"timed_out": True}}, "timed-out"),
        ([junit(suite())], {"exit_code": -9}, "crash"),
    ],
    ids=["nothing", "not even a code", "unreadable", "truncated", "timed out", "killed"],
)
def test_a_run_that_breaks_off_is_never_green(
    based: World, reports: list[bytes], more: dict[str, Any], code: str
) -> None:
    """Whatever the reports that there are say, and whatever the exit code is."""
    question = {"base_commit": commit(BASE)} | more.get("question", {})
    sent: dict[str, Any] = {"exit_code": 0} | more | {"question": question}
    verdict = based.ask("head", *reports, **sent)
    assert verdict["verdict"] == "inconclusive"
    assert causes(verdict)[code] == "undecided"
    again = based.ask("head", *reports, **sent)
    assert again["id"] == verdict["id"]


def test_a_run_that_reported_no_test_verified_nothing(based: World) -> None:
    """An empty report with success is inconclusive."""
    verdict = ask(based, "head", LOST)
    assert (verdict["verdict"], causes(verdict)) == ("inconclusive", {"nothing-gated": "undecided"})


@pytest.mark.parametrize("exit_code", [0, 5, 1, None])
def test_a_run_from_which_every_test_vanished_is_inconclusive_and_says_where_to_look(
    based: World, exit_code: int | None
) -> None:
    """The base ran all 20 in the same complete suite, one must pass, and all are expected: nobody is instructed."""
    question = {"expected": list(suite()), "must_pass": ["t1"]}
    verdict = ask(based, "head", LOST, question=question, complete=True, exit_code=exit_code)
    assert (verdict["verdict"], verdict["final"], verdict["record"]) == ("inconclusive", True, None)
    assert verdict["sentence"].startswith(
        "Inconclusive: No gating test ran, so nothing was verified, though 20 ran on the base: see whether the command "
        "still finds and selects the tests, and whether these are the reports it wrote."
    )
    assert set(causes(verdict).values()) == {"undecided"}
    skipped = ask(based, "skipped", dict.fromkeys(suite(), "S"), question=question, complete=True, exit_code=exit_code)
    assert (skipped["verdict"], causes(skipped)["turned-skipped"]) == ("reject", "rejects")
    one_ran = ask(based, "one", {"t2": "P"}, question=question, complete=True, exit_code=exit_code)
    assert one_ran["verdict"] == "reject"
    assert "t1" in one_ran["record"]["text"]


def test_an_error_that_kept_every_test_from_running_rejects_unless_the_base_has_it_too(world: World) -> None:
    """With the change only it is the change's doing and told; on the base as well it is the environment's."""
    world.send("sound", suite())
    question = {"expected": list(suite()), "base_commit": commit("sound")}
    mine = world.ask("head", COLLECTION_ERROR, question=question, complete=True, exit_code=2)
    assert mine["verdict"] == "reject"
    assert "no module named shop" in mine["record"]["text"]
    world.send("sick", COLLECTION_ERROR, exit_code=2)
    question["base_commit"] = commit("sick")
    both = world.ask("head-2", COLLECTION_ERROR, question=question, complete=True, exit_code=2)
    assert (both["verdict"], both["record"]) == ("inconclusive", None)
    assert "see what kept them from running, on the base as well" in both["sentence"]


def test_a_run_event_that_only_the_change_has_rejects(based: World) -> None:
    """A collection error is no test, and red all the same; the record quotes it."""
    verdict = based.ask("head", COLLECTION_ERROR, suite(), question={"base_commit": commit(BASE)}, exit_code=2)
    assert (verdict["verdict"], causes(verdict)) == ("reject", {"run-event": "rejects"})
    assert "no module named shop" in verdict["record"]["text"]


def test_an_exit_code_that_nothing_explains_is_a_cause(based: World) -> None:
    """All tests passed and the runner failed: reruns say whether that is the change's doing."""
    verdict = ask(based, "head", suite(), exit_code=3)
    assert causes(verdict) == {"exit-code": "undecided"}
    for number in range(1, 3):
        verdict = based.answer(verdict, "head", suite(), number=number, exit_code=3)
    assert (verdict["wanted"]["head"], verdict["wanted"]["base"]) == (0, 1)
    green = based.answer(verdict, "head", suite(), number=3, exit_code=0, **ON_BASE)
    assert (green["verdict"], causes(green)) == ("reject", {"exit-code": "rejects"})


def test_the_canary_is_no_test_of_the_project(based: World) -> None:
    """It failed as it must, the exit code is exactly so: accepted, and nothing of it is stored as a test."""
    run = suite() | {NAME: "F"}
    verdict = ask(based, "head", run, question={"canary": CANARY}, exit_code=1)
    assert (verdict["verdict"], verdict["suspect"]) == ("accept", [])
    assert NAME not in names(based)
    assert stored(based, verdict)["plain_rejects"] is False


@pytest.mark.parametrize(
    ("does", "exit_code", "code"),
    [("P", 1, "canary"), ("S", 1, "canary"), (None, 1, "canary"), ("F", 0, "exit-code-forged")],
    ids=["passes", "is skipped", "is absent", "success all the same"],
)
def test_a_canary_that_did_not_fail_makes_the_run_suspect(
    based: World, does: str | None, exit_code: int, code: str
) -> None:
    """Whatever decided that may have decided the other outcomes, so the run is rejected."""
    run = suite() | ({NAME: does} if does else {})
    verdict = ask(based, "head", run, question={"canary": CANARY}, exit_code=exit_code)
    assert verdict["verdict"] == "reject"
    assert causes(verdict)[code] == "suspect"
    assert verdict["suspect"]
    assert stored(based, verdict)["suspect"] is True


def test_a_rerun_whose_canary_is_silenced_is_suspect(based: World) -> None:
    """Reruns have a canary of their own, and it too must fail."""
    verdict = ask(based, "head", suite(t1="F") | {NAME: "F"}, question={"canary": CANARY}, exit_code=1)
    other = {"name": "test_canary_77", "exit_code": 1}
    verdict = based.answer(verdict, "head", suite() | {"test_canary_77": "P"}, exit_code=1, note={"canary": other})
    assert (verdict["verdict"], causes(verdict)["canary"]) == ("reject", "suspect")


def test_with_a_canary_the_exit_code_is_exactly_so(based: World) -> None:
    """A runner that broke down after its tests is red, also where an excused failure would explain a red exit."""
    run = suite(t1="F") | {NAME: "F"}
    verdict = ask(based, "head", run, question={"canary": CANARY, "can_rerun": False}, exit_code=3)
    assert causes(verdict)["exit-code"] == "rejects"


def test_a_canary_cannot_be_a_real_test(based: World) -> None:
    """Else a failing test could be taken out by calling it the canary."""
    with pytest.raises(BadInput, match="is the name of a test of this project"):
        ask(based, "head", suite(t1="F"), question={"canary": {"name": "t1"}})
    assert world_builds(based) == 1


def world_builds(world: World) -> int:
    """Return how many builds are stored."""
    return len(world.summary()["latest_builds"])


def test_a_crash_on_trunk_does_not_shrink_the_suite(world: World) -> None:
    """The next change is still measured by the last trunk run that told of its tests."""
    world.send(BASE, suite())
    world.send("crashed", exit_code=139, commit=commit(BASE))
    verdict = ask(world, "head", suite(), lane=Lane.REVIEW, change="PR-1", complete=True)
    assert verdict["gating"] == {"ran": 20, "passed": 20, "of": 20}
    assert verdict["not_shown"]["exhaustive_owed"] is False
