"""News for people: what came up since they were last told goes into the outbox, and counts as told, in one transaction.

Nothing is written down a second time to be told: transitions, raised failures and incidents are numbered rows of their
own, and what lies beyond the last number that was told is news. A project that begins to have a channel is told what
comes up from then on, not its whole past.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.notice import Notice, NoticeKind
from quarantine.domain.outcome import Mode, Status
from quarantine.policy.causes import Move, News, news_of
from quarantine.services import naming, news_wording
from quarantine.services.app import App
from quarantine.services.news_wording import Item
from quarantine.services.people import ProjectPeople
from quarantine.store import builds, incidents, listings, outbox, projects, raised, roster, standings, threads
from quarantine.store.engine import reading, writing
from quarantine.store.outbox import Form
from quarantine.store.projects import Project

TRANSITIONS, RAISED, INCIDENTS = "transition", "raised", "incident"
_MOST_AT_ONCE = 5_000
_CAN_WAIT = {NoticeKind.ENTRIES, NoticeKind.HELD}
"""What is told in the digest where there is one; the rest is told as soon as it is not quiet."""


Write = Callable[[str, Sequence[Item]], Notice]
"""Makes the first message of a thread, of the day it was opened on and all it has told of."""


@dataclass(slots=True)
class Desk:
    """One project's news, while its transaction is open."""

    app: App
    connection: Connection
    project: Project
    people: ProjectPeople
    channel: str
    now: datetime

    def thread_id(self, kind: NoticeKind, cause: str) -> str:
        """Return the id of the thread on a cause in the project's channel."""
        told = f"{kind.value}\x00{self.channel}\x00{cause}"
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def due(self, kind: NoticeKind) -> datetime:
        """Return when something of this kind may be said."""
        return self.people.speaks_at(self.now, can_wait=kind in _CAN_WAIT)

    def tell(
        self,
        thread: str,
        kind: NoticeKind,
        items: Iterable[Item],
        write: Write,
        *,
        mark: str,
        follow_up: Notice | None = None,
    ) -> None:
        """Begin the thread, or write its first message anew and follow up in it.

        Args:
            thread: its id.
            kind: what it is about.
            items: the tests that there is news of; those told of before are kept unless they are among these.
            write: makes the first message.
            mark: what tells this news from any other of the thread.
            follow_up: what to say in the thread when it is there already; None says nothing.
        """
        before = threads.get(self.connection, self.project.id, thread)
        opened_at = before["opened_at"] if before else self.now
        channel = before["channel"] if before else self.channel
        told = map(Item.from_json, before["content"]["items"] if before else ())
        every = list({(item.test, item.variant): item for item in (*told, *items)}.values())
        notice = write(self.people.today(opened_at), every)
        threads.save(
            self.connection,
            self.project.id,
            thread,
            kind=kind.value,
            channel=channel,
            opened_at=opened_at,
            content={"items": [item.to_json() for item in every], "notice": notice.to_json()},
            tests={item.test for item in every},
        )
        put = partial(
            outbox.put,
            self.connection,
            self.project.id,
            channel=channel,
            thread=thread,
            now=self.now,
            due_at=self.due(kind),
        )
        if before is None:
            put(key=f"{thread}:first", form=Form.POST, content={})
            return
        put(key=f"{thread}:{mark}:first", form=Form.UPDATE, content={})
        if follow_up is not None:
            put(key=f"{thread}:{mark}", form=Form.REPLY, content=follow_up.to_json())


def tell(app: App, slug: str) -> bool:
    """Put what is new about a project into the outbox; return whether there was anything. Raises NotFound."""
    people = app.people.of(slug)
    if people.channel is None:
        return False
    with reading(app.engine) as connection:
        if not _is_news(connection, projects.by_slug(connection, slug).id):
            return False
    with writing(app.engine) as connection:
        project = projects.by_slug(connection, slug, lock=True)
        desk = Desk(app, connection, project, people, people.channel, app.clock())
        _tell_moves(desk)
        _tell_raised(desk)
        _tell_incidents(desk)
    return True


def _is_news(connection: Connection, project_id: int) -> bool:
    last = {
        TRANSITIONS: standings.newest_number(connection, project_id),
        RAISED: raised.newest_number(connection, project_id),
    }
    beyond = any(number > threads.told(connection, project_id, source)[0] for source, number in last.items())
    return beyond or bool(incidents.since(connection, project_id, _last_incident(connection, project_id)))


def _last_incident(connection: Connection, project_id: int) -> datetime | None:
    """Return up to when incidents were told; None when none was."""
    _, mark = threads.told(connection, project_id, INCIDENTS)
    return datetime.fromisoformat(mark) if mark else None


def begin(app: App, slug: str) -> None:
    """Count everything up to now as told; for a project that never told anything. Raises NotFound."""
    with writing(app.engine) as connection:
        project = projects.by_slug(connection, slug, lock=True)
        for source, last in ((TRANSITIONS, standings.newest_number), (RAISED, raised.newest_number)):
            if threads.told(connection, project.id, source) == (0, None):
                threads.tell(connection, project.id, source, last(connection, project.id), "begun")
        if threads.told(connection, project.id, INCIDENTS) == (0, None):
            newest = incidents.latest(connection, project.id, 1)
            threads.tell(connection, project.id, INCIDENTS, 1, newest[0]["last_at"].isoformat() if newest else "")


