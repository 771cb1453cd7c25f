"""The facts of a verdict, gathered: what the policy has to know about the run and about each test worth a word.

Everything that grows with the tests is done in columns; only the tests that failed anywhere on the head's tree, are
gone, are asked for by name or turned skipped become values of their own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.build import ChangedPart
from quarantine.domain.outcome import Lane, Mode, Status
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import NO_TRIES, TestFacts
from quarantine.policy.history import History
from quarantine.services import base_results
from quarantine.services.base_results import BaseResult
from quarantine.services.gating import VARIANT_DAYS
from quarantine.services.names import Tests
from quarantine.services.naming import display_of
from quarantine.services.on_trunk import OnTrunk
from quarantine.services.question import Question
from quarantine.services.reach_index import ReachIndex
from quarantine.services.sides import Base, Columns, Side
from quarantine.store import aliases, builds, histories, roster, standings
from quarantine.store import outcomes as codes_of
from quarantine.store.outcomes import Mask, Outcomes
from quarantine.store.projects import Project


@dataclass(frozen=True)
class Case:
    """One question about one build, with everything it refers to found.

    Attributes:
        project: with the counters it has now.
        judged: the build's row.
        names: the tests that each name in the question stands for.
        changed: what the change touched; None when nobody said.
        index: the reach maps; None without any.
        functions: which functions tests ran, by the maps that say so; None without any, or when nobody told the lines.
        base_trees: the trees of the base, as far as anybody knows them.
        base_reruns: the runs of the base that were made for this verdict.
    """

    connection: Connection
    project: Project
    policy: Policy
    question: Question
    judged: Mapping[str, Any]
    names: Mapping[str, Tests]
    changed: Sequence[ChangedPart] | None
    index: ReachIndex | None
    functions: ReachIndex | None
    head: Side
    base: Base
    base_trees: Sequence[str]
    base_reruns: frozenset[int]
    now: datetime

    @property
    def lane(self) -> Lane:
        """The lane that asks."""
        return Lane(self.judged["lane"])

    @cached_property
    def expected(self) -> Mask:
        """Which tests the client expects, shape (tests,)."""
        return self._mask(self.question.expected or ())

    @cached_property
    def must_pass(self) -> Mask:
        """Which tests must pass, shape (tests,)."""
        return self._mask(self.question.must_pass)

    @cached_property
    def removed(self) -> Mask:
        """Which tests are gone or skipped on purpose, shape (tests,)."""
        return self._mask(self.question.removed)

    def _mask(self, names: Iterable[str]) -> Mask:
        found = np.zeros(self.project.tests, np.bool_)
        found[[test for name in names for test in self.names[name]]] = True
        return found

    @cached_property
    def unknown(self) -> list[str]:
        """The names of expected and must-pass tests that no test goes by."""
        asked = [*self.question.must_pass, *(self.question.expected or ())]
        return list(dict.fromkeys([name for name in asked if not self.names[name]]))

    @cached_property
    def told_all(self) -> bool:
        """Whether any run of the head came to its end, so that what it does not report is not there."""
        return any(not self.head.broke_off(seq) for seq in self.head.builds)


@dataclass(frozen=True, slots=True)
class Subject:
    """A test worth a word: what the policy is told of it, and what tells it apart from others of its name.

    Attributes:
        test: its ordinal; None for a name that no test goes by.
        row: its stored row.
    """

    facts: TestFacts
    variant_hash: str
    test: int | None = None
    row: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """One variant of the judged build.

    Attributes:
        head, base: how the tests did on either tree.
        like: how they did in the runs of the base that ran all that the judged build ran.
        first: how they did in the judged build alone.
        trunk: the newest complete run of trunk.
        quarantined: which tests are in quarantine in this variant, whatever the mode.
        gating: which tests gate here.
    """

    case: Case
    variant_hash: str
    head: Columns
    base: Columns
    like: Columns
    first: Columns
    history: History
    trunk: Outcomes | None
    quarantined: Mask
    gating: Mask

    @classmethod
    def of(cls, case: Case, variant_hash: str) -> "View":
        """Gather the columns of one variant."""
        connection, project, tests = case.connection, case.project, case.project.tests
        history, _ = histories.load(connection, project.id, variant_hash)
        history.grow(tests)
        quarantined = np.zeros(tests, np.bool_)
        for row in standings.with_status(connection, project.id, Status.QUARANTINED):
            if row["variant_hash"] == variant_hash:
                quarantined[row["test"]] = True
        excused = quarantined & (project.mode is Mode.ENFORCE) & ~case.must_pass
        before = case.judged["seq"]
        newest = codes_of.newest_complete_on_trunk(connection, project.id, variant_hash, before=before, tests=tests)
        carriers = aliases.carriers(connection, project.id) if newest else {}
        return cls(
            case,
            variant_hash,
            head=case.head.columns(variant_hash, tests),
            base=case.base.side.columns(variant_hash, tests),
            like=case.base.side.columns(variant_hash, tests, among=case.base.comparable),
            first=case.head.columns(variant_hash, tests, among=[before]),
            history=history,
            trunk=next(iter(codes_of.as_one([newest], carriers)), None) if newest else None,
            quarantined=quarantined,
            gating=~excused,
        )

    @property
    def known(self) -> Mask:
        """The tests that trunk has in this variant: those of its newest complete run, else all it ever ran."""
        if self.trunk is not None:
            return np.asarray(self.trunk.codes != codes_of.ABSENT)
        return np.asarray(self.history.trunk_trials > 0)

    @cached_property
    def usual(self) -> Mask:
        """The tests that run in this variant without the change.

        By the runs of the base that ran all that the judged build ran; without any, by the base's other runs and by
        trunk's newest complete run, or what trunk ran lately.
        """
        if self.like.seen.any():
            return self.like.ran
        if self.trunk is not None:
            ended = codes_of.last(self.trunk.codes)
            return np.asarray(self.base.ran | (ended == codes_of.PASSED) | codes_of.is_failure(ended))
        ran, last = self.history.trunk_trials > 0, self.history.last_day.astype(np.int64)
        return np.asarray(self.base.ran | (ran & (last >= last.max(initial=0) - VARIANT_DAYS)))

    @cached_property
    def gone(self) -> Mask:
        """Whether the base ran the test, and the head skips it, or has it not though the base ran no more than it.

        Where nothing like the judged build ran on the base, trunk says which tests run: a skip is seen even so.
        """
        skipped = (self.base.ran | self.usual) & self.head.seen & ~self.head.ran
        return skipped | (self.like.ran & ~self.head.ran) if self.case.told_all else skipped

    @property
    def passing(self) -> Mask:
        """The gating tests whose last try on the head passed."""
        return np.asarray(self.gating & (self.head.straight > 0))


def views_of(case: Case) -> list[View]:
    """Return the variants of the judged build and of its base, the one with the most tests on the head first."""
    variants = dict.fromkeys([*case.head.uploads, *case.base.side.uploads])  # a variant may have vanished as a whole
    views = [View.of(case, variant) for variant in variants]
    return sorted(views, key=lambda view: (-int(np.count_nonzero(view.head.seen)), view.variant_hash))


def subjects_of(case: Case, views: Sequence[View]) -> list[Subject]:
    """Return every test worth a word, in every variant, and every name asked for that no test goes by."""
    must = case.must_pass
    asked = case.expected | must
    seen = np.zeros_like(asked)
    ran = np.zeros_like(asked)
    for view in views:
        seen |= view.head.seen
        ran |= view.head.ran
    found: list[Subject] = []
    for number, view in enumerate(views):
        interest = (view.head.failed > 0) | view.gone | (must & view.head.seen) | (asked & view.head.seen & ~ran)
        if number == 0:
            interest |= asked & ~seen
        elsewhere = np.zeros_like(asked)
        if len(views) > 1 and view.head.seen.any():  # what runs in several variants is asked for in each of them
            interest |= asked & seen & view.usual & ~view.head.ran
            elsewhere = seen & ~view.head.seen & view.usual
        found += _subjects(view, np.flatnonzero(interest).tolist(), elsewhere)
    return found + _unknown(case)


def _unknown(case: Case) -> list[Subject]:
    """Return the names that no test goes by: they are in no report."""
    variant = next(iter(case.head.uploads), "")
    must_pass, removed = frozenset(case.question.must_pass), frozenset(case.question.removed)
    on_base = False if case.base.comparable else None
    return [
        Subject(
            TestFacts(
                name=name,
                is_present=False,
                is_expected=True,
                on_base=on_base,
                must_pass=name in must_pass,
                is_removed=name in removed,
            ),
            variant,
        )
        for name in case.unknown
    ]


def _subjects(view: View, tests: list[int], elsewhere: Mask) -> list[Subject]:
    """Return these tests of a variant; `elsewhere` are those that it usually has, and only others have here."""
    if not tests:
        return []
    case = view.case
    rows = roster.rows(case.connection, case.project.id, tests)
    stand = standings.load(case.connection, case.project.id, view.variant_hash, tests)
    trunk = OnTrunk.of(
        case.connection, case.project.id, view.variant_hash, history=view.history, standing=stand, now=case.now
    )
    on_head, on_base = _signatures(view)
    reached = _reached(case, tests)
    found = []
    for test in tests:
        status = Status(stand[test]["status"]) if test in stand else Status.GATING
        facts = TestFacts(
            name=display_of(rows[test]),
            head=view.head.tries(test),
            base=view.base.tries(test),
            is_present=bool(view.head.seen[test]),
            is_skipped=bool(view.head.seen[test] and not view.head.ran[test]),
            is_expected=bool(case.expected[test]),
            is_elsewhere=bool(elsewhere[test]),
            on_base=_on_base(view, test),
            same_signature=bool(on_head[test] & on_base[test]),
            standing=status,
            is_excusable=status is Status.QUARANTINED and case.project.mode is Mode.ENFORCE,
            must_pass=bool(case.must_pass[test]),
            is_removed=bool(case.removed[test]),
            rate=trunk.rate(test),
            alarm_reruns=trunk.alarm(test, case.policy) if status is Status.QUARANTINED else 1,
            is_reached=reached.get(test),
            passes_on_trunk=bool(view.history.pass_streak[test] > 0),
        )
        found.append(Subject(facts, view.variant_hash, test, rows[test]))
    return _struck_now(view, _with_cached_base(view, found, on_head, on_base))


def _on_base(view: View, test: int) -> bool | None:
    if view.base.seen[test]:
        return True
    return False if view.case.base.comparable else None


_Signatures = Mapping[int, set[str]]


def _signatures(view: View) -> tuple[_Signatures, _Signatures]:
    """Return the signatures of each test's failures on the head and on the base; failures that say nothing are none."""
    case = view.case
    sides: list[_Signatures] = []
    for side in (case.head, case.base.side):
        found: dict[int, set[str]] = defaultdict(set)
        for row in builds.failures_in(case.connection, case.project.id, side.builds) if side.builds else ():
            if row["variant_hash"] == view.variant_hash and row["signature"]:
                found[row["test"]].add(row["signature"])
        sides.append(found)
    return sides[0], sides[1]


