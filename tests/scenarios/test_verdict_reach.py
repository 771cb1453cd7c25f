"""What reach maps add to a verdict: what the green does not show, whom the map would have spared, bases run once."""

import hashlib
import json
from typing import Any

import pytest

from quarantine.services import reaching
from tests.scenarios.asking import BASE, ask, findings, settle, suite
from tests.world import World, commit, sender, tree

FILES = ("shop/m0.py", "shop/m1.py", "shop/m2.py", "shop/m3.py")
PARTS = ("body", "module")


def send_map(world: World) -> None:
    """Send a map in which test number n reaches file number n modulo 4, whole."""
    reach = {
        f"tests/test_ledger.py::{name}": [[FILES[number % 4], part] for part in PARTS]
        for number, name in enumerate(suite())
    }
    lines = [json.dumps({"test": test, "columns": columns}).encode() + b"\n" for test, columns in reach.items()]
    reaching.add_reach(world.app, world.project, sender(), lines, tree=tree(BASE))


def send_manifest(world: World, *edited: str) -> str:
    """Send the manifest of a base in which these files differ from the first one's, and return its id."""
    parts = [[path, part, f"{path in edited} {path} {part}"] for path in FILES for part in PARTS]
    body = b"".join(json.dumps(part).encode() + b"\n" for part in parts)
    name = hashlib.sha256(body).hexdigest()
    reaching.add_manifest(world.app, world.project, sender(), name, body)
    return name


def changed(*columns: tuple[str, str]) -> list[list[str]]:
    """Return the changed parts of a build part."""
    return [[path, part, f"new {path}"] for path, part in columns]


@pytest.fixture
def mapped(world: World) -> World:
    """Return a project whose trunk ran the base, with a reach map."""
    world.send(BASE, suite())
    send_map(world)
    return world


def test_changed_parts_that_no_passing_test_reached_are_named(mapped: World) -> None:
    """By file and part; what only a failing test reached was not shown, and what nobody can know is called so."""
    parts = changed(
        ("shop/m0.py", "body"), ("shop/m1.py", "body"), ("shop/m1.py", "module"), ("shop/new.py", "body"),
        ("README.md", "blob"), ("setup.cfg", "blob"),
    )  # fmt: skip
    verdict = ask(mapped, "head", {"t0": "P", "t1": "F"}, changed=parts, question={"can_rerun": False})
    shown = verdict["not_shown"]
    assert shown["unreached"] == [
        {"path": "shop/m1.py", "parts": ["body", "module"], "pieces": [], "pieces_left_out": 0},
        {"path": "shop/new.py", "parts": ["body"], "pieces": [], "pieces_left_out": 0},
    ]
    said = " ".join(shown["sentences"])
    assert "No passing gating test reached the changed functions and module-level code of shop/m1.py." in said
    assert "No reach map has ever seen shop/new.py" in said
    assert "2 of 20 gating tests ran." in said
    assert "still owed" in said
    assert "README" not in said
    assert "setup.cfg" not in said


def test_what_the_tests_reached_needs_no_word(mapped: World) -> None:
    """A complete build whose passing tests reach every changed part owes nothing."""
    verdict = ask(mapped, "head", suite(), changed=changed(("shop/m0.py", "body")), complete=True)
    assert verdict["not_shown"] == {"sentences": [], "unreached": [], "exhaustive_owed": False, "variant": None}


def test_a_miss_of_the_map_is_charged_to_it(mapped: World) -> None:
    """The change breaks a test that the map has nowhere near it: rejected all the same, and the map is charged."""
    verdict = ask(mapped, "head", suite(t1="F", t2="F"), changed=changed(("shop/m1.py", "body")))
    verdict = settle(mapped, verdict, "head", head=[suite(t1="F", t2="F")])
    assert set(findings(verdict).values()) == {("explained", "rejects")}
    charged = {test["name"].rpartition("::")[2]: test["map_charged"] for test in verdict["tests"]}
    assert charged == {"t1": False, "t2": True}
    assert any("nowhere near it" in test["sentence"] for test in verdict["tests"])


def test_a_base_that_a_test_reaches_alike_need_not_be_run_again(world: World) -> None:
    """The first verdict has the base run; the second base differs only where the test does not look."""
    world.send("trunk", suite())
    send_map(world)
    first = {"manifest": send_manifest(world), "changed": changed(("shop/m1.py", "body")), "command": "pytest"}
    verdict = ask(world, "head", suite(t1="F"), **first)
    assert verdict["wanted"]["base"] == 1
    verdict = settle(world, verdict, "head", head=[suite(t1="F")], base=[suite()], command="pytest")
    assert findings(verdict) == {"t1": ("explained", "rejects")}

    def later(build: str, *edited: str) -> dict[str, Any]:
        question = {"base_commit": commit("later"), "base_tree": tree(f"later {edited}")}
        stated = first | {"manifest": send_manifest(world, *edited)}
        return ask(world, build, suite(t1="F"), question=question, **stated)

    spared = later("head-2", "shop/m2.py")
    assert (spared["wanted"]["head"], spared["wanted"]["base"]) == (2, 0)
    assert spared["tests"][0]["base"] == {"failed": 0, "passed": 1}
    assert later("head-3", "shop/m1.py")["wanted"]["base"] == 1


def test_without_a_map_the_whole_tree_is_the_fingerprint(world: World) -> None:
    """The same base in another command of the loop: known by its tree alone, and not said to be unknown."""
    question = {"base_tree": tree(BASE)}
    verdict = ask(world, "head", {"t1": "F"}, question=question, command="pytest one")
    settle(world, verdict, "head", head=[{"t1": "F"}], base=[{"t1": "P"}], command="pytest one")
    again = ask(world, "head-2", {"t1": "F", "t2": "P"}, question=question, command="pytest two")
    assert again["wanted"]["base"] == 0
    assert again["tests"][0]["base"] == {"failed": 0, "passed": 1}
    assert not any("base has not been run" in sentence for sentence in again["not_shown"]["sentences"])
    elsewhere = ask(world, "head-3", {"t1": "F"}, question={"base_tree": tree("other")}, command="pytest two")
    assert elsewhere["wanted"]["base"] == 1
