"""Who may say what about a verdict: lies in the question, reruns of other trees, other people's tokens."""

from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, Conflict, NotAllowed, NotFound, QuarantineError
from quarantine.services import attempts, verdicts
from quarantine.services.question import parse_loop_end
from quarantine.store import audit, projects
from quarantine.store.engine import reading
from tests.scenarios.asking import BASE, ask, causes, findings, settle, suite, suite_without
from tests.world import World, commit, junit, sender, tree

on_one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what does not depend on how things are stored."""


@pytest.fixture
def based(world: World) -> World:
    """Return a project whose trunk ran the base, and every test passed."""
    world.send(BASE, suite())
    return world


def builds(world: World) -> int:
    """Return how many builds are stored."""
    return len(world.summary()["latest_builds"])


@on_one_database
@pytest.mark.parametrize(
    ("question", "code"),
    [
        ({"removed": ["t1"]}, "removed-by-agent"),
        ({"base_tree": tree("head")}, "no-change"),
        ({"canary": {"name": "t1"}}, "canary-known"),
    ],
    ids=["removed by an agent", "compared with itself", "a test as the canary"],
)
def test_a_question_that_would_excuse_something_is_refused(based: World, question: dict[str, Any], code: str) -> None:
    """Nothing of it is stored, the run neither."""
    with pytest.raises(BadInput) as refused:
        ask(based, "head", suite_without("t1"), question=question)
    assert refused.value.code == code
    assert builds(based) == 1


@on_one_database
def test_an_agents_token_speaks_for_its_ticket_only(based: World) -> None:
    """Another ticket is refused, for verdicts and for ends; its own is filled in."""
    with pytest.raises(NotAllowed, match="speaks for 'ticket-1'"):
        ask(based, "head", suite(), question={"ticket": "ticket-2"})
    ask(based, "head", suite(), question={"attempt": 1})
    end = b'{"schema": 1, "ticket": "ticket-2", "end": "accepted", "attempts": 1}'
    with pytest.raises(NotAllowed):
        attempts.note_end(based.app, based.project, sender(Lane.AGENT, change="ticket-1"), parse_loop_end(end))
    assert [row["ticket"] for row in attempts.summary(based.app, based.project)["by_ticket"]] == ["ticket-1"]


FOREIGN: dict[str, tuple[dict[str, Any], type[QuarantineError]]] = {
    "another tree": ({"tree": tree("edited")}, BadInput),
    "no tree": ({"tree": None}, BadInput),
    "another build": ({"rerun_of": "other"}, BadInput),
    "no rerun": ({"kind": "run"}, BadInput),
    "another command": ({"command": "pytest -k easy"}, BadInput),
    "another environment": ({"environment_hash": "f" * 64}, BadInput),
    "another job": ({"job": "fast"}, BadInput),
    "another variant": ({"variant": {"os": "mac"}}, BadInput),
    "another stream": ({"stream": "z"}, BadInput),
    "another ticket's token": ({"change": "ticket-2"}, NotAllowed),
    "a review's token": ({"lane": Lane.REVIEW}, NotAllowed),
    "trunk's token": ({"lane": Lane.TRUNK, "change": None}, NotAllowed),
}


@on_one_database
@pytest.mark.parametrize("lie", FOREIGN)
def test_a_rerun_is_of_the_same_run_by_the_same_token(based: World, lie: str) -> None:
    """A rerun that is another run, or somebody else's, is refused and leaves nothing behind."""
    verdict = ask(based, "head", suite(t1="F"))
    fields, error = FOREIGN[lie]
    with pytest.raises(error):
        based.answer(verdict, "head", suite(), exit_code=0, **fields)
    assert builds(based) == 2
    assert verdicts.get(based.app, based.project, verdict["id"]) == verdict


@on_one_database
def test_a_verdict_that_is_not_there_is_not_found(based: World) -> None:
    """Neither a number nobody gave out nor a word is a verdict."""
    for name in ("7", "x", "\N{SUPERSCRIPT TWO}", "-1"):
        with pytest.raises(NotFound):
            based.answer({"id": name}, "head", suite())
        with pytest.raises(NotFound):
            verdicts.get(based.app, based.project, name)


