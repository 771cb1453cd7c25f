"""A project to run pytest in, and the daemon it talks to."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.plugin.projects import Project, SmallDaemon


@pytest.fixture
def daemon() -> Iterator[SmallDaemon]:
    """Return a small daemon that runs."""
    daemon = SmallDaemon()
    thread = threading.Thread(target=daemon.server.serve_forever, args=[0.005])
    thread.start()
    yield daemon
    daemon.server.shutdown()
    daemon.server.server_close()
    thread.join()


@pytest.fixture
def project(tmp_path: Path, daemon: SmallDaemon) -> Project:
    """Return an empty project whose daemon is the small one."""
    (tmp_path / "home").mkdir()
    return Project(tmp_path / "project", tmp_path / "home", daemon.url)