def _reached(case: Case, tests: Sequence[int]) -> dict[int, bool]:
    """Return whether the change touches what each of these tests reaches, for those that have a reach map."""
    if case.index is None or case.changed is None:
        return {}
    known = case.index.known(case.project.tests)
    untouched = case.index.untouched(case.changed, case.project.tests)
    return {test: not untouched[test] for test in tests if known[test]}


def _with_cached_base(view: View, subjects: list[Subject], on_head: _Signatures, on_base: _Signatures) -> list[Subject]:
    """Complete failing tests by what is known of a base that they reach alike; keep what this base has shown."""
    failing = [one for one in subjects if one.test is not None and one.facts.head.failed]
    if not failing:
        return subjects
    case, connection, project = view.case, view.case.connection, view.case.project
    tests = [one.test for one in failing if one.test is not None]
    prints = base_results.fingerprints_on_base(
        connection, project, case.index, manifest=case.judged["manifest"], trees=case.base_trees, tests=tests
    )
    shown = {
        one.test: BaseResult(one.facts.base, next(iter(sorted(on_base[one.test])), ""))
        for one in failing
        if one.test is not None and one.facts.base.total
    }
    environment = case.judged["environment_hash"]
    lanes = {upload.lane for upload in case.base.side.uploads.get(view.variant_hash, ())}
    by_reach = case.index is not None and case.judged["manifest"] is not None
    if shown and (by_reach or lanes != {Lane.TRUNK}):  # what trunk ran on the very tree is found without a cache
        base_results.keep(
            connection, project.id, view.variant_hash, shown, prints,
            environment_hash=environment, lane=max(lanes, key=list(Lane).index), change=case.judged["change"],
            now=case.now,
        )  # fmt: skip
    unknown = {test: prints[test] for test in tests if test not in shown and test in prints}
    cached = base_results.cached(
        connection, project.id, view.variant_hash, unknown,
        environment_hash=environment, lane=case.lane, change=case.judged["change"],
    )  # fmt: skip
    return [_completed(one, cached, on_head) for one in subjects]


