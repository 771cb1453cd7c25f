"""Documents in, runs out: the public verbs of the room."""

from collections.abc import Iterable
from typing import NamedTuple
from xml.parsers import expat

from quarantine.domain.report import Problem
from quarantine.errors import BadReport
from quarantine.junit.documents import DEFAULT, Document, Limits, Reading, Upload
from quarantine.junit.formats import unreadable
from quarantine.junit.handlers import Handlers
from quarantine.junit.records import DocumentRecords
from quarantine.junit.salvage import Salvage, check_tag_length
from quarantine.junit.source import Source
from quarantine.junit.tries import runs_of

NOT_WELL_FORMED = (expat.ExpatError, LookupError, ValueError)
"""What pyexpat raises for bad XML, for a codec Python does not know, and for one that is not of 8 bits."""


class _Read(NamedTuple):
    reading: Reading
    records: DocumentRecords | None


def read_one(document: Document, *, stream: str = "", limits: Limits = DEFAULT) -> Upload:
    """Read one document as an upload of its own; see `read_together`."""
    return read_together([document], stream=stream, limits=limits)


def read_together(documents: Iterable[Document], *, stream: str = "", limits: Limits = DEFAULT) -> Upload:
    """Read all documents of one job attempt of one build.

    A document that cannot be used is rejected alone; the others are read. A document whose bytes equal those of an
    earlier one is read once. The order of the documents changes the order of runs, and nothing else.

    Args:
        documents: the files of the upload.
        stream: the project or module name given by the uploader, part of every id.
        limits: what is refused or shortened.
    """
    readings: list[Reading] = []
    accepted: dict[str, DocumentRecords] = {}
    cases_left = limits.cases
    for document in documents:
        reading, records = _read(document, stream, limits, cases_left, accepted)
        readings.append(reading)
        if records is not None:
            accepted[reading.sha256] = records
            cases_left -= records.size
    everything = list(accepted.values())
    return Upload(
        readings=tuple(readings),
        runs=runs_of(everything),
        events=tuple([event for records in everything for event in records.events]),
        complete=all(reading.code is None for reading in readings) and all(records.complete for records in everything),
    )


def _read(
    document: Document, stream: str, limits: Limits, cases_left: int, accepted: dict[str, DocumentRecords]
) -> _Read:
    source = Source(document, limits)
    sha256 = source.sha256()
    if sha256 in accepted:
        note = Problem("same-document", "The same bytes were already read as another document of this upload.")
        return _Read(Reading(document.name, "ok", None, "Read already, under another name.", sha256, (note,)), None)
    try:
        records, problems = _records(source, stream, limits, cases_left)
    except BadReport as refused:
        return _Read(Reading(document.name, "rejected", refused.code, str(refused), sha256), None)
    status = "salvaged" if problems else "ok"
    problems = (*problems, *records.problems)
    return _Read(Reading(document.name, status, None, _sentence(records, status), sha256, problems), records)


def _records(
    source: Source, stream: str, limits: Limits, cases_left: int
) -> tuple[DocumentRecords, tuple[Problem, ...]]:
    """Return what a document says and how it had to be repaired; no repairs when it was well-formed."""
    handlers = Handlers(stream, limits, cases_left)
    try:
        _parse(source, handlers, limits)
    except NOT_WELL_FORMED:
        return _salvaged(source, Handlers(stream, limits, cases_left), limits)
    return handlers.records, ()


def _parse(source: Source, handlers: Handlers, limits: Limits) -> None:
    parser = expat.ParserCreate()
    handlers.attach(parser)
    parsed = 0
    try:
        for chunk in source.chunks():
            parser.Parse(chunk, False)
            parsed += len(chunk)
            check_tag_length(parser, parsed, limits)
        parser.Parse(b"", True)
    finally:
        handlers.release()


def _salvaged(source: Source, handlers: Handlers, limits: Limits) -> tuple[DocumentRecords, tuple[Problem, ...]]:
    salvage = Salvage(handlers, limits)
    salvage.read(source)
    records = handlers.records
    if not handlers.has_root or not (records.size or records.complete):
        raise unreadable(source.head)
    if source.cut_short:
        salvage.problems.append(Problem("broken-gzip", "The compressed file is damaged or cut short."))
    return records, tuple(salvage.problems)


def _sentence(records: DocumentRecords, status: str) -> str:
    how = "Read" if status == "ok" else "Read after repair"
    size = records.size
    what = "no tests" if size == 0 else f"{size:,} record{'' if size == 1 else 's'}"
    return f"{how}: {what}{'.' if records.complete else '; it breaks off, so tests may be missing.'}"
