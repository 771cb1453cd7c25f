"""The verdict's table, row by row, through the real service: what a failing test is found to be, and what that does."""

from typing import Any

import pytest

from quarantine.domain.outcome import Lane, Mode
from quarantine.services import decisions
from quarantine.store import projects, raised
from quarantine.store.engine import reading
from tests.scenarios.asking import BASE, ON_BASE, ask, causes, findings, settle, stored, suite, suite_without
from tests.world import CLASSNAME, OWNER, World, commit, tree


@pytest.fixture
def based(world: World) -> World:
    """Return a project whose trunk ran the base, and every test passed."""
    world.send(BASE, suite())
    world.wait(hours=1)
    return world


def quarantined(world: World, *names: str, mode: str = "enforce") -> World:
    """Play trunk builds until these tests are quarantined, then one more that is the base."""
    for number in range(12):
        world.send(f"clean-{number}", suite())
        world.wait(hours=12)
        world.send(f"flake-{number}", suite(**dict.fromkeys(names, "F")))
        world.rerun(f"flake-{number}", suite())
        world.wait(hours=12)
    for name in names:
        assert world.explain(name)["variants"][0]["status"] == "quarantined"
    decisions.set_mode(world.app, world.project, mode, bearer=OWNER)
    world.send(BASE, suite())
    world.wait(weeks=2)
    return world


def test_a_green_run_is_accepted(based: World) -> None:
    """Nothing failed and gating tests ran; what the green does not show is said all the same."""
    verdict = ask(based, "head", suite())
    assert (verdict["verdict"], verdict["final"], verdict["causes"], verdict["record"]) == ("accept", True, [], None)
    assert verdict["gating"] == {"ran": 20, "passed": 20, "of": 20}
    assert verdict["not_shown"]["exhaustive_owed"] is True
    assert stored(based, verdict)["plain_rejects"] is False


def test_what_the_change_breaks_is_explained_by_it(based: World) -> None:
    """It fails on the head every time and not on the base: only that test is told to whoever wrote the patch."""
    verdict = ask(based, "head", suite(t1="F"))
    assert (verdict["verdict"], verdict["final"]) == ("inconclusive", False)
    assert verdict["wanted"]["head"] == 2
    assert verdict["record"] is None
    verdict = settle(based, verdict, "head", head=[suite(t1="F")])
    assert verdict["verdict"] == "reject"
    assert findings(verdict) == {"t1": ("explained", "rejects")}
    assert verdict["record"]["failures"] == 1
    assert f"{CLASSNAME}::t1" in verdict["record"]["text"]
    [told] = verdict["tests"]
    assert (told["head"], told["base"]) == ({"failed": 3, "passed": 0}, {"failed": 0, "passed": 1})
    assert told["evidence"] == f"/projects/{based.project}/tests/{told['id']}"


def test_without_reruns_a_failure_rejects_at_once(based: World) -> None:
    """A client that cannot rerun gets a final answer, and the sentence says that nothing was rerun."""
    verdict = ask(based, "head", suite(t1="F"), question={"can_rerun": False})
    assert (verdict["verdict"], verdict["final"]) == ("reject", True)
    assert findings(verdict) == {"t1": ("unsettled", "rejects")}
    assert "no further run was made" in verdict["sentence"]


def test_what_fails_on_the_base_just_the_same_is_nobodys_business(world: World) -> None:
    """It neither rejects nor instructs; a plain harness would have rejected."""
    world.send(BASE, suite(t1="F"), said="assert 1 == 2")
    verdict = ask(world, "head", suite(t1="F"), said="assert 1 == 2")
    verdict = settle(world, verdict, "head", head=[suite(t1="F")], said="assert 1 == 2")
    assert (verdict["verdict"], findings(verdict)) == ("accept", {"t1": ("pre-existing", "ignored")})
    assert verdict["record"] is None
    row = stored(world, verdict)
    assert (row["plain_rejects"], row["prevented"]) == (True, 1)


def test_failing_in_another_way_than_the_base_is_the_changes_doing(world: World) -> None:
    """A test that was red already and now fails otherwise is explained by the change."""
    world.send(BASE, suite(t1="F"), said="assert 1 == 2")
    verdict = ask(world, "head", suite(t1="F"), said="no such column")
    verdict = settle(world, verdict, "head", head=[suite(t1="F")], said="no such column")
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t1": ("explained", "rejects")})


