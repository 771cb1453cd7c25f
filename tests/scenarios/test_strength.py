"""What the gate has lost: files that only quarantined tests reach, against a slow and obvious count."""

import json
import random
from collections.abc import Mapping

from quarantine.services import reaching
from quarantine.services.naming import find
from quarantine.services.strength import Strength, strength_of
from quarantine.store import projects
from quarantine.store.engine import reading
from tests.world import CLASSNAME, World, sender

Reach = Mapping[str, frozenset[tuple[str, str]]]
OWN = "tests/test_ledger.py"


def add_map(world: World, reach: Reach) -> None:
    lines = [
        json.dumps({"test": f"{OWN}::{name}", "columns": sorted(map(list, columns))}).encode()
        for name, columns in reach.items()
    ]
    reaching.add_reach(world.app, world.project, sender(), lines, tree=None)


def strength(world: World, *quarantined: str) -> tuple[Strength, dict[str, int]]:
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        known = {name: find(connection, project, f"{CLASSNAME}::{name}")["ordinal"] for name in quarantined}
        return strength_of(world.app, connection, project, known.values()), known


def test_without_a_reach_map_nothing_is_said(world: World) -> None:
    """No map, no statement: not that nothing was lost."""
    world.send("one", {"a": "P"})
    told, _ = strength(world, "a")
    assert (told.files, told.lost, told.functions_lost) == (0, (), None)


def test_a_file_is_lost_once_every_test_that_runs_it_is_quarantined(world: World) -> None:
    """Importing a file guards nothing, and a test's own file is not what it guards."""
    world.send("one", dict.fromkeys("abc", "P"))
    shared, alone = ("src/shared.py", "body"), ("src/alone.py", "body")
    add_map(
        world,
        {
            "a": frozenset({shared, alone, (OWN, "body")}),
            "b": frozenset({shared, ("src/alone.py", "module"), (OWN, "body")}),
            "c": frozenset({("data/rates.csv", "blob"), (OWN, "body")}),
        },
    )
    told, known = strength(world, "a")
    assert (told.files, told.lost) == (3, ("src/alone.py",))
    assert told.only_by == {known["a"]: ("src/alone.py",)}
    told, known = strength(world, "a", "b")
    assert told.lost == ("src/alone.py", "src/shared.py")
    assert told.only_by == {known["a"]: ("src/alone.py",)}
    told, _ = strength(world, "c")
    assert told.lost == ("data/rates.csv",)


def test_it_agrees_with_a_slow_count(world: World) -> None:
    """On random maps every file, and whose alone it is, comes out as counting by hand has it."""
    rng = random.Random(4)  # noqa: S311 - a fixed seed for a test
    names = [f"t{number}" for number in range(12)]
    world.send("one", dict.fromkeys(names, "P"))
    files = [f"src/f{number}.py" for number in range(9)]
    for _ in range(12):
        reach = {name: frozenset((path, "body") for path in rng.sample(files, rng.choice((0, 0, 1)))) for name in names}
        world.app.reach.forget(1)
        add_map(world, reach)
        quiet = rng.sample(names, rng.randrange(1, 9))
        told, known = strength(world, *quiet)
        by_file = _union(world)
        assert told.lost == tuple(sorted(path for path, who in by_file.items() if who and who <= set(quiet)))
        alone = {
            known[name]: tuple(sorted(path for path, who in by_file.items() if who == {name}))
            for name in quiet
            if any(who == {name} for who in by_file.values())
        }
        assert told.only_by == alone


def _union(world: World) -> dict[str, set[str]]:
    """Return who reaches each file, over every map that is kept."""
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        index = world.app.reach.of(connection, project, project.tests)
    assert index is not None
    found: dict[str, set[str]] = {}
    for test, columns in index.reach.items():
        for path, _ in columns:
            found.setdefault(path, set()).add(test.rpartition("::")[2])
    return found