def _struck_now(view: View, subjects: list[Subject]) -> list[Subject]:
    """Let the base's runs of now speak alone where many tests fail in them as on the head, though trunk passes them.

    What trunk saw on the base before says nothing of an environment that is sick now. Of a few tests it does: there the
    base is taken for flaky, and the head has to pass.
    """
    case = view.case
    now = case.base.side.columns(view.variant_hash, case.project.tests, among=case.base_reruns)
    struck = {
        one.test
        for one in subjects
        if one.test is not None
        and one.facts.passes_on_trunk
        and one.facts.same_signature
        and one.facts.head.failed
        and not one.facts.head.passed
        and now.failed[one.test]
        and not now.passed[one.test]
    }
    if len(struck) < case.policy.storm_tests:
        return subjects
    return [
        replace(one, facts=replace(one.facts, base=now.tries(one.test)))
        if one.test is not None and one.test in struck
        else one
        for one in subjects
    ]


def _completed(one: Subject, cached: Mapping[int, BaseResult], on_head: _Signatures) -> Subject:
    result = cached.get(one.test) if one.test is not None and one.facts.base == NO_TRIES else None
    if result is None or one.test is None:
        return one
    alike = bool(result.signature) and result.signature in on_head[one.test]
    return replace(one, facts=replace(one.facts, base=result.tries, on_base=True, same_signature=alike))
