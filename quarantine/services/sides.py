"""What ran on the two sides of a verdict: the head's tree and the base's, as columns over the tests' ordinals.

On the head every upload of the identical tree counts, in the same variant and setting, by a lane that may speak for the
one that asks: so submitting the same patch again does not start over. On the base trunk's own runs count whatever
command they ran, for trunk runs the whole suite where a loop runs a part of it; only the environment must agree where
both state one. Everybody else's runs of the base count in the same setting only. An agent's runs say something to its
own change and to no other: else one agent could decide about another's patch.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from quarantine.domain.outcome import Lane, Outcome
from quarantine.policy.findings import Tries
from quarantine.policy.run_causes import is_signal, is_unexplained
from quarantine.services.traces import BROKE_OFF
from quarantine.store import aliases, builds, verdicts
from quarantine.store import outcomes as codes_of
from quarantine.store.aliases import Carriers
from quarantine.store.outcomes import Mask, Outcomes

Counts = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Columns:
    """How the tests did on one tree, each column of shape (tests,); see `quarantine.policy.findings.Tries`.

    A build adds one failed try at most and one passed try at most, however many uploads it came in.

    Attributes:
        seen: whether any report has the test, skipped or not.
    """

    failed: Counts
    passed: Counts
    straight: Counts
    seen: Mask

    @classmethod
    def of(cls, uploads: Iterable[Outcomes], tests: int) -> "Columns":
        """Return the columns of these uploads, given in order of arrival."""
        failed, passed, straight = (np.zeros(tests, np.int32) for _ in range(3))
        found = cls(failed, passed, straight, np.zeros(tests, np.bool_))
        by_build: dict[int, list[Outcomes]] = defaultdict(list)
        for upload in uploads:
            by_build[upload.build_seq].append(upload)
        for parts in by_build.values():
            found._add(parts)
        return found

    def _add(self, parts: Sequence[Outcomes]) -> None:
        failed, passed = np.zeros_like(self.seen), np.zeros_like(self.seen)
        last = np.zeros(len(self.seen), np.uint8)
        for part in parts:
            begun, ended = codes_of.first(part.codes), codes_of.last(part.codes)
            failed |= codes_of.is_failure(begun) | codes_of.is_failure(ended)
            passed |= (begun == codes_of.PASSED) | (ended == codes_of.PASSED)
            last = np.where(ended == codes_of.ABSENT, last, ended)
        self.failed[:] += failed
        self.passed[:] += passed
        self.straight[:] = np.where(failed, passed & (last == codes_of.PASSED), self.straight + passed)
        self.seen[:] |= last != codes_of.ABSENT

    @property
    def ran(self) -> Mask:
        """Whether the test passed or failed in any run."""
        return np.asarray((self.failed > 0) | (self.passed > 0))

    def tries(self, test: int) -> Tries:
        """Return the tries of one test."""
        return Tries(int(self.failed[test]), int(self.passed[test]), int(self.straight[test]))


@dataclass(frozen=True, slots=True)
class Side:
    """The runs of one tree.

    Attributes:
        uploads: by variant hash, in order of arrival.
        builds: their rows by sequence number, in order of arrival.
        events: the run events of each build that are failures.
        canary_codes: what the runner had to exit with, in the builds that had a canary.
    """

    uploads: Mapping[str, Sequence[Outcomes]]
    builds: Mapping[int, Mapping[str, Any]]
    events: Mapping[int, Sequence[Mapping[str, Any]]]
    canary_codes: Mapping[int, int]

    @classmethod
    def of(
        cls,
        connection: Connection,
        project_id: int,
        uploads: Mapping[str, Sequence[Outcomes]],
        rows: Mapping[int, Mapping[str, Any]],
    ) -> "Side":
        """Return the side that these uploads of these builds make."""
        seqs = sorted({upload.build_seq for several in uploads.values() for upload in several})
        events: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
        for row in builds.run_events(connection, project_id, seqs) if seqs else ():
            if Outcome(row["outcome"]).is_failure:
                events[row["build_seq"]].append(row)
        codes = verdicts.canary_codes(connection, project_id, seqs) if seqs else {}
        return cls(uploads, {seq: rows[seq] for seq in seqs}, events, codes)

    def columns(self, variant_hash: str, tests: int, *, among: Iterable[int] | None = None) -> Columns:
        """Return how the tests did in one variant, in the builds `among` if given."""
        uploads = self.uploads.get(variant_hash, ())
        chosen = None if among is None else set(among)
        return Columns.of((one for one in uploads if chosen is None or one.build_seq in chosen), tests)

    def broke_off(self, seq: int) -> bool:
        """Return whether a run did not come to its end, or did not tell everything."""
        kinds = {event["kind"] for event in self.events.get(seq, ())}
        return bool(kinds & BROKE_OFF) or is_signal(self.builds[seq]["exit_code"])

    def has_unexplained_exit(self, seq: int) -> bool:
        """Return whether nothing that failed in a run explains what its runner ended with.

        With a canary the code is known beforehand, whatever else failed.
        """
        row = self.builds[seq]
        if seq in self.canary_codes:
            return is_unexplained(row["exit_code"], failures=0, expected=self.canary_codes[seq])
        return is_unexplained(row["exit_code"], failures=row["failed"] + len(self.events.get(seq, ())))

    def broken(self) -> Tries:
        """Return how many runs broke off (failed) and came to their end (passed)."""
        return tries_of(self.broke_off(seq) for seq in self.builds)

    def exits(self) -> Tries:
        """Return how many whole runs ended with an exit code that nothing explains (failed), and the others.

        A run whose exit code nobody said is neither.
        """
        told = [seq for seq, row in self.builds.items() if row["exit_code"] is not None and not self.broke_off(seq)]
        return tries_of(self.has_unexplained_exit(seq) for seq in told)

    def faults(self) -> set[tuple[str, str]]:
        """Return (kind, where) of every run event that is no matter of the reports' own state."""
        found = {(event["kind"], event["where"]) for several in self.events.values() for event in several}
        return {(kind, where) for kind, where in found if kind not in BROKE_OFF}

    def fault(self, kind: str, where: str) -> Tries:
        """Return in how many runs this event was seen (failed) and, of the whole ones, not seen (passed)."""
        seen = {
            seq: any((event["kind"], event["where"]) == (kind, where) for event in self.events.get(seq, ()))
            for seq in self.builds
        }
        return tries_of(found for seq, found in seen.items() if found or not self.broke_off(seq))


