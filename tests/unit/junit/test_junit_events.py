"""Records that are no tests: they make a build red, and can never be quarantined."""

from collections.abc import Callable

import pytest

from quarantine.junit import Upload, counts

Read = Callable[..., Upload]

PYTEST = '<testsuites name="pytest tests"><testsuite name="pytest">{}</testsuite></testsuites>'
JAVA = '<testsuite name="p.A"><properties><property name="java.version" value="17"/></properties>{}</testsuite>'
GO = '<testsuite name="m/p"><properties><property name="go.version" value="1"/></properties>{}</testsuite>'
JEST = '<testsuites name="jest tests"><testsuite name="a.test.js">{}</testsuite></testsuites>'
VITEST = '<testsuites name="vitest tests"><testsuite name="a.test.js">{}</testsuite></testsuites>'
PLAIN = '<testsuite name="s">{}</testsuite>'
RUFF = '<testsuites name="ruff"><testsuite name="y.py" package="org.ruff">{}</testsuite></testsuites>'

EVENTS = [
    (
        PYTEST,
        '<testcase classname="" name="test_m"><error message="collection failure"/></testcase>',
        "collection-error",
    ),
    (
        PYTEST,
        '<testcase classname="" name="test_m"><skipped message="collection skipped"/></testcase>',
        "collection-skip",
    ),
    (PYTEST, '<testcase time="0.000"/>', "nameless"),
    (PLAIN, '<testcase name=""/>', "nameless"),
    (PLAIN, '<testcase name="  "><failure/></testcase>', "nameless"),
    (JAVA, '<testcase classname="p.A" name=""><error/></testcase>', "nameless"),
    (JAVA, '<testcase classname="p.A" name="initializationError"><error/></testcase>', "class-setup"),
    (JAVA, '<testcase classname="p.A" name="p.A"><error/></testcase>', "class-setup"),
    (PLAIN, '<testcase classname="" name="setUpClass (test_ut.TestB)"><error/></testcase>', "class-setup"),
    (PLAIN, '<testcase name="A &quot;before all&quot; hook for &quot;t&quot;"><failure/></testcase>', "hook"),
    (GO, '<testcase classname="" name="TestMain"><failure/></testcase>', "package-error"),
    (GO, '<testcase classname="m/p" name="Failure"><error message="Runtime error"/></testcase>', "package-error"),
    (GO, '<testcase classname="m/p" name="[build failed]"><error/></testcase>', "package-error"),
    (JEST, '<testcase classname="Test suite failed to run" name="a.test.js"><error/></testcase>', "file-error"),
    (JEST, '<testcase classname="a" name="a Test suite failed to run"><error/></testcase>', "file-error"),
    (VITEST, '<testcase classname="a.test.js" name="a.test.js"><failure/></testcase>', "file-error"),
    (RUFF, '<testcase classname="y" name="org.ruff.F401"><failure/></testcase>', "lint-finding"),
    (PLAIN, "<failure>suite</failure>", "suite-error"),
]


@pytest.mark.parametrize(("suite", "inside", "kind"), EVENTS)
def test_it_is_an_event_and_still_counts(read: Read, suite: str, inside: str, kind: str) -> None:
    upload = read(suite.format(inside))
    assert [event.kind for event in upload.events] == [kind]
    assert upload.runs == ()
    assert counts(upload.runs, upload.events).tests == 1


@pytest.mark.parametrize(
    ("suite", "inside"),
    [
        (PYTEST, '<testcase classname="a" name="test_m"><error message="collection failure"/></testcase>'),
        (PLAIN, '<testcase classname="a" name="Failure"><failure/></testcase>'),
        (PLAIN, '<testcase classname="p.A" name="initializationError"><failure/></testcase>'),
        (GO, '<testcase classname="m/p" name="TestMain"/>'),
        (VITEST, '<testcase classname="a.test.js" name="a &gt; b"><failure/></testcase>'),
        (PLAIN, '<testcase name="a hook"><failure/></testcase>'),
    ],
)
def test_the_same_name_elsewhere_is_a_test(read: Read, suite: str, inside: str) -> None:
    """Only producers known to write such records are believed."""
    upload = read(suite.format(inside))
    assert (len(upload.runs), upload.events) == (1, ())


def test_an_event_says_where_and_what(read: Read) -> None:
    (event,) = read(PYTEST.format(EVENTS[0][1].replace("/>", ">ImportError: x</error>", 1))).events
    assert (event.where, event.outcome, event.message, event.detail) == (
        "test_m",
        "errored",
        "collection failure",
        "ImportError: x",
    )
