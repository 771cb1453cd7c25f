"""What takes part in one process, and what a worker of pytest-xdist tells the session when it is done."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from quarantine.client.fixture_map import FixtureMap
from quarantine.pytest_plugin import contexts
from quarantine.pytest_plugin.excuses import Excuses
from quarantine.pytest_plugin.fixtures import Recorder
from quarantine.pytest_plugin.gates import Gates
from quarantine.pytest_plugin.ownership import Ownership
from quarantine.pytest_plugin.repeats import Repeats
from quarantine.pytest_plugin.selection import Selection
from quarantine.pytest_plugin.tries import Tries, Try

__all__ = ["Findings", "Process", "Work"]


class Work(NamedTuple):
    """What is to be done where tests run; see `Options`."""

    only_quarantined: bool
    reruns: int
    reach: bool


class Findings(NamedTuple):
    """What came of it.

    Attributes:
        collected, left: how many tests there were, and how many of them `--quarantined-only` left.
        repeats: further tries after the last test, by node id.
        fixtures: the fixture map of this process; None when reach was not recorded.
        data: the data file it wrote; None when pytest-cov writes it.
    """

    collected: int
    left: int
    repeats: dict[str, list[Try]]
    fixtures: FixtureMap | None
    data: Path | None

    def to_text(self) -> str:
        """Return JSON, which is all that passes between processes."""
        fixtures = self.fixtures.to_json() if self.fixtures else None
        return json.dumps([self.collected, self.left, self.repeats, fixtures, str(self.data) if self.data else None])

    @classmethod
    def from_text(cls, text: str) -> "Findings":
        """Return what `to_text` has put into words."""
        collected, left, repeats, fixtures, data = json.loads(text)
        return cls(
            collected,
            left,
            {nodeid: [Try(*values) for values in tries] for nodeid, tries in repeats.items()},
            FixtureMap.from_json(fixtures) if fixtures else None,
            Path(data) if data else None,
        )


class Process:
    """Registers what takes part in this process.

    Args:
        session: of this process.
        gates: what does not gate.
        work: what was asked.
        runs_tests: whether tests run here; they do not in a session that has workers.
    """

    def __init__(self, session: pytest.Session, gates: Gates, work: Work, *, runs_tests: bool) -> None:
        self.config = session.config
        self.excuses = Excuses(session, gates)
        self.tries = Tries()
        self.selection = Selection(gates) if runs_tests and work.only_quarantined else None
        recording = contexts.recording_here(self.config) if runs_tests and work.reach else None
        self.recorder = Recorder(recording, self.config.rootpath) if recording else None
        repeats = Repeats(self.tries, work.reruns) if runs_tests and work.reruns else None
        ownership = Ownership(session) if runs_tests else None
        for member in (ownership, self.excuses, self.tries, self.selection, self.recorder, repeats):
            if member is not None:
                self.config.pluginmanager.register(member)

    def findings(self) -> Findings:
        """Return what came of it, now that all tests have run."""
        recording = contexts.own_recording(self.config)
        return Findings(
            self.selection.collected if self.selection else 0,
            self.selection.left if self.selection else 0,
            dict(self.tries.repeats),
            self.recorder.map() if self.recorder else None,
            contexts.finish(recording) if recording else None,
        )


def gates_to_text(gates: Gates) -> str:
    """Return what a worker must know about them as JSON."""
    return json.dumps([sorted(gates.not_gating), gates.prefix])


def gates_from_text(text: str) -> Gates:
    """Return what `gates_to_text` has put into words."""
    values: list[Any] = json.loads(text)
    return Gates(frozenset(values[0]), values[1])
