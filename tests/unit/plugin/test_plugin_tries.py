"""Every try of every test is in the JUnit file, as our own reader sees it."""

import pytest

from quarantine.pytest_plugin.junit_file import correct
from quarantine.pytest_plugin.tries import Try
from tests.unit.plugin.projects import Project, SmallDaemon

SUITE = '''
import os
import unittest

import pytest

def once(name):
    """Return whether this is the first call with this name, whichever process asks."""
    try:
        os.close(os.open(os.path.join(os.environ["MARKS"], name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True

def test_pass():
    pass

def test_fail():
    assert 1 == 2, "again \\x1b[31m and again"

def test_recovers():
    assert not once("call"), "only the first time"

@pytest.fixture
def recovering():
    if once("setup"):
        raise RuntimeError("only the first time")

def test_setup_recovers(recovering):
    pass

@pytest.fixture
def broken():
    raise RuntimeError("no set-up")

def test_setup_fails(broken):
    pass

@pytest.fixture
def bad_end():
    yield
    raise RuntimeError("no tear-down")

def test_teardown_fails(bad_end):
    pass

def test_both_fail(bad_end):
    assert 0

def test_gives_up():
    if not once("skip"):
        pytest.skip("not again")
    assert 0

@pytest.mark.xfail
def test_xfail():
    assert 0

@pytest.mark.xfail
def test_xpass():
    pass

@pytest.mark.xfail(strict=True)
def test_xpass_strict():
    pass

def test_skip():
    pytest.skip("never")

@pytest.mark.parametrize("value", ["a b", "[x]", "line\\nend", "a::b", "é"])
def test_param(value):
    assert value in ("a b", "é") or not once(value.strip("[]").replace("\\n", "-"))

class TestUnit(unittest.TestCase):
    def test_unit(self):
        self.assertFalse(once("unit"))

def doubled(number):
    """
    >>> doubled(2)
    5
    """
    return 2 * number
'''
ONCE = {
    "test_pass": ["passed"],
    "test_fail": ["failed"],
    "test_recovers": ["failed"],
    "test_setup_recovers": ["errored"],
    "test_setup_fails": ["errored"],
    "test_teardown_fails": ["errored"],
    "test_both_fail": ["failed"],
    "test_gives_up": ["failed"],
    "test_xfail": ["skipped"],
    "test_xpass": ["passed"],
    "test_xpass_strict": ["failed"],
    "test_skip": ["skipped"],
    "test_param[a b]": ["passed"],
    "test_param[[x]]": ["failed"],
    "test_param[line\\nend]": ["failed"],
    "test_param[a::b]": ["failed"],
    "test_param[\\xe9]": ["passed"],
    "test_unit": ["failed"],
    "test_suite.doubled": ["failed"],
}
RECOVERING = ("test_recovers", "test_param[[x]]", "test_param[line\\nend]", "test_param[a::b]", "test_unit")
AGAIN = ONCE | {
    "test_fail": ["failed"] * 3,
    "test_setup_recovers": ["errored", "passed"],
    "test_setup_fails": ["errored"] * 3,
    "test_teardown_fails": ["errored"] * 3,
    "test_both_fail": ["failed"] * 3,
    "test_xpass_strict": ["failed"] * 3,
    "test_suite.doubled": ["failed"] * 3,
    **{name: ["failed", "passed"] for name in RECOVERING},
}


@pytest.fixture
def suite(project: Project) -> Project:
    """A project with tests that end in every way there is."""
    (project.home / "marks").mkdir()
    return project.write(test_suite=SUITE)


def run(suite: Project, *words: str) -> dict[str, list[str]]:
    """Run it and return the tries its report tells of; the session always fails, for some tests never pass."""
    ran = suite.pytest("--quarantine", "--doctest-modules", *words, variables={"MARKS": str(suite.home / "marks")})
    assert ran.status == 1, ran.text
    return ran.tries()


def test_one_try_is_told_as_pytest_tells_it(suite: Project) -> None:
    """Where nothing is tried again the report stays as it is."""
    assert run(suite) == ONCE


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=" ".join)
def test_the_tries_of_rerunfailures(suite: Project, words: tuple[str, ...]) -> None:
    """pytest-rerunfailures writes failed tries as empty records; here each is told as the failure it was."""
    assert run(suite, "--reruns", "2", *words) == AGAIN


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=" ".join)
def test_our_own_further_tries(suite: Project, words: tuple[str, ...]) -> None:
    """Failing tests run again after the last one; a doctest, which clears its own names, does not."""
    assert run(suite, "--quarantine-reruns", "2", *words) == AGAIN | {"test_suite.doubled": ["failed"]}


def test_a_pass_in_a_further_try_does_not_change_the_verdict(project: Project, daemon: SmallDaemon) -> None:
    """A gating test that passes when run again has failed all the same; the file keeps its failure beside the try."""
    text = "tries = []\n\ndef test_recovers():\n    tries.append(1)\n    assert len(tries) > 1, 'the first time'\n"
    ran = project.write(test_suite=text).pytest("--quarantine", "--quarantine-reruns", "3")
    assert ran.status == 1
    assert "the failure is not quarantined; 1 of 1 passed when run again; snapshot" in ran.summary
    assert "1 failed in" in ran.lines[-1]
    assert ran.tries() == {"test_recovers": ["failed", "passed"]}
    written = ran.report.read_text(encoding="utf-8")
    assert '<failure message="AssertionError: the first time' in written
    assert 'failures="1"' in written
    daemon.not_gating = {"test_suite::test_recovers": None}
    excused = project.pytest("--quarantine", "--quarantine-reruns", "3")
    assert excused.status == 0
    assert excused.tries() == {"test_recovers": ["failed", "passed"]}
    assert 'failures="0"' in excused.report.read_text(encoding="utf-8")


