"""What the tests of the running process share: the product on SQLite, and a spool folder with short words for it."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quarantine.clock import FrozenClock, system_clock
from quarantine.daemon.spool import Spool
from quarantine.domain.outcome import Lane
from quarantine.policy.criteria import Policy
from quarantine.services.app import App
from quarantine.store.engine import open_engine
from tests.world import PROJECT, Tries, World, commit, junit, tree

LONG_AGO_S = 3600


@pytest.fixture
def app(sqlite_url: str, clock: FrozenClock) -> Iterator[App]:
    """Return the product on a fresh SQLite file, waiting for other writers no longer than a test may."""
    app = App(open_engine(sqlite_url, busy_timeout_ms=30), clock, Policy())
    yield app
    app.engine.dispose()


@dataclass(slots=True)
class Folder:
    """A spool folder of the project on its trunk lane, and what users put into it."""

    spool: Spool

    @property
    def path(self) -> Path:
        """The folder."""
        return self.spool.directory

    def entry(self, name: str, *reports: Tries | bytes, build: str | None = None, **fields: Any) -> Path:
        """Put an entry in, written elsewhere and renamed; the build is named like it unless said otherwise."""
        part = {"schema": 1, "build": name, "job": "unit", "tree": tree(name), "commit": commit(name)} | fields
        return self.raw_entry(name, json.dumps(part) if build is None else build, *reports)

    def raw_entry(self, name: str, build: str | bytes, *reports: Tries | bytes) -> Path:
        """Put an entry in whose build.json holds just this."""
        draft = self.path / f".{name}"
        draft.mkdir()
        (draft / "build.json").write_bytes(build.encode() if isinstance(build, str) else build)
        for number, report in enumerate(reports, start=1):
            (draft / f"{number}.xml").write_bytes(report if isinstance(report, bytes) else junit(report))
        return draft.rename(self.path / name)

    def bare(self, name: str, report: Tries | bytes) -> Path:
        """Put a bare report in that nobody has touched for long."""
        path = self.path / name
        path.write_bytes(report if isinstance(report, bytes) else junit(report))
        return aged(path)

    def listed(self, place: str = ".") -> list[str]:
        """Return the names in the folder, or in one of its own: what waits, what is claimed, done or rejected."""
        names = {entry.name for entry in (self.path / place).iterdir()}
        return sorted(names - {".lock", "claimed", "done", "rejected"})

    def reason(self, name: str) -> str:
        """Return why an entry was refused."""
        return (self.path / "rejected" / f"{name}.reason.txt").read_text(encoding="utf-8").strip()


def aged(path: Path, *, by_s: float = LONG_AGO_S) -> Path:
    """Make a file look as if nobody had changed it for so long."""
    then = system_clock().timestamp() - by_s
    os.utime(path, (then, then), follow_symlinks=False)
    return path


@pytest.fixture
def folder(world: World, tmp_path: Path) -> Folder:
    """Return a spool folder of the project."""
    spool = Spool(world.app, tmp_path / "spool", PROJECT, Lane.TRUNK)
    spool.prepare()
    return Folder(spool)
