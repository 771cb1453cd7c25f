"""Explaining one test: where it stands in each variant, in one sentence with its numbers, and the evidence below it."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.policy.entry import EntryAssessment, head_to_json
from quarantine.policy.exit import ExitAssessment
from quarantine.policy.history import History
from quarantine.policy.transitions import gates
from quarantine.policy.wording import plural
from quarantine.services import assess, naming, recompute
from quarantine.services.app import App
from quarantine.services.birth import birth_of
from quarantine.services.gating import living
from quarantine.store import builds, heads, histories, outcomes, projects, standings
from quarantine.store.engine import reading
from quarantine.store.projects import Project

STRIP_BUILDS = 80
_LETTERS = {
    outcomes.ABSENT: "-",
    outcomes.PASSED: "P",
    outcomes.FAILED: "F",
    outcomes.ERRORED: "E",
    outcomes.SKIPPED: "S",
}
_FAILURES_SHOWN = 20
_FLAKY = (Status.QUARANTINED, Status.HELD)


def explain(app: App, slug: str, name: str, *, recomputed: bool = False) -> dict[str, Any]:
    """Return everything known about one test, found by id or by any spelling of its name.

    With `recomputed`, each variant also says how a fresh derivation from the stored outcomes, and each stored decision
    from its evidence, agrees with what is stored; an empty list means they agree.

    Raises NotFound when no project, or not exactly one test, goes by the name.
    """
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        test = naming.find(connection, project, name)
        rows = {row["variant_hash"]: row for row in standings.of_test(connection, project.id, test["ordinal"])}
        keys = builds.variants(connection, project.id)
        found = []
        for variant_hash, history in histories.every(connection, project.id):
            history.grow(test["ordinal"] + 1)
            if history.last_seen[test["ordinal"]] == 0 and variant_hash not in rows:
                continue
            row = rows.get(variant_hash) or assess.fresh_row(project.id, variant_hash, test["ordinal"], app.clock())
            told = _variant(app, connection, project, history, row) | {"variant": keys.get(variant_hash, {})}
            if recomputed:
                told["disagreements"] = recompute.disagreements(connection, project, row, history)
            found.append(told)
    statuses = [Status(variant["status"]) for variant in _living(found)]  # as the gate counts them
    return {
        "project": slug,
        "mode": project.mode.value,
        "test": naming.id_of(test),
        "name": naming.display_of(test),
        "formerly": naming.formerly(test),
        "raw": {"suite": test["suite"], "classname": test["classname"], "name": test["name"], "file": test["file"]},
        "unique": test["unique_id"],
        "barred": naming.barred(test),
        "gating": any(gates(status, project.mode) for status in statuses) if statuses else True,
        "would_gate": any(gates(status, Mode.ENFORCE) for status in statuses) if statuses else True,
        "variants": found,
    }


def _variant(
    app: App, connection: Connection, project: Project, history: History, row: dict[str, Any]
) -> dict[str, Any]:
    test, variant_hash = row["test"], row["variant_hash"]
    entry = assess.assess_entry_of(connection, project, app.policy, history, row)
    leave = assess.exit_of(connection, project, app.policy, history, row)
    found = heads.of_test(connection, project.id, variant_hash, test, row["life"])
    failures = _failures(connection, project, row)
    strip = _strip(connection, project, row)
    named = {int(seq) for head in found for seq in (head.build, head.confirmed_by) if seq}
    named |= {failure["build_seq"] for failure in failures} | {cell["build"] for cell in strip}
    return {
        "variant_hash": variant_hash,
        "status": row["status"],
        "since": row["since"].isoformat() if row["reason"] else None,
        "sentence": _sentence(project, row, history, entry, leave),
        "reason": row["reason"],
        "trials": int(history.trials[test]),
        "trunk_trials": int(history.trunk_trials[test]),
        "pass_streak": int(history.pass_streak[test]),
        "fail_streak": int(history.fail_streak[test]),
        "last_day": int(history.last_day[test]),
        "life": row["life"],
        "entry": entry.to_json() | {"lacking": list(entry.lacking)} if entry else None,
        "exit": leave.to_json() | {"lacking": list(leave.lacking)} if leave else None,
        "birth": birth_of(connection, project, history, row) if row["status"] in _FLAKY else None,
        "heads": [head_to_json(head) for head in found],
        "builds": _builds(connection, project, named),
        "failures": failures,
        "strip": strip,
        "transitions": _transitions(connection, project, row),
    }


def _living(variants: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the variants that trunk still runs the test in; of the others say since when it does not."""
    days = {variant["variant_hash"]: variant.pop("last_day") for variant in variants}
    days = {name: day for name, day in days.items() if day}
    alive, newest = living(days), max(days.values(), default=0)
    for variant in variants:
        variant["expired"] = variant["variant_hash"] in days.keys() - alive
        if variant["expired"]:
            variant["sentence"] += (
                f" Trunk ran it elsewhere {newest - days[variant['variant_hash']]} days after it last ran it here, so "
                "this variant alone keeps it gating no longer."
            )
    return [variant for variant in variants if variant["variant_hash"] in alive]