def test_what_flakes_on_both_is_excused(based: World) -> None:
    """Mixed on the head and mixed on the base: flaky, and the right patch is accepted."""
    verdict = ask(based, "head", suite(t1="F"))
    verdict = based.answer(verdict, "head", suite(), exit_code=0)
    verdict = based.answer(verdict, "head", suite(t1="F"), number=2, exit_code=1, **ON_BASE)
    assert (verdict["verdict"], verdict["final"]) == ("accept", True)
    assert findings(verdict) == {"t1": ("flaky", "excused")}
    assert stored(based, verdict)["prevented"] == 1


def test_what_is_random_only_with_the_change_needs_a_streak(based: World) -> None:
    """Mixed on the head while the base passes: undecided until it passes often enough in a row."""
    verdict = ask(based, "head", suite(t1="F"))
    verdict = based.answer(verdict, "head", suite(), exit_code=0)
    assert findings(verdict) == {"t1": ("nondeterministic", "undecided")}
    assert verdict["record"]["text"].count("nondeterministic under this change") == 1
    verdict = settle(based, verdict, "head", head=[suite()])
    assert (verdict["verdict"], findings(verdict)) == ("accept", {"t1": ("nondeterministic", "excused")})
    assert verdict["record"] is None
    assert verdict["tests"][0]["head"]["passed"] >= 9


def test_the_same_patch_again_does_not_start_over(based: World) -> None:
    """Tries count by tree: what failed in the first submission is still there in the second."""
    verdict = ask(based, "head", suite(t1="F"))
    settle(based, based.answer(verdict, "head", suite(), exit_code=0), "head", head=[suite(t1="F"), suite()])
    again = ask(based, "head-again", suite(), tree=tree("head"), commit=commit("head"))
    assert findings(again)["t1"][0] == "nondeterministic"
    assert again["tests"][0]["head"]["failed"] == 2
    assert again["key"] == verdict["key"]


def test_a_quarantined_test_is_excused_where_the_project_enforces(world: World) -> None:
    """It failed within what its flaking explains; once it passes on this tree too, nothing more is wanted."""
    quarantined(world, "t3")
    verdict = ask(world, "head", suite(t3="F"))
    verdict = settle(world, verdict, "head", head=[suite()], base=[suite()])
    assert (verdict["verdict"], findings(verdict)) == ("accept", {"t3": ("quarantined", "excused")})
    assert verdict["gating"]["of"] == 19
    assert verdict["record"] is None
    assert world.disagreements(["t3", "t1"]) == []


def test_a_quarantined_test_still_bites(world: World) -> None:
    """It fails more often in a row than its flaking explains while the base passes: a possible regression, rejected."""
    quarantined(world, "t3")
    verdict = ask(world, "head", suite(t3="F"))
    verdict = settle(world, verdict, "head", head=[suite(t3="F")], base=[suite()])
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t3": ("possible-regression", "rejects")})
    assert f"{CLASSNAME}::t3" in verdict["record"]["text"]


def raised_by(world: World) -> list[tuple[str, str | None, str]]:
    """Return (verdict, change, state) of every possible regression that was written down."""
    with reading(world.app.engine) as connection:
        rows = raised.since(connection, projects.by_slug(connection, world.project).id, 0)
    return [(str(row["verdict"]), row["change"], row["state"]) for row in rows]


def test_a_possible_regression_is_written_down_once_and_answered_by_a_patch_that_passes(world: World) -> None:
    """People are told of it; a later attempt at the same ticket that is accepted settles it."""
    quarantined(world, "t3")
    verdict = settle(world, ask(world, "head", suite(t3="F")), "head", head=[suite(t3="F")], base=[suite()])
    assert raised_by(world) == [(verdict["id"], "ticket-1", "open")]
    settle(world, ask(world, "head", suite(t3="F")), "head", head=[suite(t3="F")], base=[suite()])
    assert raised_by(world) == [(verdict["id"], "ticket-1", "open")]
    settle(world, ask(world, "other", suite(), change="ticket-2"), "other")
    assert raised_by(world) == [(verdict["id"], "ticket-1", "open")]
    settle(world, ask(world, "next", suite()), "next")
    assert raised_by(world) == [(verdict["id"], "ticket-1", "passed")]


