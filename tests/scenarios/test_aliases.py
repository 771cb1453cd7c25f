"""A renamed test is one test: what it did before, where it stands and since when go on under the new name."""

from dataclasses import replace
from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, Conflict, NotAllowed, NotFound
from quarantine.services import aliases, decisions, gating, listing, naming, overview, quarantined_list, reruns
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.decisions import set_mode
from quarantine.services.standing_time import cases_of
from quarantine.store import audit, projects
from quarantine.store.engine import reading
from tests.world import CLASSNAME, OWNER, World, commit, junit, sender, tree

SUITE = [f"t{number}" for number in range(6)]
OLD, NEW = "test_rounds", "test_rounds_down"


def suite(*besides: str, **tries: str) -> dict[str, str]:
    return dict.fromkeys([*SUITE, *besides], "P") | tries


def alias(
    world: World, old: str = OLD, new: str = NEW, *, bearer: Bearer = OWNER, reason: str = "renamed in the clean-up"
) -> dict[str, Any]:
    return aliases.alias(world.app, world.project, old, new, bearer=bearer, reason=reason)


def undo(world: World, old: str = OLD, new: str = NEW) -> dict[str, Any]:
    return aliases.end(world.app, world.project, old, new, bearer=OWNER, reason="they are two")


def quarantine(world: World, name: str = OLD) -> None:
    decisions.quarantine(world.app, world.project, name, bearer=OWNER, reason="flaky", days=30)


def is_gating(world: World, name: str, variant: str | None = None) -> bool:
    return gating.take_snapshot(world.app, world.project).is_gating(name, variant)


def ordinals(world: World, *names: str) -> list[int]:
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        return [naming.find(connection, project, name)["ordinal"] for name in names]


def proposed(world: World) -> list[tuple[str, str, str | None]]:
    found = aliases.proposed(world.app, world.project)["proposed"]
    return [
        (one["former_name"].partition("::")[2], one["present_name"].partition("::")[2], one["at_stake"])
        for one in found
    ]


@pytest.fixture
def renamed(world: World) -> World:
    """Return a project that enforces, and in which a quarantined test was renamed two builds ago."""
    for number in range(3):
        world.send(f"old-{number}", suite(OLD))
    set_mode(world.app, world.project, "enforce", bearer=OWNER)
    quarantine(world)
    world.wait(days=5)
    for number in range(2):
        world.send(f"new-{number}", suite(NEW))
    return world


def test_one_test_two_names(renamed: World) -> None:
    """History, standing and both ids go on; everything asks for it by either name, and shows the new one."""
    before, own = renamed.explain(OLD), renamed.explain(NEW)
    assert is_gating(renamed, f"{CLASSNAME}::{NEW}")
    told = alias(renamed)
    assert told["sentence"] == (
        f"{CLASSNAME}::{OLD} goes by {CLASSNAME}::{NEW} now. It is quarantined, so {CLASSNAME}::{NEW} does not gate "
        "where it is. 2 trials of the new name's own count for nothing."
    )
    for name in (OLD, NEW, before["test"], own["test"], f"{CLASSNAME}::{OLD}", f"tests/test_ledger.py::{NEW}"):
        found = renamed.explain(name)
        assert (found["test"], found["name"], found["formerly"]) == (
            before["test"], f"{CLASSNAME}::{NEW}", [f"{CLASSNAME}::{OLD}"]
        )  # fmt: skip
    [variant] = found["variants"]
    assert (variant["status"], variant["since"]) == ("quarantined", before["variants"][0]["since"])
    hash_ = variant["variant_hash"]
    for name in (before["test"], own["test"], f"{CLASSNAME}::{OLD}", f"{CLASSNAME}::{NEW}"):
        assert not is_gating(renamed, name)
        assert not is_gating(renamed, name, hash_)
    renamed.send("after", suite(**{NEW: "F"}))
    [variant] = renamed.explain(NEW)["variants"]
    assert (variant["trials"], variant["fail_streak"]) == (4, 1)
    assert renamed.disagreements([OLD, *SUITE]) == []


