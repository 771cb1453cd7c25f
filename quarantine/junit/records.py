"""What the reading of one document collects, before the tries of a test are brought together."""

from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from quarantine.domain.identity import ID_DIGEST_BYTES
from quarantine.domain.report import Problem, Run, RunEvent
from quarantine.junit.dialects import Dialect
from quarantine.junit.texts import one_newline

CACHED_CLASSES = 4_096
SPECIAL_PRODUCERS = frozenset({"linter", "phpunit"})


class ClassPart(NamedTuple):
    """A classname with the bytes that every id of the class begins with.

    Attributes:
        classname: cleaned.
        lengths: the lengths of stream, suites and classname as the digest wants them, each with a comma.
        body: the parts themselves, in UTF-8.
    """

    classname: str
    lengths: bytes
    body: bytes


class SuiteRecords:
    """The records of one suite: one run for each case, all of one dialect.

    Attributes:
        dialect: decided once, at the first case.
        path: its suite names.
        variant: its variant.
        is_special: whether names need cleaning or cases are no tests, so that the short way is not open to them.
        tests: the suite's own `tests=`; None when it gives no plain number.
        base: the Java module's folder, when the report tells it; empty otherwise.
        runs: one for each record, in the order of the document, each with the tries of that record alone.
        events: how many records of it became run events.
        hides_tries: kept here by `tries`, which asks it of pytest's suites; None until asked.
    """

    __slots__ = (
        "_classes", "_stream", "base", "dialect", "events", "hides_tries", "is_special", "path", "runs", "tests", "variant",
    )  # fmt: skip

    def __init__(self, stream: str, dialect: Dialect, tests: int | None, base: str) -> None:
        self.dialect = dialect
        self.path = dialect.path
        self.variant = dialect.variant
        self.is_special = dialect.rename is not None or dialect.producer in SPECIAL_PRODUCERS
        self.tests = tests
        self.base = base
        self.runs: list[Run] = []
        self.events = 0
        self.hides_tries: bool | None = None
        self._stream = stream
        self._classes: dict[str, ClassPart] = {}

    def class_part(self, classname: str) -> ClassPart:
        """Return the part of a class, from memory where possible."""
        part = self._classes.get(classname)
        if part is None:
            if len(self._classes) >= CACHED_CLASSES:
                self._classes.clear()
            part = self._classes[classname] = self._new_part(classname)
        return part

    def _new_part(self, classname: str) -> ClassPart:
        encoded = [part.encode("utf-8", "surrogatepass") for part in (self._stream, *self.dialect.path, classname)]
        return ClassPart(classname, b"".join([b"%d," % len(part) for part in encoded]), b"".join(encoded))

    def cleaned(self, classname: str, name: str) -> tuple[str, str]:
        """Return (classname, name) as the dialect cleans them, newlines as one character."""
        if "\r" in name or "\r" in classname:
            classname, name = one_newline(classname), one_newline(name)
        return (classname, name) if self.dialect.rename is None else self.dialect.rename(classname, name)

    def digest(self, classname: str, name: str) -> bytes:
        """Return `test_digest` of a test in this suite, with the share of its class prepared once."""
        part = self.class_part(classname)
        encoded = name.encode("utf-8", "surrogatepass")
        content = b"%b%d:%b%b" % (part.lengths, len(encoded), part.body, encoded)
        return blake2b(content, digest_size=ID_DIGEST_BYTES).digest()


class DocumentRecords:
    """All that one document said.

    Attributes:
        suites: with at least one case each, in order of appearance.
        events: records that are no tests.
        problems: what was not as it should be.
        complete: False when the document breaks off.
    """

    def __init__(self) -> None:
        self.suites: list[SuiteRecords] = []
        self.events: list[RunEvent] = []
        self.problems: list[Problem] = []
        self.complete = True

    @property
    def size(self) -> int:
        """How many cases and events were read."""
        return len(self.events) + sum([len(suite.runs) for suite in self.suites])

    @cached_property
    def digests(self) -> frozenset[bytes]:
        """The ids of its tests."""
        return frozenset([run.digest for suite in self.suites for run in suite.runs])

    @cached_property
    def failed_digests(self) -> frozenset[bytes]:
        """The ids of its tests that came to a failure."""
        return frozenset([run.digest for suite in self.suites for run in suite.runs if run.outcome.is_failure])
