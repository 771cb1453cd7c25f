"""What the daemon does for people: tells news and troubles, walks the ladders, issues weekly reports, delivers."""

import logging
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from functools import partial

from quarantine.daemon.spool import Spool
from quarantine.daemon.watching import Watch
from quarantine.errors import Busy, NotFound
from quarantine.services import deliver, escalate, news, troubles, weekly_issue
from quarantine.services.app import App
from quarantine.store import projects
from quarantine.store.engine import reading

log = logging.getLogger("quarantine.daemon")


def daemon_name() -> str:
    """Return a name for this daemon that no other has, so that a claim tells whose it is."""
    return f"{socket.gethostname()[:20]}:{os.getpid()}:{secrets.token_hex(4)}"


def begin(app: App) -> None:
    """Count what happened before a project had a channel as told; a project that is not there yet is all news."""
    for slug, people in app.people.projects.items():
        if people.channel is not None:
            _of_project(app, slug, news.begin)


def speak(app: App, by: str) -> deliver.Round:
    """Put what is new into the outbox, for every project that has a channel, and deliver what is due."""
    for slug, people in app.people.projects.items():
        if people.channel is not None:
            _of_project(app, slug, news.tell)
    return deliver.deliver(app, by=by)


def issue_weeks(app: App) -> None:
    """Make the weekly reports that are due, of every project, and tell those who are told."""
    with reading(app.engine) as connection:
        slugs = [project.slug for project in projects.every(connection)]
    for slug in slugs:
        _of_project(app, slug, weekly_issue.issue_due)


def walk_ladders(app: App) -> None:
    """Tell the owners of tests that have been out for too long, once on each day of a project's zone."""
    for slug in app.people.projects:
        _of_project(app, slug, partial(escalate.escalate, once_a_day=True))


def look_for_trouble(app: App, watch: Watch, spools: Sequence[Spool]) -> None:
    """Tell what keeps failing, of every project: what is stored, and what this daemon sees of its own work."""
    ended = watch.ended()
    with reading(app.engine) as connection:
        slugs = [project.slug for project in projects.every(connection)]
    told = []
    for slug in slugs:
        seen = watch.seen(slug)
        for spool in spools:
            if spool.project == slug:
                seen |= spool.seen()
        told.append(_of_project(app, slug, partial(troubles.look, seen=seen)))
    if all(told):
        watch.forget(ended)


def _of_project(app: App, slug: str, work: Callable[[App, str], object]) -> bool:
    """Do some work of a project; return False when it has to wait."""
    try:
        work(app, slug)
    except NotFound:
        log.info("The settings name people of project %s, which does not exist yet.", slug)
    except Busy as busy:
        log.warning("News of %s waits: %s", slug, busy)
        return False
    return True