def test_it_is_counted_once_everywhere(renamed: World) -> None:
    """The size of the suite, the lists and the cap know one test."""
    quarantined = listing.summary(renamed.app, renamed.project)["counts"]["quarantined"]
    assert renamed.summary()["tests"] == 8
    alias(renamed)
    told = renamed.summary()
    assert (told["tests"], told["counts"]["tests"], told["counts"]["gating"]) == (7, 7, 6)
    assert told["counts"]["quarantined"] == quarantined == 1
    [row] = told["standing"]
    assert (row["name"], row["formerly"]) == (f"{CLASSNAME}::{NEW}", [f"{CLASSNAME}::{OLD}"])
    renamed.send("after", suite(NEW))
    assert renamed.summary()["latest_builds"][0]["passed"] == 7


def test_the_clock_of_the_escalation_goes_on(renamed: World) -> None:
    """Days in quarantine before the rename and after it are days of one test."""
    [old] = ordinals(renamed, OLD)
    alias(renamed)
    renamed.wait(days=20)
    [test] = ordinals(renamed, NEW)
    with reading(renamed.app.engine) as connection:
        project = projects.by_slug(connection, renamed.project)
        [span] = cases_of(connection, project, [test])[test].spans
    assert test == old
    assert (renamed.app.clock() - span.start).days == 25


def test_it_is_written_down_who_said_so(renamed: World) -> None:
    """An admin, a reason, and a row of the audit; no reporter and no agent joins names."""
    for lane in Lane:
        with pytest.raises(NotAllowed):
            alias(renamed, bearer=sender(lane))
    with pytest.raises(BadInput, match="reason"):
        alias(renamed, reason=" ")
    alias(renamed)
    with reading(renamed.app.engine) as connection:
        project = projects.by_slug(connection, renamed.project)
        [row] = audit.of_action(connection, project.id, "alias")
    assert row["actor"] == OWNER.actor
    assert {key: row["detail"][key] for key in ("former", "present", "reason")} == {
        "former": f"{CLASSNAME}::{OLD}", "present": f"{CLASSNAME}::{NEW}", "reason": "renamed in the clean-up"
    }  # fmt: skip


def test_names_nobody_knows_and_names_that_both_run_are_refused(world: World) -> None:
    """An unknown name, one test twice, a name trunk never ran, and two that trunk runs side by side."""
    world.send("first", suite(OLD))
    world.send("agent", suite(NEW), lane=Lane.AGENT, change="PR-1")
    with pytest.raises(NotFound, match="nobody"):
        alias(world, OLD, "nobody")
    with pytest.raises(Conflict, match="one test already"):
        alias(world, OLD, OLD)
    with pytest.raises(Conflict, match="Trunk has never run"):
        alias(world)
    world.send("second", suite(OLD, NEW))
    with pytest.raises(Conflict, match=r"Trunk still runs .*build 3 \(second\) tells of it and"):
        alias(world)
    world.send("third", suite(NEW))
    world.send("a part", {OLD: "P"}, complete=False)
    with pytest.raises(Conflict, match=r"build 5 \(a part\)"):
        alias(world)
    world.send("fourth", suite(NEW))
    assert alias(world)["statuses"] == []


def test_chains_and_circles(world: World) -> None:
    """A name after the other, each found; back to the first is one test already; two histories never become one."""
    for name in ("a", "b", "c"):
        world.send(f"as {name}", suite(name))
        if name != "a":
            alias(world, chr(ord(name) - 1), name)
            world.send(f"as {name} again", suite(name))
    found = world.explain("b")
    assert (found["name"], found["formerly"]) == (f"{CLASSNAME}::c", [f"{CLASSNAME}::b", f"{CLASSNAME}::a"])
    assert found["variants"][0]["trials"] == 3  # the first of each later name stayed behind
    with pytest.raises(Conflict, match="one test already"):
        alias(world, "c", "a")
    world.send("other", suite("x", "c"))
    world.send("back", suite("c"))
    with pytest.raises(Conflict, match="history of"):
        alias(world, "x", "c")
    assert world.disagreements(["a", "t1"]) == []