def test_observing_excuses_nothing_and_says_what_would_have_been(world: World) -> None:
    """In observe mode a quarantined test gates, and its sentence says that enforcing would have excused it."""
    quarantined(world, "t3", mode="observe")
    assert world.summary()["mode"] == Mode.OBSERVE
    verdict = ask(world, "head", suite(t3="F"), question={"can_rerun": False})
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t3": ("unsettled", "rejects")})
    assert "would have been quarantined, and excused" in verdict["tests"][0]["sentence"]
    assert verdict["gating"]["of"] == 20


def test_a_must_pass_test_gates_even_when_quarantined(world: World) -> None:
    """One pass of a flaky test is no news: it has to pass so often that the unmended test would hardly have."""
    quarantined(world, "t3")
    verdict = ask(world, "head", suite(), question={"must_pass": [f"{CLASSNAME}::t3"]})
    assert findings(verdict) == {"t3": ("must-pass", "undecided")}
    verdict = settle(world, verdict, "head", head=[suite()])
    assert (verdict["verdict"], findings(verdict)) == ("accept", {"t3": ("must-pass", "passes")})
    assert verdict["tests"][0]["head"]["passed"] > 3


def test_a_must_pass_test_must_be_there_and_pass(based: World) -> None:
    """In no report, skipped, failing as on the base, or a name nobody knows: each rejects, and the record says so."""
    must: dict[str, Any] = {"question": {"must_pass": ["tests/test_ledger.py::t1"]}}
    assert ask(based, "green", suite(), **must)["verdict"] == "accept"
    for build, run in (("gone", suite_without("t1")), ("skipped", suite(t1="S"))):
        verdict = ask(based, build, run, **must)
        assert (verdict["verdict"], findings(verdict)["t1"]) == ("reject", ("must-pass", "rejects"))
        assert "t1" in verdict["record"]["text"]
    unknown = ask(based, "unknown", suite(), question={"must_pass": ["tests/test_new.py::t_new"]})
    assert unknown["verdict"] == "reject"
    assert (unknown["tests"][0]["id"], unknown["tests"][0]["name"]) == (None, "tests/test_new.py::t_new")


def test_what_vanishes_or_turns_skipped_is_not_green(based: World) -> None:
    """In a complete build every test that ran on the base must still run."""
    verdict = ask(based, "head", suite_without("t1") | {"t2": "S"}, complete=True)
    assert verdict["verdict"] == "reject"
    assert findings(verdict) == {"t1": ("vanished", "rejects"), "t2": ("turned-skipped", "rejects")}
    assert "t1" in verdict["record"]["text"]
    assert "t2" in verdict["record"]["text"]


def test_what_the_change_skips_and_trunk_passes_waits_for_the_base(world: World) -> None:
    """Where nothing ran on the base, a green run with a skip is not accepted: a run of the base tells who skips it."""
    world.send("older", suite(t3="S"))
    skips = suite(t2="S", t3="S")
    verdict = ask(world, "head", skips)
    assert (verdict["verdict"], findings(verdict)) == ("inconclusive", {"t2": ("turned-skipped", "undecided")})
    assert (verdict["wanted"]["head"], verdict["wanted"]["base"]) == (0, 1)
    assert verdict["tests"][0]["sentence"] == "It passes on trunk and is skipped; the base has not been run."
    assert ask(world, "final", skips, question={"can_rerun": False})["verdict"] == "inconclusive"
    told = settle(world, verdict, "head", base=[suite(t3="S")])
    assert (told["verdict"], findings(told)) == ("reject", {"t2": ("turned-skipped", "rejects")})


def test_what_the_base_skips_as_well_is_nobodys_business(world: World) -> None:
    """Trunk's other runs had it, but here it is skipped with the change and without it."""
    world.send("older", suite())
    verdict = ask(world, "head", suite(t2="S"))
    assert settle(world, verdict, "head", base=[suite(t2="S")])["verdict"] == "accept"


