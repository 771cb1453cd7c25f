"""What people answer about a quarantined test: seen it, ask again later, mine until a date. Kept, audited, heeded."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.notice import Action, Notice, NoticeKind
from quarantine.domain.outcome import Status
from quarantine.errors import BadInput, Conflict
from quarantine.policy.escalation import acknowledge, snooze, take_responsibility
from quarantine.services import decisions, naming
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.standing_time import cases_of
from quarantine.store import answers, audit, outbox, projects, standings, threads
from quarantine.store.engine import writing
from quarantine.store.outbox import Form
from quarantine.store.projects import Project
from quarantine.store.sql import storable
from quarantine.store.tokens import Scope

_REASON_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Whence:
    """Where in Slack an answer was given.

    Attributes:
        digest: of the signature of the request, so that a second one of it is a replay.
        channel_id, ts: the message whose button was pressed: what follows is said in its thread.
    """

    digest: str
    channel_id: str
    ts: str


def require_may(action: Action, bearer: Bearer) -> None:
    """Raise NotAllowed unless the bearer may give this answer: anybody who answers may, but a release is an admin's."""
    if action is Action.RELEASE:
        bearer.require(Scope.ADMIN)
    else:
        bearer.require_answering()


def heed_once(app: App, slug: str, digest: str) -> None:
    """Note a signed request; raises Conflict when it was acted on before, NotFound when there is no such project."""
    with writing(app.engine) as connection:
        _heed_once(connection, projects.by_slug(connection, slug), digest, app.clock())


def unheed(app: App, slug: str, digest: str) -> None:
    """Forget a request that was heeded and refused, so that it can be made again; raises NotFound."""
    with writing(app.engine) as connection:
        answers.forget_press(connection, projects.by_slug(connection, slug).id, digest)


def _heed_once(connection: Connection, project: Project, digest: str, now: datetime) -> None:
    if not answers.is_first_press(connection, project.id, digest, now):
        raise Conflict("This request was acted on before.", mend="Press the button again if you mean it again.")


def answer(
    app: App,
    slug: str,
    name: str,
    action: Action,
    *,
    bearer: Bearer,
    reason: str = "",
    days: float | None = None,
    whence: Whence | None = None,
) -> dict[str, Any]:
    """Keep a person's answer about a quarantined test, and return what follows from it as a sentence.

    Args:
        app: the product.
        slug: the project.
        name: the test, by id or spelling.
        action: what is answered; a release needs an admin, the others a member as well.
        bearer: who answers.
        reason: why; needed for a snooze and for a release.
        days: for how long, of a snooze and of a responsibility.
        whence: where in Slack it was given; None on the page and in the shell.

    Raises:
        NotFound: there is no such project, or not exactly one such test.
        NotAllowed: the bearer may not.
        Conflict: the test is not quarantined, or the request was acted on before.
        BadInput: the answer breaks a rule of the ladder: too long, too often, no reason.
    """
    reason = storable(reason).strip()[:_REASON_CHARACTERS]
    require_may(action, bearer)
    if action is Action.RELEASE:
        if whence is not None:
            heed_once(app, slug, whence.digest)
        told = decisions.release(app, slug, name, bearer=bearer, reason=reason)
        return {**told, "sentence": f"{told['name']} gates again. Its evidence begins anew."}
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        if whence is not None:
            _heed_once(connection, project, whence.digest, now)
        test = naming.find(connection, project, name)
        rows = standings.of_test(connection, project.id, test["ordinal"])
        if not any(row["status"] == Status.QUARANTINED for row in rows):
            raise Conflict(f"{naming.display_of(test)} is not quarantined, so there is nothing to answer.")
        case = cases_of(connection, project, [test["ordinal"]])[test["ordinal"]]
        ladder, by = app.people.of(slug).ladder, storable(bearer.actor)[:120]
        until = _until(now, days)
        if action is Action.ACKNOWLEDGE:
            given = acknowledge(case, by=by, now=now, ladder=ladder)
        elif action is Action.SNOOZE:
            given = snooze(case, until=_needed(until), reason=reason, by=by, now=now, ladder=ladder)
        else:
            given = take_responsibility(case, until=_needed(until), by=by, now=now, ladder=ladder, reason=reason)
        answers.add(
            connection,
            project.id,
            test=test["ordinal"],
            kind=given.kind.value,
            by=given.by,
            reason=given.reason,
            at=given.at,
            until=given.until,
            level=given.level,
        )
        detail = {"test": naming.id_of(test), "reason": reason, "until": until.isoformat() if until else None}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action=action.value, detail=detail)
        if whence is not None:
            said = _FOLLOW_UPS[action].format(who=bearer.actor, until=f"{until:%Y-%m-%d}" if until else "")
            _follow_up(connection, project, whence, said=said, reason=given.reason, now=now)
    named = {"test": naming.id_of(test), "name": naming.display_of(test), "by": bearer.actor}
    return {
        **named,
        "sentence": _SENTENCES[action].format(name=named["name"], until=f"{until:%Y-%m-%d}" if until else ""),
    }


_SENTENCES = {
    Action.ACKNOWLEDGE: "Noted. {name} stays on the list, and its owner is told again next week.",
    Action.SNOOZE: "Noted. Nobody is told about {name} until {until}.",
    Action.OWN: "Noted. {name} is yours until {until}; if it is still out then, it comes back one level higher.",
}


_FOLLOW_UPS = {
    Action.ACKNOWLEDGE: "Seen by {who}.",
    Action.SNOOZE: "Put off until {until} by {who}.",
    Action.OWN: "{who} takes responsibility until {until}.",
}


def _follow_up(
    connection: Connection, project: Project, whence: Whence, *, said: str, reason: str, now: datetime
) -> None:
    """Say in the thread what was answered, for everybody who reads it."""
    thread = threads.at(connection, project.id, whence.channel_id, whence.ts)
    if thread is None:
        return
    notice = Notice(kind=NoticeKind(thread["kind"]), project=project.slug, title=said, lead=reason)
    outbox.put(
        connection,
        project.id,
        key=f"{thread['id']}:a:{whence.digest[:32]}",
        channel=thread["channel"],
        form=Form.REPLY,
        content=notice.to_json(),
        thread=thread["id"],
        now=now,
        due_at=now,
    )


def _until(now: datetime, days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= 366:  # noqa: PLR2004 - a year; the ladder has its own, shorter bounds
        raise BadInput(f"{days:g} is no number of days that can be waited.", mend="Say for how many days, such as 7.")
    return now + timedelta(days=days)


def _needed(until: datetime | None) -> datetime:
    if until is None:
        raise BadInput("For how long?", mend="Say for how many days, such as 7.")
    return until
