"""Random histories: whatever happened in whatever order, what is stored follows from what was reported."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.services.app import App
from quarantine.store import projects, roster, standings
from quarantine.store.engine import reading
from tests.scenarios.random_worlds import POLICY, SUITE, RandomWorld, base
from tests.scenarios.stored import check_columns, check_numbers
from tests.world import World

SEEDS = {"sqlite": (*range(12), 18), "postgresql": tuple(range(12, 18))}
STEPS, CALM = 28, 32
MOVES = {
    ("gating", "quarantined", "entry"),
    ("gating", "broken", "broken"),
    ("broken", "gating", "broken"),
    ("quarantined", "gating", "by-hand"),
    ("quarantined", "gating", "exit"),
}
"""What must have happened somewhere, else these worlds are too dull to prove anything."""


@pytest.fixture
def app(database_url: str, clock: FrozenClock) -> Iterator[App]:
    """Return the product with a lenient policy, on SQLite and on PostgreSQL in turn."""
    app = build_app(Settings.model_validate({"database": database_url, "policy": POLICY}), clock=clock)
    yield app
    app.engine.dispose()


def played(app: App, clock: FrozenClock, seed: int) -> World:
    """Play one world in a project of its own; every sixth has a fortnight in which nothing fails."""
    world = World(app, clock, f"world-{seed}").created()
    history = RandomWorld(world, random.Random(seed))  # noqa: S311 - the same world for the same seed is the point
    history.play(STEPS)
    if seed % 6 == 0:
        history.calm(CALM)
    history.play(STEPS)
    return world


def test_what_is_stored_follows_from_what_was_reported(app: App, clock: FrozenClock) -> None:
    """In every world heads, decisions, counters and columns are those that a plain derivation gives."""
    moves: Counter[tuple[str, str, str]] = Counter()
    joined = 0
    kind = app.engine.dialect.name
    for seed in SEEDS[kind]:
        world = played(app, clock, seed)
        with reading(app.engine) as connection:
            project = projects.by_slug(connection, world.project)
            seen = [row["name"] for row in roster.rows(connection, project.id, range(project.tests)).values()]
            assert {base(name) for name in seen} <= set(SUITE)
            joined += project.retired
            check_numbers(connection, project)
            check_columns(connection, project)
            for move in standings.transitions(connection, project.id, limit=1_000):
                moves[move["from_status"], move["to_status"], move["evidence"]["kind"]] += 1
        assert world.disagreements(seen) == [], f"seed {seed}"
    assert joined > 0
    assert kind != "sqlite" or moves.keys() >= MOVES, moves
