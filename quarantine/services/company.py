"""What stands around one test: tests that fail in the same builds, failures folded by signature, what people did."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane
from quarantine.services import naming
from quarantine.services.app import App
from quarantine.services.explain import explain
from quarantine.store import builds, listings, projects, roster
from quarantine.store.engine import reading
from quarantine.store.projects import Project
from quarantine.store.verdicts import LOOP_ENDED

BUILDS_LOOKED_AT = 100
"""The newest failures of a test that are looked at: no more for a test that fails always."""
TESTS_SHOWN = 10
SIGNATURES_SHOWN = 8
TRACE_CHARACTERS = 6_000
_SHARE_LEAST = 2
_NOT_OF_TESTS = ("report", "verdict", "reach", LOOP_ENDED, "create-token", "revoke-token", "create-project", "set-mode")
_AUDIT_LOOKED_AT = 1_000
_AUDIT_SHOWN = 20
_PLACES_SHOWN = 5


def in_company(app: App, slug: str, name: str) -> dict[str, Any]:
    """Return what `explain.explain` does, and with each variant `folded`, `company` and `marks`; raises as it does.

    - `folded`: the newest failures by signature, the most frequent first, each with its newest trace.
    - `company`: tests that failed in the same builds, with how many `of` them.
    - `marks`: of builds in the strip, what the failure there is: onset, pending, or in a storm.
    - `began`: where on trunk the first onset came that counts, and what trunk ran before; None without one.
    - `audit`, of the test as a whole: what people did about it.
    """
    found = explain(app, slug, name)
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        test = naming.find(connection, project, found["test"])
        for variant in found["variants"]:
            failures = builds.failures_of(connection, project.id, variant["variant_hash"], test["ordinal"])
            failures = failures[-BUILDS_LOOKED_AT:]
            variant["folded"] = _folded(connection, project, failures)
            variant["company"] = _company(connection, project, test["ordinal"], failures)
            variant["marks"] = _marks(connection, project, variant)
            variant["began"] = _began(connection, project, variant)
        found["audit"] = _audit(connection, project, naming.ids_of(test))
    return found


def _folded(connection: Connection, project: Project, failures: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    counts = Counter(failure["signature"] for failure in failures)
    newest = {failure["signature"]: failure for failure in failures}
    first = {failure["signature"]: failure for failure in reversed(failures)}
    shown = counts.most_common(SIGNATURES_SHOWN)
    last = [newest[signature] for signature, _ in shown]
    places = {
        signature: [failure for failure in reversed(failures) if failure["signature"] == signature][:_PLACES_SHOWN]
        for signature, _ in shown
    }
    named = builds.get(connection, project.id, {one["build_seq"] for found in places.values() for one in found})
    traces: dict[int, str] = {}
    for failure in last:
        traces |= listings.traces_of(
            connection,
            project.id,
            failure["variant_hash"],
            failure["test"],
            builds=[failure["build_seq"]],
            characters=TRACE_CHARACTERS,
        )
    return [
        {
            "signature": signature,
            "failures": count,
            "failures_left_out": count - len(places[signature]),
            "kind": failure["kind"],
            "message": failure["message"][:TRACE_CHARACTERS],
            "trace": traces.get(failure["build_seq"], ""),
            "first_at": first[signature]["received_at"].isoformat(),
            "last_at": failure["received_at"].isoformat(),
            "outcome": failure["outcome"],
            "passed_on_retry": failure["passed_on_retry"],
            "places": [
                {
                    "seq": one["build_seq"],
                    "build": named[one["build_seq"]]["build"],
                    "lane": named[one["build_seq"]]["lane"],
                    "at": one["received_at"].isoformat(),
                    "trial": one["trial"],
                    "tries": one["tries"],
                }
                for one in places[signature]
            ],
        }
        for (signature, count), failure in zip(shown, last, strict=True)
    ]


def _company(
    connection: Connection, project: Project, test: int, failures: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the tests that failed in at least two of the builds that this one failed in, storms left out."""
    seqs = sorted({failure["build_seq"] for failure in failures})
    of_builds = builds.get(connection, project.id, seqs)
    calm = [seq for seq in seqs if not of_builds[seq]["incident"]]
    pairs = [pair for pair in listings.failing_with(connection, project.id, test, calm) if pair[1] >= _SHARE_LEAST]
    tests = roster.rows(connection, project.id, [ordinal for ordinal, _ in pairs[:TESTS_SHOWN]])
    return {
        "of": len(calm),
        "tests": [
            {"test": naming.id_of(tests[ordinal]), "name": naming.display_of(tests[ordinal]), "builds": count}
            for ordinal, count in pairs[:TESTS_SHOWN]
        ],
        "left_out": max(0, len(pairs) - TESTS_SHOWN),
    }


def _began(connection: Connection, project: Project, variant: Mapping[str, Any]) -> dict[str, Any] | None:
    counted = set(variant["entry"]["result"]["onsets"]) if variant["entry"] else set()
    onsets = [head for head in variant["heads"] if head["number"] in counted and head["lane"] == Lane.TRUNK]
    if not onsets:
        return None
    seq = int(onsets[0]["build"])
    build = variant["builds"][str(seq)]
    return {
        "seq": seq,
        "build": build["build"],
        "at": onsets[0]["arrived_at"],
        "commit": build["commit"],
        "before": builds.trunk_commit_before(connection, project.id, seq),
    }


def _marks(connection: Connection, project: Project, variant: Mapping[str, Any]) -> dict[int, str]:
    seqs = [cell["build"] for cell in variant["strip"] if cell["outcome"][0] in "FE"]
    struck = {seq for seq, row in builds.get(connection, project.id, seqs).items() if row["incident"]}
    marks = {
        int(head["build"]): "onset" if head["confirmed_at"] else "pending"
        for head in variant["heads"]
        if not head["incident"]
    }
    return {seq: "storm" if seq in struck else marks[seq] for seq in seqs if seq in struck or seq in marks}


def _audit(connection: Connection, project: Project, ids: Collection[str]) -> list[dict[str, Any]]:
    rows = listings.audit_without(connection, project.id, _NOT_OF_TESTS, _AUDIT_LOOKED_AT)
    about = [row for row in rows if isinstance(row["detail"], dict) and row["detail"].get("test") in ids]
    return [
        {"action": row["action"], "by": row["actor"], "at": row["at"].isoformat()}
        | {"reason": str(row["detail"].get("reason") or "")}
        for row in about[:_AUDIT_SHOWN]
    ]
