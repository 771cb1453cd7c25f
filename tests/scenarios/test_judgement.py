"""The promises, played on the whole product: what is quarantined, what never is, and what lets a test out again."""

from dataclasses import replace
from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, Conflict, NotAllowed
from quarantine.services import decisions, gating, reruns
from quarantine.store import audit, projects
from quarantine.store.engine import reading
from tests.world import CLASSNAME, OWNER, World, commit, junit, sender, tree

SUITE = [f"t{number}" for number in range(20)]
TWICE = b"<testsuite name='suite'>" + b"<testcase classname='tests.test_ledger' name='t3'/>" * 2 + b"</testsuite>"


def suite(**tries: str) -> dict[str, str]:
    """Return a run of the whole suite in which every test passed but for these."""
    return dict.fromkeys(SUITE, "P") | tries


def flake(world: World, build: str, *names: str, confirmed: bool = True) -> list[str]:
    """Play one trunk build in which tests fail, and its rerun in which they pass; return the transitions."""
    said = list(world.send(build, suite(**dict.fromkeys(names, "F"))).transitions)
    if confirmed:
        world.wait(minutes=10)
        said += world.rerun(build, suite()).transitions
    world.wait(hours=11, minutes=50)
    return said


def quarantine(world: World, *names: str) -> None:
    """Play trunk builds until these tests are quarantined."""
    world.send("first", suite())
    world.wait(hours=12)
    for number in range(12):
        flake(world, f"flake-{number}", *names)
        world.send(f"clean-{number}", suite())
        world.wait(hours=12)
        if all(status(world, name) in ("quarantined", "held") for name in names):
            return
    raise AssertionError(f"{names} were not quarantined: {[world.explain(name) for name in names]}")


def status(world: World, name: str) -> str:
    """Return where the test stands in its one variant."""
    return str(world.explain(name)["variants"][0]["status"])


def is_gating(world: World, name: str, variant: str | None = None) -> bool:
    """Ask the gating set as a client does."""
    return gating.take_snapshot(world.app, world.project).is_gating(f"{CLASSNAME}::{name}", variant)


def test_a_flaky_test_leaves_the_gating_set_with_evidence(world: World) -> None:
    """Its own tree failed and passed, often enough and over three days: it is quarantined, and its record says why."""
    quarantine(world, "t3")
    told = world.explain("t3")
    [variant] = told["variants"]
    [entry] = [move for move in variant["transitions"] if move["to"] == "quarantined"]
    result, heads = entry["evidence"]["result"], entry["evidence"]["inputs"]["heads"]
    onsets = [head for head in heads if head["number"] in result["onsets"]]
    assert result["window"]["p_value"] <= result["window"]["limit"]
    assert len(onsets) >= 2
    assert all(head["lane"] == "trunk" and head["confirmed_by"] for head in onsets)
    assert (world.clock() - world.clock().fromisoformat(onsets[0]["arrived_at"])).total_seconds() >= 72 * 3600
    assert "would have been quarantined since" in variant["sentence"]
    assert variant["disagreements"] == []


def test_observing_changes_nothing_and_enforcing_takes_it_out(world: World) -> None:
    """In observe mode every test gates; enforcing takes the quarantined one out, under every spelling, and only it."""
    quarantine(world, "t3")
    assert is_gating(world, "t3")
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    snapshot = gating.take_snapshot(world.app, world.project)
    spellings = [world.explain("t3")["test"], f"{CLASSNAME}::t3", "tests/test_ledger.py::t3"]
    assert [snapshot.is_gating(spelling) for spelling in spellings] == [False, False, False]
    assert all(is_gating(world, name) for name in SUITE if name != "t3")
    assert is_gating(world, "never heard of it")