def _sentence(
    project: Project,
    row: Mapping[str, Any],
    history: History,
    entry: EntryAssessment | None,
    leave: ExitAssessment | None,
) -> str:
    status, trials = Status(row["status"]), int(history.trials[row["test"]])
    observes = project.mode is Mode.OBSERVE
    if status is Status.QUARANTINED:
        what = "Gates, because the project observes; would have been quarantined" if observes else "Quarantined"
        return f"{what} since {row['since']:%Y-%m-%d}. {row['reason']} {leave.sentence if leave else ''}".strip()
    if status is Status.HELD:
        what = "Would have been held" if observes else "Held"
        return f"{what} since {row['since']:%Y-%m-%d}, still gating. {row['reason']}"
    if status is Status.BROKEN:
        return f"Broken on trunk since {row['since']:%Y-%m-%d}, gating. {row['reason']}"
    heads_seen = int(history.heads[row["test"]])
    if heads_seen == 0:
        return f"Gates. In {plural(trials, 'counted trial')} it never failed right after a pass."
    if entry is None:
        seen = f"{plural(heads_seen, 'head')} in {plural(trials, 'trial')}"
        return f"Gates. {seen}, and no complete trunk build yet."
    return f"Gates. {entry.sentence}"


def _builds(connection: Connection, project: Project, seqs: set[int]) -> dict[str, dict[str, Any]]:
    names = ("build", "attempt", "job", "lane", "change", "commit", "tree", "runner")
    found = builds.get(connection, project.id, seqs)
    return {
        str(seq): {name: row[name] for name in names} | {"received_at": row["received_at"].isoformat()}
        for seq, row in found.items()
    }


def _failures(connection: Connection, project: Project, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = builds.failures_of(connection, project.id, row["variant_hash"], row["test"])
    names = ("build_seq", "outcome", "tries", "passed_on_retry", "trial", "signature", "kind", "message", "is_trunk")
    return [
        {name: failure[name] for name in names} | {"received_at": failure["received_at"].isoformat()}
        for failure in found[-_FAILURES_SHOWN:]
    ]


def _strip(connection: Connection, project: Project, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    newest = outcomes.newest_of_variant(
        connection, project.id, row["variant_hash"], tests=project.tests, limit=STRIP_BUILDS
    )
    strip = []
    for whole in newest:
        code = int(whole.codes[row["test"]])
        began, ended = _LETTERS[code & 15], _LETTERS[code >> 4]
        strip.append(
            {
                "build": whole.build_seq,
                "outcome": began if began == ended else began + ended,
                "lane": whole.lane.value,
                "run": whole.is_run,
                "counted": bool(whole.counted[row["test"]]),
            }
        )
    return strip


def _transitions(connection: Connection, project: Project, row: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = standings.transitions(connection, project.id, test=row["test"])
    return [
        {
            "number": move["number"],
            "from": move["from_status"],
            "to": move["to_status"],
            "at": move["at"].isoformat(),
            "reason": move["reason"],
            "by": move["actor"],
            "mode": move["mode"],
            "policy_version": move["policy_version"],
            "build": move["build_seq"],
            "evidence": move["evidence"],
        }
        for move in found
        if move["variant_hash"] == row["variant_hash"]
    ]
