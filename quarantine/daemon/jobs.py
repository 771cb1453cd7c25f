"""The table of jobs. APScheduler only ticks; what is due is decided by rows, so that replicas share the work.

A period of a job is claimed by inserting its primary key: whoever inserts it runs it. That survives restarts, catches
up after downtime, and needs no scheduler state.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from quarantine.daemon.spool import Spool, sweep
from quarantine.services import archive
from quarantine.services.app import App
from quarantine.store import builds, jobs
from quarantine.store.engine import writing

log = logging.getLogger("quarantine.daemon")
SPOOL_TICK_S = 1
TICK_S = 60
SPOOL_DONE_KEPT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Job:
    """Work that is due once in each period; `run` must be safe to repeat."""

    name: str
    period: Callable[[datetime], str]
    run: Callable[[App, datetime], None]


def _hourly(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H")


def prune_refused(app: App, now: datetime) -> None:
    """Forget the bytes of refused reports after a week."""
    with writing(app.engine) as connection:
        builds.forget_refused(connection, now - archive.REFUSED_DAYS)


JOBS: tuple[Job, ...] = (Job("prune-refused", _hourly, prune_refused),)


def run_due(app: App, table: Sequence[Job] = JOBS) -> list[str]:
    """Claim and run every job whose present period nobody has claimed; return the names of those run here."""
    now, ran = app.clock(), []
    for job in table:
        with writing(app.engine) as connection:
            mine = jobs.claim(connection, job.name, job.period(now), now)
        if mine:
            job.run(app, now)
            ran.append(job.name)
    return ran


def drain(spool: Spool) -> None:
    """Take in everything that waits in a spool."""
    while spool.take_one():
        pass


def start(app: App, spools: Sequence[Spool]) -> BackgroundScheduler:
    """Start ticking; call `shutdown` on what is returned."""
    scheduler = BackgroundScheduler(timezone="UTC")
    once = {"coalesce": True, "misfire_grace_time": None, "max_instances": 1}
    scheduler.add_job(run_due, "interval", [app], seconds=TICK_S, next_run_time=app.clock(), **once)
    for spool in spools:
        spool.prepare()
        scheduler.add_job(drain, "interval", [spool], seconds=SPOOL_TICK_S, **once)
        scheduler.add_job(
            lambda s=spool: sweep(s.directory, app.clock() - SPOOL_DONE_KEPT), "interval", hours=1, **once
        )
    scheduler.start()
    return scheduler
