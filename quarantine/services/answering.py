"""What people answer about a quarantined test: seen it, ask again later, mine until a date. Kept, audited, heeded."""

from datetime import datetime, timedelta
from typing import Any

from quarantine.domain.notice import Action
from quarantine.domain.outcome import Status
from quarantine.errors import BadInput, Conflict
from quarantine.policy.escalation import acknowledge, snooze, take_responsibility
from quarantine.services import decisions, naming
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.standing_time import cases_of
from quarantine.store import answers, audit, projects, standings
from quarantine.store.engine import writing
from quarantine.store.sql import storable

_REASON_CHARACTERS = 2_000


def answer(
    app: App, slug: str, name: str, action: Action, *, bearer: Bearer, reason: str = "", days: float | None = None
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

    Raises:
        NotFound: there is no such project, or not exactly one such test.
        NotAllowed: the bearer may not.
        Conflict: the test is not quarantined.
        BadInput: the answer breaks a rule of the ladder: too long, too often, no reason.
    """
    reason = storable(reason).strip()[:_REASON_CHARACTERS]
    if action is Action.RELEASE:
        told = decisions.release(app, slug, name, bearer=bearer, reason=reason)
        return {**told, "sentence": f"{told['name']} gates again. Its evidence begins anew."}
    bearer.require_answering()
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
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
