"""Which tests a change can touch: what a harness is told before it runs anything."""

import json
from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.services import aliases, reaching
from quarantine.web import impacted as route
from tests.web.site import AT, Site, problem
from tests.world import OWNER, World, commit, sender

REACH = {
    "tests/test_ledger.py::t_cart": [("shop/cart.py", "body"), ("shop/cart.py", "module")],
    "tests/test_ledger.py::t_tax": [("shop/tax.py", "body"), ("shop/cart.py", "module")],
    "tests/test_ledger.py::t_gone": [("shop/cart.py", "body")],
}
on_one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what does not depend on how things are stored."""


def named(*tests: str) -> list[str]:
    """Return the names as the runner spelled them."""
    return [f"tests/test_ledger.py::{test}" for test in tests]


@pytest.fixture
def mapped(world: World) -> World:
    """Return a project of three tests, two of which a map has, and one that is gone by now."""
    world.send("old", {"t_gone": "P", "t_cart": "P"})
    world.send("base", {"t_cart": "P", "t_tax": "P", "t_new": "S"})
    lines = [json.dumps({"test": test, "columns": columns}).encode() for test, columns in REACH.items()]
    reaching.add_reach(world.app, world.project, sender(), lines, tree=None)
    return world


def ask(world: World, *changed: tuple[str, str], **more: Any) -> dict[str, Any]:
    """Return what a caller on the same machine is told."""
    body = {"changed": [[path, part, "0" * 32] for path, part in changed], "base_commit": commit("base")} | more
    answer = Site(world).open().post(f"{AT}/impacted", json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_a_change_impacts_the_tests_that_reach_it_and_those_nobody_knows(mapped: World) -> None:
    """A function body touches who ran it, a module whoever imports it; what has no reach always runs."""
    told = ask(mapped, ("shop/cart.py", "body"))
    assert told["impacted"] == named("t_cart")
    assert told["unknown"] == ["tests.test_ledger::t_new"]
    assert told["untouched"] == named("t_tax")
    assert (told["of"], told["everything"]) == (3, False)
    assert told["why"] == "1 of 3 tests reaches the changed part."
    assert ask(mapped, ("shop/cart.py", "module"))["impacted"] == named("t_cart", "t_tax")


def test_a_test_that_trunk_no_longer_has_is_not_named(mapped: World) -> None:
    """The tests are those of the base's own commit; where trunk never ran it, those of its last one."""
    assert ask(mapped, ("shop/cart.py", "body"), base_commit=commit("old"))["impacted"] == named("t_cart", "t_gone")
    assert ask(mapped, ("shop/cart.py", "body"), base_commit="f" * 40)["impacted"] == named("t_cart")
    assert ask(mapped, ("shop/cart.py", "body"), base_commit=None)["impacted"] == named("t_cart")


def test_a_renamed_test_is_named_as_the_runner_names_it_now(mapped: World) -> None:
    """By a map that has the new name already; until one has, it is one of those that always run."""
    mapped.send("renamed", {"t_cart_total": "P", "t_tax": "P"})
    aliases.alias(mapped.app, mapped.project, "t_cart", "t_cart_total", bearer=OWNER, reason="renamed")
    told = ask(mapped, ("shop/tax.py", "body"), base_commit=commit("renamed"))
    assert (told["impacted"], told["unknown"]) == (named("t_tax"), ["tests.test_ledger::t_cart_total"])
    line = json.dumps({"test": named("t_cart_total")[0], "columns": REACH[named("t_cart")[0]]}).encode()
    reaching.add_reach(mapped.app, mapped.project, sender(), [line], tree=None)
    told = ask(mapped, ("shop/tax.py", "body"), base_commit=commit("renamed"))
    assert (told["impacted"], told["untouched"], told["unknown"]) == (named("t_tax"), named("t_cart_total"), [])


def test_the_last_complete_run_counts_before_a_later_part_of_one(mapped: World) -> None:
    """A shard says nothing about which tests there are, unless nothing else does."""
    mapped.send("shard", {"t_tax": "P"}, complete=False)
    mapped.send("review", {"t_tax": "P", "t_invented": "P"}, lane=Lane.REVIEW, change="PR-1")
    assert ask(mapped, ("shop/cart.py", "module"), base_commit=None)["of"] == 3
    assert ask(mapped, ("shop/cart.py", "module"), base_commit=commit("shard"))["of"] == 1


def test_what_is_global_or_never_seen_touches_every_test(mapped: World) -> None:
    """The sentence names the file; an ignored one touches none."""
    for path in ("conftest.py", "shop/new.py"):
        told = ask(mapped, (path, "blob"), ("shop/cart.py", "body"))
        assert told["everything"] is True
        assert told["impacted"] == named("t_cart", "t_tax")
        assert told["untouched"] == []
        assert path in told["why"]
    assert ask(mapped, ("README.md", "blob"))["impacted"] == []


def test_without_a_map_every_test_has_to_run(world: World) -> None:
    """And before trunk has run there is nothing to name."""
    assert ask(world, ("shop/cart.py", "body"))["of"] == 0
    world.send("base", {"t_cart": "P", "t_tax": "P"})
    told = ask(world, ("shop/cart.py", "body"))
    assert told["unknown"] == ["tests.test_ledger::t_cart", "tests.test_ledger::t_tax"]
    assert told["everything"] is True
    assert "No reach map" in told["why"]


@on_one_database
@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{}", b'{"changed": {}}', b'{"changed": [["a.py", "body"]]}', b'{"changed": [], "base": "x"}',
        b'{"changed": [["a.py", "limb", "0"]]}', b'{"changed": [[1, "body", "0"]]}',
        b'{"changed": [], "base_commit": 7}',
    ],
)  # fmt: skip
def test_what_is_no_question_is_refused_with_the_form_of_one(world: World, body: bytes) -> None:
    """Nothing is guessed."""
    answer = Site(world).open().post(f"{AT}/impacted", content=body)
    assert "changed" in problem(answer, 422, "bad-input")["mend"]


@on_one_database
def test_a_question_is_bounded_and_needs_a_reader(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body beyond the bound is 413; nobody asks without a token once there is one."""
    monkeypatch.setattr(route, "MAX_BYTES", 100)
    site = Site(world)
    assert problem(site.open().post(f"{AT}/impacted", content=b" " * 101), 413, "too-large")
    token = site.token("read")
    assert problem(site.open().post(f"{AT}/impacted", json={"changed": []}), 401, "token-needed")
    assert site.client(token=token).post(f"{AT}/impacted", json={"changed": []}).status_code == 200
