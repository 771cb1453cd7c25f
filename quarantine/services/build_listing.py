"""What pages show of builds: a page of them, and one with its reports, its run events and why each test failed."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane, Status
from quarantine.errors import NotFound
from quarantine.services import listing, naming
from quarantine.services.app import App
from quarantine.store import builds, incidents, listings, projects, roster, verdicts
from quarantine.store.engine import reading
from quarantine.store.projects import Project

PAGE = 100
FAILURES_SHOWN = 200
_EVENTS_SHOWN = 50
_LONGEST_NUMBER = 9
_TOLD = (
    *("tree", "base_commit", "runner", "command", "environment_hash", "stream", "exit_code", "rerun_of"),
    *("change", "manifest"),
)


def page_of(app: App, slug: str, *, page: int, lane: Lane | None = None) -> dict[str, Any]:
    """Return one page of the builds, of one lane or of all, the newest first; raises NotFound without the project."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = listings.builds(connection, project.id, lane=lane, offset=(page - 1) * PAGE, limit=PAGE)
        return {
            **listing.head(project),
            "now": app.clock().isoformat(),
            "total": listings.count_builds(connection, project.id, lane=lane),
            "rows": [listing.build_row(row) for row in rows],
        }


def one(app: App, slug: str, number: str) -> dict[str, Any]:
    """Return a build by its number; raises NotFound when there is no such project or build.

    `failures` says of each failed test what it is for the evidence (`why`: a code, `sentence`) and what verdicts on the
    build found of it; of more than `FAILURES_SHOWN` the others are counted in `failures_left_out`.
    """
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        seq = int(number) if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER else 0
        row = builds.get(connection, project.id, [seq]).get(seq)
        if row is None:
            raise NotFound(f"{slug} has no build {number!r}.", mend="Its builds are listed on the page of builds.")
        failures = listings.failures_of_build(connection, project.id, seq, limit=FAILURES_SHOWN)
        judged = verdicts.of_build(connection, project.id, seq)
        events = builds.run_events(connection, project.id, [seq])
        return {
            **listing.head(project),
            "now": app.clock().isoformat(),
            "build": listing.build_row(row)
            | {name: row[name] for name in _TOLD}
            | {"started_at": row["started_at"] and row["started_at"].isoformat()},
            "incident": row["incident"]
            and {
                "id": row["incident"],
                "sentence": incidents.sentence_of(connection, project.id, row["incident"]),
            },
            "reports": [_report(report) for report in listings.reports_of(connection, project.id, seq)],
            "events": [
                {name: event[name] for name in ("kind", "where", "outcome", "message")}
                for event in events[:_EVENTS_SHOWN]
            ],
            "events_left_out": max(0, len(events) - _EVENTS_SHOWN),
            "verdicts": [
                {name: verdict[name] for name in ("number", "outcome", "final", "suspect", "sentence")}
                for verdict in judged
            ],
            "failures": _failures(connection, project, row, failures, judged),
            "failures_left_out": max(0, listings.count_failures(connection, project.id, seq) - len(failures)),
        }


def _report(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in ("name", "status", "size_bytes", "problems", "sha256")}
    return shown | {"received_at": row["received_at"].isoformat()}


def _failures(
    connection: Connection,
    project: Project,
    build: Mapping[str, Any],
    failures: Sequence[Mapping[str, Any]],
    judged: Sequence[Mapping[str, Any]],
) -> list[dict[str, Any]]:
    ordinals = sorted({failure["test"] for failure in failures})
    tests = roster.rows(connection, project.id, ordinals)
    keys = builds.variants(connection, project.id)
    heads = listings.heads_of_build(connection, project.id, build["seq"])
    confirming = builds.get(connection, project.id, {head["confirmed_by"] for head in heads.values()} - {None})
    moves = listings.moves_before(connection, project.id, ordinals, build["received_at"])
    told = []
    for failure in failures:
        pair = (failure["variant_hash"], failure["test"])
        test = tests[failure["test"]]
        why, sentence = _why(build, failure, heads.get(pair), confirming)
        told.append(
            {
                "test": naming.id_of(test),
                "name": naming.display_of(test),
                "variant": keys.get(failure["variant_hash"], {}),
                "why": why,
                "sentence": sentence,
                "quarantined": moves.get(pair, {}).get("to_status") == Status.QUARANTINED,
                "found": _found(judged, naming.ids_of(test), failure["variant_hash"], keys),
                **{name: failure[name] for name in ("outcome", "tries", "passed_on_retry", "signature")},
                **{name: failure[name] for name in ("kind", "message")},
            }
        )
    return told


def _why(
    build: Mapping[str, Any],
    failure: Mapping[str, Any],
    head: Mapping[str, Any] | None,
    confirming: Mapping[int, Mapping[str, Any]],
) -> tuple[str, str]:
    """Return what a failure is for the evidence, as a code and as a sentence."""
    if build["incident"]:
        return "storm", "One of many failures with a common cause outside the tests; it counts for nothing."
    if build["kind"] == "rerun":
        return "rerun", "A rerun: it can confirm what failed before it, and is no trial of its own."
    if head is not None:
        return _of_head(build, head, confirming)
    if failure["already_failing"]:
        return "already-failing", "Its last trial on trunk before this build had failed too."
    if failure["trial"] is not None:
        return "follows", "A counted trial, but no head: its previous trial had failed already."
    return "uncounted", "No counted trial: the change may explain it, or the id is not sound."


def _of_head(
    build: Mapping[str, Any], head: Mapping[str, Any], confirming: Mapping[int, Mapping[str, Any]]
) -> tuple[str, str]:
    if head["confirmed_by"] is None:
        return "pending", f"Head {head['number']}: it had passed before. No rerun of its tree has passed yet."
    by = confirming[head["confirmed_by"]]["build"]
    where = "a later try in this build" if head["confirmed_by"] == build["seq"] else f"build {by}"
    return "onset", f"Head {head['number']}: it had passed before, and {where} passed on the identical tree."


def _found(
    judged: Sequence[Mapping[str, Any]], ids: Collection[str], variant_hash: str, keys: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Return what each verdict on the build found of this test in this variant."""
    variant = dict(keys.get(variant_hash, {}))
    return [
        {"verdict": verdict["number"], **{name: row[name] for name in ("finding", "effect", "sentence")}}
        for verdict in judged
        for row in verdict["answer"]["tests"]
        if row["id"] in ids and dict(row["variant"] or {}) == variant
    ]
