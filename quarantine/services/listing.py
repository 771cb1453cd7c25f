"""What pages and lists show: where every test stands, what came in, and what is missing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from sqlalchemy import Connection, text

from quarantine.domain.outcome import Mode, Status
from quarantine.errors import Busy
from quarantine.policy.transitions import gates
from quarantine.services import naming, plausibility
from quarantine.services.app import App
from quarantine.services.gating import quarantined_in
from quarantine.store import aliases, builds, histories, incidents, projects, roster, standings, tokens
from quarantine.store.engine import reading
from quarantine.store.projects import Project

NOT_SIMPLY_GATING = (Status.QUARANTINED, Status.HELD, Status.BROKEN)


def ping(app: App) -> None:
    """Ask the database anything; raises Busy when it does not answer."""
    with reading(app.engine) as connection:
        if connection.execute(text("SELECT 1")).scalar() != 1:
            raise Busy("The database answers nonsense.", mend="See the server's log.")


def projects_of(app: App) -> list[dict[str, Any]]:
    """Return every project with its mode, its size and how its tests stand."""
    with reading(app.engine) as connection:
        return [
            head(project)
            | {"counts": counts(connection, project, standings.with_status(connection, project.id, *NOT_SIMPLY_GATING))}
            for project in projects.every(connection)
        ]


def head(project: Project) -> dict[str, Any]:
    """Return what a project is called, how it decides and how large it is."""
    return {
        "project": project.slug,
        "mode": project.mode.value,
        "tests": project.size,
        "builds": project.builds,
        "created_at": project.created_at.isoformat(),
    }


def project(app: App, slug: str) -> dict[str, Any]:
    """Return one project's mode and size, and the instant; raises NotFound."""
    with reading(app.engine) as connection:
        return head(projects.by_slug(connection, slug)) | {"now": app.clock().isoformat()}


def tokens_of(app: App, slug: str) -> list[dict[str, Any]]:
    """Return the project's tokens without their secrets; raises NotFound."""
    with reading(app.engine) as connection:
        found = tokens.every(connection, projects.by_slug(connection, slug).id)
    dates = ("created_at", "expires_at", "revoked_at")
    return [token | {key: token[key].isoformat() if token[key] else None for key in dates} for token in found]


def standing(app: App, slug: str) -> dict[str, Any]:
    """Return every (test, variant) that is not simply gating, the longest-standing first; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        return {"project": slug, "mode": project.mode.value, "standing": _standing(connection, project)}


def _standing(connection: Connection, project: Project) -> list[dict[str, Any]]:
    return told(connection, project, standings.with_status(connection, project.id, *NOT_SIMPLY_GATING))


def told(connection: Connection, project: Project, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what is told of these standings, each of which has been moved to: names, numbers, the sentence."""
    tests = roster.rows(connection, project.id, {row["test"] for row in rows})
    variants = builds.variants(connection, project.id)
    moves = standings.last_moves(connection, project.id, tests)
    return [
        {
            "test": naming.id_of(tests[row["test"]]),
            "name": naming.display_of(tests[row["test"]]),
            "formerly": naming.formerly(tests[row["test"]]),
            "variant": variants.get(row["variant_hash"], {}),
            "variant_hash": row["variant_hash"],
            "status": row["status"],
            "gating": gates(Status(row["status"]), project.mode),
            "would_not_gate": not gates(Status(row["status"]), Mode.ENFORCE),
            "since": row["since"].isoformat(),
            "reason": row["reason"],
            "evidence": _figures(moves[row["test"], row["variant_hash"]]["evidence"]),
            "by_hand": row["by_hand"],
            "expires_at": row["expires_at"].isoformat() if row["expires_at"] else None,
        }
        for row in rows
    ]


def _figures(evidence: dict[str, Any]) -> dict[str, Any] | None:
    """Return the numbers of the window a decision rests on; None when it rests on no window."""
    result, inputs = evidence.get("result", {}), evidence.get("inputs", {})
    if not result.get("window"):
        return None
    window = {name: result["window"][name] for name in ("seen", "n", "p_value", "limit")}
    return window | {"rate": result["rate"], "interval": result["interval"], "p0": inputs["p0"]}


