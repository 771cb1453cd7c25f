"""Aliases: a person's word that a test goes by another name now, and what is refused of it.

From then on reports of the new name are counted under the test's old row: its history, its evidence, where it stands
and since when go on, and nothing that is stored is rewritten. What the new name had done by itself until then stays
with that name and counts for nothing. Names are only ever joined by an admin, never by what a report says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.errors import BadInput, Conflict
from quarantine.policy.wording import listed, plural
from quarantine.services import listing, naming, renames
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.store import aliases, audit, builds, histories, outcomes, projects, standings
from quarantine.store import renames as pairs
from quarantine.store.engine import reading, writing
from quarantine.store.outcomes import ABSENT
from quarantine.store.projects import Project
from quarantine.store.sql import storable
from quarantine.store.tokens import Scope


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two names inside a transaction: the test that goes by `former`, and the one that goes by `present`."""

    connection: Connection
    project: Project
    former: dict[str, Any]
    present: dict[str, Any]

    @classmethod
    def of(cls, connection: Connection, project: Project, former: str, present: str) -> "_Pair":
        """Return what the names stand for; raises NotFound."""
        rows = (naming.find(connection, project, name) for name in (former, present))
        return cls(connection, project, *rows)

    @property
    def names(self) -> tuple[str, str]:
        """Both names as people read them."""
        return naming.display_of(self.former), naming.display_of(self.present)


def alias(app: App, slug: str, former: str, present: str, *, bearer: Bearer, reason: str) -> dict[str, Any]:
    """Let the test `former` go by the name of `present` from now on.

    Raises:
        NotAllowed: the bearer is no admin.
        NotFound: no test goes by one of the names.
        BadInput: there is no reason.
        Conflict: they are one test already, trunk still runs the former, has not run the latter, or the latter has a
            past of its own that the former would take over or hide.
    """
    reason = _reason(bearer, reason)
    with app.lock, writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        pair = _Pair.of(connection, project, former, present)
        _check_rows(pair)
        _check_trunk(pair)
        _check_standing(app, pair)
        test, name = pair.former["ordinal"], pair.present["ordinal"]
        left = _left_behind(connection, project, name)
        by = storable(bearer.actor)
        aliases.add(connection, project, test=test, name=name, at=now, by=by, reason=reason)
        pairs.close(connection, project.id, test, name, state="accepted", at=now, by=by, why=reason)
        old, new = pair.names
        detail = {
            "test": naming.id_of(pair.former),
            "former": old,
            "present": new,
            "present_id": naming.id_of(pair.present),
            "reason": reason,
        }
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="alias", detail=detail | left)
        statuses = _statuses(connection, project, test)
    return {
        "test": naming.id_of(pair.former),
        "name": new,
        "formerly": old,
        "statuses": statuses,
        "left_behind": left,
        "sentence": _sentence(project, old, new, statuses, left),
    }


def end(app: App, slug: str, former: str, present: str, *, bearer: Bearer, reason: str) -> dict[str, Any]:
    """Let the name `present` be a test of its own again; what was counted meanwhile stays with the other one.

    Raises NotAllowed, NotFound when no test goes by the names, BadInput without a reason, Conflict when `present` is no
    further name of the test that goes by `former`.
    """
    reason = _reason(bearer, reason)
    with app.lock, writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        pair = _Pair.of(connection, project, former, present)
        row = _alias_of(pair, present)
        by = storable(bearer.actor)
        aliases.end(connection, project, row, at=now, by=by, why=reason)
        test = naming.find(connection, project, naming.id_of(pair.former))
        other = naming.find(connection, project, present)
        detail = {
            "test": naming.id_of(test),
            "former": naming.display_of(test),
            "present": naming.display_of(other),
            "present_id": naming.id_of(other),
            "reason": reason,
        }
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="end-alias", detail=detail)
    old, new = naming.display_of(test), naming.display_of(other)
    sentence = f"{new} is a test of its own again, and gates. What was counted meanwhile stays with {old}."
    return {
        "test": naming.id_of(test),
        "name": old,
        "apart": new,
        "apart_id": naming.id_of(other),
        "sentence": sentence,
    }


def dismiss(app: App, slug: str, former: str, present: str, *, bearer: Bearer, reason: str) -> dict[str, Any]:
    """Say that two tests that look like one renamed are two, so that nobody is asked again.

    Raises NotAllowed, NotFound when no test goes by a name, BadInput without a reason, Conflict when nothing of the
    kind is proposed.
    """
    reason = _reason(bearer, reason)
    with app.lock, writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        pair = _Pair.of(connection, project, former, present)
        tests = (pair.former["ordinal"], pair.present["ordinal"])
        by = storable(bearer.actor)
        old, new = pair.names
        if not pairs.close(connection, project.id, *tests, state="dismissed", at=now, by=by, why=reason):
            raise Conflict(f"Nobody proposes that {old} is {new} now.", mend="See `quarantine alias --proposed`.")
        detail = {"test": naming.id_of(pair.former), "former": old, "present": new, "reason": reason}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="dismiss-rename", detail=detail)
    return {"former": old, "present": new, "sentence": f"{old} and {new} stay two tests. It is not proposed again."}


