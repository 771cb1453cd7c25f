"""Assessing what one batch touched: the policy decides, this gathers what it needs and applies what it says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.outcome import Lane, Status
from quarantine.domain.standing import Standing, Transition
from quarantine.policy.broken import BrokenAssessment, FailedTrial, assess_broken
from quarantine.policy.cap import Cap, assess_cap
from quarantine.policy.criteria import Policy
from quarantine.policy.entry import EntryAssessment, assess_entry
from quarantine.policy.exit import ExitAssessment, Streak, assess_exit
from quarantine.policy.history import History
from quarantine.policy.transitions import Findings, next_transition
from quarantine.services.attribution import Attribution
from quarantine.services.confirming import TreeOutcomes, known_of_tree
from quarantine.services.counting import Batch
from quarantine.services.intake import Intake
from quarantine.services.naming import name_of, never_reason
from quarantine.stats.multiplicity import pair_alpha, restarted_alpha, streak_level
from quarantine.stats.streaks import clean_trials_needed
from quarantine.store import builds, heads, outcomes, projects, standings
from quarantine.store.heads import signed
from quarantine.store.outcomes import Mask
from quarantine.store.projects import Project

_STEEPEST_RATE = 0.05
"""The largest p1 there is: no exit needs fewer clean trials than it does."""


def fresh_row(project_id: int, variant_hash: str, test: int, now: datetime) -> dict[str, Any]:
    """Return the standing row of a test that has none yet: gating."""
    return {
        "project_id": project_id,
        "variant_hash": variant_hash,
        "test": test,
        "status": Status.GATING.value,
        "since": now,
        "life": 0,
        "streaks": 1,
        "entry_build": None,
        "window_onsets": 0,
        "window_trials": 0,
        "window_days": 0,
        "window_build": None,
        "entry_trunk_trials": 0,
        "entry_trunk_days": 0,
        "by_hand": False,
        "expires_at": None,
        "reason": "",
    }


@dataclass(slots=True)
class Assessor:
    """One variant of one upload, with the standings that matter to it.

    Attributes:
        rows: standing rows by test; a test without one is gating and never had a head.
    """

    intake: Intake
    batch: Batch
    history: History
    trees: TreeOutcomes
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    _cap: Cap | None = None

    def load(self, tests: Iterable[int]) -> None:
        """Read the standings of these tests and of every test that is not simply gating in this variant."""
        connection, project_id, variant_hash = self.intake.connection, self.intake.project.id, self.batch.variant_hash
        self.rows = standings.load(connection, project_id, variant_hash, tests)
        others = standings.with_status(connection, project_id, Status.QUARANTINED, Status.HELD, Status.BROKEN)
        self.rows.update({row["test"]: row for row in others if row["variant_hash"] == variant_hash})

    def _fresh(self, test: int) -> dict[str, Any]:
        return fresh_row(self.intake.project.id, self.batch.variant_hash, test, self.intake.now)

    def with_status(self, *statuses: Status) -> list[int]:
        """Return the tests of this variant that stand so."""
        return [test for test, row in self.rows.items() if row["status"] in statuses]

    def add_heads(self, is_head: Mask, attribution: Attribution) -> set[int]:
        """Store the new heads; return the tests whose head is already confirmed."""
        intake, batch = self.intake, self.batch
        confirmed: set[int] = set()
        rows, fresh = [], []
        for place in np.flatnonzero(is_head).tolist():
            test = int(batch.tests[place])
            if test not in self.rows:
                self.rows[test] = self._fresh(test)
                fresh.append(self.rows[test])
            if self.rows[test]["status"] == Status.QUARANTINED and intake.build.lane is Lane.TRUNK:
                self.rows[test]["streaks"] += 1
                fresh.append(self.rows[test])
            known = known_of_tree(intake, batch, place, self.trees)
            if known["confirmed_at"] is not None:
                confirmed.add(test)
            rows.append(self._head_row(place, test, int(attribution.fingerprints[place])) | known)
        standings.save(intake.connection, fresh)
        heads.insert(intake.connection, rows)
        if np.count_nonzero(batch.first_failed):
            heads.note_company(intake.connection, intake.project.id, batch.variant_hash, intake.seq)
        return confirmed

    def _head_row(self, place: int, test: int, fingerprint: int) -> dict[str, Any]:
        intake, build, history = self.intake, self.intake.build, self.history
        return {
            "project_id": intake.project.id,
            "variant_hash": self.batch.variant_hash,
            "test": test,
            "life": self.rows[test]["life"],
            "number": int(history.heads[test]),
            "trial": int(history.trials[test]),
            "build_seq": intake.seq,
            "arrived_at": intake.now,
            "lane": build.lane.value,
            "change": build.change,
            "tree": build.tree,
            "setting": build.setting,
            "fingerprint": signed(fingerprint),
            "signature": self.batch.signature_of(place),
            "trunk_trials": int(history.trunk_trials[test]),
            "trunk_days": int(history.days[test]),
            "incident": None,
            "company": 0,
        }

    def entry(self, test: int) -> EntryAssessment | None:
        """Assess entry; None before there is an evidence budget to decide with."""
        row, intake = self.rows[test], self.intake
        return assess_entry_of(intake.connection, intake.project, intake.policy, self.history, row)

    def broken(self, test: int) -> BrokenAssessment | None:
        """Assess broken; None while nothing can have changed about it."""
        policy, fails = self.intake.policy, int(self.history.fail_streak[test])
        is_broken = test in self.rows and self.rows[test]["status"] == Status.BROKEN
        if fails < policy.broken_failures:
            passes = int(self.history.pass_streak[test])
            return assess_broken([], passes, policy) if is_broken and not fails else None
        return None if is_broken else assess_broken(self._failing(test, fails), 0, policy)

    def _failing(self, test: int, fails: int) -> list[FailedTrial]:
        rows = builds.failed_trunk_trials(
            self.intake.connection, self.intake.project.id, self.batch.variant_hash, test
        )[-fails:]
        found = builds.get(self.intake.connection, self.intake.project.id, [row["build_seq"] for row in rows])
        return [self._failed_trial(test, found[row["build_seq"]]) for row in rows]

    def _failed_trial(self, test: int, build: dict[str, Any]) -> FailedTrial:
        failed = passed = 0
        if build["tree"] is not None:
            failed, passed = self.trees.reruns(build["tree"], build["setting"], test, besides=build["seq"])
        return FailedTrial(
            build=str(build["seq"]),
            commit=build["commit"] or "",
            tree=build["tree"] or "",
            reruns_failed=failed,
            reruns_passed=passed,
        )

    def may_prove_broken(self) -> bool:
        """Return whether this upload can complete the proof: alone on its tree, a failure proves nothing yet."""
        build = self.intake.build
        if build.is_rerun or build.tree is None:
            return build.is_rerun
        uploads = self.trees.get(build.tree, build.setting)
        return any(upload.build_seq != self.intake.seq for upload in uploads)

    def exit(self, test: int) -> ExitAssessment | None:
        """Assess exit; None while the streak is too short for any rate, which saves the look-ups."""
        row, policy, history = self.rows[test], self.intake.policy, self.history
        alpha = alpha_of(self.intake.project, policy, history, row)
        if alpha is None:
            return None
        level = streak_level(alpha * policy.exit_ratio, row["streaks"])
        if clean_trials(history, row) < clean_trials_needed(_STEEPEST_RATE, level):
            return None
        return assess_exit(streak_of(self.intake.connection, self.intake.project.id, history, row), alpha, policy)

    def decide(self, test: int, *, entry: bool = False, broken: bool = False, leave: bool = False) -> None:
        """Assess one test and apply the move that is due, if any."""
        row = self.rows.get(test) or self._fresh(test)
        self.rows[test] = row
        findings = Findings(
            cap=self.cap(),
            entry=self.entry(test) if entry else None,
            broken=self.broken(test) if broken else None,
            exit=self.exit(test) if leave else None,
            never=never_reason(self.intake.connection, self.intake.project, self.intake.policy, test),
        )
        move = next_transition(
            standing_of(row), findings, mode=self.intake.project.mode, now=self.intake.now, policy=self.intake.policy
        )
        if move is not None:
            if move.to_status in (Status.QUARANTINED, Status.HELD):
                row.update(_window(self.intake, self.history, test, findings))
            apply(
                self.intake.connection,
                self.intake.project.id,
                self.history,
                row,
                move,
                arrival=self.intake.arrival,
                build_seq=self.intake.seq,
                evidence=_range(self.intake, move),
            )
            self._cap = None
            name = name_of(self.intake.connection, self.intake.project, test)
            self.sentences.append(f"{name}: {move.from_status.value} -> {move.to_status.value}. {move.reason}")

    def cap(self) -> Cap:
        """Return the room left in quarantine, counted in tests."""
        if self._cap is None:
            connection, project_id = self.intake.connection, self.intake.project.id
            taken = {row["test"] for row in standings.with_status(connection, project_id, Status.QUARANTINED)}
            size = builds.last_trunk_size(connection, project_id) or self.intake.tests - self.intake.project.retired
            self._cap = assess_cap(len(taken), size, self.intake.policy)
        return self._cap


def assess_entry_of(
    connection: Connection, project: Project, policy: Policy, history: History, row: dict[str, Any]
) -> EntryAssessment | None:
    """Assess entry on the stored heads; None before there is an evidence budget to decide with."""
    alpha = alpha_of(project, policy, history, row)
    if alpha is None:
        return None
    found = heads.of_test(connection, project.id, row["variant_hash"], row["test"], row["life"])
    return assess_entry(found, int(history.trials[row["test"]]), alpha, policy)


def exit_of(
    connection: Connection, project: Project, policy: Policy, history: History, row: dict[str, Any]
) -> ExitAssessment | None:
    """Assess the exit of a quarantined or held test; None for any other, and before there is an evidence budget."""
    alpha = alpha_of(project, policy, history, row)
    if row["status"] not in (Status.QUARANTINED, Status.HELD) or alpha is None:
        return None
    return assess_exit(streak_of(connection, project.id, history, row), alpha, policy)


def standing_of(row: dict[str, Any]) -> Standing:
    """Return the standing that a row holds."""
    return Standing(
        status=Status(row["status"]),
        since=row["since"],
        life=row["life"],
        by_hand=row["by_hand"],
        expires_at=row["expires_at"],
    )


def alpha_of(project: Project, policy: Policy, history: History, row: Mapping[str, Any]) -> float | None:
    """Return what the evidence of this (test, variant), a row of a standing or of a head, may spend on entry.

    None before the project has a budget to spend, or before the pair has its number.
    """
    pair = int(history.pair[row["test"]])
    if project.reserve is None or pair == 0:
        return None
    return restarted_alpha(pair_alpha(pair, budget=policy.budget, reserve=project.reserve), row["life"])


def clean_trials(history: History, row: dict[str, Any]) -> int:
    """Return m: trunk passes in a row since the last failure and since the entry."""
    since_entry = int(history.trunk_trials[row["test"]]) - int(row["entry_trunk_trials"])
    return min(int(history.pass_streak[row["test"]]), since_entry)


def streak_of(connection: Connection, project_id: int, history: History, row: dict[str, Any]) -> Streak:
    """Return the record of a quarantined test on trunk, as the exit rule reads it."""
    test, variant_hash = row["test"], row["variant_hash"]
    failures = builds.failed_trunk_trials(connection, project_id, variant_hash, test, since=row["window_build"] or 0)
    days = sorted({failure["received_at"].date() for failure in failures})
    gaps = [(later - earlier).days for earlier, later in pairwise(days)]
    entry_build = row["entry_build"] or 0
    since_entry = [failure for failure in failures if failure["build_seq"] > entry_build]
    streak_began = max([entry_build, *(failure["build_seq"] for failure in since_entry)])
    clean = clean_trials(history, row)
    runs = outcomes.trunk_runs_since(connection, project_id, variant_hash, streak_began)
    clean_days = min(int(history.clean_days[test]), int(history.days[test]) - row["entry_trunk_days"])
    return Streak(
        failures=row["window_onsets"] + len(since_entry),
        trials=row["window_trials"] + max(0, int(history.trunk_trials[test]) - row["entry_trunk_trials"] - clean),
        clean_trials=clean,
        clean_days=clean_days,
        failing_days=len(days),
        days=row["window_days"] + max(0, int(history.days[test]) - row["entry_trunk_days"] - clean_days),
        longest_gap_days=max(gaps, default=0),
        presence=min(1.0, clean / runs) if runs else 1.0,
        ordinal=row["streaks"],
        by_hand=row["by_hand"],
    )


def apply(
    connection: Connection,
    project_id: int,
    history: History,
    row: dict[str, Any],
    move: Transition,
    *,
    arrival: int,
    build_seq: int | None = None,
    evidence: dict[str, Any] | None = None,
) -> None:
    """Record a transition with its evidence, and change the standing and the history it rests on, both in place.

    `evidence` adds to what the policy kept. The caller stores the history.
    """
    row.update(
        status=move.to_status.value,
        since=move.at,
        reason=move.reason,
        by_hand=move.by != "policy",
        expires_at=move.expires_at,
    )
    if move.restarts:
        history.restart(row["test"])
        row["life"] += 1
    standings.save(connection, [row])
    standings.record(
        connection,
        project_id,
        variant_hash=row["variant_hash"],
        test=row["test"],
        from_status=move.from_status.value,
        to_status=move.to_status.value,
        at=move.at,
        reason=move.reason,
        evidence={**move.evidence, **(evidence or {})},
        actor=move.by,
        policy_version=move.policy_version,
        mode=move.mode.value,
        arrival=arrival,
        build_seq=build_seq,
    )
    if Status.QUARANTINED in (move.from_status, move.to_status):
        projects.touch_gating(connection, project_id)


def window_from_now(history: History, test: int, *, build_seq: int) -> dict[str, Any]:
    """Return the columns of a quarantine that begins with this build and rests on no onsets."""
    return {
        "streaks": 1,
        "entry_build": build_seq,
        "entry_trunk_trials": int(history.trunk_trials[test]),
        "entry_trunk_days": int(history.days[test]),
        "window_onsets": 0,
        "window_trials": 0,
        "window_days": 0,
        "window_build": build_seq,
    }


def _window(intake: Intake, history: History, test: int, findings: Findings) -> dict[str, Any]:
    """Return the columns that say where the window of a quarantine began and what it held at the entry."""
    columns = window_from_now(history, test, build_seq=intake.seq)
    entry = findings.entry
    if entry is not None and entry.onsets:
        first = entry.onsets[0].head
        columns |= {
            "window_onsets": sum(onset.is_trunk for onset in entry.onsets),
            "window_trials": max(1, columns["entry_trunk_trials"] - first.trunk_trials + 1),
            "window_days": max(1, columns["entry_trunk_days"] - first.trunk_days + 1),
            "window_build": int(first.build),
        }
    return columns


def _range(intake: Intake, move: Transition) -> dict[str, Any]:
    """Return the commits between which a broken test broke."""
    failing = move.evidence.get("inputs", {}).get("failing") if move.to_status is Status.BROKEN else None
    if not failing:
        return {}
    before = builds.trunk_commit_before(intake.connection, intake.project.id, int(failing[0]["build"]))
    return {"range": {"last_passing": before, "first_failing": failing[0]["commit"] or None}}


def _in(batch: Batch, tests: list[int]) -> list[int]:
    """Return those of the tests that ran in the batch, sorted."""
    ran: list[int] = np.intersect1d(np.array(tests, np.intp), batch.tests[batch.ran]).tolist() if tests else []
    return ran


def after_batch(assessor: Assessor, *, is_head: Mask, attribution: Attribution, confirmed: set[int]) -> list[str]:
    """Store new heads, assess every test something was learned about, and return a sentence for each transition."""
    batch, history, policy = assessor.batch, assessor.history, assessor.intake.policy
    on_trunk = assessor.intake.build.lane is Lane.TRUNK
    failing = batch.tests[batch.first_failed & (history.fail_streak[batch.tests] >= policy.broken_failures)].tolist()
    assessor.load({*batch.tests[is_head].tolist(), *confirmed, *failing})
    learned = confirmed | assessor.add_heads(is_head, attribution)
    failing = failing if failing and assessor.may_prove_broken() else [test for test in failing if test in learned]
    for test in sorted({*failing, *_in(batch, assessor.with_status(Status.BROKEN))}):
        assessor.decide(test, broken=True, entry=test in learned)
    for test in sorted(learned | set(assessor.with_status(Status.HELD) if on_trunk else ())):
        if (
            assessor.rows[test]["status"] in (Status.GATING, Status.HELD)
            and history.fail_streak[test] < policy.broken_failures
        ):
            assessor.decide(test, entry=True, leave=assessor.rows[test]["status"] == Status.HELD)
    if on_trunk and not assessor.intake.build.is_rerun:
        for test in _in(batch, assessor.with_status(Status.QUARANTINED)):
            assessor.decide(test, leave=True)
    return assessor.sentences
