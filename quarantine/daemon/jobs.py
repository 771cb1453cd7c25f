"""The table of jobs. APScheduler only ticks; what is due is decided by rows, so that replicas share the work.

A period of a job is claimed by inserting its primary key, in the transaction that does the work: whoever inserts it
does it, and one that fails has not claimed anything. That survives restarts, catches up after downtime, and needs no
scheduler state.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import Connection

from quarantine.clock import system_clock
from quarantine.daemon import people
from quarantine.daemon.spool import Spool
from quarantine.daemon.watching import Watch
from quarantine.services import archive
from quarantine.services.app import App
from quarantine.store import answers, builds, jobs, outbox
from quarantine.store.engine import writing

SPOOL_TICK_S = 1
SWEEP_TICK_S = 3600
TICK_S = 60
SPEAK_TICK_S = 10
LADDER_TICK_S = 600
WEEKLY_TICK_S = 300
JOB_RUNS_KEPT = timedelta(days=90)
"""Far longer than any period, so that none is claimed twice."""

SENT_KEPT = timedelta(days=90)
PRESSES_KEPT = timedelta(days=1)
"""Far longer than a signed request stays fresh."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that is due once in each period, inside one transaction."""

    name: str
    period: Callable[[datetime], str]
    run: Callable[[Connection, datetime], object]


def _hourly(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H")


def _daily(now: datetime) -> str:
    return now.strftime("%Y-%m-%d")


def prune_refused(connection: Connection, now: datetime) -> int:
    """Forget refused reports after a week; return how many."""
    return builds.forget_refused(connection, now - archive.REFUSED_DAYS)


def prune_outbox(connection: Connection, now: datetime) -> int:
    """Forget messages that were sent long ago, and requests too old to be replayed; return how many messages."""
    answers.forget_presses(connection, now - PRESSES_KEPT)
    return outbox.forget_sent(connection, now - SENT_KEPT)


def prune_job_runs(connection: Connection, now: datetime) -> int:
    """Forget which periods were claimed long ago; return how many."""
    return jobs.forget(connection, now - JOB_RUNS_KEPT)


JOBS: tuple[Job, ...] = (
    Job("prune-refused", _hourly, prune_refused),
    Job("prune-job-runs", _daily, prune_job_runs),
    Job("prune-outbox", _daily, prune_outbox),
)


def run_due(app: App, table: Sequence[Job] = JOBS) -> list[str]:
    """Claim and do every job whose present period nobody has claimed; return the names of those done here."""
    now, done = app.clock(), []
    for job in table:
        with writing(app.engine) as connection:
            if jobs.claim(connection, job.name, job.period(now), now):
                job.run(connection, now)
                done.append(job.name)
    return done


class Ticking:
    """The scheduled work of one daemon, from construction until `stop`.

    Raises BadConfiguration when a spool cannot be used, NotFound when its project is not there.
    """

    def __init__(self, app: App, spools: Sequence[Spool]) -> None:
        for spool in spools:
            spool.prepare()
        self._stopping = threading.Event()
        self._scheduler = BackgroundScheduler(timezone="UTC")
        once = {"coalesce": True, "misfire_grace_time": None, "max_instances": 1, "next_run_time": system_clock()}
        watch = Watch(app)

        def every(seconds: int, job: str, work: Callable[[], object], project: str | None = None) -> None:
            watched = partial(watch.run, job, work, project=project)
            self._scheduler.add_job(watched, "interval", seconds=seconds, **once)

        every(TICK_S, "housekeeping", partial(run_due, app))
        for spool in spools:
            name = f"spool {spool.name}"
            every(SPOOL_TICK_S, name, partial(spool.drain, self._stopping.is_set), spool.project)
            every(SWEEP_TICK_S, f"{name}: sweeping", spool.sweep, spool.project)
        every(WEEKLY_TICK_S, "weekly reports", partial(people.issue_weeks, app))
        if app.people.projects:
            people.begin(app)
            every(LADDER_TICK_S, "escalation", partial(people.walk_ladders, app))
            every(SPEAK_TICK_S, "messages", partial(people.speak, app, people.daemon_name()))
        every(TICK_S, "looking for trouble", partial(people.look_for_trouble, app, watch, spools))
        self._scheduler.start()

    def stop(self) -> None:
        """Finish what is being done, begin nothing more, and return."""
        self._stopping.set()
        self._scheduler.shutdown(wait=True)
