"""Three ways in, one result: HTTP, the command line and a spool folder store the same, and count a report once."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from quarantine.bootstrap import build_app
from quarantine.client.build_part import build_part
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.daemon.spool import Spool
from quarantine.domain.outcome import Lane
from quarantine.services.app import App
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.cli.shell import Shell
from tests.databases import SqliteFiles
from tests.scenarios.stored import rows
from tests.web.site import AT, Site
from tests.world import START, Tries, World, junit

WAYS = ("http", "cli", "spool")
COMMAND = "make test"
TESTS = {"t1": "P", "t2": "P", "t3": "S", "t4": "FP", "größe": "P"}
Report = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class Sender:
    """Whoever has run the suite in a clone, and sends what came of it one way or another."""

    repository: Repository
    shell: Shell
    folder: Path
    parts: dict[str, str] = field(default_factory=dict)
    """The build part of each build as it was first made: gathering it takes longer than everything else here."""

    def send(self, world: World, way: str, build: str, *reports: Report, rerun_of: str | None = None) -> None:
        """Send the reports of one build to a daemon that runs on this world, and see that they have arrived."""
        files = [self.folder / name for name, _content in reports]
        for file, (_name, content) in zip(files, reports, strict=True):
            file.write_bytes(content)
        ways: dict[str, Callable[..., None]] = {"http": self._http, "cli": self._cli, "spool": self._spool}
        ways[way](world, build, files, rerun_of)

    def _part(self, build: str, rerun_of: str | None) -> str:
        if build not in self.parts:
            self.parts[build] = self._gathered(build, rerun_of)
        return self.parts[build]

    def _gathered(self, build: str, rerun_of: str | None) -> str:
        stated = {"build": build, "job": "unit", "command": COMMAND, "change": "PR-1", "exit_code": 1}
        stated |= {"kind": "rerun", "rerun_of": rerun_of} if rerun_of else {}
        part, _remarks = build_part(self.repository.path, options=stated, environment={})
        return json.dumps(part)

    def _http(self, world: World, build: str, files: list[Path], rerun_of: str | None) -> None:
        parts: list[tuple[str, tuple[str | None, str | bytes]]] = [("build", (None, self._part(build, rerun_of)))]
        parts += [("report", (file.name, file.read_bytes())) for file in files]
        answer = Site(world).open().post(f"{AT}/reports", files=parts)
        assert answer.status_code == 202, answer.text

    def _cli(self, world: World, build: str, files: list[Path], rerun_of: str | None) -> None:
        stated = ["--build", build, "--job", "unit", "--command", COMMAND, "--change", "PR-1", "--exit-code", "1"]
        stated += ["--rerun-of", rerun_of] if rerun_of else []
        with hosted(world.app) as url:
            where = ("--root", str(self.repository.path), "--url", url, "--project", world.project, "--strict")
            self.shell.run("report", *files, *where, *stated)

    def _spool(self, world: World, build: str, files: list[Path], rerun_of: str | None) -> None:
        spool = Spool(world.app, self.folder / "spool", world.project, Lane.TRUNK)
        spool.prepare()
        draft = self.folder / "draft"
        draft.mkdir()
        (draft / "build.json").write_text(self._part(build, rerun_of), encoding="utf-8")
        for file in files:
            shutil.copyfile(file, draft / file.name)
        draft.rename(spool.directory / build)
        assert spool.drain() == 1
        assert [path.name for path in (spool.directory / "rejected").iterdir()] == []


@pytest.fixture
def sender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Sender:
    """Return somebody with a clone on a trunk of one commit, with uncommitted work in it."""
    repository = Repository.of(tmp_path / "clone", {"shop.py": "PRICE = 1\n", "README.md": "one\n"})
    repository.write({"untracked.txt": "mine\n"})
    folder = tmp_path / "sent"
    folder.mkdir()
    home = {name: str(tmp_path / "home") for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")}
    return Sender(repository, Shell(folder, monkeypatch, capsys, home), folder)


@pytest.fixture
def worlds(sqlite_files: SqliteFiles, tmp_path: Path) -> Iterator[dict[str, World]]:
    """Return the same project three times, on copies of one database: its secret, too, is the same."""
    first = tmp_path / "first.db"
    sqlite_files.create(first, migrated=True)
    apps: dict[str, App] = {}
    World(_app(first), FrozenClock(START)).created().app.engine.dispose()
    for way in WAYS:
        shutil.copyfile(first, tmp_path / f"{way}.db")
        apps[way] = _app(tmp_path / f"{way}.db")
    yield {way: World(app, FrozenClock(START)) for way, app in apps.items()}
    for app in apps.values():
        app.engine.dispose()


def _app(path: Path) -> App:
    return build_app(Settings.model_validate({"database": f"sqlite:///{path}"}), clock=FrozenClock(START))


def report(name: str, **tries: str) -> Report:
    """Return one report of the suite in which these tests did that."""
    found: Tries = TESTS | tries
    return f"{name}.xml", junit(found, said=f"assert 1 == {name}")


def told(world: World) -> dict[str, Any]:
    """Return all that is shown of the project and of each of its tests."""
    return {name: world.explain(name) for name in TESTS} | {"summary": world.summary()}


def play(sender: Sender, world: World, way: str) -> None:
    """Play a green build, a red one in two files of which one is cut off, and the rerun in which it passes."""
    sender.repository.write({"shop.py": "PRICE = 2\n"})
    sender.send(world, way, "green", report("green"))
    sender.repository.write({"shop.py": "PRICE = 3\n"})
    cut = junit({"t5": "P", "t6": "F"}, classname="tests.test_other")[:-40]
    sender.send(world, way, "red", report("red", t2="F"), ("rest.xml", cut))
    sender.send(world, way, "again", report("again"), rerun_of="red")


def test_whichever_way_it_comes_the_same_is_stored(sender: Sender, worlds: dict[str, World]) -> None:
    """Every fact that is shown of builds, tests, heads and what confirmed them is equal, to the last number."""
    for way, world in worlds.items():
        play(sender, world, way)
    http, cli, spool = (told(world) for world in worlds.values())
    assert http == cli
    assert http == spool
    assert [build["build"] for build in http["summary"]["latest_builds"]] == ["again", "red", "green"]
    [head] = http["t2"]["variants"][0]["heads"]
    assert head["confirmed_by"] == "3"
    assert http["t4"]["variants"][0]["trials"] == 2
    by_table = [rows(world, but=("actor", "at", "received_at", "secret")) for world in worlds.values()]
    assert by_table[0] == by_table[1] == by_table[2]


@pytest.mark.parametrize("first", WAYS)
def test_the_same_again_another_way_counts_once(sender: Sender, world: World, first: str) -> None:
    """A report that came one way changes nothing when it comes by the others: not a row, on either database."""
    play(sender, world, first)
    before, stored = told(world), rows(world)
    for way in {*WAYS} - {first}:
        shutil.rmtree(sender.folder / "spool", ignore_errors=True)
        play(sender, world, way)
        assert told(world) == before, way
        assert rows(world) == stored, way


def test_what_one_way_refuses_the_others_refuse(sender: Sender, worlds: dict[str, World]) -> None:
    """With the same reason; and the refused document is listed alike."""
    page = sender.folder / "page.xml"
    page.write_text("<html>502</html>")
    build: tuple[str | None, str | bytes] = (None, '{"schema": 1, "build": "b"}')
    parts = [("build", build), ("report", (page.name, page.read_bytes()))]
    answer = Site(worlds["http"]).open().post(f"{AT}/reports", files=parts)
    assert answer.status_code == 422
    reason = f"{answer.json()['detail']} {answer.json()['mend']}"
    with hosted(worlds["cli"].app) as url:
        said = sender.shell.run("report", page, "--url", url, "--project", worlds["cli"].project, "--strict", code=1)
    assert reason in said.err
    spool = Spool(worlds["spool"].app, sender.folder / "spool", worlds["spool"].project, Lane.TRUNK)
    spool.prepare()
    entry = spool.directory / "b"
    entry.mkdir()
    (entry / "build.json").write_text('{"schema": 1, "build": "b"}')
    shutil.copyfile(page, entry / page.name)
    assert spool.drain() == 1
    assert (spool.directory / "rejected" / "b.reason.txt").read_text() == f"{reason}\n"
    refused = [world.summary()["refused"] for world in worlds.values()]
    assert refused[0] == refused[1] == refused[2]
    assert len(refused[0]) == 1
