"""A project of many tests, many of them quarantined, written straight into the tables: to play it would take hours."""

from datetime import timedelta
from typing import Any

import numpy as np
from sqlalchemy import insert, select, update

from quarantine.domain.outcome import Status
from quarantine.policy.history import History
from quarantine.store import histories, projects
from quarantine.store.engine import writing
from quarantine.store.tables import FAILURE, HEAD, PROJECT, STANDING, TEST, TRANSITION
from tests.world import World

_ROWS = 2_000


def crowd(world: World, *, tests: int, quarantined: int) -> None:
    """Fill a fresh project: a real quarantine is copied for many tests, each with heads and failures of its own.

    Its builds are real too; what the copies did in them is not.
    """
    for number in range(40):
        world.send(f"b{number}", {"real": "F" if number % 4 == 3 else "P", "calm": "P"})
        if number % 4 == 3:
            world.rerun(f"b{number}", {"real": "P", "calm": "P"})
        world.wait(hours=10)
    with writing(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        model = {
            table.name: [dict(row) for row in connection.execute(select(table).where(table.c.test == 0)).mappings()]
            for table in (STANDING, TRANSITION, HEAD, FAILURE)
        }
        assert model["standing"][0]["status"] == Status.QUARANTINED
        variant = model["standing"][0]["variant_hash"]
        test_row = dict(connection.execute(select(TEST).where(TEST.c.ordinal == 0)).mappings().one())
        places = np.arange(2, tests)
        rows: list[dict[str, Any]] = [
            test_row
            | {"ordinal": int(place), "digest": int(place).to_bytes(16), "name": f"test_case[{place}]",
               "classname": f"tests.room_{place % 97}.test_part_{place % 13}"}
            for place in places
        ]  # fmt: skip
        _insert(connection, TEST, rows)
        many = range(2, 2 + quarantined)
        since = model["standing"][0]["since"]
        _insert(connection, STANDING, [
            row | {"test": place, "since": since - timedelta(minutes=place)}
            for place in many for row in model["standing"]
        ])  # fmt: skip
        _insert(connection, TRANSITION, [
            row | {"test": place, "number": 10 + place * 4 + turn, "at": row["at"] - timedelta(minutes=place)}
            for place in many for turn, row in enumerate(model["transition"])
        ])  # fmt: skip
        _insert(connection, HEAD, [
            row | {"test": place, "signature": f"s1:{place % 300:032x}"} for place in many for row in model["head"]
        ])  # fmt: skip
        _insert(connection, FAILURE, [
            row | {"test": place, "signature": f"s1:{place % 300:032x}"} for place in many for row in model["failure"]
        ])  # fmt: skip
        history, trunk_builds = histories.load(connection, project.id, variant)
        histories.save(connection, project.id, variant, _copied(history, tests), trunk_builds)
        connection.execute(update(PROJECT).where(PROJECT.c.id == project.id).values(tests=tests, pairs=tests))


def _insert(connection: Any, table: Any, rows: list[dict[str, Any]]) -> None:
    for start in range(0, len(rows), _ROWS):
        connection.execute(insert(table), rows[start : start + _ROWS])


def _copied(history: History, tests: int) -> History:
    """Return columns in which each further test is as the first one."""
    history.grow(tests)
    for name in ("trials", "heads", "last", "trunk_trials", "pass_streak", "fail_streak", "days", "clean_days",
                 "last_day", "last_seen"):  # fmt: skip
        column = getattr(history, name)
        column[2:] = column[0]
    history.pair[:] = np.arange(1, tests + 1)
    return history