@on_one_database
def test_a_name_used_again_for_another_tree_is_a_conflict(based: World) -> None:
    """Else what ran on one tree would speak for the other."""
    ask(based, "head", suite(t1="F"))
    with pytest.raises(Conflict, match="came in before, on another tree"):
        ask(based, "head", suite(), tree=tree("other"))
    verdict = ask(based, "head-2", suite(t1="F"))
    based.answer(verdict, "head-2", suite(t1="F"), exit_code=1)
    with pytest.raises(Conflict):
        based.answer(verdict, "head-2", suite(t2="F"), exit_code=1, tree=tree(BASE))
    assert builds(based) == 4


def test_a_rerun_sent_twice_counts_once(based: World) -> None:
    """A client that is unsure may repeat any call; tries, seconds and verdicts do not add up."""
    asked = {"question": {"runner_s": 2.0}}
    verdict = ask(based, "head", suite(t1="F"), **asked)
    assert ask(based, "head", suite(t1="F"), **asked) == verdict
    for _ in range(3):
        verdict = based.answer(verdict, "head", suite(t1="F"), exit_code=1, note={"runner_s": 3.0})
    assert verdict["tests"][0]["head"] == {"failed": 2, "passed": 0}
    [told] = attempts.summary(based.app, based.project, ticket="ticket-1")["by_ticket"]
    assert (told["runner_s"], told["verdicts"]) == (5.0, ["1"])


def test_no_run_of_an_agents_own_makes_the_base_look_bad(based: World) -> None:
    """A red run of the base's tree in a command of its own choosing excuses nothing."""
    same_tree: dict[str, Any] = {"tree": tree(BASE), "lane": Lane.AGENT, "change": "ticket-1"}
    based.send("trick", suite(t1="F"), command="make it fail", **same_tree)
    verdict = ask(based, "head", suite(t1="F"), command="pytest")
    verdict = settle(based, verdict, "head", head=[suite(t1="F")], base=[suite()], command="pytest")
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t1": ("explained", "rejects")})


def test_what_an_agent_ran_excuses_nothing_of_a_person(based: World) -> None:
    """Tries of the head and of the base count only from lanes trusted as much as the one that asks."""
    for number, name in enumerate(("head", BASE)):
        based.send(f"trick-{number}", suite(t1="FP"), tree=tree(name), lane=Lane.AGENT, change="ticket-1")
    review: dict[str, Any] = {"lane": Lane.REVIEW, "change": "PR-1"}
    verdict = ask(based, "head", suite(t1="F"), **review)
    assert verdict["tests"][0]["head"] == {"failed": 1, "passed": 0}
    verdict = settle(based, verdict, "head", head=[suite(t1="F")], **review)
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t1": ("explained", "rejects")})


def test_a_verdict_teaches_trunk_nothing_that_an_agent_said(based: World) -> None:
    """Reruns of trunk's own tree by the loop make no trial and confirm no head of trunk's."""
    based.wait(hours=1)
    based.send("red", suite(t4="F"))
    question = {"question": {"base_commit": commit("red")}}
    verdict = ask(based, "head", suite(t4="F"), **question)
    red: dict[str, Any] = {"tree": tree("red"), "commit": commit("red")}
    for number in range(3):
        based.answer(verdict, "head", suite(), number=number, exit_code=0, **red)
    [variant] = based.explain("t4")["variants"]
    assert variant["trials"] == 2
    assert variant["heads"][0]["confirmed_by"] is None
    assert based.disagreements(["t4", "t1"]) == []


def test_every_verdict_is_in_the_audit(based: World) -> None:
    """With who asked, for which ticket, and what it came to."""
    ask(based, "head", suite(), question={"attempt": 2})
    with reading(based.app.engine) as connection:
        rows = audit.latest(connection, projects.by_slug(connection, based.project).id)
    [row] = [row for row in rows if row["action"] == "verdict"]
    assert row["actor"] == "token of agent"
    expected = {"verdict": 1, "outcome": "accept", "final": True, "lane": "agent", "ticket": "ticket-1", "attempt": 2}
    assert {name: row["detail"][name] for name in expected} == expected


@on_one_database
def test_green_forged_by_dropping_the_failing_test_is_no_green(based: World) -> None:
    """The suite as it is expected is what has to be there, whatever the report leaves out."""
    names = [f"tests/test_ledger.py::{name}" for name in suite()]
    verdict = ask(based, "head", suite_without("t1"), question={"expected": names})
    assert (verdict["verdict"], causes(verdict)) == ("reject", {"vanished": "rejects"})


