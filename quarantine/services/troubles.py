"""Troubles of the daemon itself, told in the project's channel: once when one begins, and once when it is over.

What stands is one row (`told`, source `trouble`), changed in the transaction that puts the message into the outbox. So
several daemons say it once, and a restart neither repeats nor forgets it.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection

from quarantine.domain.notice import Notice, NoticeKind, Section
from quarantine.policy import troubles
from quarantine.policy.troubles import Trouble
from quarantine.services.app import App
from quarantine.services.news import Desk
from quarantine.store import outbox, projects, threads
from quarantine.store import troubles as stored
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project

__all__ = ["Seen", "look", "standing"]

SOURCE = "trouble"
_MOST_COUNTED = 100

Seen = Mapping[str, Trouble | None]
"""By code: what whoever can tell says about a trouble; None that it is not there. Others say nothing of it."""


def look(app: App, slug: str, seen: Seen) -> bool:
    """See what trouble began or ended and put it into the outbox; return whether anything changed.

    Args:
        app: the product.
        slug: the project; NotFound is raised without it.
        seen: what this daemon alone can tell, of its own jobs and spools.
    """
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        found = _seen(app, connection, project, seen)
        if _changed(_told(connection, project.id), found, app.clock()) is None:
            return False
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        before = _told(connection, project.id)
        found = _seen(app, connection, project, seen)
        after = _changed(before, found, now)
        if after is None:
            return False
        number, _ = threads.told(connection, project.id, SOURCE)
        threads.tell(connection, project.id, SOURCE, number + 1, after)
        for code in [*(after.keys() - before.keys()), *(before.keys() - after.keys())]:
            _tell(app, connection, project, (after.get(code) or before[code]), is_over=code not in after, now=now)
    return True


def standing(connection: Connection, project_id: int) -> list[dict[str, Any]]:
    """Return the troubles that stand, the oldest first, with `title`, `sentence`, `mend` and `since`."""
    told = _told(connection, project_id).values()
    return sorted((one for one in told if one["fine_since"] is None), key=lambda one: (one["since"], one["code"]))


def _told(connection: Connection, project_id: int) -> dict[str, dict[str, Any]]:
    _, mark = threads.told(connection, project_id, SOURCE)
    return dict(mark or {})


def _seen(app: App, connection: Connection, project: Project, seen: Seen) -> dict[str, Trouble | None]:
    """Return everything that can be told now: what is stored, and what this daemon sees."""
    reports = stored.last_reports(connection, project.id, troubles.LOOKED_BACK)
    reasons = stored.refused_since(connection, project.id, reports[-1] if reports else None, _MOST_COUNTED)
    told = _told(connection, project.id)
    found: dict[str, Trouble | None] = {code: None for code in ("silence", *told) if _is_stored(code)}
    if "refused" in told and reports and reports[-1].isoformat() > told["refused"]["since"]:
        found["refused"] = None  # that what was refused is forgotten after a week does not end it
    here = [troubles.silence(reports, app.clock()), troubles.refused(len(reasons), reasons[0] if reasons else "")]
    here += _parked(app, connection, project)
    return found | {one.code: one for one in here if one is not None} | dict(seen)


def _is_stored(code: str) -> bool:
    """Return whether the database alone tells when this trouble is over."""
    return code == "silence" or code.startswith("parked:")


def _parked(app: App, connection: Connection, project: Project) -> list[Trouble]:
    """Return the channels that messages of this project cannot reach; its own is left to its pages and the shell."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in outbox.every_parked(connection, project.id):
        rows.setdefault(row["channel"], []).append(row)
    rows.pop(app.people.of(project.slug).channel or "", None)
    return [troubles.parked(channel, len(several), several[0]["error"]) for channel, several in rows.items()]


def _changed(
    told: Mapping[str, dict[str, Any]], found: Mapping[str, Trouble | None], now: datetime
) -> dict[str, dict[str, Any]] | None:
    """Return what stands now; None when that is what stood before. Nobody's word on a trouble leaves it as it is."""
    after = dict(told)
    for code, trouble in found.items():
        known = told.get(code)
        if trouble is not None and known is None:
            after[code] = asdict(trouble) | {"since": now.isoformat(), "fine_since": None}
        elif trouble is not None and known is not None and known["fine_since"] is not None:
            after[code] = known | {"fine_since": None}
        elif trouble is None and known is not None and known["fine_since"] is None:
            after[code] = known | {"fine_since": now.isoformat()}
        elif trouble is None and known is not None and _is_over(known, now):
            del after[code]
    return after if after != told else None


def _is_over(known: Mapping[str, Any], now: datetime) -> bool:
    return now - datetime.fromisoformat(known["fine_since"]) >= troubles.FINE_FOR


def _tell(
    app: App, connection: Connection, project: Project, trouble: Mapping[str, Any], *, is_over: bool, now: datetime
) -> None:
    people = app.people.of(project.slug)
    if people.channel is None:
        return
    desk = Desk(app, connection, project, people, people.channel, now)
    thread = desk.thread_id(NoticeKind.TROUBLE, f"{trouble['code']}\x00{trouble['since']}")
    notice = _notice(project.slug, trouble, is_over=is_over)
    mark, follow_up = ("over", notice) if is_over else ("begun", None)
    desk.tell(thread, NoticeKind.TROUBLE, [], partial(_as_it_is, notice), mark=mark, follow_up=follow_up)


def _as_it_is(notice: Notice, _day: str, _items: object) -> Notice:
    return notice


def _notice(slug: str, trouble: Mapping[str, Any], *, is_over: bool) -> Notice:
    """Return the message about a trouble; written anew when it is over."""
    path = f"/projects/{quote(slug, safe='')}"
    if is_over:
        fine = f"{datetime.fromisoformat(trouble['fine_since']):%Y-%m-%d %H:%M} UTC"
        title = f"{slug}: over: {trouble['title']}"
        return Notice(kind=NoticeKind.TROUBLE, project=slug, title=title, lead=f"Not seen since {fine}.", path=path)
    return Notice(
        kind=NoticeKind.TROUBLE,
        project=slug,
        title=f"{slug}: trouble with the quarantine daemon: {trouble['title']}",
        lead=trouble["sentence"],
        sections=(Section(text=(trouble["mend"],)),),
        path=path,
    )