def test_a_part_of_the_suite_is_measured_by_what_was_expected(based: World) -> None:
    """Of an incomplete build only what is expected, skipped, or ran on the base in the same command can be missing."""
    part = {"t1": "P", "t2": "P"}
    assert ask(based, "part", part)["verdict"] == "accept"
    command = {"command": "pytest t1 t2 t3"}
    based.send("base-part", part | {"t3": "P"}, tree=tree(BASE), lane=Lane.AGENT, change="ticket-1", **command)
    assert findings(ask(based, "same", part, **command)) == {"t3": ("vanished", "rejects")}
    verdict = ask(based, "missing", part, question={"expected": ["t1", "t2", "t3"]})
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t3": ("vanished", "rejects")})
    assert verdict["gating"] == {"ran": 2, "passed": 2, "of": 3}
    skipped = ask(based, "skipped", part | {"t2": "S"})
    assert (skipped["verdict"], findings(skipped)) == ("reject", {"t2": ("turned-skipped", "rejects")})


def test_what_is_removed_on_purpose_a_person_can_say(based: World) -> None:
    """From a person's lane a test may go, and the answer says that it did."""
    gone: dict[str, Any] = {"complete": True, "lane": Lane.REVIEW, "change": "PR-1"}
    verdict = ask(based, "head", suite_without("t1"), question={"removed": ["t1"]}, **gone)
    assert (verdict["verdict"], findings(verdict)) == ("accept", {"t1": ("removed", "ignored")})
    assert ask(based, "silent", suite_without("t1"), **gone)["verdict"] == "reject"


def test_failures_with_a_common_cause_outside_are_a_sick_environment(based: World) -> None:
    """Five and more tests fail on head and base alike though trunk passes them: inconclusive, and nobody is blamed."""
    down = suite(**{f"t{number}": "F" for number in range(6)})
    said: dict[str, Any] = {"said": "connection refused"}
    verdict = ask(based, "head", down, **said)
    based.answer(verdict, "head", down, number=90, exit_code=1, **said, **ON_BASE)
    verdict = settle(based, verdict, "head", head=[down], base=[down], **said)
    assert verdict["verdict"] == "inconclusive"
    assert causes(verdict) == {"sick-environment": "undecided"}
    assert set(findings(verdict).values()) == {("storm", "undecided")}
    assert verdict["record"] is None


def test_an_unknown_base_is_said(world: World) -> None:
    """The base was never seen: it is wanted, its absence is said, and a run of its commit is taken for it."""
    verdict = ask(world, "head", suite(t1="F"))
    assert verdict["wanted"]["base"] == 1
    assert any("base has not been run" in sentence for sentence in verdict["not_shown"]["sentences"])
    verdict = settle(world, verdict, "head", head=[suite(t1="F")], base=[suite()])
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t1": ("explained", "rejects")})
    assert stored(world, verdict)["base_tree"] == tree(BASE)


def test_a_variant_that_trunk_never_ran_is_said_first(based: World) -> None:
    """Nothing is quarantined in it and trunk's runs of the base do not count: the nearest is named."""
    based.send("py311", suite(), variant={"os": "linux", "python": "3.11"})
    based.send("py312", suite(), variant={"os": "windows", "python": "3.12"})
    verdict = ask(based, "head", suite(), variant={"os": "linux", "shard": "1"})
    said = verdict["not_shown"]["sentences"]
    assert said[0] == verdict["not_shown"]["variant"]
    assert said[0] == (
        "Trunk has never run the variant job=unit os=linux shard=1, so nothing is quarantined in it and no trunk run "
        "of the base counts; the nearest that it runs is job=unit os=linux python=3.11 (name the interpreter by "
        "--python and leave shard out)."
    )
    assert "The base has not been run in this variant, so nothing says what fails without the change as well." in said
    known = ask(based, "other", suite(), variant={"os": "windows", "python": "3.12"})
    assert known["not_shown"]["variant"] is None


def test_the_first_run_of_all_is_in_no_strange_variant(world: World) -> None:
    """Where trunk has run nothing yet there is no other variant to name."""
    assert ask(world, "head", suite())["not_shown"]["variant"] is None


def test_a_run_that_waits_as_a_whole_is_told_so(based: World) -> None:
    """No test waits where the exit code alone wants to be seen again."""
    broken = ask(based, "broken", suite(), exit_code=5)
    assert broken["wanted"]["why"].endswith(" would settle more: the run as a whole waits for that.")