def trunk_variants(app: App, slug: str) -> dict[str, Any]:
    """Return the variants trunk has run, each with its hash and its keys; raises NotFound without such a project."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        keys = builds.variants(connection, project.id)
        hashes = histories.trunk_variants(connection, project.id)
    return {"schema": 1, "variants": [{"hash": found, "keys": keys.get(found, {})} for found in hashes]}


def summary(app: App, slug: str) -> dict[str, Any]:
    """Return everything the project's page shows; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        standing_now = _standing(connection, project)
        return {
            **head(project),
            "now": app.clock().isoformat(),
            "policy_version": app.policy.version,
            "pairs": project.pairs,
            "reserve": project.reserve,
            "standing": standing_now,
            "counts": counts(connection, project, standing_now),
            "suspects": suspects(connection, project),
            "latest_builds": [build_row(row) for row in builds.latest(connection, project.id, 15)],
            "transitions": latest_moves(connection, project, 20),
            "incidents": [incident_row(row) for row in incidents.latest(connection, project.id, 5)],
            "refused": [refused_row(row) for row in builds.refused(connection, project.id, 5)],
            "doubts": [asdict(doubt) for doubt in plausibility.doubts(connection, project)],
        }


def latest_moves(connection: Connection, project: Project, limit: int) -> list[dict[str, Any]]:
    """Return what is told of the newest transitions, the newest first."""
    moves = standings.transitions(connection, project.id, limit=limit)
    tests = roster.rows(connection, project.id, {row["test"] for row in moves})
    return [
        {
            "number": row["number"],
            "test": naming.id_of(tests[row["test"]]),
            "name": naming.display_of(tests[row["test"]]),
            "from": row["from_status"],
            "to": row["to_status"],
            "at": row["at"].isoformat(),
            "reason": row["reason"],
            "by": row["actor"],
            "mode": row["mode"],
        }
        for row in moves
    ]


def incident_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a list tells of an incident."""
    return {
        "id": row["id"],
        "first_at": row["first_at"].isoformat(),
        "last_at": row["last_at"].isoformat(),
        "builds": row["builds"],
        "tests": len(row["tests"]),
        "sentence": row["sentence"],
    }


def refused_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a list tells of a refused document."""
    told_of = {name: row[name] for name in ("name", "code", "sentence", "sha256", "size_bytes")}
    return told_of | {"received_at": row["received_at"].isoformat()}


def counts(connection: Connection, project: Project, standing_now: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many tests gate, would gate if decisions were acted on, and stand how.

    `standing_now` has `test` and `status` of every (test, variant) that is not simply gating. A test gates if it gates
    in any variant, and is counted as standing where it stands worst over its variants.
    """
    order = [status.value for status in NOT_SIMPLY_GATING]
    worst: dict[str, str] = {}
    for row in standing_now:
        kept = worst.get(row["test"], order[-1])
        worst[row["test"]] = min(kept, row["status"], key=order.index)
    by_status = Counter(worst.values())
    would_gate = project.size - sum(scope.everywhere for scope in quarantined_in(connection, project.id).values())
    return {
        "tests": project.size,
        "gating": would_gate if project.mode is Mode.ENFORCE else project.size,
        "would_gate": would_gate,
        "quarantined": by_status[Status.QUARANTINED],
        "held": by_status[Status.HELD],
        "broken": by_status[Status.BROKEN],
    }


def suspects(connection: Connection, project: Project) -> int:
    """Return how many tests have had a head, in any variant, since their evidence began."""
    suspected = np.zeros(project.tests, np.bool_)
    for _, history in histories.every(connection, project.id):
        suspected[: len(history)] |= history.heads > 0
    suspected[list(aliases.carriers(connection, project.id))] = False
    return int(np.count_nonzero(suspected))


def build_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a list tells of a build."""
    names = ("seq", "build", "attempt", "job", "kind", "lane", "change", "commit", "run_events", "incident", "complete")
    counted = {name: int(row[name] or 0) for name in builds.COUNTS}
    return {name: row[name] for name in names} | counted | {"received_at": row["received_at"].isoformat()}
