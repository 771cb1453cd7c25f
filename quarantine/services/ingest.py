"""Taking one upload in: parsed before the transaction, then counted, confirmed and assessed inside one.

Either all of it is stored or nothing is. An upload that was stored is never stored again: documents are known by their
SHA-256 within their build, so a client may repeat a call it is unsure of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.build import Build
from quarantine.domain.identity import VariantKeys, variant_hash
from quarantine.domain.outcome import Lane
from quarantine.domain.report import Run, RunEvent
from quarantine.errors import BadReport
from quarantine.junit import Document, Reading, Upload, read_together
from quarantine.services import archive, assess, counting, storms
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.attribution import attribute
from quarantine.services.build_part import BuildPart, build_of
from quarantine.services.confirming import TreeOutcomes, confirm_earlier
from quarantine.services.intake import Intake
from quarantine.store import audit, builds, histories, projects, roster
from quarantine.store import outcomes as codes_of
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project
from quarantine.store.roster import Ordinals, Roster
from quarantine.store.sql import storable

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


def ingest(app: App, slug: str, bearer: Bearer, part: BuildPart, documents: Sequence[Document]) -> Receipt:
    """Take one upload in and return what became of it, durably stored.

    Raises:
        NotFound: there is no such project.
        NotAllowed: the bearer may not report.
        BadReport: no document could be read; the refused bytes are kept for a week.
        Busy: the database cannot take it now; nothing was stored.
    """
    build = build_of(part, lane=bearer.reporting_lane(), bound_change=bearer.change, token_id=bearer.token_id)
    with reading(app.engine) as connection:
        project_id = projects.by_slug(connection, slug).id
    documents = [document._replace(name=storable(document.name)) for document in documents]
    upload = read_together(documents, stream=build.stream)
    offer = _Offer(bearer, build, documents, upload, archive.Kept.of(documents, upload.readings))
    if not offer.kept.accepted:
        with writing(app.engine) as connection:
            archive.store_refused(connection, project_id, offer.kept, now=app.clock(), token_id=bearer.token_id)
        raise _nothing_readable(upload.readings)
    with app.lock:
        try:
            with writing(app.engine) as connection:
                return _take(app, connection, slug, offer)
        except BaseException:
            app.roster(project_id).forget()  # it may hold tests of the transaction that was rolled back
            app.reach.forget(project_id)
            raise


@dataclass(frozen=True, slots=True)
class _Offer:
    """What one call brought, read but not yet stored."""

    bearer: Bearer
    build: Build
    documents: Sequence[Document]
    upload: Upload
    kept: archive.Kept


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


def _take(app: App, connection: Connection, slug: str, offer: _Offer) -> Receipt:
    build, kept, upload, now = offer.build, offer.kept, offer.upload, app.clock()
    project = projects.by_slug(connection, slug, lock=True)
    known = builds.find(connection, project.id, build.key)
    seq = known["seq"] if known else project.builds + 1
    stored = builds.known_reports(connection, project.id, seq) if known else set()
    if known and kept.accepted <= stored:
        counts = {name: known[name] for name in builds.COUNTS}
        return Receipt(seq, new=False, readings=kept.readings, counts=counts)
    if stored & kept.accepted:
        upload = read_together(kept.without(offer.documents, stored), stream=build.stream)
    token_id = offer.bearer.token_id
    if known is None:
        builds.insert(connection, project.id, seq, build, now=now, token_id=token_id)
    archive.store(connection, project.id, seq, kept, now=now, token_id=token_id)
    builds.add_run_events(connection, project.id, seq, [_event_row(event) for event in upload.events])

    cached = app.roster(project.id)
    cached.refresh(connection, project.id, project.tests)
    resolved = [
        (variant, runs, _ordinals(connection, project, cached, runs, build=build, seq=seq))
        for variant, runs in counting.by_variant(build, upload.runs).items()
    ]
    arrival = project.uploads + 1
    intake = Intake(app, connection, project, build, seq, arrival, len(cached), now, offer.bearer.actor)
    pairs, sentences = _take_variants(intake, resolved)
    if known and known["tree"] != build.tree:
        sentences.append(
            f"Build {build.build!r} came in before on another tree, so this counts as more tries of it and not as a "
            "build of its own. Does every execution have a name of its own?"
        )
    counts = counting.counts_of_build(intake, codes_of.variants_of_build(connection, project.id, seq))
    builds.set_counts(connection, project.id, seq, counts)
    projects.set_counters(
        connection,
        project,
        pairs=pairs,
        tests=len(cached),
        builds=max(seq, project.builds),
        uploads=intake.arrival,
        reserve=_reserve(app, build, project.reserve, pairs),
    )
    audit.record(
        connection, project.id, at=now, actor=offer.bearer.actor, action="report", detail=kept.record(seq, build)
    )
    return Receipt(
        seq,
        new=True,
        readings=kept.readings,
        counts=counts,
        run_events=len(upload.events),
        new_tests=len(cached) - project.tests,
        transitions=tuple(sentences),
    )


def _reserve(app: App, build: Build, reserve: int | None, pairs: int) -> int | None:
    """Return R once the first full trunk build is in: some factor times the pairs it showed."""
    is_first_full = build.lane is Lane.TRUNK and build.complete and not build.is_rerun and pairs > 0
    return app.policy.reserve_factor * pairs if reserve is None and is_first_full else reserve


def _ordinals(
    connection: Connection, project: Project, cached: Roster, runs: Sequence[Run], *, build: Build, seq: int
) -> Ordinals:
    if build.lane is not Lane.TRUNK:
        _refuse_invented(cached, project, runs)
    ordinals = cached.resolve(connection, project.id, runs, stream=build.stream, build_seq=seq)
    if build.lane is Lane.TRUNK and not all(map(attrgetter("origin.unique"), runs)):
        shared = [ordinal for ordinal, run in zip(ordinals.tolist(), runs, strict=True) if not run.origin.unique]
        roster.mark_not_unique(connection, project.id, shared)
    return ordinals


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


def _take_variants(
    intake: Intake, resolved: Sequence[tuple[VariantKeys, Sequence[Run], Ordinals]]
) -> tuple[int, list[str]]:
    """Take each variant in; return the highest pair number and a sentence for each transition."""
    pairs = intake.project.pairs
    sentences: list[str] = []
    for variant, runs, ordinals in resolved:
        new_pairs, said = _take_variant(intake, variant, runs, ordinals, pairs)
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


def _take_variant(
    intake: Intake, variant: VariantKeys, runs: Sequence[Run], ordinals: Ordinals, pairs: int
) -> tuple[int, list[str]]:
    """Count, confirm and assess the runs of one variant; return new pairs and a sentence for each transition."""
    connection, project_id, build = intake.connection, intake.project.id, intake.build
    before = codes_of.of_build(
        connection, project_id, intake.seq, variant_hash=variant_hash(variant), tests=intake.tests
    )
    batch = counting.batch_of(variant, runs, ordinals, before.codes if before else None)
    builds.add_variant(connection, project_id, batch.variant_hash, dict(variant), intake.seq)
    history, trunk_builds = histories.load(connection, project_id, batch.variant_hash)
    history.grow(int(batch.tests.max(initial=-1)) + 1)
    already_failing = history.fail_streak[batch.tests] > 0
    attribution = attribute(intake, batch)
    is_storm = storms.strikes(intake, batch, history, already_failing)
    counted = attribution.counted & (not is_storm)
    advanced = counting.advance_by(history, batch, counted, intake, pairs)
    counting.store_outcomes(intake, batch, counted)
    counting.store_failures(intake, batch, counted, history, already_failing)
    assessor = assess.Assessor(intake, batch, history, TreeOutcomes.of(intake, batch.variant_hash))
    said = assess.after_batch(
        assessor, is_head=advanced.is_head, attribution=attribution, confirmed=confirm_earlier(intake, batch)
    )
    if build.lane is Lane.TRUNK or counted.any():  # else nothing of it changed, and nobody can fill the store with it
        is_new_trunk_run = before is None and build.lane is Lane.TRUNK and not build.is_rerun
        histories.save(connection, project_id, batch.variant_hash, history, trunk_builds + is_new_trunk_run)
    if advanced.new_pairs:
        projects.touch_gating(connection, project_id)  # a quarantined test may gate in a variant it is new to
    return advanced.new_pairs, said