def test_a_quarantined_test_still_runs_and_is_still_reported(world: World) -> None:
    """Its failures go on being counted and shown; its outcome is never rewritten."""
    quarantine(world, "t3")
    receipt = world.send("after", suite(t3="F"))
    assert receipt.counts["failed"] == 1
    assert world.explain("t3")["variants"][0]["failures"][-1]["outcome"] == "failed"


def test_failures_that_nothing_confirmed_prove_nothing(world: World) -> None:
    """Without a pass of the identical tree there is no onset, however often a test fails after passing."""
    world.send("first", suite())
    for number in range(15):
        world.wait(hours=8)
        flake(world, f"flake-{number}", "t3", confirmed=False)
        world.send(f"clean-{number}", suite())
    [variant] = world.explain("t3")["variants"]
    assert len(variant["heads"]) == 15
    assert variant["status"] == "gating"
    assert variant["transitions"] == []


def test_another_tree_another_environment_or_an_agent_confirms_nothing(world: World) -> None:
    """Only the identical tree in the same environment, on a lane trusted as much, turns a failure into an onset."""
    world.send("first", suite())
    world.wait(hours=1)
    world.send("red", suite(t3="F"), environment_hash="a" * 64, command="make test")
    same = {"environment_hash": "a" * 64, "command": "make test"}
    world.rerun("red", suite(), number=1, **same | {"tree": tree("other")})
    world.rerun("red", suite(), number=2, **same | {"environment_hash": "b" * 64})
    world.rerun("red", suite(), number=3, **same | {"command": "pytest tests/test_ledger.py::t3"})
    world.rerun("red", suite(), number=4, lane=Lane.AGENT, **same)
    world.rerun("red", suite(), number=5, lane=Lane.REVIEW, **same)
    assert world.explain("t3")["variants"][0]["heads"][0]["confirmed_by"] is None
    world.rerun("red", suite(), number=6, **same)
    assert world.explain("t3")["variants"][0]["heads"][0]["confirmed_by"] is not None


def test_a_retry_inside_the_build_confirms_and_makes_no_trial(world: World) -> None:
    """A runner that retries in place gives the confirmation along with the failure."""
    world.send("first", suite())
    world.wait(hours=1)
    world.send("red", suite(t3="FP"))
    [variant] = world.explain("t3")["variants"]
    assert variant["trials"] == 2
    assert variant["heads"][0]["confirmed_by"] == variant["heads"][0]["build"]


def test_a_second_attempt_of_a_job_is_a_rerun(world: World) -> None:
    """A CI re-run confirms; it is no trial of its own."""
    world.send("first", suite())
    world.wait(hours=1)
    world.send("red", suite(t3="F"))
    world.send("red", suite(), attempt=2)
    [variant] = world.explain("t3")["variants"]
    assert (variant["trials"], variant["heads"][0]["confirmed_by"]) == (2, "3")


def test_a_broken_test_is_named_and_never_quarantined(world: World) -> None:
    """Three failing trunk trees that fail their reruns too: broken, still gating, and back after three passes."""
    world.send("first", suite())
    for number in range(3):
        world.wait(hours=12)
        world.send(f"red-{number}", suite(t7="F"))
        wanted = reruns.wanted(world.app, world.project)["reruns"]
        assert {test["name"] for one in wanted for test in one["tests"]} == {f"{CLASSNAME}::t7"}
    for number in range(3):
        for again in range(2):
            world.rerun(f"red-{number}", suite(t7="F"), number=again)
    assert status(world, "t7") == "broken"
    [move] = world.explain("t7")["variants"][0]["transitions"]
    assert move["evidence"]["range"] == {"last_passing": commit("first"), "first_failing": commit("red-0")}
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    assert is_gating(world, "t7")
    for number in range(3):
        world.wait(hours=12)
        world.send(f"green-{number}", suite())
    assert status(world, "t7") == "gating"
    assert world.disagreements(["t7"]) == []


