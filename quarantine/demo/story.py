"""The story: every build is run and sent as its day comes, and the reruns that the daemon asks for are made.

Then the project enforces what it observed, and an agent is given a ticket.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from quarantine.client.gating import GatingSet
from quarantine.client.rerunning import rerun, reruns_of
from quarantine.client.target import Target
from quarantine.client.upload import post_reports
from quarantine.daemon import jobs
from quarantine.demo import ledger, suite
from quarantine.demo.hosting import Hosted, ask, hosted, tell_reach
from quarantine.demo.suite import Ran
from quarantine.demo.ticket import Worked, worked
from quarantine.demo.timeline import PlannedBuild, timeline
from quarantine.domain.outcome import Lane
from quarantine.errors import QuarantineError

__all__ = ["BROKEN", "CHANGED", "FLAKY", "UNKNOWN", "Ending", "MadeRerun", "Progress", "Sent", "told"]

FLAKY = "tests/test_delivery.py::test_a_second_try_keeps_the_reference"
"""Fails when a second of the wall clock ends between two tries of a delivery."""
BROKEN = "tests/test_render.py::test_thousands_are_set_apart_by_a_comma"
"""Broken by one commit of the trunk, mended by a later one."""
CHANGED = "tests/test_pricing.py::test_a_full_discount_leaves_nothing"
"""Fails in a pull request that breaks it, and nowhere else."""
UNKNOWN = "tests/test_refund.py::test_a_refund_is_a_negative_invoice"
"""A test nobody has reported yet."""

WORKERS = 3
"""Suites that run ahead at a time: half of a run is waiting. Each has a process and a clone of its own."""
VISIT_EVERY = timedelta(hours=2)
"""How often the daemon's jobs and the scheduled reruns run, on the story's clock."""
AFTERWARDS = timedelta(hours=26)
"""The story goes on so long after its last build, until the last reruns have fallen due."""

Progress = Callable[[int, int], None]
"""Called with the number of builds sent so far, and of those there are."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One build that the daemon took.

    Attributes:
        answer: what the daemon said of it: its counts, and a sentence for each transition.
        reach: what it said of the reach map recorded with it; None where none was.
    """

    planned: PlannedBuild
    answer: dict[str, Any]
    reach: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class MadeRerun:
    """One rerun that the daemon asked for; `answer` is what it said of the result, `why` is its own reason."""

    of: str
    at: datetime
    why: str
    answer: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ending:
    """Where the story ends; the daemon still answers.

    Attributes:
        folder: holds the database, the repository and what the runs wrote.
        reader, admin: the project as bearers of these tokens see it.
        sent, reruns: what was sent, in order.
        observed: the standings at the end of the weeks in which the project only observed.
        gating_observed: whether each test of the cast gated then, as the client says.
        gating_enforced: the same after the switch to enforce.
        explained: the explanation of each known test of the cast, recomputed from what is stored.
        worked: how an agent's work on a ticket went, in the enforcing project.
        summary: of the whole project, before the ticket.
    """

    folder: Path
    reader: Target
    admin: Target
    sent: tuple[Sent, ...]
    reruns: tuple[MadeRerun, ...]
    observed: tuple[dict[str, Any], ...]
    gating_observed: dict[str, bool]
    gating_enforced: dict[str, bool]
    explained: dict[str, dict[str, Any]]
    worked: Worked
    summary: dict[str, Any]

    @property
    def database(self) -> Path:
        """The daemon's SQLite file."""
        return _database(self.folder)

    @property
    def repository(self) -> Path:
        """The ledger's git repository."""
        return _repository(self.folder)


def _database(folder: Path) -> Path:
    return folder / "quarantine.db"


def _repository(folder: Path) -> Path:
    return folder / "ledger"


@contextmanager
def told(folder: Path, progress: Progress, *, port: int = 0) -> Iterator[Ending]:
    """Let the whole story happen and yield its ending, while the daemon still answers.

    Args:
        folder: an empty one.
        progress: told how far it is.
        port: the daemon's; 0 picks a free one.

    Raises:
        BadConfiguration: pytest is not installed, or the port cannot be had.
        ClientError: git is missing.
        QuarantineError: something went otherwise than it ever should.
    """
    suite.require_pytest()
    ledger.create(_repository(folder))
    planned = timeline(_repository(folder))
    with hosted(_database(folder), planned[0].commit.at, port=port) as daemon:
        first_visit = daemon.clock().replace(hour=0, minute=0) + timedelta(days=1)
        weeks = _Weeks(daemon, folder, _lanes(daemon, planned), first_visit)
        with _run_ahead(planned, folder) as runs:
            for number, (build, ran) in enumerate(zip(planned, runs, strict=True), 1):
                weeks.wait_until(build.arrives_at)
                weeks.send(build, ran)
                progress(number, len(planned))
        weeks.wait_until(daemon.clock() + AFTERWARDS)
        yield _ending(daemon, weeks)


