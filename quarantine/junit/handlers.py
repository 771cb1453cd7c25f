"""The expat handlers: elements in, records out, never a tree of the whole document.

What is held at any time is the open elements, the children of one open case, and the records. A case without children
takes a short way; one with children is built as a small standard library element and read by junitparser.
"""

from typing import NoReturn
from xml.etree.ElementTree import Element
from xml.parsers.expat import XMLParserType

from quarantine.domain.report import Problem
from quarantine.errors import BadReport
from quarantine.junit.cases import (
    FINAL_TAGS,
    INTERIM_TAGS,
    OUTPUT_TAGS,
    RESULT_TAGS,
    TEXT_TAGS,
    TextBudget,
    read_case,
)
from quarantine.junit.dialects import Attributes, Clues, dialect_of
from quarantine.junit.documents import Limits
from quarantine.junit.formats import check_root, is_allowed_encoding
from quarantine.junit.frames import Capture, Frame, OpenCase
from quarantine.junit.quantities import count
from quarantine.junit.records import Case, DocumentRecords, Passes, SuiteRecords, event

INNER_TAGS = frozenset({"stackTrace"}) | OUTPUT_TAGS
CASES_AT_ONCE = 512
PROPERTIES_KEPT = 400
OUTPUTS_KEPT = 2
COUNTS_OTHERWISE = frozenset({"pytest", "surefire", "testng", "gotestsum"})
"""Producers whose `tests=` counts tries or phases: it says nothing about what is missing."""