def test_a_new_name_in_quarantine_is_not_let_out_by_it(renamed: World) -> None:
    """What stands by itself has to be settled first."""
    quarantine(renamed, NEW)
    with pytest.raises(Conflict, match="quarantined itself"):
        alias(renamed)
    assert not is_gating(renamed, f"{CLASSNAME}::{NEW}")
    decisions.release(renamed.app, renamed.project, NEW, bearer=OWNER, reason="to be joined")
    alias(renamed)
    assert not is_gating(renamed, f"{CLASSNAME}::{NEW}")


def test_a_broken_new_name_is_not_hidden(renamed: World) -> None:
    """A rename that broke the test on trunk is no flake of it."""
    for number in range(3):
        renamed.send(f"red-{number}", suite(**{NEW: "F"}))
        for again in (1, 2):
            renamed.rerun(f"red-{number}", suite(**{NEW: "F"}), number=again)
    with pytest.raises(Conflict, match="broken itself"):
        alias(renamed)


def test_the_end_of_an_alias(renamed: World) -> None:
    """The name is a test of its own again and gates; what was counted meanwhile stays where it is."""
    own = renamed.explain(NEW)["test"]
    alias(renamed)
    renamed.send("joined", suite(NEW))
    with pytest.raises(Conflict, match="no name that"):
        undo(renamed, OLD, OLD)
    told = undo(renamed)
    assert told["sentence"] == (
        f"{CLASSNAME}::{NEW} is a test of its own again, and gates. What was counted meanwhile stays with "
        f"{CLASSNAME}::{OLD}."
    )
    renamed.send("apart", suite(NEW))
    assert (renamed.explain(NEW)["test"], renamed.explain(NEW)["formerly"]) == (own, [])
    assert renamed.explain(NEW)["variants"][0]["trials"] == 3
    assert renamed.explain(OLD)["variants"][0]["trials"] == 4
    assert (is_gating(renamed, f"{CLASSNAME}::{NEW}"), is_gating(renamed, f"{CLASSNAME}::{OLD}")) == (True, False)
    assert renamed.summary()["tests"] == 8
    assert renamed.disagreements([OLD, NEW]) == []
    for _ in range(2):  # what trunk ran last may have been counted under either
        alias(renamed)
        assert renamed.explain(OLD)["name"] == f"{CLASSNAME}::{NEW}"
        renamed.send("joined again", suite(NEW))
        undo(renamed)


def test_two_names_in_one_report_are_two_tests(renamed: World) -> None:
    """Told of side by side they share an id: barred, gating, no trial; and no pass of the one covers the other."""
    alias(renamed)
    renamed.send("both", suite(OLD, **{NEW: "F"}))
    found = renamed.explain(NEW)
    assert (found["unique"], found["variants"][0]["trials"]) == (False, 3)
    assert found["gating"]  # what stands for two tests cannot stay quarantined
    assert renamed.summary()["latest_builds"][0]["failed"] == 1
    assert renamed.disagreements([NEW]) == []


@pytest.mark.parametrize("of_one_build", [True, False])
def test_two_names_on_one_tree_prove_no_flake(world: World, of_one_build: bool) -> None:  # noqa: FBT001
    """A tree that holds a failing and a passing test by two names of one test is no tree that failed and passed."""
    for number in range(3):
        world.send(f"old-{number}", suite(OLD))
    world.send("new", suite(NEW))
    alias(world)
    world.send("good", suite(NEW))
    world.send("red", suite(**{NEW: "F"}))
    if of_one_build:
        world.send("red", {OLD: "P"})
    else:
        world.rerun("red", suite(OLD))
    found = world.explain(NEW)
    assert not found["unique"]
    assert found["barred"] is not None