def test_hostile_texts_are_stored_and_answered(based: World) -> None:
    """Names, messages and paths of any characters that JSON can hold make a verdict like any other."""
    name = 'test_x[a b-"<&>\n\t\N{GREEK SMALL LETTER ALPHA}::.py-\N{PILE OF POO}\x7f\u202e]'
    question = {"must_pass": [name, "' OR 1=1 --"], "log": "\u2028/\N{PILE OF POO}", "ticket": "ticket-1"}
    verdict = ask(based, "head", suite(t1="F"), question=question, said="\u202e\N{PILE OF POO} <&> %s {0}")
    assert verdict["verdict"] == "reject"
    assert {test["name"] for test in verdict["tests"]} >= set(question["must_pass"])
    assert verdicts.get(based.app, based.project, verdict["id"]) == verdict
    assert attempts.summary(based.app, based.project)["tickets"] == 1


@on_one_database
def test_a_tree_that_is_only_said_to_be_the_base_excuses_nothing(based: World) -> None:
    """An agent names its own earlier, rejected tree as the base."""
    mine: dict[str, Any] = {"lane": Lane.AGENT, "change": "T-1"}
    first = ask(based, "a1", suite(t1="F"), question={"can_rerun": False}, **mine)
    lied = {"base_tree": tree("a1"), "base_commit": None, "can_rerun": False}
    second = ask(based, "a2", suite(t1="F"), question=lied, **mine)
    assert [verdict["verdict"] for verdict in (first, second)] == ["reject", "reject"]


@on_one_database
def test_no_agent_decides_about_anothers_patch(based: World) -> None:
    """B's runs of A's tree and of the base, and a build of A's name, change nothing of what A is told."""
    mine: dict[str, Any] = {"lane": Lane.AGENT, "change": "T-A"}
    other: dict[str, Any] = {"lane": Lane.AGENT, "change": "T-B"}
    based.send("b-base", suite(t6="F"), tree=tree(BASE), commit=commit(BASE), **other)
    based.send("b-head", suite(t2="F"), tree=tree("head"), commit=commit("head"), **other)
    based.send("head", suite(t3="F"), **other)
    verdict = ask(based, "head", suite(t6="F"), **mine)
    assert set(findings(verdict)) == {"t6"}
    verdict = settle(based, verdict, "head", head=[suite(t6="F")], **mine)
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t6": ("explained", "rejects")})
    [test] = verdict["tests"]
    assert (test["head"], test["base"]) == ({"failed": 3, "passed": 0}, {"failed": 0, "passed": 1})


def browsers(**cases: str) -> bytes:
    """Return a report of one spec file in which each browser ran these tests, by bare name; `-t` is a skipped `t`."""

    def case(name: str) -> str:
        skipped = "<skipped/>" if name.startswith("-") else ""
        return f"<testcase name='{name.lstrip('-')}' classname='a.spec.ts' time='1'>{skipped}</testcase>"

    suites = [
        f"<testsuite name='a.spec.ts' hostname='{browser}'>{''.join(map(case, names.split()))}</testsuite>"
        for browser, names in cases.items()
    ]
    return f"<testsuites id='' name=''>{''.join(suites)}</testsuites>".encode()


@on_one_database
def test_a_variant_that_vanished_as_a_whole_is_not_green(world: World) -> None:
    """Trunk ran two browsers in one build; the head ran one."""
    world.send(BASE, browsers(chromium="t1", firefox="t1"))
    both = ask(world, "both", browsers(chromium="t1", firefox="t1"), exit_code=0)
    one = ask(world, "one", browsers(chromium="t1"), exit_code=0, complete=True)
    assert (both["verdict"], one["verdict"]) == ("accept", "reject")
    [test] = one["tests"]
    assert (test["finding"], test["variant"]["project"]) == ("vanished", "firefox")