def test_a_base_that_trunk_never_ran_is_run_once_for_all_attempts_of_a_change(world: World) -> None:
    """The next attempt is compared with what the base did for the first; another change's word counts for nothing."""
    mine = {"lane": Lane.AGENT, "change": "T-1"}
    settle(world, ask(world, "first", suite(t1="F"), **mine), "first", head=[suite(t1="F")], base=[suite()], **mine)
    second = ask(world, "second", suite(t2="F"), **mine)
    assert (second["wanted"]["head"], second["wanted"]["base"]) == (2, 0)
    other = ask(world, "other", suite(t2="F"), lane=Lane.AGENT, change="T-2")
    assert other["wanted"]["base"] == 1


def test_uncommitted_edits_are_never_taken_for_the_base_they_were_made_on(based: World) -> None:
    """Two edits of one commit, both judged with a token of trunk: the first is no base that excuses the second."""
    desk = {"commit": commit(BASE), "base_commit": commit(BASE), "changed": [["shop.py", "body", "f" * 32]]}
    plain = {"question": {"can_rerun": False}}
    first = ask(based, "first", suite(t1="F"), **desk, **plain)
    second = ask(based, "second", suite(t1="F"), **desk, **plain)
    assert [verdict["verdict"] for verdict in (first, second)] == ["reject", "reject"]
    assert second["tests"][0]["base"] == {"failed": 0, "passed": 1}


def test_what_kept_the_tests_from_running_is_told_though_their_absence_rejects_already(based: World) -> None:
    """After a syntax error most tests are in no report; the error is what the agent has to read."""
    broken = (
        b"<testsuite><testcase classname='' name='tests.test_ledger' time='0'><error message='collection failure'>"
        b"SyntaxError: '(' was never closed</error></testcase></testsuite>"
    )
    verdict = ask(based, "head", broken, complete=True, exit_code=2)
    assert verdict["verdict"] == "reject"
    record = verdict["record"]["text"]
    assert "SyntaxError: '(' was never closed" in record
    assert record.count("in no report") == 1


def test_a_run_on_the_merge_result_is_owed_once_trunk_has_moved_on(based: World) -> None:
    """A complete run on trunk's newest commit is what merging gives; on an older one it is not."""
    fresh = ask(based, "head", suite(), complete=True)
    based.send("newer", suite())
    stale = ask(based, "late", suite(), complete=True)
    assert [verdict["not_shown"]["exhaustive_owed"] for verdict in (fresh, stale)] == [False, True]


def test_what_else_failed_is_told_with_a_label_where_nothing_was_run_again(world: World) -> None:
    """The must-pass test fails as before, which settles it; the other failure is told, the pre-existing one is not."""
    world.send(BASE, suite(t1="F", t3="F"), exit_code=1)
    verdict = ask(world, "head", suite(t1="F", t2="F", t3="F"), question={"must_pass": [f"{CLASSNAME}::t1"]})
    assert (verdict["verdict"], verdict["final"]) == ("reject", True)
    record = verdict["record"]["text"]
    assert "t1" in record
    assert "t2" in record
    assert record.count("not run again, so it may be chance") == 1
    assert "t3" not in record


def test_a_shrunken_suite_without_a_base_is_inconclusive(based: World) -> None:
    """Trunk had more tests, nobody can say which are gone, and nothing says that this is meant."""
    other = {"question": {"base_commit": commit("never seen")}, "complete": True}
    verdict = ask(based, "head", suite_without("t1"), **other)
    assert (verdict["verdict"], causes(verdict)) == ("inconclusive", {"shrunken": "undecided"})


def test_a_change_of_environment_is_named_rather_than_blamed_on_the_patch(world: World) -> None:
    """The base ran elsewhere only: what failed without a rerun is undecided, and the environment is named."""
    world.send(BASE, suite(), environment_hash="a" * 64)
    verdict = ask(world, "head", suite(t1="F"), question={"can_rerun": False}, environment_hash="b" * 64)
    assert verdict["verdict"] == "inconclusive"
    assert causes(verdict)["environment-changed"] == "undecided"
