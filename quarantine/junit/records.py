"""What the reading of one document collects, before the tries of a test are brought together."""

from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from quarantine.domain.identity import ID_DIGEST_BYTES, TestName
from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Origin, Problem, Result, Run, RunEvent
from quarantine.junit.cases import status_outcome
from quarantine.junit.dialects import Dialect, file_text
from quarantine.junit.pseudo import event_kind
from quarantine.junit.quantities import duration_s, line_number
from quarantine.junit.texts import one_newline

CACHED_CLASSES = 4_096
CACHED_PASSES = 20_000
LONGEST_PLACE = 1_000
LONGEST_PLAIN = 1_000  # characters; four bytes each are within `LENGTHS`
SPECIAL_PRODUCERS = frozenset({"linter", "phpunit"})

Case = tuple[dict[str, str], tuple[Result, ...] | None]
"""The attributes of a case and what its children came to; None when it has none that say anything."""

new_tuple = tuple.__new__
LENGTHS = [b"%d:" % length for length in range(4_096)]
"""What the digest wants before a name of so many bytes."""


class Passes(dict[str | None, tuple[Result, ...]]):
    """The one passed try of a case without children, by its `time`: tries of one duration are one object."""

    def __missing__(self, time: str | None) -> tuple[Result, ...]:
        results = (Result(Outcome.PASSED, duration_s(time)),)
        if len(self) < CACHED_PASSES:
            self[time] = results
        return results


class ClassPart(NamedTuple):
    """A classname with the bytes that every id of the class begins with.

    Attributes:
        origin: of the class's plain tests; one object for all of them, its classname cleaned.
        lengths: the lengths of stream, suites and classname as the digest wants them, each with a comma.
        body: the parts themselves, in UTF-8.
    """

    origin: Origin
    lengths: bytes
    body: bytes


class ClassParts(dict[str, ClassPart]):
    """The parts of the classes of one suite, by classname."""

    def __init__(self, stream: str, dialect: Dialect) -> None:
        super().__init__()
        self._path, self._variant = dialect.path, dialect.variant
        encoded = [part.encode("utf-8", "surrogatepass") for part in (stream, *dialect.path)]
        self._lengths = b"".join([b"%d," % len(part) for part in encoded])
        self._body = b"".join(encoded)

    def __missing__(self, classname: str) -> ClassPart:
        if len(self) >= CACHED_CLASSES:
            self.clear()
        encoded = classname.encode("utf-8", "surrogatepass")
        origin = Origin(self._path, classname, self._variant)
        part = ClassPart(origin, b"%b%d," % (self._lengths, len(encoded)), self._body + encoded)
        self[classname] = part
        return part


