"""Taking one upload in: parsed before the transaction, then counted, confirmed and assessed inside one.

Either all of it is stored or nothing is. An upload that was stored is never stored again: documents are known by their
SHA-256 within their build, so a client may repeat a call it is unsure of.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.build import Build
from quarantine.domain.identity import VariantKeys, variant_hash
from quarantine.domain.outcome import Lane
from quarantine.domain.report import Run, RunEvent
from quarantine.errors import BadReport
from quarantine.junit import Document, Reading, Upload, read_together
from quarantine.services import archive, assess, canary, counting, renames, storms
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.attribution import attribute
from quarantine.services.build_part import BuildPart, OwnersText, build_of
from quarantine.services.canary import CanaryState
from quarantine.services.confirming import TreeOutcomes, confirm_earlier
from quarantine.services.intake import Intake
from quarantine.services.naming import SOUND_BUILDS
from quarantine.services.renamed_runs import Told, told
from quarantine.services.traces import traces_of
from quarantine.store import audit, builds, histories, owners, projects, roster
from quarantine.store import outcomes as codes_of
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project
from quarantine.store.roster import Roster
from quarantine.store.sql import storable

T = TypeVar("T")

NEW_TESTS_ALWAYS = 5_000
"""A change may bring so many names nobody has seen, however small the project is."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of one upload.

    Attributes:
        build_seq: the build's sequence number in the project.
        new: False when every document was already stored; then nothing changed.
        readings: what was read of each document, in the order sent.
        counts: tests of this build so far: passed, failed, skipped, flaky.
        run_events: records of this upload that are no tests.
        new_tests: tests never seen before.
        transitions: for each change of standing the test, from where to where, and why.
    """

    build_seq: int
    new: bool
    readings: tuple[Reading, ...]
    counts: dict[str, int]
    run_events: int = 0
    new_tests: int = 0
    transitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """One upload as it has just been stored, while its transaction is still open.

    Attributes:
        project: with the counters it has now.
        build, seq: the build and its sequence number.
        now: the instant of arrival.
        actor: who sent it, for the record.
        canary: what the canary did; None when there was none.
    """

    connection: Connection
    project: Project
    build: Build
    seq: int
    now: datetime
    actor: str
    receipt: Receipt
    canary: CanaryState | None


def ingest(app: App, slug: str, bearer: Bearer, part: BuildPart, documents: Sequence[Document]) -> Receipt:
    """Take one upload in and return what became of it, durably stored.

    Without a readable report it is taken when the build part states an exit code: a runner that crashed leaves a trace.

    Raises:
        NotFound: there is no such project.
        NotAllowed: the bearer may not report.
        BadReport: no document could be read; the refused bytes are kept for a week.
        Busy: the database cannot take it now; nothing was stored.
    """
    return take_in(
        app, slug, bearer, part, documents, then=lambda taken: taken.receipt, may_be_empty=part.exit_code is not None
    )


def take_in(
    app: App,
    slug: str,
    bearer: Bearer,
    part: BuildPart,
    documents: Sequence[Document],
    *,
    then: Callable[[Taken], T],
    may_be_empty: bool,
    canary_name: str | None = None,
    timed_out: bool = False,
) -> T:
    """Take one upload in and return what `then` makes of it, inside the same transaction; raises as `ingest`.

    Args:
        app: the product.
        slug: the project.
        bearer: who sends it.
        part: which build it is of.
        documents: its reports.
        then: called before the transaction ends; whatever it raises undoes everything.
        may_be_empty: whether the upload is taken though no report can be read.
        canary_name: the test that is no test of the project; BadInput when the project has one of this name.
        timed_out: whether the client stopped the run.
    """
    build = build_of(part, lane=bearer.reporting_lane(), bound_change=bearer.change, token_id=bearer.token_id)
    with reading(app.engine) as connection:
        project_id = projects.by_slug(connection, slug).id
    documents = [document._replace(name=storable(document.name)) for document in documents]
    upload = read_together(documents, stream=build.stream)
    kept = archive.Kept.of(documents, upload.readings)
    if not kept.accepted and not may_be_empty:
        with writing(app.engine) as connection:
            archive.store_refused(connection, project_id, kept, now=app.clock(), token_id=bearer.token_id)
        raise _nothing_readable(upload.readings)
    offer = _Offer(bearer, build, part.owners, documents, upload, kept, canary_name, timed_out)
    with app.lock:
        try:
            with writing(app.engine) as connection:
                return then(_take(app, connection, slug, offer))
        except BaseException:
            app.roster(project_id).forget()  # it may hold tests of the transaction that was rolled back
            app.reach.forget(project_id)
            app.names.forget(project_id)
            raise


@dataclass(frozen=True, slots=True)
class _Offer:
    """What one call brought, read but not yet stored."""

    bearer: Bearer
    build: Build
    owners: OwnersText | None
    documents: Sequence[Document]
    upload: Upload
    kept: archive.Kept
    canary_name: str | None
    timed_out: bool

    def without(self, stored: set[str]) -> tuple[Upload, CanaryState | None]:
        """Return what was read of the documents that are not stored yet, and what the canary did in all of them."""
        name, upload, state = self.canary_name, self.upload, None
        if name is not None:
            runs, state = canary.taken_out(upload.runs, name)
            upload = upload._replace(runs=runs)
        if stored & self.kept.accepted:
            upload = read_together(self.kept.without(self.documents, stored), stream=self.build.stream)
            upload = upload._replace(runs=canary.taken_out(upload.runs, name)[0]) if name is not None else upload
        return upload, state


def _nothing_readable(readings: Sequence[Reading]) -> BadReport:
    if not readings:
        return BadReport("The upload holds no report.", mend="Send at least one JUnit XML file.", code="no-report")
    shown = [f"{reading.name}: {reading.sentence}" for reading in readings[:5]]
    more = f" (and {len(readings) - 5} more)" if len(readings) > len(shown) else ""
    return BadReport(
        f"No report in this upload could be read. {' '.join(shown)}{more}",
        mend="Check the path your CI collects reports from.",
        code=readings[0].code,
    )


def _take(app: App, connection: Connection, slug: str, offer: _Offer) -> Taken:
    """Store one upload unless all of it is stored already."""
    build, kept, now = offer.build, offer.kept, app.clock()
    project = projects.by_slug(connection, slug, lock=True)
    if offer.canary_name is not None:
        canary.require_unknown(connection, project.id, offer.canary_name)
    known = builds.find(connection, project.id, build.key)
    seq = known["seq"] if known else project.builds + 1
    stored = builds.known_reports(connection, project.id, seq) if known else set()
    upload, canary_state = offer.without(stored)
    traces = [
        _event_row(trace)
        for trace in traces_of(
            kept.readings, exit_code=build.exit_code, timed_out=offer.timed_out, has_reports=bool(stored)
        )
    ]
    if known and traces:
        told = {(row["kind"], row["where"]) for row in builds.run_events(connection, project.id, [seq])}
        traces = [row for row in traces if (row["kind"], row["where"]) not in told]
    cached = app.roster(project.id)
    cached.refresh(connection, project.id, project.tests, project.renames)
    taken = Taken(connection, project, build, seq, now, offer.bearer.actor, _known(known, seq, kept), canary_state)
    if known and kept.accepted <= stored and not traces:
        return taken
    if known is None:
        builds.insert(connection, project.id, seq, build, now=now, token_id=offer.bearer.token_id)
    archive.store(connection, project.id, seq, kept, now=now, token_id=offer.bearer.token_id)
    if offer.owners is not None and build.lane is Lane.TRUNK and not build.is_rerun:
        found = owners.OwnersText(**offer.owners.model_dump())
        owners.keep(connection, project.id, found, build_seq=seq, now=now)
    events = [*map(_event_row, upload.events), *traces]
    builds.add_run_events(connection, project.id, seq, events)

    resolved = [
        _resolved(connection, project, cached, variant, runs, build=build, seq=seq)
        for variant, runs in counting.by_variant(build, upload.runs).items()
    ]
    if known is None and build.lane is Lane.TRUNK and not build.is_rerun:
        _heal(connection, project, resolved)
    arrival = project.uploads + 1
    intake = Intake(app, connection, project, build, seq, arrival, len(cached), now, offer.bearer.actor)
    pairs, sentences = _take_variants(intake, resolved)
    if not resolved:
        counting.store_empty(intake)
    if known and known["tree"] != build.tree:
        sentences.append(
            f"Build {build.build!r} came in before on another tree, so this counts as more tries of it and not as a "
            "build of its own. Does every execution have a name of its own?"
        )
    counts = counting.counts_of_build(intake, codes_of.variants_of_build(connection, project.id, seq))
    builds.set_counts(connection, project.id, seq, counts)
    project = projects.set_counters(
        connection,
        project,
        pairs=pairs,
        tests=len(cached),
        builds=max(seq, project.builds),
        uploads=intake.arrival,
        reserve=_reserve(app, build, project.reserve, pairs) if resolved else project.reserve,
    )
    audit.record(
        connection, project.id, at=now, actor=offer.bearer.actor, action="report", detail=kept.record(seq, build)
    )
    receipt = Receipt(
        seq,
        new=True,
        readings=kept.readings,
        counts=counts,
        run_events=len(events),
        new_tests=len(cached) - intake.project.tests,
        transitions=tuple(sentences),
    )
    return replace(taken, project=project, receipt=receipt)


def _known(row: Mapping[str, Any] | None, seq: int, kept: archive.Kept) -> Receipt:
    """Return the receipt of an upload that brings nothing new."""
    counts = {name: row[name] for name in builds.COUNTS} if row else {}
    return Receipt(seq, new=False, readings=kept.readings, counts=counts)


def _reserve(app: App, build: Build, reserve: int | None, pairs: int) -> int | None:
    """Return R once the first full trunk build is in: some factor times the pairs it showed."""
    is_first_full = build.lane is Lane.TRUNK and build.complete and not build.is_rerun and pairs > 0
    return app.policy.reserve_factor * pairs if reserve is None and is_first_full else reserve


def _resolved(
    connection: Connection,
    project: Project,
    cached: Roster,
    variant: VariantKeys,
    runs: Sequence[Run],
    *,
    build: Build,
    seq: int,
) -> Told:
    if build.lane is not Lane.TRUNK:
        _refuse_invented(cached, project, runs)
    names = cached.resolve(connection, project.id, runs, stream=build.stream, build_seq=seq)
    found = told(connection, project, cached, variant, runs, names=names, build=build, seq=seq)
    if build.lane is Lane.TRUNK and not all(map(attrgetter("origin.unique"), found.runs)):
        shared = [test for test, run in zip(found.tests.tolist(), found.runs, strict=True) if not run.origin.unique]
        roster.mark_not_unique(connection, project.id, shared)
    return found


def _heal(connection: Connection, project: Project, resolved: Sequence[Told]) -> None:
    """Note which of the ids that once stood for several tests this trunk run tells of once."""
    marked = roster.not_unique(connection, project.id)
    if not marked:
        return
    seen = [(test, run) for one in resolved for test, run in zip(one.tests.tolist(), one.runs, strict=True)]
    repeated = {test for test, run in seen if not run.origin.unique}
    sound = marked.intersection(test for test, _ in seen) - repeated
    roster.note_sound(connection, project.id, sorted(sound), needed=SOUND_BUILDS)


def _refuse_invented(cached: Roster, project: Project, runs: Sequence[Run]) -> None:
    """Raise BadReport when another lane than trunk brings more new names than the project has tests, and thousands."""
    unknown = np.count_nonzero(cached.find([run.digest for run in runs]) < 0)
    most = max(NEW_TESTS_ALWAYS, project.tests)
    if unknown > most:
        raise BadReport(
            f"The upload names {unknown:,} tests that nobody has seen; at most {most:,} are taken from a change.",
            mend="Is this the project's suite? Let trunk report it first.",
            code="too-many-new-tests",
        )


def _take_variants(intake: Intake, resolved: Sequence[Told]) -> tuple[int, list[str]]:
    """Take each variant in; return the highest pair number and a sentence for each transition."""
    pairs = intake.project.pairs
    sentences: list[str] = []
    for one in resolved:
        new_pairs, said = _take_variant(intake, one, pairs)
        pairs += new_pairs
        sentences += said
    return pairs, sentences


def _event_row(event: RunEvent) -> dict[str, str]:
    return {
        "kind": event.kind[:40],
        "where": event.where[: counting.MESSAGE_CHARACTERS],
        "outcome": event.outcome.value,
        "message": event.message[: counting.MESSAGE_CHARACTERS],
        "detail": event.detail[: counting.DETAIL_CHARACTERS],
    }


def _take_variant(intake: Intake, found: Told, pairs: int) -> tuple[int, list[str]]:
    """Count, confirm and assess the runs of one variant; return new pairs and a sentence for each transition."""
    connection, project_id, build = intake.connection, intake.project.id, intake.build
    before = codes_of.of_build(
        connection, project_id, intake.seq, variant_hash=variant_hash(found.variant), tests=intake.tests
    )
    batch = counting.batch_of(found, before.codes if before else None)
    builds.add_variant(connection, project_id, batch.variant_hash, dict(found.variant), intake.seq)
    history, trunk_builds = histories.load(connection, project_id, batch.variant_hash)
    history.grow(int(batch.tests.max(initial=-1)) + 1)
    already_failing = history.fail_streak[batch.tests] > 0
    attribution = attribute(intake, batch)
    is_storm = storms.strikes(intake, batch, history, already_failing)
    counted = attribution.counted & (not is_storm)
    advanced = counting.advance_by(history, batch, counted, intake, pairs)
    counting.store_outcomes(intake, batch, counted)
    counting.store_failures(intake, batch, counted, history, already_failing)
    renames.note(intake, batch, history, is_news=advanced.new_pairs > 0 or before is not None)
    assessor = assess.Assessor(intake, batch, history, TreeOutcomes.of(intake, batch.variant_hash))
    said = assess.after_batch(
        assessor, is_head=advanced.is_head, attribution=attribution, confirmed=confirm_earlier(intake, batch)
    )
    if build.lane is Lane.TRUNK or counted.any():  # else nothing of it changed, and nobody can fill the store with it
        is_new_trunk_run = before is None and build.lane is Lane.TRUNK and not build.is_rerun
        histories.save(connection, project_id, batch.variant_hash, history, trunk_builds + is_new_trunk_run)
    if advanced.new_pairs or advanced.new_days:  # a quarantined test may gate in a variant that it is new to, or
        projects.touch_gating(connection, project_id)  # that it runs in again, and no longer in one it ran in last
    return advanced.new_pairs, said
