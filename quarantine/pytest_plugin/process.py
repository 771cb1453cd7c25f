"""What takes part in one process, and what a worker of pytest-xdist tells the session when it is done."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from quarantine.client.fixture_map import FixtureMap
from quarantine.client.snapshot import variant_hash
from quarantine.client.target import Target
from quarantine.pytest_plugin import contexts
from quarantine.pytest_plugin.excuses import Excuses
from quarantine.pytest_plugin.fixtures import Recorder
from quarantine.pytest_plugin.gates import Gates
from quarantine.pytest_plugin.options import Options
from quarantine.pytest_plugin.ownership import Ownership
from quarantine.pytest_plugin.planning import Planning
from quarantine.pytest_plugin.repeats import Repeats
from quarantine.pytest_plugin.selection import Selection
from quarantine.pytest_plugin.tries import Tries, Try

__all__ = ["Findings", "Process", "Work"]


class Work(NamedTuple):
    """What is to be done where tests run; see `Options`. The token is none of it: each process has its own variables.

    Attributes:
        daemon: address and project of the daemon that plans the further tries; None when nobody named one.
        variant: the hash of the session's variant.
    """

    only_quarantined: bool
    reruns: int | None
    reach: bool
    daemon: tuple[str, str] | None
    variant: str

    @classmethod
    def of(cls, options: Options) -> "Work":
        """Return what a session was asked to do, as its processes are told it."""
        target = options.target
        daemon = (target.url, target.project) if target else None
        return cls(
            options.only_quarantined, options.reruns, options.reach, daemon, variant_hash(options.full_variant())
        )

    def planning(self, prefix: str, worker: tuple[int, int]) -> Planning | None:
        """Return what says how often failing tests are tried again; None when none is."""
        if self.reruns == 0 or (self.reruns is None and self.daemon is None):
            return None
        target = Target(*self.daemon, os.environ.get("QUARANTINE_TOKEN")) if self.daemon else None
        return Planning(target, self.variant, prefix, most=self.reruns, worker=worker)


class Findings(NamedTuple):
    """What came of it.

    Attributes:
        collected, left: how many tests there were, and how many of them `--quarantined-only` left.
        repeats: further tries after the last test, by node id.
        fixtures: the fixture map of this process; None when reach was not recorded.
        data: the data file it wrote; None when pytest-cov writes it.
        remark: what is worth saying about the plan of the further tries; empty for nothing.
    """

    collected: int
    left: int
    repeats: dict[str, list[Try]]
    fixtures: FixtureMap | None
    data: Path | None
    remark: str

    def to_text(self) -> str:
        """Return JSON, which is all that passes between processes."""
        fixtures = self.fixtures.to_json() if self.fixtures else None
        data = str(self.data) if self.data else None
        return json.dumps([self.collected, self.left, self.repeats, fixtures, data, self.remark])

    @classmethod
    def from_text(cls, text: str) -> "Findings":
        """Return what `to_text` has put into words."""
        collected, left, repeats, fixtures, data, remark = json.loads(text)
        return cls(
            collected,
            left,
            {nodeid: [Try(*values) for values in tries] for nodeid, tries in repeats.items()},
            FixtureMap.from_json(fixtures) if fixtures else None,
            Path(data) if data else None,
            remark,
        )


class Process:
    """Registers what takes part in this process.

    Args:
        session: of this process.
        gates: what does not gate.
        work: what was asked.
        runs_tests: whether tests run here; they do not in a session that has workers.
        worker: which worker of how many this is, from 0.
    """

    def __init__(
        self,
        session: pytest.Session,
        gates: Gates,
        work: Work,
        *,
        runs_tests: bool,
        worker: tuple[int, int] = (0, 1),
    ) -> None:
        self.config = session.config
        self.excuses = Excuses(session, gates)
        self.tries = Tries()
        self.selection = Selection(gates) if runs_tests and work.only_quarantined else None
        recording = contexts.recording_here(self.config) if runs_tests and work.reach else None
        self.recorder = Recorder(recording, self.config.rootpath) if recording else None
        self.planning = work.planning(gates.prefix, worker) if runs_tests else None
        repeats = Repeats(self.tries, self.planning) if self.planning else None
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
            self.planning.remark if self.planning else "",
        )


def gates_to_text(gates: Gates) -> str:
    """Return what a worker must know about them as JSON."""
    return json.dumps([sorted(gates.not_gating), gates.prefix])


def gates_from_text(text: str) -> Gates:
    """Return what `gates_to_text` has put into words."""
    values: list[Any] = json.loads(text)
    return Gates(frozenset(values[0]), values[1])