class SuiteRecords:
    """The records of one suite: one run for each case, all of one dialect.

    Attributes:
        dialect: decided once, at the first case.
        tests: the suite's own `tests=`; None when it gives no plain number.
        base: the Java module's folder, when the report tells it; empty otherwise.
        runs: one for each record, in the order of the document, each with the tries of that record alone.
        events: the records of it that are no tests.
        hides_tries: kept here by `tries`, which asks it of pytest's suites; None until asked.
    """

    __slots__ = ("_is_special", "_parts", "base", "dialect", "events", "hides_tries", "runs", "tests")

    def __init__(self, stream: str, dialect: Dialect, tests: int | None, base: str) -> None:
        self.dialect = dialect
        self.tests = tests
        self.base = base
        self.runs: list[Run] = []
        self.events: list[RunEvent] = []
        self.hides_tries: bool | None = None
        self._parts = ClassParts(stream, dialect)
        self._is_special = dialect.rename is not None or dialect.producer in SPECIAL_PRODUCERS

    def add(self, cases: Iterable[Case], passes: Passes) -> None:
        """Add cases in the order of the document.

        This loop is where the time of an ingest goes: what a plain case does not need is decided by one test each.
        """
        parts, append, is_special = self._parts, self.runs.append, self._is_special
        for attributes, found in cases:
            get = attributes.get
            name = get("name")
            if (
                is_special or found is not None or not name or len(name) > LONGEST_PLAIN or name.isspace()
                or "\r" in name or "file" in attributes or "status" in attributes
            ):  # fmt: skip
                self._add_special(attributes, found or _childless(attributes, passes))
                continue
            origin, lengths, body = parts[get("classname") or ""]
            encoded = name.encode("utf-8", "surrogatepass")
            content = b"".join((lengths, LENGTHS[len(encoded)], body, encoded))
            digest = blake2b(content, digest_size=ID_DIGEST_BYTES).digest()
            append(new_tuple(Run, (digest, name, passes[get("time")], origin)))

    def _add_special(self, attributes: dict[str, str], results: tuple[Result, ...]) -> None:
        """Add a case that did not pass, that needs its names cleaned, or that may be no test."""
        raw_class = attributes.get("classname") or attributes.get("class") or ""
        raw_name = attributes.get("name") or ""
        classname, name = self._cleaned(raw_class, raw_name)
        last = results[-1]
        kind = event_kind(self.dialect.producer, raw_class, raw_name, last)
        path = self.dialect.path
        if kind is not None:
            self.events.append(event(kind, classname or raw_name or "/".join(path), last))
            return
        raw = None if classname is raw_class and name is raw_name else TestName(path, raw_class, raw_name)
        part = self._parts[classname]
        file, line = _place(attributes)
        origin = part.origin
        if file or line is not None or raw is not None:
            origin = origin._replace(file=file, line=line, raw=raw)
        self.runs.append(Run(_digest(part, name), name, results, origin))

    def _cleaned(self, classname: str, name: str) -> tuple[str, str]:
        """Return (classname, name) as the dialect cleans them, newlines as one character."""
        if "\r" in name or "\r" in classname:
            classname, name = one_newline(classname), one_newline(name)
        return (classname, name) if self.dialect.rename is None else self.dialect.rename(classname, name)


def event(kind: str, where: str, result: Result) -> RunEvent:
    """Return the run event that a record comes to."""
    return RunEvent(kind, where[:LONGEST_PLACE], result.outcome, result.message, result.detail)


def _digest(part: ClassPart, name: str) -> bytes:
    """Return `test_digest` of a name in a class, the class's share being prepared."""
    encoded = name.encode("utf-8", "surrogatepass")
    content = b"%b%d:%b%b" % (part.lengths, len(encoded), part.body, encoded)
    return blake2b(content, digest_size=ID_DIGEST_BYTES).digest()


def _childless(attributes: dict[str, str], passes: Passes) -> tuple[Result, ...]:
    outcome = status_outcome(attributes)
    if outcome is None:
        return passes[attributes.get("time")]
    return (Result(outcome, duration_s(attributes.get("time"))),)


def _place(attributes: dict[str, str]) -> tuple[str, int | None]:
    if "file" not in attributes and "line" not in attributes:
        return "", None
    return file_text(attributes.get("file", "")[:LONGEST_PLACE]), line_number(attributes.get("line"))


class DocumentRecords:
    """All that one document said.

    Attributes:
        suites: with at least one case each, in order of appearance.
        suite_events: results that stand in a suite and in no case.
        problems: what was not as it should be.
        complete: False when the document breaks off.
    """

    def __init__(self) -> None:
        self.suites: list[SuiteRecords] = []
        self.suite_events: list[RunEvent] = []
        self.problems: list[Problem] = []
        self.complete = True

    @property
    def events(self) -> list[RunEvent]:
        """All records that are no tests."""
        return [event for suite in self.suites for event in suite.events] + self.suite_events

    @property
    def size(self) -> int:
        """How many cases and events were read."""
        return len(self.suite_events) + sum([len(suite.runs) + len(suite.events) for suite in self.suites])

    @cached_property
    def digests(self) -> frozenset[bytes]:
        """The ids of its tests."""
        return frozenset([run.digest for suite in self.suites for run in suite.runs])

    @cached_property
    def failed_digests(self) -> frozenset[bytes]:
        """The ids of its tests that came to a failure."""
        return frozenset([run.digest for suite in self.suites for run in suite.runs if run.outcome.is_failure])
