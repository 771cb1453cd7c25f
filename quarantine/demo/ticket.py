"""The story's second half: a ticket is given to an agent, and the harness of `quarantine solve` tries what it answers.

The agent's answers are written down beforehand; everything else happens: the worktree, the impacted tests, the canary,
the reruns, the verdicts. The flaky test is among the impacted ones. Only the moments at which runs begin are chosen:
that of the last attempt so that a second will end inside that test, as it does in one run of three anyway, and that of
every other run so that none will, as in the other two.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from quarantine.client.instants import wall_s
from quarantine.client.target import Target
from quarantine.demo import ledger, suite
from quarantine.demo.hosting import Hosted, ask
from quarantine.domain.outcome import Lane
from quarantine.loop import CommandRunner, End, ScriptedAgent, Settings, Ticket, Workspace, solve

__all__ = ["MUST_PASS", "TICKET", "Worked", "worked"]

TICKET = "LEDG-2214"
MUST_PASS = "tests/test_pricing.py::test_a_discount_is_taken_from_the_sum"  # noqa: S105 - a test, no password
_PYTEST = "python -B -m pytest -q"
_LAST = 3
_BUSY = "test_a_second_try_keeps_the_reference"
_MIDDLE_S = 0.175
"""Half of the flaky test's pause: where a second has to end."""
_AWAY_S = 0.5


@dataclass(frozen=True, slots=True)
class Worked:
    """How the work on the ticket went.

    Attributes:
        ticket: what the agent was asked.
        end: how the loop ended.
        prompts: what the agent read, one for each attempt.
        verdicts: the daemon's answers, in order.
        attempts: what the daemon says of the attempts at this ticket.
    """

    ticket: Ticket
    end: End
    prompts: tuple[str, ...]
    verdicts: tuple[dict[str, Any], ...]
    attempts: dict[str, Any]

    @property
    def is_full(self) -> bool:
        """Whether the last verdict is on a run of every test."""
        return len(self.verdicts) > self.end.attempts


def worked(daemon: Hosted, reader: Target, repository: Path, folder: Path) -> Worked:
    """Let the agent work on the ticket and return how it went.

    Args:
        daemon: the running daemon.
        reader: the project for reading.
        repository: the ledger's.
        folder: an empty one, for the worktree and the logs.

    Raises ClientError when the ledger's tests cannot be run or the daemon does not answer.
    """
    files = ledger.open_ticket(repository, TICKET)
    ticket = Ticket(TICKET, files.text, (MUST_PASS,))
    agent = ScriptedAgent(files.answers)
    moment = _Moment(folder / "logs")
    runner = CommandRunner(
        f"{_PYTEST} {{tests}} --junitxml={{report}}",
        daemon.target("report", lane=Lane.AGENT, change=TICKET),
        Settings(
            job=suite.JOB,
            python=sys.executable,
            timeout_s=suite.TIMEOUT_S,
            collect=f"{_PYTEST} --collect-only",
            import_paths=(".",),
            variables={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            logs=folder / "logs",
        ),
        told=moment.told,
    )
    with Workspace.open(repository, files.branch, folder=folder / "work") as workspace:
        end = solve(ticket, workspace, agent, runner)
    told = ask(reader, f"attempts?ticket={quote(TICKET, safe='')}")
    verdicts = tuple(ask(reader, f"verdicts/{number}") for row in told["by_ticket"] for number in row["verdicts"])
    return Worked(ticket, end, tuple(agent.prompts), verdicts, told)


@dataclass(slots=True)
class _Moment:
    """Waits before each run until a second will end inside the flaky test, or half a second away from that.

    How long it takes from the runner's word to that test is measured where the same tests ran on the base.

    Attributes:
        logs: where the runner keeps what the base's runs wrote.
        sleep: waits for so many seconds.
        has_struck: whether a run was begun so that the test fails.
    """

    logs: Path
    sleep: Callable[[float], None] = time.sleep
    said: list[tuple[float, str]] = field(default_factory=list)
    has_struck: bool = False

    def told(self, sentence: str) -> None:
        """Hear what the runner does next."""
        strikes = sentence.startswith(f"Attempt {_LAST}: running") and not self.has_struck
        if strikes or sentence.startswith(("Attempt ", "Rerun ")):
            lead_s = self._lead_s()
            if lead_s is not None:
                self.sleep((-(wall_s() + lead_s) + (0 if strikes else _AWAY_S)) % 1)
                self.has_struck = self.has_struck or strikes
        self.said.append((wall_s(), sentence))

    def _lead_s(self) -> float | None:
        """Return the seconds from the runner's word to the middle of the flaky test; None when nobody saw it run."""
        for report in sorted(self.logs.glob("*-base.*.xml"), reverse=True):
            began_at, before_s = _place_in(report)
            words = [at for at, _ in self.said if began_at is not None and at <= began_at]
            if words and began_at is not None:
                return began_at - words[-1] + before_s + _MIDDLE_S
        return None


def _place_in(report: Path) -> tuple[float | None, float]:
    """Return when the session of a report began (None when it lacks the flaky test), and how long until that test."""
    [session] = ET.fromstring(report.read_bytes()).iter("testsuite")  # noqa: S314 - pytest wrote it just now
    before_s = 0.0
    for case in session.iter("testcase"):
        if case.get("name") == _BUSY:
            return datetime.fromisoformat(session.get("timestamp", "")).timestamp(), before_s
        before_s += float(case.get("time", 0))
    return None, 0.0
