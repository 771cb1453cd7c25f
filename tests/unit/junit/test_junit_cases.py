"""What one test case comes to: precedence, retries inside a case, texts."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from junitparser import junitparser

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Result, Run
from quarantine.junit import Counts, Upload, counts

Read = Callable[..., Upload]

PASSED, FAILED, ERRORED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.ERRORED, Outcome.SKIPPED


def one(read: Read, inside: str, attributes: str = "") -> Run:
    upload = read(f'<testsuite name="s"><testcase classname="c" name="t" {attributes}>{inside}</testcase></testsuite>')
    assert len(upload.runs) == 1
    return upload.runs[0]


def outcomes(run: Run) -> list[Outcome]:
    return [result.outcome for result in run.results]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("", PASSED),
        ("<failure/>", FAILED),
        ("<error/>", ERRORED),
        ("<skipped/>", SKIPPED),
        ("<failure/><error/>", ERRORED),
        ("<failure/><skipped message='tolerated?'/>", FAILED),
        ("<skipped message='TEST_CASE tagged with !mayfail'/><failure/>", SKIPPED),
        ("<skipped type='todo'/><error/>", SKIPPED),
        ("<skipped/><failure/>", FAILED),
        ("<skipped/><skipped/>", SKIPPED),
        ("<system-out>x</system-out>", PASSED),
        ("<properties><property name='a' value='b'/></properties>", PASSED),
        ("<wrapper><failure/></wrapper>", FAILED),
    ],
)
def test_precedence(read: Read, inside: str, expected: Outcome) -> None:
    """A leading skip that gives a reason wins, then error, failure, skipped; a bare skip excuses nothing."""
    assert outcomes(one(read, inside)) == [expected]


@pytest.mark.parametrize(
    ("attributes", "inside", "expected"),
    [
        ('status="notrun"', "", SKIPPED),
        ('status="disabled"', "<failure/>", SKIPPED),
        ('status="notrun" result="suppressed"', "", SKIPPED),
        ('status="run" result="skipped"', "", SKIPPED),
        ('status="run" result="completed"', "", PASSED),
        ('status="failed"', "", FAILED),
        ('status="errored"', "<system-out>x</system-out>", ERRORED),
        ('status="whatever"', "", PASSED),
    ],
)
def test_a_status_attribute_counts(read: Read, attributes: str, inside: str, expected: Outcome) -> None:
    """GoogleTest, tst and ctest mark disabled tests by attributes alone."""
    assert outcomes(one(read, inside, attributes)) == [expected]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<flakyFailure/><flakyError/>", [FAILED, ERRORED, PASSED]),
        ("<failure/><rerunFailure/><rerunError/>", [FAILED, FAILED, ERRORED]),
        ("<rerunFailure/><rerunFailure/><failure/>", [FAILED, FAILED, FAILED]),
        ("<rerunError/>", [ERRORED]),
        ("<failure message='flaky tests are not allowed'/><flakyFailure/>", [FAILED, PASSED]),
    ],
)
def test_retries_inside_a_case_are_tries(read: Read, inside: str, expected: list[Outcome]) -> None:
    """Surefire, nextest, Playwright: flaky ends in a pass even where a policy fails it, rerun never does."""
    assert outcomes(one(read, inside)) == expected


def test_a_retry_keeps_its_stack_trace_and_not_what_it_printed(read: Read) -> None:
    run = one(
        read,
        '<flakyFailure type="E" message="m" time="0.5"><stackTrace>at A.b</stackTrace>'
        "<system-out>noise</system-out></flakyFailure>",
        'time="2"',
    )
    assert run.results == (Result(FAILED, 0.5, "E", "m", "at A.b"), Result(PASSED, 2.0))


def test_a_failure_inside_a_retry_is_not_the_case_s_own(read: Read) -> None:
    """The library reads results from all descendants; the reader hands it none that are nested."""
    assert outcomes(one(read, "<flakyFailure><failure/></flakyFailure>")) == [FAILED, PASSED]


def test_a_case_in_a_case_is_a_case_of_its_own(read: Read) -> None:
    upload = read(
        '<testsuite name="s"><testcase name="outer"><testcase name="inner"><failure/></testcase></testcase></testsuite>'
    )
    assert {run.test.name: run.outcome for run in upload.runs} == {"outer": PASSED, "inner": FAILED}


def test_text_around_comments_and_children_is_kept(read: Read) -> None:
    run = one(read, "<failure>abc<!-- x -->def<b>ghi</b>jkl</failure>")
    assert run.results[0].detail == "abcdefghijkl"


def test_several_failures_are_one_try_with_all_texts(read: Read) -> None:
    """GoogleTest writes a failure for each EXPECT, pytest one for each subtest."""
    run = one(read, "<failure message='a'>first</failure><failure message='b'>second</failure>")
    assert outcomes(run) == [FAILED]
    assert (run.results[0].message, run.results[0].detail) == ("a", "first\n\nsecond")


def test_without_a_text_of_its_own_a_failure_shows_what_the_test_printed(read: Read) -> None:
    """Meson, ctest and Bazel put all evidence into the output."""
    run = one(read, "<failure/><system-out>boom at 3</system-out>")
    assert run.results[0] == Result(FAILED, None, "", "boom at 3", "boom at 3")


def test_the_message_is_the_attribute_or_the_first_line(read: Read) -> None:
    assert one(read, "<failure>\n  first \nsecond</failure>").results[0].message == "first"
    assert one(read, "<failure message='m'>first</failure>").results[0].message == "m"


def test_a_pass_keeps_no_text(read: Read) -> None:
    assert one(read, "<system-out>noise</system-out>").results == (Result(PASSED),)


def test_a_result_that_stands_in_no_case_is_a_run_event(read: Read) -> None:
    """Ant and prove write an error into the suite when the suite as a whole could not run."""
    upload = read('<testsuite name="s"><error message="NoClassDefFoundError" type="E">trace</error></testsuite>')
    assert [(event.kind, event.where, event.outcome) for event in upload.events] == [("suite-error", "s", ERRORED)]
    assert upload.events[0].detail == "trace"
    assert counts(upload.runs, upload.events) == Counts(1, 0, 0, 1, 0, 0)


def test_children_read_the_same_when_lxml_is_installed(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library takes lxml's etree when it can; a stand-in that refuses foreign elements changes nothing."""

    class ForeignElement:
        attrib: dict[str, str]

        def __init__(self, tag: str) -> None:
            self.tag, self.attrib = tag, {}

        def append(self, other: object) -> None:
            raise TypeError(f"Argument 'element' has incorrect type (expected lxml.etree._Element, got {type(other)})")

    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError("Type 'xml.etree.ElementTree.Element' cannot be serialized.")

    inside = (
        "<failure message='m' type='T'>text</failure><rerunFailure><stackTrace>at</stackTrace></rerunFailure>"
        "<system-out>o</system-out>"
    )
    before = one(read, inside)
    foreign = SimpleNamespace(Element=ForeignElement, tostring=refuse, parse=refuse, fromstring=refuse)
    monkeypatch.setattr(junitparser, "etree", foreign)
    assert one(read, inside) == before
