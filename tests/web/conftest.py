"""What the tests of the web share: the application over SQLite, and a project in which much has been decided."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarantine.clock import FrozenClock
from quarantine.policy.criteria import Policy
from quarantine.services.app import App
from quarantine.store.engine import open_engine
from tests.databases import SqliteFiles
from tests.web.loops import play_loops
from tests.web.site import Site
from tests.world import START, World

POLICY = Policy(never_quarantine=("*t_held*",))
SUITE = {f"t{number}": "P" for number in range(10)} | {"t_flaky": "P", "t_held": "P", "t_broken": "P"}


def _app(path: Path, clock: FrozenClock) -> App:
    return App(open_engine(f"sqlite:///{path}", busy_timeout_ms=30), clock, POLICY)


@pytest.fixture
def app(sqlite_files: SqliteFiles, tmp_path: Path, clock: FrozenClock) -> Iterator[App]:
    """Return the product on a fresh SQLite file, waiting for other writers no longer than a test may."""
    path = tmp_path / "quarantine.db"
    sqlite_files.create(path, migrated=True)
    app = _app(path, clock)
    yield app
    app.engine.dispose()


@pytest.fixture
def site(world: World) -> Site:
    """Return the application over a project that has just been created."""
    return Site(world)


@pytest.fixture(scope="session")
def judged_file(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FrozenClock]:
    """Return a database with one quarantined, one held and one broken test, and the clock it ended at."""
    path = tmp_path_factory.mktemp("judged") / "quarantine.db"
    sqlite_files.create(path, migrated=True)
    clock = FrozenClock(START)
    world = World(_app(path, clock), clock).created()
    for day in range(12):
        for half in range(2):
            broken = {"t_broken": "F"} if day >= 10 else {}
            flaky = {"t_flaky": "F", "t_held": "F"} if half and day % 2 else {}
            world.send(f"{day}.{half}", SUITE | flaky | broken, said=f"assert {day} == <{half}>", runner="host-1")
            for number in (1, 2):
                if flaky or broken:
                    world.wait(minutes=5)
                    world.rerun(f"{day}.{half}", SUITE | broken, number=number)
            world.wait(hours=12)
    world.app.engine.dispose()
    return path, clock


@pytest.fixture
def judged(judged_file: tuple[Path, FrozenClock], tmp_path: Path) -> Iterator[Site]:
    """Return the application over a copy of that database, still observing."""
    yield from _copied(*judged_file, tmp_path / "judged.db")


@pytest.fixture(scope="session")
def asked_file(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FrozenClock]:
    """Return a database in which loops have asked for verdicts of every kind, and the clock it ended at."""
    path = tmp_path_factory.mktemp("asked") / "quarantine.db"
    sqlite_files.create(path, migrated=True)
    clock = FrozenClock(START)
    world = World(_app(path, clock), clock).created()
    play_loops(world)
    world.app.engine.dispose()
    return path, clock


@pytest.fixture
def asked(asked_file: tuple[Path, FrozenClock], tmp_path: Path) -> Iterator[Site]:
    """Return the application over a copy of that database."""
    yield from _copied(*asked_file, tmp_path / "asked.db")


def _copied(source: Path, clock: FrozenClock, path: Path) -> Iterator[Site]:
    shutil.copyfile(source, path)
    own = FrozenClock(clock.now)
    app = _app(path, own)
    yield Site(World(app, own))
    app.engine.dispose()