class Handlers:
    """Reads one XML document through the parsers it is attached to; `records` is what came of it.

    Args:
        stream: the project or module name that the uploader gave; part of every id.
        limits: see `Limits`.
        cases_left: how many more cases and events may be read.
    """

    def __init__(self, stream: str, limits: Limits, cases_left: int) -> None:
        self.records = DocumentRecords()
        self.has_root = False
        self.depth = 0
        self._stream = stream
        self._limits = limits
        self._most_attributes = limits.attributes
        self._cases_left = cases_left
        self._path_bytes_left = limits.path_bytes
        self._budget = TextBudget(limits)
        self._passes = Passes()
        self._is_testng = False
        self._noted: set[str] = set()
        self._reset()

    def _reset(self) -> None:
        self.depth = 0
        self._root: Attributes = {}
        self._root_tag = ""
        self._strangers = 0
        self._has_suites = False
        self._size_before = self.records.size
        self._frames: list[Frame] = [Frame({})]
        self._suite: SuiteRecords | None = None
        self._case: dict[str, str] | None = None
        self._element: Element | None = None
        self._surplus = 0
        self._waiting: list[OpenCase] = []
        self._batch: list[Case] = []
        self._captures: list[Capture] = []

    def attach(self, parser: XMLParserType) -> None:
        """Make this the reader of what `parser` parses from now on, as the start of a document."""
        self._reset()
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CommentHandler = self._comment
        parser.XmlDeclHandler = _declaration
        parser.EntityDeclHandler = _entity
        parser.UnparsedEntityDeclHandler = _entity
        parser.AttlistDeclHandler = _entity

    def release(self) -> None:
        """Let go of the parser: the two hold each other, and would live until the next garbage collection."""
        vars(self).pop("_parser", None)

    # Elements

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag != "testcase" or not self.depth:
            self._start_other(tag, attributes)
            return
        if len(attributes) > self._most_attributes:
            self._refuse_attributes(tag, attributes)
        if self._case is not None:
            self._set_aside(self._case)
        self._case = attributes

    def _set_aside(self, case: dict[str, str]) -> None:
        """Let the open case wait until the case inside it is read."""
        if len(self._waiting) >= self._limits.depth:
            self._refuse_depth()
        self._waiting.append(OpenCase(case, self._element, self._surplus))
        self._element = None
        self._surplus = 0

    def _start_other(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > self._limits.depth:
            self._refuse_depth()
        if len(attributes) > self._limits.attributes:
            self._refuse_attributes(tag, attributes)
        local = tag.rpartition(":")[2] if ":" in tag else tag
        if self.depth == 1:
            self._open_root(local, attributes)
        elif self._captures and local != "testcase":
            self._open_inner(local, attributes)
        elif local in TEXT_TAGS:
            self._open_text(local, attributes)
        elif local == "testcase":
            self._start("testcase", attributes)
        elif local == "testsuite" and self._case is None:
            self._open_suite(attributes)
        elif local == "property" and self._case is None:
            self._property(attributes)
        elif self.depth == 2:  # noqa: PLR2004 - a child of the root
            self._strangers += local not in {"properties", "property"}

    def _end(self, tag: str) -> None:
        if tag != "testcase" or not self.depth:
            self._end_other(tag)
            return
        case = self._case
        if case is None:
            return
        if self._element is not None or self._waiting:
            self._close_case(case)
            return
        self._case = None
        self._batch.append((case, None))
        if len(self._batch) >= CASES_AT_ONCE:
            self._add_batch()

    def _end_other(self, tag: str) -> None:
        self.depth -= 1
        if self._captures:
            if self._captures[-1].depth == self.depth + 1:
                self._close_text()
            return
        local = tag.rpartition(":")[2]
        if local == "testcase" and self._case is not None:
            self._close_case(self._case)
        elif local == "testsuite" and self._case is None and len(self._frames) > 1:
            self._close_suite()
        if self.depth == 0:
            self._close_root()

    # The root

    def _open_root(self, local: str, attributes: dict[str, str]) -> None:
        check_root(local, attributes)
        self.has_root = True
        self._root = attributes
        self._root_tag = local
        self._parser.CommentHandler = None
        if local == "testsuite":
            self._open_suite(attributes)

    def _close_root(self) -> None:
        self._add_batch()
        is_empty = self.records.size == self._size_before and not self._has_suites
        if is_empty and (self._strangers or self._root_tag == "testrun"):
            raise BadReport(
                f"Its root element <{self._root_tag}> could be JUnit XML, but no suite and no test case is in it.",
                mend="Let the test runner write JUnit XML.",
                code="not-junit",
            )

    @property
    def is_closed(self) -> bool:
        """Whether the present document has had its root element opened and closed."""
        return self.depth == 0 and bool(self._root_tag)

    def finish_cut_off(self) -> None:
        """End a document that breaks off: the open case counts only when its result was already seen."""
        for capture in self._captures:
            capture.element.text = capture.text()
        while self._case is not None:
            element, case = self._element, self._case
            self._captures.clear()
            if element is not None and any(child.tag in FINAL_TAGS for child in element):
                self._close_case(case)
            else:
                self._drop_case()
        self._add_batch()
        self.records.complete = False

    def _drop_case(self) -> None:
        self._element = None
        self._case = None
        self._waiting.clear()

    def _comment(self, text: str) -> None:
        if "org.testng.reporters.JUnit" in text:
            self._is_testng = True

    # Suites

    def _open_suite(self, attributes: dict[str, str]) -> None:
        self._add_batch()
        self._has_suites = True
        self._frames.append(Frame(attributes))
        self._suite = None

    def _close_suite(self) -> None:
        self._add_batch()
        frame = self._frames.pop()
        if frame.records is not None:
            frame.cases += len(frame.records.runs) + len(frame.records.events)
        self._check_count(frame)
        self._frames[-1].cases += frame.cases
        self._suite = self._frames[-1].records

    def _check_count(self, frame: Frame) -> None:
        tests = count(frame.attributes.get("tests"))
        producer = frame.records.dialect.producer if frame.records is not None else ""
        if tests is None or tests == frame.cases or producer in COUNTS_OTHERWISE:
            return
        name = frame.attributes.get("name", "")[:200]
        sentence = f"Suite {name!r} says tests={tests} but holds {frame.cases}; what it holds was counted."
        self._note("counts-disagree", sentence)

    def _note(self, code: str, sentence: str) -> None:
        """Keep a problem, the first of each code in a document."""
        if code not in self._noted:
            self._noted.add(code)
            self.records.problems.append(Problem(code, sentence))

    def _property(self, attributes: dict[str, str]) -> None:
        properties = self._frames[-1].properties
        name = attributes.get("name")
        if name is not None and len(properties) < PROPERTIES_KEPT:
            properties[name[:200]] = attributes.get("value", "")[:1000]

    def _enter_suite(self, case: dict[str, str]) -> SuiteRecords:
        """Decide the dialect of the innermost suite by what is known at its first case."""
        frame = self._frames[-1]
        suites = tuple([frame.attributes for frame in self._frames[1:]])
        dialect = dialect_of(Clues(self._root, suites, frame.properties, case, self._is_testng))
        self._path_bytes_left -= 16 * len(suites) + 4 * sum([len(name) for name in dialect.path])
        if self._path_bytes_left < 0:
            raise BadReport(
                "Its suites' names are too long for their number.", mend="Flatten the suites.", code="too-deep"
            )
        tests = count(frame.attributes.get("tests"))
        frame.records = self._suite = SuiteRecords(self._stream, dialect, tests, frame.properties.get("basedir", ""))
        self.records.suites.append(frame.records)
        return frame.records

    # Texts

    def _open_text(self, local: str, attributes: dict[str, str]) -> None:
        if self._case is None:
            if local in FINAL_TAGS:
                self._capture(Element(local, attributes))
            return
        if self._element is None:
            self._element = Element("testcase", self._case)
        elif self._is_full(self._element, local):
            return
        element = Element(local, attributes)
        self._element.append(element)
        self._capture(element)

    def _is_full(self, case: Element, local: str) -> bool:
        """Whether a case has as many results or outputs as are kept of it; a further result is counted."""
        kept, tags = (
            (self._limits.results_per_case, RESULT_TAGS) if local in RESULT_TAGS else (OUTPUTS_KEPT, OUTPUT_TAGS)
        )
        is_full = len(case) >= kept and sum([child.tag in tags for child in case]) >= kept
        self._surplus += is_full and tags is RESULT_TAGS
        return is_full

    def _open_inner(self, local: str, attributes: dict[str, str]) -> None:
        """Keep the parts of a retry apart; other markup inside a text is read as part of the text."""
        outer = self._captures[-1].element
        if outer.tag in INTERIM_TAGS and local in INNER_TAGS and len(outer) < len(INNER_TAGS):
            element = Element(local, attributes)
            outer.append(element)
            self._capture(element)

    def _capture(self, element: Element) -> None:
        capture = Capture(element, self.depth, self._limits)
        self._captures.append(capture)
        self._parser.CharacterDataHandler = capture.append

    def _close_text(self) -> None:
        capture = self._captures.pop()
        capture.element.text = capture.text()
        self._parser.CharacterDataHandler = self._captures[-1].append if self._captures else None
        if not self._captures and self._case is None:
            self._suite_result(capture.element)

    def _suite_result(self, element: Element) -> None:
        """A result that stands in a suite and in no case: the suite as a whole came to it."""
        wrapper = Element("testcase")
        wrapper.append(element)
        result = read_case(wrapper, 0, self._budget)[-1]
        where = next((name for frame in reversed(self._frames) if (name := frame.attributes.get("name"))), "")
        self._count_cases(1)
        self._frames[-1].cases += 1
        self.records.suite_events.append(event("suite-error", where, result))

    # Cases

    def _close_case(self, case: dict[str, str]) -> None:
        element, surplus = self._element, self._surplus
        if self._waiting:
            waiting = self._waiting.pop()
            self._case, self._element, self._surplus = waiting.attributes, waiting.element, waiting.surplus
        else:
            self._case, self._element, self._surplus = None, None, 0
        found = None if element is None else read_case(element, surplus, self._budget)
        if surplus:
            name = case.get("name", "")[:200]
            self._note("results-capped", f"Case {name!r} holds {surplus:,} more results than are kept; it counts once.")
        if self._budget.is_spent:
            self._note(
                "texts-shortened",
                "Its texts are longer than are kept in all; later failures have a short message only.",
            )
        self._batch.append((case, found))

    def _add_batch(self) -> None:
        """Hand the cases read so far, all of the innermost suite, to its records."""
        if not self._batch:
            return
        self._count_cases(len(self._batch))
        suite = self._suite or self._enter_suite(self._batch[0][0])
        suite.add(self._batch, self._passes)
        self._batch.clear()

    def _count_cases(self, cases: int) -> None:
        self._cases_left -= cases
        if self._cases_left < 0:
            self._refuse_cases()

    # Refusals

    def _refuse_cases(self) -> NoReturn:
        raise BadReport(
            f"It brings the upload to more than {self._limits.cases:,} test cases.",
            mend="Send one upload for each part of the suite.",
            code="too-many-cases",
        )

    def _refuse_depth(self) -> NoReturn:
        limit = self._limits.depth
        raise BadReport(f"Its elements are nested more than {limit} deep.", mend="Flatten the suites.", code="too-deep")

    def _refuse_attributes(self, tag: str, attributes: Attributes) -> NoReturn:
        raise BadReport(
            f"An element <{tag[:40]}> has {len(attributes):,} attributes; {self._limits.attributes:,} are allowed.",
            code="too-many-attributes",
        )


def _declaration(version: str, encoding: str | None, standalone: int) -> None:
    del version, standalone
    if encoding is not None and not is_allowed_encoding(encoding):
        raise BadReport(
            f"It declares the encoding {encoding[:40]!r}, which is not read here.",
            mend="Write the report in UTF-8.",
            code="encoding-unsupported",
        )


def _entity(*declaration: object) -> NoReturn:
    del declaration
    raise BadReport(
        "Its DOCTYPE declares entities or attributes, which no test runner needs and attacks are made of.",
        mend="Write the report without a DOCTYPE.",
        code="doctype",
    )
