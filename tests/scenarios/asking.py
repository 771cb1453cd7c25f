"""Short words for asking for verdicts: a base that trunk ran, a run of a change, and its reruns."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarantine.store import projects, verdicts
from quarantine.store.engine import reading
from tests.world import CLASSNAME, World, commit, tree

SUITE = [f"t{number}" for number in range(20)]
BASE = "base"
ON_BASE: dict[str, Any] = {"tree": tree(BASE), "commit": commit(BASE)}
"""The fields of a rerun of the base."""


def suite(**tries: str) -> dict[str, str]:
    """Return a run of the whole suite in which every test passed but for these."""
    return dict.fromkeys(SUITE, "P") | tries


def suite_without(*names: str) -> dict[str, str]:
    """Return a run of the suite that has these tests not."""
    return {name: tries for name, tries in suite().items() if name not in names}


def ask(world: World, build: object, run: Mapping[str, str] | bytes, **more: Any) -> dict[str, Any]:
    """Ask for the verdict on a run of a change to `BASE`, whose client can rerun unless the question says otherwise."""
    question = {"base_commit": commit(BASE), "can_rerun": True} | dict(more.pop("question", {}))
    failed = isinstance(run, bytes) or any(tries in ("F", "E", "FF") for tries in run.values())
    return world.ask(build, run, question=question, **({"exit_code": int(failed)} | more))


def settle(
    world: World,
    verdict: dict[str, Any],
    build: object,
    *,
    head: Sequence[Mapping[str, str]] = (),
    base: Sequence[Mapping[str, str]] = (),
    **more: Any,
) -> dict[str, Any]:
    """Send the reruns a verdict wants until it wants no more; the last of `head` and of `base` is repeated."""
    number = 0
    while verdict["wanted"]["head"] or verdict["wanted"]["base"]:
        number += 1
        assert number < 40, verdict
        if verdict["wanted"]["base"]:
            side, stated = base, ON_BASE
        else:
            side, stated = head, {}
        run = side[min(number, len(side)) - 1]
        failed = any(tries in ("F", "E", "FF") for tries in run.values())
        sent = {"exit_code": int(failed)} | stated | more
        verdict = world.answer(verdict, build, run, number=number, **sent)
    assert verdict["final"]
    return verdict


def findings(verdict: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return (finding, effect) of each test the verdict has a word on, by bare name."""
    return {test["name"].removeprefix(f"{CLASSNAME}::"): (test["finding"], test["effect"]) for test in verdict["tests"]}


def causes(verdict: Mapping[str, Any]) -> dict[str, str]:
    """Return the effect of each cause by its code."""
    return {cause["code"]: cause["effect"] for cause in verdict["causes"]}


def stored(world: World, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored row of a verdict."""
    with reading(world.app.engine) as connection:
        row = verdicts.get(connection, projects.by_slug(connection, world.project).id, int(verdict["id"]))
    assert row is not None
    return row