def _tell_moves(desk: Desk) -> None:
    connection, project_id = desk.connection, desk.project.id
    told, _ = threads.told(connection, project_id, TRANSITIONS)
    rows = standings.since(connection, project_id, told, _MOST_AT_ONCE)
    if not rows:
        return
    tests = roster.rows(connection, project_id, {row["test"] for row in rows})
    seen = standings.quarantined_before(connection, project_id, tests, told)
    spread = _Spread(desk, threads.of_tests(connection, project_id, tests))
    said = cache(partial(listings.message_like, connection, project_id))
    for row in rows:
        pair = (row["test"], row["variant_hash"])
        before, after = Status(row["from_status"]), Status(row["to_status"])
        for move in news_of(before, after, Mode(row["mode"]), row["evidence"], was_quarantined=pair in seen):
            spread.add(move, _item(row, move, tests[row["test"]], said))
        if after is Status.QUARANTINED:
            seen.add(pair)
    for (kind, thread), items in spread.news.items():
        slug = desk.project.slug
        follow_up = news_wording.follow_up(kind, slug, items)
        mark = f"t{rows[-1]['number']}"
        desk.tell(thread, kind, items, partial(_WRITERS[kind], slug), mark=mark, follow_up=follow_up)
    threads.tell(connection, project_id, TRANSITIONS, rows[-1]["number"], "told")


@dataclass(slots=True)
class _Spread:
    """News spread over threads: where its test was told of last, and today's thread when it is to be seen.

    Attributes:
        known: the threads that speak of each test by now, the newest first.
        news: what is told in each thread, by kind and id.
    """

    desk: Desk
    known: Mapping[int, Sequence[Mapping[str, Any]]]
    news: dict[tuple[NoticeKind, str], list[Item]] = field(default_factory=dict)

    def add(self, move: Move, item: Item) -> None:
        """Put one piece of news where it belongs."""
        follows = self._follows(move.kind, item.test)
        if move.opens and not (follows and move.news is News.RELEASED):
            day = self.desk.people.today(self.desk.now)
            cause = (move.cause if move.kind is NoticeKind.BROKEN else "") or day
            opened = self.desk.thread_id(move.kind, cause)
            follows = {opened, *follows}
        for thread in sorted(follows):
            self.news.setdefault((move.kind, thread), []).append(item)

    def _follows(self, kind: NoticeKind, test: int) -> set[str]:
        """Return the thread of this kind that spoke of the test last, if any."""
        now = {
            thread
            for (other, thread), items in self.news.items()
            if other is kind and any(i.test == test for i in items)
        }
        earlier = [thread["id"] for thread in self.known.get(test, ()) if thread["kind"] == kind]
        return now or set(earlier[:1])


def _item(row: Mapping[str, Any], move: Move, test: dict[str, Any], said: Callable[[str], str]) -> Item:
    is_signature = move.kind is NoticeKind.ENTRIES and move.cause != ""
    return Item(
        test=row["test"],
        variant=row["variant_hash"],
        id=naming.id_of(test),
        name=naming.display_of(test),
        cause=move.cause,
        said=said(move.cause) if is_signature else "",
        state=move.news.value,
        sentence=row["reason"] + naming.formerly_sentence(test),
        by=row["actor"],
        at=row["at"],
    )


_WRITERS = {
    NoticeKind.ENTRIES: news_wording.entries,
    NoticeKind.HELD: news_wording.held,
    NoticeKind.BROKEN: news_wording.broken,
}


def _tell_raised(desk: Desk) -> None:
    connection, project_id = desk.connection, desk.project.id
    told, _ = threads.told(connection, project_id, RAISED)
    rows = raised.since(connection, project_id, told)
    tests = roster.rows(connection, project_id, {row["test"] for row in rows})
    for row in rows:
        test = tests[row["test"]]
        item = Item(
            test=row["test"],
            variant=row["variant_hash"],
            id=naming.id_of(test),
            name=naming.display_of(test),
            cause=row["change"] or "",
            said="",
            state="possible regression",
            sentence=row["sentence"] + naming.formerly_sentence(test),
            by="policy",
            at=row["at"],
        )
        thread = desk.thread_id(NoticeKind.REGRESSION, f"{row['test']}\x00{row['change'] or row['build_seq']}")
        desk.tell(
            thread,
            NoticeKind.REGRESSION,
            [item],
            partial(news_wording.regression, desk.project.slug, row["verdict"]),
            mark=f"r{row['number']}",
            follow_up=news_wording.follow_up(NoticeKind.REGRESSION, desk.project.slug, [item]),
        )
    if rows:
        threads.tell(connection, project_id, RAISED, rows[-1]["number"], "told")


def _tell_incidents(desk: Desk) -> None:
    connection, project_id = desk.connection, desk.project.id
    rows = incidents.since(connection, project_id, _last_incident(connection, project_id))
    for row in rows:
        tests = roster.rows(connection, project_id, row["tests"])
        found = builds.get(connection, project_id, row["builds"])
        names = [(naming.id_of(test), naming.display_of(test)) for test in tests.values()]
        builds_of = [str(build["build"]) for build in found.values()]
        desk.tell(
            desk.thread_id(NoticeKind.STORM, row["id"]),
            NoticeKind.STORM,
            [],
            partial(news_wording.storm, desk.project.slug, row, names, builds_of),
            mark=f"i{len(row['builds'])}:{row['last_at'].isoformat()}",
        )
    if rows:
        threads.tell(connection, project_id, INCIDENTS, 1, rows[-1]["last_at"].isoformat())
