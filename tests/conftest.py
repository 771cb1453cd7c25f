"""What the tests of the whole product share: fresh databases of either kind, the product on them, a still clock."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.services.app import App
from quarantine.slack.fake import FakeSlack, serving
from tests.browser.chromium import MISSING, chromium
from tests.databases import Postgres, SqliteFiles
from tests.world import START, World

settings.register_profile("quarantine", derandomize=True, deadline=None, database=None)
settings.load_profile("quarantine")  # the same examples in each run: a test that fails, fails again


def pytest_configure() -> None:
    """Let Ctrl-C be heard by what tests start, also where a shell started these tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # children inherit it, and would never end
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say loudly when no page was looked at, because this machine has no browser."""
    if chromium() is None:
        terminalreporter.section("No browser", sep="!", red=True, bold=True)
        terminalreporter.line(MISSING)


KINDS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def sqlite_files(tmp_path_factory: pytest.TempPathFactory) -> SqliteFiles:
    """Return the migrated SQLite file that tests copy."""
    return SqliteFiles.make(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Start one real PostgreSQL server for the session (each worker of pytest-xdist has its own).

    Its folder lies beside pytest's own: any other pytest session takes the rights of everyone else, and so of the
    server's user, from pytest's folder.
    """
    folder = Path(tempfile.mkdtemp(prefix="quarantine-postgres-"))
    turn = Path(tempfile.gettempdir()) / f"quarantine-postgres-{os.getuid()}.turn"
    server = Postgres(folder / "data", turn=turn)
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _database(request: pytest.FixtureRequest, kind: str, folder: Path, *, migrated: bool) -> Iterator[str]:
    if kind == "sqlite":
        files: SqliteFiles = request.getfixturevalue("sqlite_files")
        yield files.create(folder / "quarantine.db", migrated=migrated)
    else:
        server: Postgres = request.getfixturevalue("postgres")
        url = server.create(migrated=migrated)
        yield url
        server.drop(url)


@pytest.fixture(params=KINDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of a fresh database at the newest revision, on SQLite and on PostgreSQL in turn."""
    yield from _database(request, request.param, tmp_path, migrated=True)


@pytest.fixture(params=KINDS)
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of a database without tables, on SQLite and on PostgreSQL in turn."""
    yield from _database(request, request.param, tmp_path, migrated=False)


@pytest.fixture
def sqlite_url(sqlite_files: SqliteFiles, tmp_path: Path) -> str:
    """Return the URL of a fresh SQLite database at the newest revision."""
    return sqlite_files.create(tmp_path / "quarantine.db", migrated=True)


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """Return the URL of a fresh PostgreSQL database at the newest revision."""
    url = postgres.create(migrated=True)
    yield url
    postgres.drop(url)


@pytest.fixture
def clock() -> FrozenClock:
    """Return a clock that stands at `START` until a test moves it."""
    return FrozenClock(START)


@pytest.fixture
def app(database_url: str, clock: FrozenClock) -> Iterator[App]:
    """Return the product on a fresh database of either kind."""
    app = build_app(Settings.model_validate({"database": database_url}), clock=clock)
    yield app
    app.engine.dispose()


@pytest.fixture
def world(app: App, clock: FrozenClock) -> World:
    """Return the product with one project in it, and short words for what happens to it."""
    return World(app, clock).created()


@pytest.fixture
def slack(clock: FrozenClock) -> Iterator[FakeSlack]:
    """Return a server that plays Slack on a port of this machine, by the product's clock."""
    fake = FakeSlack(clock=clock)
    with serving(fake):
        yield fake