def test_further_tries_set_everything_up_anew(project: Project) -> None:
    """Fixtures of every scope, and the test's own instance, are fresh in each further try; time-outs still hold."""
    text = """
import time
import pytest

made = []

@pytest.fixture(scope="session")
def whole():
    made.append("whole")

class TestIt:
    seen = 0

    def test_it(self, whole):
        self.seen += 1
        assert self.seen == 1
        assert len(made) == 3, made

@pytest.mark.timeout(0.2)
def test_hangs():
    time.sleep(30)
"""
    ran = project.write(test_suite=text).pytest("--quarantine", "--quarantine-reruns", "2")
    assert ran.tries() == {"test_it": ["failed", "failed", "passed"], "test_hangs": ["failed"] * 3}


SUBTESTS = """
import unittest

class TestUnit(unittest.TestCase):
    def test_unit(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(number, 1)

def test_fixture(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number == 1

def test_itself(subtests):
    with subtests.test("passes"):
        pass
    assert 0
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=" ".join)
@pytest.mark.parametrize("reruns", ["--quarantine-reruns", "--reruns"])
def test_subtests_that_always_fail_are_no_flaky_test(project: Project, reruns: str, workers: tuple[str, ...]) -> None:
    """A test whose subtests failed is reported as passed, and each subtest apart from it; it has failed."""
    ran = project.write(test_suite=SUBTESTS).pytest("--quarantine", reruns, "1", *workers)
    assert ran.status == 1
    assert ran.counts() == {"tests": 3, "failed": 3}, ran.text
    assert "passed when run again" not in ran.text
    assert "6 failed, " in ran.lines[-1]  # two of each that has subtests that fail, and two tests themselves


def test_a_test_whose_subtest_recovers_is_flaky(project: Project) -> None:
    """The subtests of each try of pytest-rerunfailures belong to that try."""
    text = """
tries = []

def test_recovers(subtests):
    tries.append(1)
    with subtests.test("first"):
        assert len(tries) > 1
    with subtests.test("second"):
        pass
"""
    ran = project.write(test_suite=text).pytest("--quarantine", "--reruns", "2")
    assert ran.tries() == {"test_recovers": ["failed", "passed"]}, ran.text


@pytest.mark.parametrize("right", [0, 1], ids=["fails", "passes"])
def test_subtests_that_only_a_further_try_comes_to_say_nothing(project: Project, right: int) -> None:
    """A test that failed before its first subtest stays failed, and what the further try did is told nowhere."""
    text = f"""
import unittest

tries = []

class TestUnit(unittest.TestCase):
    def test_unit(self):
        tries.append("unit")
        self.assertEqual(tries.count("unit"), 2)
        with self.subTest("later"):
            self.assertEqual(1, {right})

def test_by_name(request):
    tries.append("by name")
    assert tries.count("by name") == 2
    with request.getfixturevalue("subtests").test("later"):
        assert {right} == 1
"""
    ran = project.write(test_suite=text).pytest("--quarantine", "--quarantine-reruns", "1")
    assert ran.tries() == {"test_unit": ["failed"], "test_by_name": ["failed"]}, ran.text
    assert "passed when run again" not in ran.text


@pytest.mark.parametrize("words", [("-x",), ("-x", "-n", "1")], ids=" ".join)
def test_nothing_is_tried_again_after_a_stop(project: Project, words: tuple[str, ...]) -> None:
    """A session that stops early has not run the suite, so that a further try would say nothing; nor has a worker."""
    text = (
        "tries = []\n\ndef test_first():\n    tries.append(1)\n    assert len(tries) > 1\n\ndef test_b():\n    pass\n"
    )
    ran = project.write(test_suite=text).pytest("--quarantine", "--quarantine-reruns", "1", *words)
    assert ran.tries() == {"test_first": ["failed"]}
    assert "passed when run again" not in ran.text


def test_a_record_that_is_not_there_is_named(project: Project) -> None:
    """A test whose name the report does not have is returned, and the rest is put right; a pass is never retried."""
    report = project.home / "junit.xml"
    report.write_text(
        '<testsuites name="pytest tests"><testsuite name="pytest" tests="1"><testcase classname="a" name="b"/>'
        "</testsuite></testsuites>",
        encoding="utf-8",
    )
    tries = [Try("failed", 0.5, "m", "bad \x00 text"), Try("passed", 0.25)]
    assert correct(report, {("a", "b"): tries, ("a", "c"): tries}, {("a", "b")}) == [("a", "c")]
    assert "bad #x00 text" in report.read_text(encoding="utf-8")
    again = [Try("passed", 0.25), Try("failed", 0.5, "m", "text")]
    before = report.read_bytes()
    assert correct(report, {("a", "b"): again}, set()) == []
    assert report.read_bytes() == before
    report.write_text("<testsuites>", encoding="utf-8")
    with pytest.raises(ValueError, match="it is not XML"):
        correct(report, {}, set())
