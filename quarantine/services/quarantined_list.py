"""The tests that do not simply gate, sorted and filtered, a page at a time."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.outcome import Status
from quarantine.policy.exit import ExitAssessment, Streak, assess_exit
from quarantine.policy.history import History
from quarantine.services import assess, listing, naming
from quarantine.services.app import App
from quarantine.store import builds, histories, listings, projects, roster, standings
from quarantine.store.engine import reading
from quarantine.store.projects import Project

PAGE = 100
SORTS = ("age", "name", "rate", "failed", "exit")
"""What the list can be sorted by; the first is what it is sorted by unless told otherwise."""
AGES = (7, 30, 90)
"""Days that the list can be asked for: only what stands so at least as long."""
_CAUSES = 8

Owners = Callable[[Connection, Project, Sequence[int]], Mapping[int, str]]
"""Names the owner of tests by ordinal; a test without one is left out."""


def nobody(_connection: Connection, _project: Project, _tests: Sequence[int]) -> Mapping[int, str]:
    """Return no owner."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a reader asks the list for.

    Attributes:
        status: quarantined, held or broken.
        sort: one of `SORTS`.
        reverse: the other way round than the sort's own order, which has on top what most needs a look.
        variant: only in the variant with this hash.
        older: only what has stood so for at least so many days.
        cause: only what rests on an onset with this failure signature.
        owner: only what this owner owns; empty for what nobody does.
        page: from 1; beyond the last one the list is empty.
    """

    status: Status = Status.QUARANTINED
    sort: str = SORTS[0]
    reverse: bool = False
    variant: str | None = None
    older: int | None = None
    cause: str | None = None
    owner: str | None = None
    page: int = 1


@dataclass(slots=True)
class _Standing:
    """One row of the list, with what it is sorted by."""

    row: dict[str, Any]
    failures: int = 0
    rate: float = 0.0
    last_failed: int = 0
    name: str = ""
    exit: ExitAssessment | None = None
    owner: str | None = None

    @property
    def pair(self) -> listings.Pair:
        return self.row["variant_hash"], self.row["test"]

    @property
    def progress(self) -> float:
        """The share it has of the clean trials in a row that a release takes; the days are another matter."""
        return min(1.0, self.exit.streak.clean_trials / self.exit.trials_needed) if self.exit else 0.0


_ORDER: dict[str, Callable[[_Standing], Any]] = {
    "age": lambda one: one.row["since"],
    "name": lambda one: one.name,
    "rate": lambda one: -one.rate,
    "failed": lambda one: -one.last_failed,
    "exit": lambda one: -one.progress,
}


def quarantined_list(app: App, slug: str, wanted: Wanted, *, owners: Owners = nobody) -> dict[str, Any]:
    """Return one page of the list, how many rows it has in all, and what it can be filtered by; raises NotFound.

    Work that grows with the quarantine is done in a few queries; only the rows of the page are told in full.
    """
    now = app.clock()
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        everything = standings.with_status(connection, project.id, wanted.status)
        owned = owners(connection, project, sorted({row["test"] for row in everything}))
        found = [_Standing(row, owner=owned.get(row["test"])) for row in everything]
        matching = _matching(connection, project, found, wanted, now)
        variants = {one.row["variant_hash"] for one in matching}
        columns = histories.of_variants(connection, project.id, variants, tests=project.tests)
        _count(connection, project, matching, columns, wanted.status)
        if wanted.sort == "name":
            _name(connection, project, matching)
        if wanted.sort == "exit":
            _assess(app, project, matching, columns, {})
        matching.sort(key=_ORDER[wanted.sort], reverse=wanted.reverse)
        page = matching[(wanted.page - 1) * PAGE : wanted.page * PAGE]
        failed = listings.failures_since_window(
            connection, project.id, wanted.status, [one.row["test"] for one in page]
        )
        _assess(app, project, page, columns, _followed(connection, project, page, failed))
        return {
            **listing.head(project),
            "now": now.isoformat(),
            "in_all": len(found),
            "total": len(matching),
            "oldest_days": max(((now - one.row["since"]).days for one in matching), default=0),
            "rows": _told(connection, project, page),
            "variants": _variants(connection, project, found),
            "owners": sorted(set(owned.values())),
            "causes": _causes(connection, project, wanted),
        }


def _matching(
    connection: Connection, project: Project, found: Sequence[_Standing], wanted: Wanted, now: datetime
) -> list[_Standing]:
    alike = wanted.cause and listings.failing_like(connection, project.id, wanted.status, wanted.cause)
    return [
        one
        for one in found
        if (wanted.variant is None or one.row["variant_hash"] == wanted.variant)
        and (wanted.older is None or (now - one.row["since"]).days >= wanted.older)
        and (wanted.owner is None or (one.owner or "") == wanted.owner)
        and (not wanted.cause or one.pair in (alike or ()))
    ]


def _count(
    connection: Connection, project: Project, found: Sequence[_Standing], columns: Mapping[str, History], status: Status
) -> None:
    """Note how often each failed on trunk since the entry, its rate since the window began, and when it failed last."""
    counted = listings.failures_counted(connection, project.id, status)
    for one in found:
        row = one.row
        one.failures, one.last_failed = counted.get(one.pair, (0, 0))
        trunk_trials = int(columns[row["variant_hash"]].trunk_trials[row["test"]])
        trials = row["window_trials"] + max(0, trunk_trials - row["entry_trunk_trials"])
        one.rate = min(1.0, (row["window_onsets"] + one.failures) / trials) if trials else 0.0


def _name(connection: Connection, project: Project, found: Sequence[_Standing]) -> None:
    tests = roster.rows(connection, project.id, {one.row["test"] for one in found})
    for one in found:
        one.name = naming.display_of(tests[one.row["test"]])


@dataclass(frozen=True, slots=True)
class _Followed:
    """The failed trunk trials of one standing since its window began, and the trunk builds since the streak did."""

    failures: Sequence[tuple[int, datetime]]
    runs: int


def _assess(
    app: App,
    project: Project,
    found: Sequence[_Standing],
    columns: Mapping[str, History],
    followed: Mapping[listings.Pair, _Followed],
) -> None:
    """Assess the exit of each as its own page does; of one that is not `followed` only what concerns its trials."""
    for one in found:
        history = columns[one.row["variant_hash"]]
        alpha = assess.alpha_of(project, app.policy, history, one.row)
        if alpha is not None and one.row["status"] != Status.BROKEN:
            one.exit = assess_exit(_streak(one, history, followed.get(one.pair)), alpha, app.policy)


def exits_of(
    app: App,
    connection: Connection,
    project: Project,
    rows: Sequence[dict[str, Any]],
    columns: Mapping[str, History],
) -> dict[listings.Pair, ExitAssessment]:
    """Assess the exit of each of these quarantined standings in a few queries; `columns` has their variants."""
    found = [_Standing(row) for row in rows]
    tests = [row["test"] for row in rows]
    failed = listings.failures_since_window(connection, project.id, Status.QUARANTINED, tests)
    _assess(app, project, found, columns, _followed(connection, project, found, failed))
    return {one.pair: one.exit for one in found if one.exit is not None}


def _followed(
    connection: Connection,
    project: Project,
    page: Sequence[_Standing],
    failed: Mapping[listings.Pair, Sequence[tuple[int, datetime]]],
) -> dict[listings.Pair, _Followed]:
    begun = {one.pair: _streak_began(one, failed) for one in page}
    runs = {
        name: np.array(listings.trunk_runs(connection, project.id, name, min(seqs)), np.int64)
        for name, seqs in _by_variant(begun).items()
    }
    return {
        one.pair: _Followed(
            failed.get(one.pair, ()), int(np.count_nonzero(runs[one.row["variant_hash"]] > begun[one.pair]))
        )
        for one in page
    }


def _by_variant(begun: Mapping[listings.Pair, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for (variant_hash, _), seq in begun.items():
        found[variant_hash].append(seq)
    return found


def _streak_began(one: _Standing, failed: Mapping[listings.Pair, Sequence[tuple[int, datetime]]]) -> int:
    entry = one.row["entry_build"] or 0
    return max([entry, *(seq for seq, _ in failed.get(one.pair, ()) if seq > entry)])


def _streak(one: _Standing, history: History, followed: _Followed | None) -> Streak:
    """Return what `assess.streak_of` returns; without what followed, no days and as present as can be."""
    row, test = one.row, one.row["test"]
    clean = assess.clean_trials(history, row)
    days = sorted({at.date() for _, at in followed.failures}) if followed else []
    clean_days = min(int(history.clean_days[test]), int(history.days[test]) - row["entry_trunk_days"])
    return Streak(
        failures=row["window_onsets"] + one.failures,
        trials=row["window_trials"] + max(0, int(history.trunk_trials[test]) - row["entry_trunk_trials"] - clean),
        clean_trials=clean,
        clean_days=clean_days,
        failing_days=len(days),
        days=row["window_days"] + max(0, int(history.days[test]) - row["entry_trunk_days"] - clean_days),
        longest_gap_days=max(((later - earlier).days for earlier, later in pairwise(days)), default=0),
        presence=min(1.0, clean / followed.runs) if followed and followed.runs else 1.0,
        ordinal=row["streaks"],
        by_hand=row["by_hand"],
    )


def _told(connection: Connection, project: Project, page: Sequence[_Standing]) -> list[dict[str, Any]]:
    rows = listing.told(connection, project, [one.row for one in page])
    failed_in = builds.get(connection, project.id, {one.last_failed for one in page if one.last_failed})
    return [
        told
        | {
            "owner": one.owner,
            "failing_rate": one.rate,
            "last_failed": failed_in[one.last_failed]["received_at"].isoformat() if one.last_failed else None,
            "last_failed_build": one.last_failed or None,
            "progress": one.progress,
            "exit": one.exit and _exit(one.exit),
        }
        for told, one in zip(rows, page, strict=True)
    ]


def _exit(found: ExitAssessment) -> dict[str, Any]:
    return {
        "clean_trials": found.streak.clean_trials,
        "trials_needed": found.trials_needed,
        "clean_days": found.streak.clean_days,
        "days_needed": found.days_needed,
        "lacking": list(found.lacking),
    }


def _variants(connection: Connection, project: Project, found: Sequence[_Standing]) -> list[dict[str, Any]]:
    keys = builds.variants(connection, project.id)
    counts = Counter(one.row["variant_hash"] for one in found)
    return [{"hash": name, "keys": keys.get(name, {}), "tests": count} for name, count in counts.most_common()]


def _causes(connection: Connection, project: Project, wanted: Wanted) -> list[dict[str, Any]]:
    """Return the failure signatures that several of these tests share, with what such a failure says."""
    shared = listings.common_signatures(connection, project.id, wanted.status, _CAUSES)
    if wanted.cause and wanted.cause not in {row["signature"] for row in shared}:
        alike = listings.failing_like(connection, project.id, wanted.status, wanted.cause)
        shared.append({"signature": wanted.cause, "tests": len(alike)})
    return [row | {"message": listings.message_like(connection, project.id, row["signature"])} for row in shared]