@on_one_database
@pytest.mark.parametrize("asked", ["expected", "must_pass"])
@pytest.mark.parametrize("is_base_known", [True, False], ids=["base known", "trunk known"])
def test_a_test_that_vanished_from_one_variant_is_not_made_up_for_by_another(
    world: World, asked: str, *, is_base_known: bool
) -> None:
    """Trunk ran it in both browsers; the head passes it in one and has it not in the other, which it ran."""
    world.send(BASE, browsers(chromium="t1 t2 t3", firefox="t1 t2"))
    base = commit(BASE if is_base_known else "never seen")
    question = {asked: ["t1"], "base_commit": base, "can_rerun": False}

    def verdict(build: str, **cases: str) -> dict[str, Any]:
        return ask(world, build, browsers(**cases), question=question, exit_code=0)

    assert verdict("whole", chromium="t1 t2", firefox="t1 t2")["verdict"] == "accept"
    assert verdict("one browser", chromium="t1 t2")["verdict"] == "accept"
    gone = verdict("gone", chromium="t1 t2", firefox="t2")
    assert gone["verdict"] == "reject"
    [told] = [test for test in gone["tests"] if test["variant"]["project"] == "firefox"]
    assert told["finding"] == ("vanished" if asked == "expected" else "must-pass")
    assert told["sentence"].count("is in no report of this variant") == 1
    assert verdict("skipped", chromium="t1 t2", firefox="-t1 t2")["verdict"] != "accept"
    question[asked] = ["t3"]
    assert verdict("never there", chromium="t3", firefox="t2")["verdict"] == "accept"


@on_one_database
def test_a_base_that_ran_the_same_says_which_variants_have_the_test(world: World) -> None:
    """Trunk's whole suite runs it in both browsers, and this command in one: it has not vanished from the other."""
    world.send(BASE, browsers(chromium="t1 t2", firefox="t1 t2"))
    part = browsers(chromium="t1 t2", firefox="t2")
    mine: dict[str, Any] = {"lane": Lane.AGENT, "change": "ticket-1", "command": "test --smoke"}
    world.send("base-part", part, tree=tree(BASE), commit=commit(BASE), **mine)
    question = {"expected": ["t1"]}
    assert ask(world, "head", part, question=question, exit_code=0, **mine)["verdict"] == "accept"


@on_one_database
def test_an_expected_name_that_nobody_knows_is_missing_unless_it_ran(based: World) -> None:
    """A new test counts once it is in the run; a name that only another ticket's report has is missing as well."""
    other: dict[str, Any] = {"lane": Lane.AGENT, "change": "ticket-2"}
    based.send("theirs", {"t_theirs": "P"}, **other)
    question = {"expected": ["t_new"], "can_rerun": False}
    assert ask(based, "ran", suite(t_new="P"), question=question)["verdict"] == "accept"
    for name in ("t_nobody", "t_theirs"):
        missing = ask(based, f"no {name}", suite(), question=question | {"expected": [name]})
        assert missing["verdict"] != "accept"
        assert list(causes(missing)) == ["missing"]


@on_one_database
def test_a_bare_name_means_trunks_test_whatever_an_agent_reported_first(based: World) -> None:
    """The agent leaves out the real test and reports one whose whole name is the bare name that is asked for."""
    real, own = junit(suite_without("t1")), b"<testsuite><testcase name='t1' time='1'/></testsuite>"
    question = {"expected": ["t1"], "must_pass": ["t1"]}
    verdict = based.ask("head", real, own, question=question | {"base_commit": commit(BASE)}, exit_code=0)
    assert (verdict["verdict"], findings(verdict)) == ("reject", {"t1": ("must-pass", "rejects")})


@on_one_database
def test_a_name_means_trunks_test_from_the_moment_that_trunk_runs_it(based: World) -> None:
    """Before, two tests that agents reported share it; what was remembered of that is looked up anew."""
    mine, theirs = junit({"t_new": "P"}), junit({"t_new": "P"}, classname="tests.test_other")
    question = {"expected": ["t_new"], "base_commit": commit(BASE)}
    based.send("theirs", theirs, lane=Lane.AGENT, change="ticket-2")
    assert based.ask("before", mine, question=question, exit_code=0)["verdict"] != "accept"
    based.send("trunk", suite(t_new="P"))
    assert based.ask("after", mine, question=question, exit_code=0)["verdict"] == "accept"


@on_one_database
def test_very_many_unknown_names_are_answered(based: World) -> None:
    """Each look-up is one of a set: time grows with the names, not with their square."""
    names = [f"nobody::t{number}" for number in range(20_000)]
    verdict = ask(based, "head", suite(), question={"must_pass": names, "can_rerun": False})
    assert verdict["verdict"] == "reject"
    assert verdict["tests_left_out"] > 0
