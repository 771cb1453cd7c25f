"""What people decide: projects, tokens, the mode, a release. Each leaves an audit row."""

import re
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane, Mode, Status
from quarantine.domain.standing import Transition
from quarantine.errors import BadInput, Conflict
from quarantine.policy.transitions import transition_by_hand
from quarantine.services import assess, naming
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.store import audit, histories, projects, standings, tokens
from quarantine.store.engine import writing
from quarantine.store.projects import Project
from quarantine.store.sql import storable
from quarantine.store.tokens import Scope

BY_HAND_DAYS = 30
"""What a person may take out on their word alone; what lasts longer has to show its evidence."""
_SLUG = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def create_project(app: App, slug: str, *, bearer: Bearer) -> None:
    """Create a project, observing; raises BadInput for a bad name and Conflict for one that is taken."""
    bearer.require(Scope.ADMIN)
    if not _SLUG.fullmatch(slug):
        raise BadInput(
            f"{slug!r} cannot name a project.",
            mend="Use lower-case letters, digits, dots, dashes and underscores, beginning with a letter or a digit.",
        )
    with writing(app.engine) as connection:
        now = app.clock()
        project = projects.create(connection, slug, now)
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="create-project", detail={})


def create_token(
    app: App,
    slug: str,
    *,
    scope: str,
    lane: str | None,
    change: str | None,
    label: str,
    lifetime: timedelta | None,
    bearer: Bearer,
) -> str:
    """Create a token and return its secret, the only time it is known; raises NotFound and BadInput."""
    bearer.require(Scope.ADMIN)
    label = storable(label)[:100]
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        secret = tokens.create(
            connection,
            project.id,
            scope=Scope(scope),
            lane=Lane(lane) if lane else None,
            change=storable(change) if change else change,
            label=label,
            now=now,
            expires_at=now + lifetime if lifetime else None,
        )
        detail = {"scope": scope, "lane": lane, "change": change, "label": label}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="create-token", detail=detail)
    return secret


def revoke_token(app: App, slug: str, token_id: str, *, bearer: Bearer) -> None:
    """End a token's life; raises NotFound."""
    bearer.require(Scope.ADMIN)
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        tokens.revoke(connection, project.id, token_id, now)
        audit.record(
            connection, project.id, at=now, actor=bearer.actor, action="revoke-token", detail={"token": token_id}
        )


def set_mode(app: App, slug: str, mode: str, *, bearer: Bearer) -> dict[str, Any]:
    """Switch between observing and enforcing; raises BadInput for any other word."""
    bearer.require(Scope.ADMIN)
    if mode not in set(Mode):
        raise BadInput(f"There is no mode {mode!r}.", mend="Say observe or enforce.")
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        if project.mode.value != mode:
            projects.set_mode(connection, project, Mode(mode))
            audit.record(connection, project.id, at=now, actor=bearer.actor, action="set-mode", detail={"mode": mode})
        quarantined = {row["test"] for row in standings.with_status(connection, project.id, Status.QUARANTINED)}
    return {"project": slug, "mode": mode, "was": project.mode.value, "quarantined": len(quarantined)}


def quarantine(app: App, slug: str, name: str, *, bearer: Bearer, reason: str, days: float) -> dict[str, Any]:
    """Take a test out of the gating set by hand, in every variant that trunk runs it in, for so many days at most.

    Raises NotFound when no test goes by the name, BadInput without a reason or for another time than up to
    `BY_HAND_DAYS`, for a broken test and for one that always gates, Conflict when it is quarantined everywhere already
    or never ran on trunk.
    """
    bearer.require(Scope.ADMIN)
    if not 0 < days <= BY_HAND_DAYS:
        raise BadInput(
            f"A quarantine by hand lasts more than no days and at most {BY_HAND_DAYS}, not {days:g}.",
            mend="Say for how many days; it can be renewed, with its reason, when they are over.",
        )
    with app.lock, writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        test = naming.find(connection, project, name)
        ordinal = test["ordinal"]
        never = naming.never_reason(connection, project, app.policy, ordinal)
        rows = {row["variant_hash"]: row for row in standings.of_test(connection, project.id, ordinal)}
        entered = []
        for variant in sorted(histories.variants_on_trunk(connection, project.id, [ordinal])[ordinal]):
            row = rows.get(variant) or assess.fresh_row(project.id, variant, ordinal, now)
            if row["status"] == Status.QUARANTINED:
                continue
            move = transition_by_hand(
                assess.standing_of(row),
                Status.QUARANTINED,
                reason=storable(reason),
                by=storable(bearer.actor),
                expires_at=now + timedelta(days=days),
                mode=project.mode,
                now=now,
                policy=app.policy,
                never=never,
            )
            _apply(connection, project, row, move)
            entered.append(variant)
        if not entered:
            raise Conflict(
                f"{naming.display_of(test)} is quarantined already, or trunk has never run it.",
                mend="See `quarantine explain` for where it stands.",
            )
        detail = {"test": naming.id_of(test), "variants": entered, "reason": reason, "days": days}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="quarantine", detail=detail)
    until = (now + timedelta(days=days)).isoformat()
    return {"test": naming.id_of(test), "name": naming.display_of(test), "quarantined": len(entered), "until": until}


def _apply(connection: Connection, project: Project, row: dict[str, Any], move: Transition) -> None:
    """Make a move that a person decided, with the history it rests on."""
    history, trunk_builds = histories.load(connection, project.id, row["variant_hash"])
    history.grow(row["test"] + 1)
    if move.to_status is Status.QUARANTINED:
        row.update(assess.window_from_now(history, row["test"], build_seq=project.builds))
    assess.apply(connection, project.id, history, row, move, arrival=project.uploads)
    histories.save(connection, project.id, row["variant_hash"], history, trunk_builds)


def release(app: App, slug: str, name: str, *, bearer: Bearer, reason: str) -> dict[str, Any]:
    """Let a quarantined or held test gate again, in every variant; its evidence begins anew.

    Raises NotFound when no test goes by the name, BadInput without a reason, Conflict when it is not quarantined.
    """
    bearer.require(Scope.ADMIN)
    with app.lock, writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        test = naming.find(connection, project, name)
        left = [
            row
            for row in standings.of_test(connection, project.id, test["ordinal"])
            if row["status"] in (Status.QUARANTINED, Status.HELD)
        ]
        if not left:
            raise Conflict(
                f"{naming.display_of(test)} is not quarantined.", mend="See `quarantine explain` for where it stands."
            )
        for row in left:
            move = transition_by_hand(
                assess.standing_of(row),
                Status.GATING,
                reason=storable(reason),
                by=storable(bearer.actor),
                expires_at=None,
                mode=project.mode,
                now=now,
                policy=app.policy,
            )
            _apply(connection, project, row, move)
        detail = {"test": naming.id_of(test), "variants": [row["variant_hash"] for row in left], "reason": reason}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="release", detail=detail)
    return {"test": naming.id_of(test), "name": naming.display_of(test), "released": len(left)}
