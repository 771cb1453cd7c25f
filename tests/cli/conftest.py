"""What the tests of the shell share: a person's shell, and a project in which something has been decided, served."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from quarantine.clock import FrozenClock, system_clock
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.services import decisions
from quarantine.services.app import App
from quarantine.store.engine import open_engine
from tests.cli.hosting import hosted
from tests.cli.shell import Shell
from tests.databases import SqliteFiles
from tests.world import OWNER, PROJECT, START, World

SUITE = {f"t{number}": "P" for number in range(10)} | {"t_flaky": "P", "t_broken": "P"}
DAYS = 12


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Return a person's shell in an empty folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    return Shell(folder, monkeypatch, capsys, home | {"COLUMNS": "100"})


@pytest.fixture
def app(sqlite_url: str) -> Iterator[App]:
    """Return the product on a fresh SQLite file, told the time as the shell is."""
    app = App(open_engine(sqlite_url), system_clock, Policy())
    yield app
    app.engine.dispose()


@dataclass(frozen=True, slots=True)
class Daemon:
    """A running daemon on a database that the shell can also open."""

    app: App
    url: str

    @property
    def database(self) -> str:
        """The URL of its database."""
        return self.app.engine.url.render_as_string()

    @property
    def over_http(self) -> tuple[str, ...]:
        """The words that name its project over HTTP."""
        return ("--url", self.url, "--project", PROJECT)

    @property
    def on_database(self) -> tuple[str, ...]:
        """The words that name its project in the database."""
        return ("--database", self.database, "--project", PROJECT)

    def token(self, scope: str, *, lane: str | None = None, change: str | None = None) -> str:
        """Return a new token. From the first one on nobody is served without."""
        stated = {"label": f"the {scope} token", "lifetime": None, "bearer": OWNER}
        return decisions.create_token(self.app, PROJECT, scope=scope, lane=lane, change=change, **stated)  # type: ignore[arg-type]  # spread


@pytest.fixture
def daemon(app: App) -> Iterator[Daemon]:
    """Return a running daemon with an empty project and no token."""
    decisions.create_project(app, PROJECT, bearer=OWNER)
    with hosted(app) as url:
        yield Daemon(app, url)


@pytest.fixture(scope="session")
def judged_file(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database with a quarantined and a broken test."""
    path = tmp_path_factory.mktemp("judged") / "quarantine.db"
    sqlite_files.create(path, migrated=True)
    clock = FrozenClock(START)
    world = World(App(open_engine(f"sqlite:///{path}"), clock, Policy()), clock).created()
    for day in range(DAYS):
        for half in range(2):
            red = ({"t_broken": "F"} if day >= DAYS - 2 else {}) | ({"t_flaky": "F"} if half and day % 2 else {})
            world.send(f"{day}.{half}", SUITE | red)
            for number in (1, 2) if red else ():
                world.wait(minutes=5)
                world.rerun(f"{day}.{half}", SUITE | {name: "F" for name in red if name == "t_broken"}, number=number)
            world.wait(hours=12)
    world.app.engine.dispose()
    return path


@pytest.fixture
def judged(judged_file: Path, tmp_path: Path) -> Iterator[Daemon]:
    """Return a running daemon on a copy of that database, observing."""
    path = tmp_path / "judged.db"
    shutil.copyfile(judged_file, path)
    app = App(open_engine(f"sqlite:///{path}"), system_clock, Policy())
    with hosted(app, open_lane=Lane.TRUNK) as url:
        yield Daemon(app, url)
    app.engine.dispose()