def test_a_test_that_a_change_breaks_is_the_changes_business(world: World) -> None:
    """A review that breaks a test, built again and again, leaves no trace in that test's evidence."""
    world.send("first", suite())
    for number in range(10):
        world.wait(hours=8)
        world.send(f"review-{number}", suite(t5="F"), lane=Lane.REVIEW, change="PR-1")
        world.send(f"review-{number}", suite(t5="F"), lane=Lane.REVIEW, change="PR-1", attempt=2)
    [variant] = world.explain("t5")["variants"]
    assert (variant["trials"], variant["heads"], variant["status"]) == (1, [], "gating")


def test_an_agent_cannot_have_a_test_quarantined(world: World) -> None:
    """Fifty attempts on many claimed changes, on trees of its own and on trunk's, make one vote, and none of trunk."""
    world.send("first", suite())
    for number in range(50):
        world.wait(hours=8)
        world.send(f"agent-{number}", suite(t4="FP"), lane=Lane.AGENT, change=f"ticket-{number}")
        shared: dict[str, Any] = {"tree": tree("first"), "commit": commit("first")}
        world.send(f"copy-{number}", suite(t4="FP"), lane=Lane.AGENT, change=f"ticket-{number}", **shared)
        world.send(f"pass-{number}", suite(), lane=Lane.AGENT, change=f"ticket-{number}", **shared)
    [variant] = world.explain("t4")["variants"]
    assert variant["status"] == "gating"
    assert variant["transitions"] == []
    assert variant["trials"] == 101
    assert variant["disagreements"] == []


def test_one_change_votes_once_and_trunk_must_speak_too(world: World) -> None:
    """Reviews on trunk's own tree are trials, but without an onset of trunk's own none of theirs counts."""
    world.send("first", suite())
    shared: dict[str, Any] = {"tree": tree("first"), "commit": commit("first"), "lane": Lane.REVIEW}
    for number in range(12):
        world.wait(hours=12)
        world.send(f"review-{number}", suite(t4="FP"), change=f"PR-{number % 6}", **shared)
        world.send(f"quiet-{number}", suite(), change=f"PR-{number % 6}", **shared)
    [variant] = world.explain("t4")["variants"]
    assert len(variant["heads"]) == 12
    assert variant["entry"]["result"]["counted"] == 0
    assert variant["status"] == "gating"


def test_other_lanes_cannot_talk_a_tolerable_test_into_quarantine(world: World) -> None:
    """Two onsets of trunk are tolerated; what agents and reviews add on trunk's tree is hardly heard."""
    world.send("first", suite())
    for number in range(2):
        for quiet in range(40):
            world.wait(hours=3)
            world.send(f"quiet-{number}-{quiet}", suite())
        world.send(f"red-{number}", suite(t4="FP"))
    shared: dict[str, Any] = {"tree": tree("first"), "commit": commit("first")}
    for number in range(30):
        world.wait(hours=7)
        lane = Lane.AGENT if number % 2 else Lane.REVIEW
        world.send(f"other-{number}", suite(t4="FP"), lane=lane, change=f"ticket-{number}", **shared)
        world.send(f"calm-{number}", suite())
    [variant] = world.explain("t4")["variants"]
    assert variant["entry"]["result"]["counted"] == 3
    assert variant["status"] == "gating"


@pytest.mark.parametrize(
    "lie",
    [
        {"job": "anything"},
        {"stream": "z"},
        {"report": TWICE},
        {"report": junit({f"{CLASSNAME}::t3": "P"}, classname="")},
    ],
    ids=["another job", "another stream", "the id twice", "the spelling as a name"],
)
def test_no_upload_of_an_agent_lets_a_quarantined_test_gate(world: World, lie: dict[str, Any]) -> None:
    """What a lane other than trunk runs, names or repeats takes nothing from the gating set."""
    quarantine(world, "t3")
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    fields = {name: value for name, value in lie.items() if name != "report"}
    world.send("lie", lie.get("report", {"t3": "P"}), lane=Lane.AGENT, change="ticket", **fields)
    world.send("after", suite())
    assert not is_gating(world, "t3")
    assert world.explain("t3")["variants"][0]["status"] == "quarantined"
    decisions.release(
        world.app, world.project, f"{CLASSNAME}::t3", bearer=OWNER, reason="found by its name all the same"
    )