def test_an_upload_from_before_the_rename_is_no_clash(renamed: World) -> None:
    """A late run of an older commit tells of the former name, and counts."""
    alias(renamed)
    renamed.send("new-2", suite(NEW))
    renamed.send("late", suite(OLD))
    found = renamed.explain(NEW)
    assert (found["unique"], found["variants"][0]["trials"]) == (True, 5)
    assert renamed.disagreements([NEW]) == []


def test_an_agent_that_tells_of_both_marks_nothing(renamed: World) -> None:
    """Only trunk says that an id is shared."""
    alias(renamed)
    renamed.send("agent", suite(OLD, NEW), lane=Lane.AGENT, change="PR-1")
    assert renamed.explain(NEW)["unique"]
    assert not is_gating(renamed, f"{CLASSNAME}::{NEW}")


def test_rerun_of_an_old_tree_confirms_the_head_of_the_old_name(world: World) -> None:
    """The evidence goes on across the rename: a head from before is confirmed by a rerun of its own tree after."""
    world.send("first", suite(OLD))
    world.send("red", suite(**{OLD: "F"}))
    world.send("new", suite(NEW))
    assert [row["tests"][0]["name"] for row in reruns.wanted(world.app, world.project)["reruns"]] == [
        f"{CLASSNAME}::{OLD}"
    ]
    alias(world)
    world.rerun("red", suite(OLD))
    [head] = world.explain(NEW)["variants"][0]["heads"]
    assert head["confirmed_by"] is not None
    assert world.disagreements([NEW]) == []


def test_pending_heads_of_the_new_name_alone_want_no_reruns(world: World) -> None:
    """What the new name did by itself counts for nothing, so nobody is asked to confirm it."""
    world.send("old", suite(OLD))
    world.send("new", suite(NEW))
    world.send("red", suite(**{NEW: "F"}))
    world.send("green", suite(NEW))
    assert reruns.wanted(world.app, world.project)["reruns"]
    told = alias(world)
    assert told["left_behind"] == {"trials": 3, "heads": 1}
    assert reruns.wanted(world.app, world.project)["reruns"] == []
    assert world.summary()["suspects"] == 0


def test_the_verdict_of_a_change_goes_by_either_name(renamed: World) -> None:
    """A list of expected tests from before the rename is met by the new name; a test that is really gone is missed."""
    question = {"expected": [f"{CLASSNAME}::{name}" for name in (*SUITE, OLD)], "base_commit": None}
    told = renamed.ask("before", suite(NEW), question=question, exit_code=0)
    assert told["verdict"] == "reject"
    alias(renamed)
    told = renamed.ask("patch", suite(NEW), question=question, exit_code=0)
    assert (told["verdict"], told["tests"]) == ("accept", [])
    told = renamed.ask("gone", suite(), question=question, exit_code=0)
    assert told["verdict"] == "reject"
    assert [test["name"] for test in told["tests"]] == [f"{CLASSNAME}::{NEW}"]


def test_a_base_from_before_the_alias_is_compared_by_test(renamed: World) -> None:
    """What the base did under the new name's own row is what the test did, so nothing looks gone or new."""
    alias(renamed)
    question = {"base_commit": commit("new-1"), "base_tree": tree("new-1")}
    told = renamed.ask("patch", suite(NEW), question=question, exit_code=0)
    assert (told["verdict"], told["tests"]) == ("accept", [])
    told = renamed.ask("gone", suite(), question=question, exit_code=0, complete=True)
    assert [test["name"] for test in told["tests"]] == [f"{CLASSNAME}::{NEW}"]