def proposed(app: App, slug: str) -> dict[str, Any]:
    """Return which tests look renamed, those with something to lose first; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        return {"project": slug, "proposed": renames.proposed(connection, project)}


def _reason(bearer: Bearer, reason: str) -> str:
    bearer.require(Scope.ADMIN)
    if not reason.strip():
        raise BadInput("A decision by hand needs a reason.", mend="Say why, for whoever reads it in a month.")
    return storable(reason.strip())


def _check_rows(pair: _Pair) -> None:
    """Raise Conflict unless these are two tests, the latter without further names and with an id of its own."""
    old, new = pair.names
    if pair.former["ordinal"] == pair.present["ordinal"]:
        raise Conflict(
            f"{old} and {new} are one test already.",
            mend="A test that got a former name back: end the alias, with `quarantine alias OLD NEW --undo`.",
        )
    if pair.present.get("former"):
        earlier = listed(naming.formerly(pair.present)[:3])
        raise Conflict(
            f"{new} carries the history of {earlier} already, and two histories cannot become one.",
            mend="End that alias first, with `quarantine alias OLD NEW --undo`.",
        )
    if naming.barred(pair.present):
        raise Conflict(
            f"The id of {new} does not stand for one test alone, so nothing can be counted by it.",
            mend="Give each test a name of its own first.",
        )


def _check_trunk(pair: _Pair) -> None:
    """Raise Conflict unless trunk has run both, and in its newest build that tells of either only the latter."""
    connection, project = pair.connection, pair.project
    old, new = pair.names
    tests = (pair.former["ordinal"], pair.present["ordinal"])
    seen = histories.variants_on_trunk(connection, project.id, tests)
    for test, name in zip(tests, pair.names, strict=True):
        if not seen[test]:
            raise Conflict(
                f"Trunk has never run {name}.",
                mend="An alias joins two names that trunk has run; merge the rename first.",
            )
    former, present = tests
    newest = outcomes.newest_on_trunk_with(connection, project.id, tests, tests=project.tests)
    if any(one.codes[former] != ABSENT and one.called.get(former) != present for one in newest):
        seq = newest[0].build_seq
        build = builds.get(connection, project.id, [seq])[seq]
        also = f" and {new}" if any(one.codes[present] != ABSENT for one in newest) else ""
        raise Conflict(
            f"Trunk still runs {old}: build {seq} ({build['build']}) tells of it{also}.",
            mend="Wait for a trunk build without it; as long as both run they are two tests.",
        )


def _check_standing(app: App, pair: _Pair) -> None:
    """Raise Conflict when a standing of the latter would be hidden, or one of the former broke a rule by its name."""
    connection, project = pair.connection, pair.project
    old, new = pair.names
    own = _statuses(connection, project, pair.present["ordinal"])
    if own:
        mend = (
            "Mend it; once it passes on trunk again it can be joined."
            if own == [Status.BROKEN]
            else "Release it first; where the former name is quarantined, that goes on under the new one."
        )
        raise Conflict(f"{new} is {listed(own)} itself, which an alias would hide.", mend=mend)
    if Status.QUARANTINED in _statuses(connection, project, pair.former["ordinal"]):
        never = naming.never_reason(connection, project, app.policy, pair.present["ordinal"])
        if never is not None:
            raise Conflict(f"{old} is quarantined, and {new} always gates: {never}", mend=f"Release {old} first.")


def _statuses(connection: Connection, project: Project, test: int) -> list[str]:
    """Return how a test stands where it does not simply gate, each word once."""
    rows = standings.of_test(connection, project.id, test)
    return sorted({row["status"] for row in rows if row["status"] in listing.NOT_SIMPLY_GATING})


def _left_behind(connection: Connection, project: Project, name: int) -> dict[str, int]:
    """Return what a name has done by itself so far, over its variants."""
    trials = heads = 0
    for _, history in histories.every(connection, project.id):
        history.grow(name + 1)
        trials, heads = trials + int(history.trials[name]), heads + int(history.heads[name])
    return {"trials": trials, "heads": heads}


def _sentence(project: Project, old: str, new: str, statuses: list[str], left: Mapping[str, int]) -> str:
    said = [f"{old} goes by {new} now."]
    if Status.QUARANTINED in statuses:
        how = "does not gate" if project.mode is Mode.ENFORCE else "would not gate"
        said.append(f"It is quarantined, so {new} {how} where it is.")
    elif statuses:
        said.append(f"It is {listed(statuses)}, as before.")
    heads = f" and {plural(left['heads'], 'head')}" if left["heads"] else ""
    said.append(f"{plural(left['trials'], 'trial')}{heads} of the new name's own count for nothing.")
    return " ".join(said)


def _alias_of(pair: _Pair, name: str) -> dict[str, Any]:
    """Return the alias in force by which a test goes by the name; raises Conflict."""
    old, _ = pair.names
    test = pair.former["ordinal"]
    in_force = [row for row in aliases.of_test(pair.connection, pair.project.id, test) if row["ended_at"] is None]
    own = aliases.own_rows(pair.connection, pair.project.id, [row["name"] for row in in_force])
    named = [row for row in in_force if naming.goes_by(own[row["name"]], name)]
    if pair.present["ordinal"] != test or len(named) != 1:
        raise Conflict(
            f"{name[:200]} is no name that {old} was given.", mend="See what it goes by with `quarantine explain`."
        )
    return named[0]