def tries_of(failed: Iterable[bool]) -> Tries:
    """Return the tries of something that was seen (failed) or not (passed) in runs given in order of arrival."""
    failures = passes = straight = 0
    for one in failed:
        failures, passes, straight = (failures + 1, passes, 0) if one else (failures, passes + 1, straight + 1)
    return Tries(failures, passes, straight)


def head_of(connection: Connection, project_id: int, judged: Mapping[str, Any], tests: int) -> Side:
    """Return every run of the judged build's tree that counts; the build alone when nobody knows its tree."""
    variants = codes_of.variants_of_build(connection, project_id, judged["seq"])
    carriers = aliases.carriers(connection, project_id)
    lane, uploads = Lane(judged["lane"]), {}
    for variant in variants:
        if judged["tree"] is None:
            own = codes_of.of_build(connection, project_id, judged["seq"], variant_hash=variant, tests=tests)
            uploads[variant] = [own] if own else []
        else:
            found = codes_of.of_tree(
                connection, project_id, variant, tree=judged["tree"], setting=judged["setting"], tests=tests
            )
            uploads[variant] = [one for one in found if lane in one.lane.speaks_for]
        codes_of.as_one(uploads[variant], carriers)
    rows = _speaking(_rows(connection, project_id, uploads), judged)
    return Side.of(connection, project_id, _among(uploads, rows), rows)


@dataclass(frozen=True, slots=True)
class Base:
    """The runs of the base.

    Attributes:
        side: those that count.
        comparable: builds among them that ran all that the judged build ran, and came to their end.
        elsewhere: whether the base ran, but in another environment only.
    """

    side: Side
    comparable: frozenset[int]
    elsewhere: bool


def base_of(
    connection: Connection,
    project_id: int,
    judged: Mapping[str, Any],
    *,
    variants: Iterable[str],
    trees: Iterable[str],
    reruns: frozenset[int],
    tests: int,
) -> Base:
    """Return the runs of these trees that say, in these variants, what the judged build would do without the change.

    `reruns` are those that were made for this very verdict, so in the judged build's own command. Of others an equal
    command says that they ran the same, provided that it was recorded.
    """
    lane = Lane(judged["lane"])
    found = {
        variant: [
            one
            for tree in sorted(trees)
            for one in codes_of.of_tree(connection, project_id, variant, tree=tree, tests=tests)
            if lane in one.lane.speaks_for and (one.lane is Lane.TRUNK or one.setting == judged["setting"])
        ]
        for variant in variants
    }
    carriers = aliases.carriers(connection, project_id)
    for several in found.values():
        codes_of.as_one(several, carriers).sort(key=lambda one: one.arrival)
    rows = _speaking(_rows(connection, project_id, found), judged)
    rows = {seq: row for seq, row in rows.items() if row["stream"] == judged["stream"]}
    agreeing = {seq: row for seq, row in rows.items() if _agree(row["environment_hash"], judged["environment_hash"])}
    side = Side.of(connection, project_id, _among(found, agreeing), agreeing)
    comparable = frozenset(
        seq
        for seq, row in side.builds.items()
        if not side.broke_off(seq)
        and (
            seq in reruns
            or (judged["command"] and row["setting"] == judged["setting"])
            or (judged["complete"] and row["complete"])
        )
    )
    others = _other_variants(connection, project_id, side, comparable, carriers=carriers, tests=tests)
    side = replace(side, uploads={**side.uploads, **others})
    return Base(side, comparable, elsewhere=bool(rows) and not agreeing)


def _other_variants(
    connection: Connection, project_id: int, side: Side, comparable: Iterable[int], *, carriers: Carriers, tests: int
) -> dict[str, list[Outcomes]]:
    """Return what comparable runs of the base did in variants that the head has not, such as another browser."""
    found: dict[str, list[Outcomes]] = defaultdict(list)
    for seq in sorted(comparable):
        for variant in codes_of.variants_of_build(connection, project_id, seq):
            if variant not in side.uploads:
                whole = codes_of.of_build(connection, project_id, seq, variant_hash=variant, tests=tests)
                found[variant] += codes_of.as_one([whole], carriers) if whole else []
    return found


def _speaking(rows: dict[int, dict[str, Any]], judged: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the builds that say something about the judged one's change."""
    return {seq: row for seq, row in rows.items() if row["lane"] != Lane.AGENT or row["change"] == judged["change"]}


def _among(uploads: Mapping[str, Sequence[Outcomes]], rows: Mapping[int, Any]) -> dict[str, list[Outcomes]]:
    return {variant: [one for one in several if one.build_seq in rows] for variant, several in uploads.items()}


def _agree(one: str | None, other: str | None) -> bool:
    return one is None or other is None or one == other


def _rows(
    connection: Connection, project_id: int, uploads: Mapping[str, Sequence[Outcomes]]
) -> dict[int, dict[str, Any]]:
    seqs = {upload.build_seq for several in uploads.values() for upload in several}
    return builds.get(connection, project_id, seqs) if seqs else {}