def test_a_test_that_always_gates_by_its_new_name_takes_over_no_quarantine(renamed: World) -> None:
    """The policy's globs are asked about the name it has now."""
    app = renamed.app
    app.policy = replace(app.policy, never_quarantine=("*_down",))
    with pytest.raises(Conflict, match="always gates"):
        alias(renamed)
    decisions.release(app, renamed.project, OLD, bearer=OWNER, reason="the globs say so")
    alias(renamed)
    with pytest.raises(BadInput, match="always gates"):
        quarantine(renamed, OLD)


def test_another_process_learns_of_it(renamed: World) -> None:
    """A replica that has cached the roster counts by the alias from its next upload on."""
    other = World(App(renamed.app.engine, renamed.app.clock, renamed.app.policy), renamed.clock)
    other.send("cached", suite(NEW))
    alias(renamed)
    other.send("learned", suite(NEW))
    assert other.explain(OLD)["variants"][0]["trials"] == 4
    undo(renamed)
    other.send("forgotten", suite(NEW))
    assert other.explain(OLD)["variants"][0]["trials"] == 4


def test_a_rename_is_proposed_and_done_only_by_a_person(renamed: World) -> None:
    """A quarantined test that vanished is shown first; accepted it is gone from the list."""
    assert proposed(renamed) == [(OLD, NEW, "quarantined")]
    assert is_gating(renamed, f"{CLASSNAME}::{NEW}")
    [shown] = overview.overview(renamed.app, renamed.project)["needs"]["renames"]
    assert shown["former_name"] == f"{CLASSNAME}::{OLD}"
    alias(renamed)
    assert proposed(renamed) == []


def test_a_rename_that_is_none_is_dismissed(renamed: World) -> None:
    """Said once, it is not proposed again, and can still be made by name."""
    aliases.dismiss(renamed.app, renamed.project, OLD, NEW, bearer=OWNER, reason="two tests")
    assert proposed(renamed) == []
    with pytest.raises(Conflict, match="Nobody proposes"):
        aliases.dismiss(renamed.app, renamed.project, OLD, NEW, bearer=OWNER, reason="two tests")
    renamed.send("old again", suite(OLD))
    renamed.send("new again", suite(NEW))
    assert proposed(renamed) == []
    alias(renamed)


def test_what_has_nothing_to_lose_is_counted_only(world: World) -> None:
    """A test that never failed loses nothing by a new name."""
    world.send("old", suite("test_sums", OLD))
    world.send("new", suite("test_sums_up", OLD))
    assert proposed(world) == [("test_sums", "test_sums_up", None)]
    needs = overview.overview(world.app, world.project)["needs"]
    assert (needs["renames"], needs["other_renames"]) == ([], 1)


def test_no_proposal_without_a_complete_run_or_when_it_comes_back(world: World) -> None:
    """A part of the suite proves nothing gone, another lane renames nothing, and a test that is back is no rename."""
    world.send("old", suite(OLD))
    world.send("part", {NEW: "P"}, complete=False)
    assert proposed(world) == []
    world.send("agent", suite("test_rounds_off"), lane=Lane.AGENT, change="PR-1")
    assert proposed(world) == []
    world.send("in two", suite("test_rounded"))
    assert proposed(world) == [(OLD, "test_rounded", None)]
    world.send("in two", {OLD: "P"})
    assert proposed(world) == []


def test_a_big_rename_is_looked_at_in_bounded_time(world: World) -> None:
    """Two thousand tests that move at once give some tens of proposals."""
    before = {f"test_case_{number}": "P" for number in range(2_000)}
    world.send("old", junit(before))
    world.send("new", junit(before, classname="tests.test_money"))
    assert len(proposed(world)) == 50


def test_lists_say_what_it_was(renamed: World) -> None:
    """The list of quarantined tests finds it by either name."""
    alias(renamed)
    wanted = quarantined_list.Wanted()
    [row] = quarantined_list.quarantined_list(renamed.app, renamed.project, wanted)["rows"]
    assert row["name"] == f"{CLASSNAME}::{NEW}"