def test_a_healthy_test_of_the_same_spelling_goes_on_gating(world: World) -> None:
    """A spelling that two tests of trunk share stands for both, and gates."""
    alike = junit({"test_ledger::t3": "P", "test_ledger.t3": "P"}, classname="tests")
    world.send("alike", suite(), alike)
    quarantine(world, "t3")
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    assert is_gating(world, "test_ledger.t3") or is_gating(world, "t3")
    assert gating.take_snapshot(world.app, world.project).is_gating("tests.test_ledger.t3")


def test_invented_tests_spend_none_of_the_evidence_budget(world: World) -> None:
    """Names that only an agent reports are numbered among no pairs, even on trunk's own tree."""
    world.send("first", suite())
    before = world.summary()["pairs"]
    invented = dict.fromkeys([f"made-up-{number}" for number in range(300)], "P")
    world.send("agent", suite(), invented, lane=Lane.AGENT, tree=tree("first"))
    assert world.summary()["pairs"] == before == len(SUITE)


def test_an_incident_of_two_days_is_harmless(world: World) -> None:
    """Many onsets within less than 72 hours do not suffice; one after that does."""
    world.send("first", suite())
    for number in range(8):
        world.wait(hours=7, minutes=50)
        world.send(f"quiet-{number}", suite())
        world.send(f"red-{number}", suite(t2="FP"))
    assert status(world, "t2") == "gating"
    assert any("at least 72 h" in phrase for phrase in world.explain("t2")["variants"][0]["entry"]["lacking"])
    world.wait(hours=24)
    world.send("quiet-last", suite())
    world.send("red-last", suite(t2="FP"))
    assert status(world, "t2") == "quarantined"


def test_a_storm_makes_no_trials(world: World) -> None:
    """Eight tests that fail alike in two unrelated builds within the hour are one incident, and nobody's flake."""
    down = {f"t{number}": "FP" for number in range(8)}
    world.send("first", suite())
    world.wait(hours=1)
    world.send("review", suite(**down), lane=Lane.REVIEW, change="PR-1", base_commit=commit("first"), said="db down")
    world.wait(minutes=20)
    world.send("trunk", suite(**down), said="db down")
    [variant] = world.explain("t1")["variants"]
    assert (variant["trials"], variant["heads"]) == (1, [])
    [incident] = world.summary()["incidents"]
    assert (incident["tests"], incident["builds"]) == (8, [2, 3])
    assert world.disagreements(["t1", "t12"]) == []


def test_one_flaky_test_failing_twice_in_an_hour_is_no_storm(world: World) -> None:
    """A storm is many tests together; a single one stays evidence."""
    world.send("first", suite())
    world.wait(hours=1)
    world.send("review", suite(t1="FP"), lane=Lane.REVIEW, change="PR-1", base_commit=commit("first"))
    world.wait(minutes=20)
    world.send("trunk", suite(t1="FP"))
    assert world.summary()["incidents"] == []
    assert len(world.explain("t1")["variants"][0]["heads"]) == 1


def test_beyond_the_cap_tests_are_held_and_go_on_gating(world: World) -> None:
    """With room for two, the third proven flake is held, and enters when a place becomes free."""
    world.app.policy = replace(world.app.policy, cap_slots=2, storm_tests=15)
    quarantine(world, "t1", "t2", "t3")
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    stands = {name: status(world, name) for name in ("t1", "t2", "t3")}
    assert sorted(stands.values()) == ["held", "quarantined", "quarantined"]
    held = next(name for name, where in stands.items() if where == "held")
    assert is_gating(world, held)
    freed = next(name for name, where in stands.items() if where == "quarantined")
    decisions.release(world.app, world.project, freed, bearer=OWNER, reason="mended")
    world.send("next", suite())
    assert status(world, held) == "quarantined"
    assert world.disagreements(["t1", "t2", "t3"]) == []


