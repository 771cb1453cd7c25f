"""What a weekly report tells besides its sizes: who moved and why, what was saved, what nobody guards, exits."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isinf
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Status
from quarantine.domain.verdict import Verdict
from quarantine.policy.calendar import Period
from quarantine.policy.escalation import Span
from quarantine.policy.predicted_exit import Outlook, Pace, Prediction, predict
from quarantine.policy.weekly import WeekSize, ages_at
from quarantine.services import assess, naming
from quarantine.services.app import App
from quarantine.services.quarantined_list import exits_of
from quarantine.services.strength import strength_of
from quarantine.store import aliases, builds, histories, lately, listings, raised, roster, standings, verdicts
from quarantine.store.projects import Project

SHOWN = 10
_LATELY = timedelta(days=28)
"""The time that a pace is measured over."""
_CAUSES, _FILES, _SUSPECTS, _LINE = 8, 20, 200, 160

Tests = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Weekly:
    """One report being gathered.

    Attributes:
        spans: by test, when it was out in any variant.
        sizes: the weeks drawn, the oldest first, this one the last.
        names: what the tests that were ever out are called, by ordinal: (id, name).
        owners: who owns them; without those nobody owns.
    """

    app: App
    connection: Connection
    project: Project
    period: Period
    now: datetime
    spans: Mapping[int, Sequence[Span]]
    sizes: Sequence[WeekSize]
    names: Mapping[int, tuple[str, str]]
    owners: Mapping[int, str]

    @property
    def ages(self) -> dict[int, float]:
        """For how many days the tests that were out at the end had been so."""
        return ages_at(self.spans, self.period.end)


def test_of(week: Weekly, test: int) -> dict[str, Any]:
    """Return what a report says of any test it names: id, name, owner."""
    if test in week.names:
        found, name = week.names[test]
    else:
        row = roster.rows(week.connection, week.project.id, [test])[test]
        found, name = naming.id_of(row), naming.display_of(row)
    return {"test": found, "name": name, "owner": week.owners.get(test, "")}


def moved(week: Weekly) -> dict[str, Any]:
    """Return the tests that went out in the week, and those that came back, the latest first, with the reason."""
    begin, end = week.period.start, week.period.end
    out = [(span.start, test) for test, spans in week.spans.items() for span in spans if begin <= span.start < end]
    back = [
        (span.end, test) for test, spans in week.spans.items() for span in spans if span.end and begin <= span.end < end
    ]
    shown = sorted(out, reverse=True)[:SHOWN], sorted(back, reverse=True)[:SHOWN]
    tests = {test for several in shown for _, test in several}
    reasons = {
        (row["test"], row["at"]): row["reason"]
        for row in standings.moves_of_tests(week.connection, week.project.id, tests)
    }
    entered, left = (
        [test_of(week, test) | {"at": at.isoformat(), "reason": reasons.get((test, at), "")} for at, test in several]
        for several in shown
    )
    return {"entered": entered, "left": left}


def causes(week: Weekly) -> list[dict[str, Any]]:
    """Return the failures that several quarantined tests share: `signature`, `tests`, `message`, the most first."""
    connection, project_id = week.connection, week.project.id
    shared = listings.common_signatures(connection, project_id, Status.QUARANTINED, _CAUSES)
    told = [row | {"message": _line(listings.message_like(connection, project_id, row["signature"]))} for row in shared]
    return [row | {"message": row["message"] or f"signature {row['signature'][:12]}"} for row in told]


def _line(message: str) -> str:
    """Return the first line of a message that says anything, without a full stop at its end."""
    first = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return (first if len(first) <= _LINE else f"{first[: _LINE - 1]}…").rstrip(".")


def strength(week: Weekly) -> dict[str, Any] | None:
    """Return the files and functions that only tests which are out reach; None where no reach map says."""
    quarantined = {row["test"] for row in standings.with_status(week.connection, week.project.id, Status.QUARANTINED)}
    found = strength_of(week.app, week.connection, week.project, quarantined)
    if not found.files:
        return None
    functions = found.functions_lost
    return {
        "files": found.files,
        "lost": len(found.lost),
        "lost_files": list(found.lost[:_FILES]),
        "lost_functions": None if functions is None else len(functions),
        "functions": [{"file": path, "name": name} for path, name in (functions or ())[:_FILES]],
    }


def saved(week: Weekly) -> dict[str, Any]:
    """Return what excusing failures has saved, by the verdicts of the week.

    A rejection was prevented where a verdict accepts what a plain reading of the red run would have rejected. It would
    have cost at least one more run like it, which is how minutes are counted; where a ticket's loop asked, also one of
    its attempts.
    """
    period = week.period
    rows = verdicts.settled_within(week.connection, week.project.id, period.start, period.end)
    prevented = [row for row in rows if row["plain_rejects"] and row["outcome"] == Verdict.ACCEPT]
    return {
        "verdicts": len(rows),
        "rejections": len(prevented),
        "attempts": len({(row["ticket"], row["attempt"]) for row in prevented if row["ticket"] is not None}),
        "minutes": sum(row["runner_s"] for row in prevented) / 60,
        "failures": sum(row["prevented"] for row in rows),
    }


def regressions(week: Weekly) -> dict[str, Any]:
    """Return the possible regressions raised in the week by what became of them by now, and all that are open."""
    connection, project_id, period = week.connection, week.project.id, week.period
    raised_now = raised.within(connection, project_id, period.start, period.end)
    open_ones = raised.open_ones(connection, project_id)
    states = Counter(row["state"] for row in raised_now)
    return {
        "raised": len(raised_now),
        "became": {state: states[state] for state in ("open", "regression", "flake", "passed")},
        "open_in_all": len(open_ones),
        "open": [
            test_of(week, row["test"])
            | {"at": row["at"].isoformat(), "verdict": row["verdict"], "sentence": row["sentence"]}
            for row in open_ones[:SHOWN]
        ],
    }


def exits(week: Weekly) -> dict[str, Any]:
    """Return when each quarantined test will have its evidence: how many of each outlook, and the first of each.

    A test that is out in several variants counts with the one that takes longest.
    """
    connection, project = week.connection, week.project
    rows = standings.with_status(connection, project.id, Status.QUARANTINED)
    columns = histories.of_variants(connection, project.id, {row["variant_hash"] for row in rows}, tests=project.tests)
    found = exits_of(week.app, connection, project, rows, columns)
    known = _Lately(week, rows)
    slowest: dict[int, Prediction] = {}
    for row in rows:
        leave = found.get((row["variant_hash"], row["test"]))
        if leave is None:
            continue
        pace = known.pace(row, int(columns[row["variant_hash"]].trunk_trials[row["test"]]))
        told = predict(leave, pace, longest_days=week.app.policy.exit_days_most)
        before = slowest.get(row["test"])
        if before is None or _ORDER.index(told.outlook) > _ORDER.index(before.outlook) or told.days > before.days:
            slowest[row["test"]] = told
    return {
        "counts": {outlook.value: sum(one.outlook is outlook for one in slowest.values()) for outlook in _ORDER},
        **{outlook.value: _exits(week, slowest, outlook) for outlook in _ORDER},
    }


_ORDER = (Outlook.DUE, Outlook.ON_ITS_WAY, Outlook.TOO_SLOW, Outlook.FAILING)


class _Lately:
    """How trunk ran lately, by variant."""

    def __init__(self, week: Weekly, rows: Iterable[Mapping[str, Any]]) -> None:
        connection, project = week.connection, week.project
        begin = max(week.now - _LATELY, project.created_at)
        self.days = max((week.now - begin) / timedelta(days=1), 1.0)
        self.runs = lately.trunk_runs(connection, project.id, begin)
        oldest: dict[str, int] = {}
        for row in rows:
            entry = row["entry_build"] or 0
            oldest[row["variant_hash"]] = min(entry, oldest.get(row["variant_hash"], entry))
        self.since = {name: listings.trunk_runs(connection, project.id, name, seq) for name, seq in oldest.items()}

    def pace(self, row: Mapping[str, Any], trunk_trials: int) -> Pace:
        """Return how a test ran lately: as its variant did, times the share it had of the runs since its entry."""
        runs, since = self.runs.get(row["variant_hash"], []), self.since[row["variant_hash"]]
        after = len(since) - bisect_right(since, row["entry_build"] or 0)
        share = min(1.0, (trunk_trials - row["entry_trunk_trials"]) / after) if after else 1.0
        return Pace(
            days=self.days,
            trials=round(share * len(runs)),
            trial_days=len({at.date() for _, at in runs}) if share else 0,
        )


def _exits(week: Weekly, found: Mapping[int, Prediction], outlook: Outlook) -> Tests:
    """Return the tests of one outlook, those that leave first first, with the date."""
    several = sorted((one.days, test) for test, one in found.items() if one.outlook is outlook)[:SHOWN]
    return [
        test_of(week, test)
        | {
            "date": None if isinf(days) else (week.now + timedelta(days=days)).date().isoformat(),
            "sentence": found[test].sentence,
        }
        for days, test in several
    ]


def suspects(week: Weekly) -> Tests:
    """Return the tests that gate and come closest to entry, with what is still lacking."""
    connection, project = week.connection, week.project
    retired = aliases.carriers(connection, project.id)
    recent = lately.suspected(connection, project.id, week.now - 2 * _LATELY, _SUSPECTS)
    pairs = [(variant_hash, test) for variant_hash, test in recent if test not in retired]
    columns = histories.of_variants(connection, project.id, {name for name, _ in pairs}, tests=project.tests)
    keys = builds.variants(connection, project.id)
    found = []
    for variant_hash, test in pairs:
        row = standings.load(connection, project.id, variant_hash, [test])[test]
        entry = assess.assess_entry_of(connection, project, week.app.policy, columns[variant_hash], row)
        if entry is not None and entry.window is not None:
            found.append((entry.nearness, test, variant_hash, entry))
    nearest = sorted(found, key=lambda one: one[:3])[:SHOWN]
    return [
        test_of(week, test)
        | {
            "variant": keys.get(variant_hash, {}),
            "onsets": entry.window.seen if entry.window else 0,
            "p_value": entry.window.p_value if entry.window else None,
            "limit": entry.window.limit if entry.window else None,
            "lacking": list(entry.lacking),
        }
        for _, test, variant_hash, entry in nearest
    ]
