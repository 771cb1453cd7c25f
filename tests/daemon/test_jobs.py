"""Scheduled work: a period is done once among any number of daemons, missed ones are caught up, refused bytes go."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NoReturn

import pytest
from sqlalchemy import Connection, select

from quarantine.clock import FrozenClock
from quarantine.daemon.jobs import JOBS, Job, Ticking, run_due
from quarantine.errors import BadReport
from quarantine.policy.criteria import Policy
from quarantine.services.app import App
from quarantine.store.engine import open_engine, reading
from quarantine.store.tables import JOB_RUN
from tests.daemon.conftest import Folder
from tests.world import World

DAEMONS = 4
PATIENCE_S = 30.0


def hour(now: datetime) -> str:
    """Return the period of an hourly job."""
    return now.strftime("%Y-%m-%dT%H")


@pytest.fixture
def daemons(database_url: str, clock: FrozenClock) -> Iterator[list[App]]:
    """Return several daemons on one database of either kind."""
    apps = [App(open_engine(database_url), clock, Policy()) for _ in range(DAEMONS)]
    yield apps
    for app in apps:
        app.engine.dispose()


def test_a_period_is_done_by_one_of_several_daemons(daemons: list[App], clock: FrozenClock) -> None:
    """Whoever claims it does it; the next period has its own winner; two jobs are claimed apart."""
    done: list[str] = []

    def job(name: str) -> Job:
        return Job(name, hour, lambda _connection, now: done.append(f"{name} {now:%H}"))

    table = [job("prune"), job("summarise")]
    for _ in range(2):
        start = threading.Barrier(DAEMONS)

        def tick(app: App, start: threading.Barrier = start) -> list[str]:
            start.wait()
            return run_due(app, table) + run_due(app, table)

        with ThreadPoolExecutor(DAEMONS) as threads:
            said = [name for names in threads.map(tick, daemons) for name in names]
        assert sorted(said) == ["prune", "summarise"]
        clock.advance(timedelta(hours=1))
    assert sorted(done) == ["prune 09", "prune 10", "summarise 09", "summarise 10"]


def test_what_failed_was_not_claimed(daemons: list[App]) -> None:
    """A daemon that dies or fails in the middle leaves the period to the next tick, wherever that comes."""

    def fails(_connection: Connection, _now: datetime) -> NoReturn:
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        run_due(daemons[0], [Job("prune", hour, fails)])
    done: list[datetime] = []
    table = [Job("prune", hour, lambda _connection, now: done.append(now))]
    assert run_due(daemons[1], table) == ["prune"]
    assert run_due(daemons[0], table) == []
    assert len(done) == 1


def test_refused_reports_are_forgotten_after_a_week(world: World) -> None:
    """And not before; also when the daemon was down while the week ended. What was stored stays."""
    world.send("good", {"t1": "P"})
    with pytest.raises(BadReport):
        world.send("bad", b"<html/>")
    world.wait(days=6, hours=23)
    assert run_due(world.app) == [job.name for job in JOBS]
    assert len(world.summary()["refused"]) == 1
    world.wait(days=30)
    assert run_due(world.app) == [job.name for job in JOBS]
    assert world.summary()["refused"] == []
    assert [build["build"] for build in world.summary()["latest_builds"]] == ["good"]
    assert run_due(world.app) == []


def test_claims_of_periods_are_forgotten_after_ninety_days(world: World) -> None:
    """So that the table does not grow for ever; the claims of now stay, or a period would be done twice."""

    def claimed() -> int:
        with reading(world.app.engine) as connection:
            return len(connection.execute(select(JOB_RUN)).all())

    for _ in range(89):
        run_due(world.app)
        world.wait(days=1)
    assert run_due(world.app) == [job.name for job in JOBS]
    assert claimed() == 90 * len(JOBS)
    world.wait(days=2)
    run_due(world.app)
    assert claimed() == 90 * len(JOBS)
    assert run_due(world.app) == []


def test_a_daemon_that_ticks_drains_its_spools_and_does_what_is_due(world: World, folder: Folder) -> None:
    """From its start on, without waiting for the first hour to pass, until it is stopped."""
    folder.entry("b1", {"t1": "P"})
    app = App(open_engine(world.app.engine.url.render_as_string()), world.clock, Policy())
    ticking = Ticking(app, [replace(folder.spool, app=app)])
    try:
        folder.entry("b2", {"t1": "P"})
        deadline = time.monotonic() + PATIENCE_S
        while folder.listed("done") != ["b1", "b2"] and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        ticking.stop()
    assert folder.listed("done") == ["b1", "b2"]
    app.engine.dispose()
    assert run_due(world.app) == []
    folder.entry("b3", {"t1": "P"})
    assert folder.listed() == ["b3"]
