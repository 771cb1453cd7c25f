"""Our part in a worker of pytest-xdist."""

import json
from typing import Any

import pytest

from quarantine.pytest_plugin.process import Process, Work, gates_from_text

__all__ = ["KEY", "join_worker"]

KEY = "quarantine"
"""Where our words lie among what pytest-xdist passes between a session and its workers."""


def join_worker(config: Any) -> None:
    """Take part in a worker, if its session does."""
    if KEY in config.workerinput:
        number = config.workerinput["workerid"].removeprefix("gw")
        count = config.workerinput["workercount"]  # one that stands in for a crashed worker has a higher number
        worker = (int(number) % count if number.isdecimal() else 0, count)
        gates, work = config.workerinput[KEY]
        config.pluginmanager.register(Worker(gates, work, worker))


class Worker:
    """Does in the worker what the session was asked, and tells it what came of it."""

    def __init__(self, gates: str, work: str, worker: tuple[int, int]) -> None:
        self.gates = gates_from_text(gates)
        self.work = Work(*json.loads(work))
        self.worker = worker
        self._process: Process | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Begin once pytest-cov has."""
        self._process = Process(session, self.gates, self.work, runs_tests=True, worker=self.worker)

    def pytest_sessionfinish(self, session: Any) -> None:
        """Put what came of it where pytest-xdist will take it to the session."""
        if self._process is not None:
            session.config.workeroutput[KEY] = self._process.findings().to_text()
