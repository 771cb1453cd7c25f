"""Random histories: whatever happened in whatever order, what is stored follows from what was reported."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from sqlalchemy import Connection, distinct, func, select

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.domain.outcome import Lane
from quarantine.policy.history import History
from quarantine.services.app import App
from quarantine.store import builds, histories, outcomes, projects, roster, standings
from quarantine.store.engine import reading
from quarantine.store.outcomes import Outcomes
from quarantine.store.projects import Project
from quarantine.store.tables import BUILD, TEST
from tests.scenarios.random_worlds import POLICY, SUITE, RandomWorld
from tests.world import World

SEEDS = {"sqlite": range(18), "postgresql": range(18, 30)}
STEPS, CALM = 24, 32
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
    """Play one world in a project of its own; every third has a month in which nothing fails."""
    world = World(app, clock, f"world-{seed}").created()
    history = RandomWorld(world, random.Random(seed))  # noqa: S311 - the same world for the same seed is the point
    history.play(STEPS)
    if seed % 3 == 0:
        history.calm(CALM)
    history.play(STEPS)
    return world


def test_what_is_stored_follows_from_what_was_reported(app: App, clock: FrozenClock) -> None:
    """In every world heads, decisions, counters and columns are those that a plain derivation gives."""
    moves: Counter[tuple[str, str, str]] = Counter()
    kind = app.engine.dialect.name
    for seed in SEEDS[kind]:
        world = played(app, clock, seed)
        with reading(app.engine) as connection:
            project = projects.by_slug(connection, world.project)
            seen = [row["name"] for row in roster.rows(connection, project.id, range(project.tests)).values()]
            assert set(seen) <= set(SUITE)
            check_numbers(connection, project)
            check_columns(connection, project)
            for move in standings.transitions(connection, project.id, limit=1_000):
                moves[move["from_status"], move["to_status"], move["evidence"]["kind"]] += 1
        assert world.disagreements(seen) == [], f"seed {seed}"
    assert kind != "sqlite" or moves.keys() >= MOVES, moves


def check_numbers(connection: Connection, project: Project) -> None:
    """Ordinals, sequence numbers and pairs are dense and given out once each; counts are those of the outcomes."""
    ordinals = connection.execute(select(TEST.c.ordinal).where(TEST.c.project_id == project.id)).scalars()
    assert sorted(ordinals) == list(range(project.tests))
    rows = {row["seq"]: row for row in builds.latest(connection, project.id, 10_000)}
    assert sorted(rows) == list(range(1, project.builds + 1))
    pairs = [int(n) for one in histories.every(connection, project.id).values() for n in one.pair if n]
    assert sorted(pairs) == list(range(1, project.pairs + 1))
    keys = connection.execute(select(func.count(distinct(BUILD.c.key))).where(BUILD.c.project_id == project.id))
    assert keys.scalar_one() == project.builds
    for seq, row in rows.items():
        totals = dict.fromkeys(builds.COUNTS, 0)
        for variant in outcomes.variants_of_build(connection, project.id, seq):
            whole = outcomes.of_build(connection, project.id, seq, variant_hash=variant, tests=project.tests)
            assert whole is not None
            for name, number in outcomes.count(whole.codes).items():
                totals[name] += number
        assert {name: row[name] for name in builds.COUNTS} == totals


def check_columns(connection: Connection, project: Project) -> None:
    """The running columns of each variant are what a loop over its uploads counts."""
    for variant, history in histories.every(connection, project.id).items():
        history.grow(project.tests)
        uploads = list(outcomes.of_variant(connection, project.id, variant, tests=project.tests))
        assert [upload.arrival for upload in uploads] == sorted({upload.arrival for upload in uploads})
        for test in range(project.tests):
            check_column(history, uploads, test)


def check_column(history: History, uploads: Sequence[Outcomes], test: int) -> None:
    trunk = [upload for upload in uploads if upload.counted[test] and upload.lane is Lane.TRUNK]
    failed = [int(upload.codes[test]) & 15 in (outcomes.FAILED, outcomes.ERRORED) for upload in trunk]
    streak = next((n for n, one in enumerate(reversed(failed)) if one != failed[-1]), len(failed))
    by_day: dict[object, bool] = {}
    for upload, one in zip(trunk, failed, strict=True):
        day = upload.received_at.date()
        by_day[day] = by_day.get(day, False) or one
    clean = next((n for n, one in enumerate(reversed(list(by_day.values()))) if one), len(by_day))
    wanted = {
        "trunk_trials": len(trunk),
        "pass_streak": streak if failed and not failed[-1] else 0,
        "fail_streak": streak if failed and failed[-1] else 0,
        "days": len(by_day),
        "clean_days": clean,
        "pair": min(1, sum(bool(upload.counted[test]) for upload in uploads)),
    }
    found = {name: int(getattr(history, name)[test]) for name in wanted}
    assert found | {"pair": int(np.minimum(1, found["pair"]))} == wanted
