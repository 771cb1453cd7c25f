"""In which variants a quarantined test gates: where nothing was seen of it, and where trunk runs it no longer."""

from collections.abc import Iterator

import pytest

from quarantine.client.snapshot import read_answer
from quarantine.domain.identity import variant_hash, variant_keys
from quarantine.services import decisions, gating
from quarantine.store import projects
from quarantine.store.engine import reading
from tests.world import CLASSNAME, OWNER, World

LINUX, WINDOWS = {"os": "linux"}, {"os": "windows"}
FLAKY = f"{CLASSNAME}::t1"


def key(variant: dict[str, str]) -> str:
    """Return the hash of a variant as builds report it, the job among its keys."""
    return variant_hash(variant_keys(variant | {"job": "unit"}))


def builds_of(world: World, name: str, variant: dict[str, str], *, days: int, flaky: bool = False) -> Iterator[None]:
    """Play two trunk builds a day in a variant, a step a day; every other day t1 fails and passes on the same tree."""
    for day in range(days):
        for half in range(2):
            red = {"t1": "F"} if flaky and half and day % 2 else {}
            build = f"{name}.{day}.{half}"
            world.send(build, {"t1": "P", "t2": "P"} | red, variant=variant)
            if red:
                world.rerun(build, {"t1": "P", "t2": "P"}, variant=variant)
            world.wait(hours=11)
        yield


def play(world: World, name: str, *, linux: int, windows: int) -> None:
    """Play so many days in each variant, from the same day on; t1 is flaky on linux only."""
    begun = [builds_of(world, name, LINUX, days=linux, flaky=True), builds_of(world, name, WINDOWS, days=windows)]
    while begun:
        begun = [steps for steps in begun if next(steps, begun) is None]
        world.wait(hours=2)


@pytest.fixture
def flaky_on_linux(world: World) -> World:
    """Return an enforcing project whose t1 is quarantined on linux and sound on windows."""
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    play(world, "both", linux=14, windows=14)
    assert [
        variant["status"] for variant in world.explain("t1")["variants"] if variant["variant"]["os"] == "linux"
    ] == ["quarantined"]
    return world


def answers(world: World, *variants: str | None) -> list[bool]:
    """Ask whether t1 gates in each of these variants, of the service and of the client's own reading of the answer."""
    snapshot = gating.take_snapshot(world.app, world.project)
    told = read_answer(snapshot.to_json(), world.project)
    found = [snapshot.is_gating(FLAKY, variant) for variant in variants]
    assert found == [
        FLAKY not in (told.never if variant is None else told.not_gating_in(variant)) for variant in variants
    ]
    return found


def version(world: World) -> int | None:
    """Return the counter of changes to the gating set."""
    return gating.version(world.app, world.project)


def test_in_a_variant_nobody_has_seen_every_test_gates(world: World) -> None:
    """Also one that is out of the set as a whole: there is no evidence about it there."""
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    play(world, "alone", linux=14, windows=0)
    assert answers(world, None, key(LINUX), key(WINDOWS), "unheard-of") == [False, False, True, True]
    told = gating.take_snapshot(world.app, world.project).to_json()
    assert told["not_gating"][FLAKY] is None
    assert told["quarantined_in"][FLAKY] == told["variants"] == [key(LINUX)]


def test_a_variant_that_trunk_gave_up_keeps_nothing_gating_for_ever(flaky_on_linux: World) -> None:
    """After thirty days of trunk builds without it, it is left out of "any variant"; asked for, it still answers."""
    world = flaky_on_linux
    asked = (None, key(LINUX), key(WINDOWS), "unheard-of")
    assert answers(world, *asked) == [True, False, True, True]
    play(world, "linux", linux=gating.VARIANT_DAYS, windows=0)
    assert answers(world, None) == [True]
    before = version(world)
    play(world, "later", linux=2, windows=0)
    assert version(world) != before
    assert answers(world, *asked) == [False, False, True, True]
    told = world.explain("t1")
    [windows] = [variant for variant in told["variants"] if variant["variant"]["os"] == "windows"]
    assert (told["gating"], windows["expired"]) == (False, True)
    assert "days after it last ran it here, so this variant alone keeps it gating no longer." in windows["sentence"]
    assert world.summary()["counts"]["would_gate"] == 1
    before = version(world)
    play(world, "again", linux=0, windows=1)
    assert version(world) != before
    assert answers(world, *asked) == [True, False, True, True]


def test_a_project_that_rests_forgets_nothing(flaky_on_linux: World) -> None:
    """Without trunk builds no variant expires, however long it lasts."""
    flaky_on_linux.wait(days=200)
    assert answers(flaky_on_linux, None) == [True]
    with reading(flaky_on_linux.app.engine) as connection:
        assert projects.by_slug(connection, flaky_on_linux.project).gating_version == version(flaky_on_linux)