def _lanes(daemon: Hosted, planned: Sequence[PlannedBuild]) -> dict[str | None, Target]:
    """Return the target for each change (None: the trunk); an agent's token speaks for its ticket only."""
    lanes: dict[str | None, Target] = {}
    for build in planned:
        if build.change not in lanes:
            bound = build.change if build.lane is Lane.AGENT else None
            lanes[build.change] = daemon.target("report", lane=build.lane, change=bound)
    return lanes


@contextmanager
def _run_ahead(planned: Sequence[PlannedBuild], folder: Path) -> Iterator[Iterator[Ran]]:
    """Yield the runs in the order planned, while the next ones are under way."""
    runs = folder / "runs"
    runs.mkdir()
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="demo-suite")
    try:
        futures = [pool.submit(suite.run, _repository(folder), build, runs) for build in planned]
        yield (future.result() for future in futures)
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class _Weeks:
    """The weeks as they pass: who sends what, when the next scheduled visit is due, and what came of it all."""

    daemon: Hosted
    folder: Path
    lanes: dict[str | None, Target]
    next_visit: datetime
    sent: list[Sent] = field(default_factory=list)
    reruns: list[MadeRerun] = field(default_factory=list)

    def send(self, planned: PlannedBuild, ran: Ran) -> None:
        """Send one build's report, and its reach map where it has one, at the present instant of the story."""
        target = self.lanes[planned.change]
        answer = self._post(target, ran.build_part, [ran.report])
        reach = tell_reach(target, ran.build_part["tree"], ran.reach) if ran.reach else None
        self.sent.append(Sent(planned, answer, reach))

    def wait_until(self, instant: datetime) -> None:
        """Let the story's clock run to an instant; meanwhile the daemon's jobs run and reruns are made."""
        clock = self.daemon.clock
        while self.next_visit <= instant:
            clock.advance(self.next_visit - clock())
            jobs.run_due(self.daemon.app)
            self._make_reruns()
            self.next_visit += VISIT_EVERY
        clock.advance(instant - clock())

    def _make_reruns(self) -> None:
        """Do what `quarantine reruns run` does, with the trunk's token. Trees of changes are for their authors."""
        trunk = self.lanes[None]
        for wanted in reruns_of(ask(trunk, "reruns")):
            if wanted.lane != Lane.TRUNK:
                continue
            suite.begin_anywhere()
            with rerun(
                wanted,
                _repository(self.folder),
                python=sys.executable,
                patterns=[suite.REPORT],
                timeout_s=suite.TIMEOUT_S,
            ) as outcome:
                if not outcome.made:
                    raise QuarantineError(f"The rerun of build {wanted.rerun_of} was not made: {outcome.sentence}")
                answer = self._post(trunk, outcome.build_part, outcome.reports)
            self.reruns.append(MadeRerun(wanted.rerun_of, self.daemon.clock(), wanted.why, answer))

    def _post(self, target: Target, build_part: dict[str, Any], reports: Sequence[Path]) -> dict[str, Any]:
        answer = post_reports(target, build_part, reports, spool_dir=self.folder / "spool")
        if answer.status != "sent":
            raise QuarantineError(f"Build {build_part['build']} was not taken: {answer.sentence}")
        return answer.body


def _ending(daemon: Hosted, weeks: _Weeks) -> Ending:
    """Look at what the project observed, let it enforce, look again, and give an agent a ticket."""
    reader, admin = daemon.target("read"), daemon.target("admin")
    gating = GatingSet(reader.url, reader.project, reader.token, cache_dir=weeks.folder / "cache")
    cast = (FLAKY, BROKEN, CHANGED, UNKNOWN)
    observed = tuple(ask(reader, "tests")["standing"])
    gating_observed = {test: gating.is_gating(test) for test in cast}
    ask(admin, "mode", {"mode": "enforce"})
    gating.refresh()
    enforced = {test: gating.is_gating(test) for test in cast}
    explained = {test: ask(reader, f"tests/{quote(test, safe='')}?recompute=1") for test in (FLAKY, BROKEN, CHANGED)}
    summary = ask(reader, "summary")
    agents = weeks.folder / "ticket"
    agents.mkdir()
    done = worked(daemon, reader, _repository(weeks.folder), agents)
    return Ending(
        folder=weeks.folder,
        reader=reader,
        admin=admin,
        sent=tuple(weeks.sent),
        reruns=tuple(weeks.reruns),
        observed=observed,
        gating_observed=gating_observed,
        gating_enforced=enforced,
        explained=explained,
        worked=done,
        summary=summary,
    )