def test_a_name_the_policy_protects_is_never_quarantined(world: World) -> None:
    """A never-quarantine glob holds the test; it gates, and the reason says so."""
    world.app.policy = replace(world.app.policy, never_quarantine=("*::t3",))
    quarantine(world, "t3")
    assert status(world, "t3") == "held"
    assert "'*::t3'" in world.explain("t3")["variants"][0]["reason"]


def test_an_id_that_several_tests_share_is_never_quarantined(world: World) -> None:
    """Two cases of one name in a dialect without retries are nobody's history."""
    twice = junit({"t0": "P"}).replace(
        b"</testsuite>", b"<testcase classname='tests.test_ledger' name='t0'/></testsuite>"
    )
    red = twice.replace(b"name='t0'/>", b"name='t0'><failure message='boom'/></testcase>")
    for number in range(10):
        world.send(f"quiet-{number}", twice)
        world.wait(hours=10)
        world.send(f"red-{number}", red)
        world.rerun(f"red-{number}", twice)
        world.wait(hours=10)
    told = world.explain("t0")
    assert told["unique"] is False
    assert told["variants"] == [] or told["variants"][0]["status"] == "gating"
    assert any(doubt["code"] == "ids-collide" for doubt in world.summary()["doubts"])


def test_it_is_released_on_stronger_evidence_than_it_entered_on(world: World) -> None:
    """A long clean streak on trunk lets it out; what other lanes say, and a failure in between, does not."""
    world.app.policy = replace(world.app.policy, budget=50.0)
    quarantine(world, "t3")
    needed = world.explain("t3")["variants"][0]["exit"]["result"]["trials_needed"]
    for number in range(needed // 2):
        world.wait(hours=2)
        world.send(f"streak-{number}", suite())
    world.send("relapse", suite(t3="F"))
    assert world.explain("t3")["variants"][0]["exit"]["inputs"]["streak"]["ordinal"] == 2
    for number in range(needed):
        world.wait(hours=2)
        world.send(f"review-{number}", suite(), lane=Lane.REVIEW, change=f"PR-{number}", tree=tree("first"))
    assert world.explain("t3")["variants"][0]["exit"]["inputs"]["streak"]["clean_trials"] == 0
    released = _clean_until_released(world)
    again = world.explain("t3")["variants"][0]
    assert again["status"] == "gating"
    assert again["life"] == 1
    assert again["heads"] == []
    assert released["evidence"]["inputs"]["streak"]["clean_trials"] > needed
    assert released["evidence"]["result"]["p_value"] <= released["evidence"]["result"]["level"]
    assert again["disagreements"] == []


def _clean_until_released(world: World) -> dict[str, Any]:
    for number in range(1500):
        world.wait(hours=3)
        if world.send(f"mended-{number}", suite()).transitions:
            move: dict[str, Any] = world.explain("t3")["variants"][0]["transitions"][0]
            return move
    raise AssertionError(world.explain("t3")["variants"][0]["exit"])


def test_a_person_releases_with_a_reason_that_is_kept(world: World) -> None:
    """A release by hand needs admin and a reason, restarts the evidence, and stands in the audit."""
    quarantine(world, "t3")
    with pytest.raises(NotAllowed):
        decisions.release(world.app, world.project, "t3", bearer=sender(), reason="please")
    with pytest.raises(BadInput, match="needs a reason"):
        decisions.release(world.app, world.project, "t3", bearer=OWNER, reason="  ")
    decisions.release(world.app, world.project, "t3", bearer=OWNER, reason="clock injected in 1a2b3c")
    with pytest.raises(Conflict, match="is not quarantined"):
        decisions.release(world.app, world.project, "t3", bearer=OWNER, reason="again")
    [variant] = world.explain("t3")["variants"]
    assert (variant["status"], variant["life"], variant["trials"], variant["disagreements"]) == ("gating", 1, 0, [])
    with reading(world.app.engine) as connection:
        rows = audit.latest(connection, projects.by_slug(connection, world.project).id)
    assert rows[0]["action"] == "release"
    assert rows[0]["detail"]["reason"] == "clock injected in 1a2b3c"


def test_a_test_gates_where_it_was_not_proven_flaky(world: World) -> None:
    """Quarantine is per variant: without one named, a test gates if it gates anywhere."""
    world.send("other-job", suite(), job="windows")
    quarantine(world, "t3")
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    told = world.explain("t3")
    [flaky] = [variant["variant_hash"] for variant in told["variants"] if variant["status"] == "quarantined"]
    [sound] = [variant["variant_hash"] for variant in told["variants"] if variant["status"] == "gating"]
    assert is_gating(world, "t3")
    assert is_gating(world, "t3", sound)
    assert not is_gating(world, "t3", flaky)


def test_what_is_missing_is_said_before_anyone_waits_in_vain(world: World) -> None:
    """Red builds only, no trunk, no tree, no job: each is a doubt with its mend."""
    for number in range(12):
        world.send(f"red-{number}", suite(t1="F"), lane=Lane.REVIEW, change="PR-1", job="", tree=None)
    codes = {doubt["code"] for doubt in world.summary()["doubts"]}
    assert codes == {"only-red", "no-trunk", "no-tree", "no-job", "no-full-build"}
    assert all(doubt["mend"] for doubt in world.summary()["doubts"])


def test_a_tree_that_nobody_can_run_again_is_a_doubt(world: World) -> None:
    """Once other trees were rerun and this one was not for two days, it is said; its pass ends that."""
    world.send("clean", suite())
    flake(world, "rerun-in-time", "t2")
    flake(world, "never-again", "t3", confirmed=False)
    codes = []
    for day in range(3):
        world.wait(days=1)
        world.send(f"later-{day}", suite())
        codes.append({doubt["code"] for doubt in world.summary()["doubts"]})
    assert ["reruns-not-made" in told for told in codes] == [False, True, True]
    [doubt] = [doubt for doubt in world.summary()["doubts"] if doubt["code"] == "reruns-not-made"]
    assert doubt["sentence"].startswith("1 tree of trunk that failed did not run again within 2 days")
    world.rerun("never-again", suite())
    assert "reruns-not-made" not in {doubt["code"] for doubt in world.summary()["doubts"]}


def test_reruns_are_wanted_until_a_pass_or_the_end_of_the_schedule(world: World) -> None:
    """A pending head is rerun now, after an hour and after a day; a pass ends it."""
    world.send("first", suite())
    world.wait(hours=1)
    world.send("red", suite(t3="F"), command="make test")
    [now] = reruns.wanted(world.app, world.project)["reruns"]
    assert (now["tree"], now["command"], now["rerun_of"]) == (tree("red"), "make test", "red")
    world.rerun("red", suite(t3="F"), number=1, command="make test")
    assert reruns.wanted(world.app, world.project)["reruns"] == []
    world.wait(hours=2)
    assert len(reruns.wanted(world.app, world.project)["reruns"]) == 1
    world.rerun("red", suite(), number=2, command="make test")
    world.wait(hours=48)
    assert reruns.wanted(world.app, world.project)["reruns"] == []


def test_a_build_name_used_again_is_pointed_out(world: World) -> None:
    """A constant build name makes one build of many; the answer says so at once."""
    world.send("nightly", suite())
    world.wait(hours=24)
    [said] = world.send("nightly", suite(t1="F"), tree=tree("next day")).transitions
    assert said.startswith("Build 'nightly' came in before on another tree")
