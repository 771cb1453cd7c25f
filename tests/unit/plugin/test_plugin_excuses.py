"""Failures of quarantined tests in real sessions of pytest."""

import re
import sys

import pytest

from quarantine.client.snapshot import variant_hash
from tests.unit.plugin.projects import REFUSES, SNAPSHOT, Project, SmallDaemon

SUITE = '''
import itertools
import unittest

import pytest

def test_pass():
    pass

def test_flaky_call():
    assert 1 == 2, "the words of the call"

@pytest.fixture
def broken():
    raise RuntimeError("the words of the set-up")

def test_flaky_setup(broken):
    pass

@pytest.fixture
def bad_end():
    yield
    raise RuntimeError("the words of the tear-down")

def test_flaky_teardown(bad_end):
    pass

def test_flaky_both(bad_end):
    assert 0

@pytest.mark.xfail(strict=True)
def test_flaky_xpass():
    pass

@pytest.mark.parametrize("value", ["a b", "[x]", "line\\nend", "a::b"])
def test_flaky_param(value):
    assert value == ""

class TestFlaky(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(1, 2)

def doubled(number):
    """
    >>> doubled(2)
    5
    """
    return 2 * number
'''
FLAKY = [
    "test_suite::test_flaky_call",
    "test_suite::test_flaky_setup",
    "test_suite::test_flaky_teardown",
    "test_suite::test_flaky_both",
    "test_suite::test_flaky_xpass",
    "test_suite::test_flaky_param[a b]",
    "test_suite.py::test_flaky_param[[x]]",
    "test_suite::test_flaky_param[line\\nend]",
    "test_suite::test_flaky_param[a::b]",
    "test_suite.TestFlaky::test_unit",
    "test_suite::test_suite.doubled",
]
GATES = "def test_gates():\n    assert 0, 'the words of the one that gates'\n"
AS_WRITTEN = {"tests": 12, "passed": 1, "failed": 9, "error": 2}


@pytest.fixture
def suite(project: Project, daemon: SmallDaemon) -> Project:
    """A project in which everything that fails is quarantined."""
    daemon.not_gating = dict.fromkeys(FLAKY)
    return project.write(test_suite=SUITE)


@pytest.mark.parametrize("words", [("--maxfail", "1"), ("-n", "2", "-x")], ids=" ".join)
def test_failures_of_quarantined_tests_do_not_fail_the_session(suite: Project, words: tuple[str, ...]) -> None:
    """However a quarantined test fails, the session passes, goes on, and says so; the JUnit file says it failed."""
    ran = suite.pytest("--quarantine", "--doctest-modules", *words)
    assert ran.status == 0, ran.text
    expected = "11 of 11 failures are quarantined and do not fail this run"
    assert ran.summary.startswith(f"quarantine: {expected}; snapshot {SNAPSHOT[:12]}, "), ran.text
    assert ran.summary.endswith(" s old.")
    assert ran.counts() == AS_WRITTEN
    assert set(FLAKY) <= ran.spellings()  # the names asked for are those the daemon gives them


def test_they_are_shown_apart_with_their_text(suite: Project) -> None:
    """They have a letter, a count, a section with their text and a line in a summary of their own."""
    ran = suite.pytest("--quarantine", "--doctest-modules")
    assert "12 quarantined" in ran.lines[-1]  # the one that fails and then errors counts twice, as in pytest
    assert any(line.startswith("test_suite.py ") and "Q" in line and "F" not in line for line in ran.lines)
    sections = ran.text.split("QUARANTINED FAILURES")[1]
    for words in ("of the call", "of the set-up", "of the tear-down"):
        assert f"the words {words}" in sections
    assert "QUARANTINED test_suite.py::test_flaky_call - AssertionError: the words of the call" in ran.lines
    assert "short test summary" not in ran.text


def test_a_failure_that_gates_fails_the_session(suite: Project) -> None:
    """One failure that gates beside the others is shown as ever and decides; -x stops at it."""
    suite.write(test_gates=GATES)
    ran = suite.pytest("--quarantine", "--doctest-modules")
    assert ran.status == 1
    assert "quarantine: 11 of 12 failures are quarantined and do not fail this run" in ran.summary
    assert "FAILED test_gates.py::test_gates - AssertionError: the words of the one that gates" in ran.text
    stopped = suite.pytest("--quarantine", "-x", "test_gates.py", "test_suite.py")
    assert "quarantine: the failure is not quarantined" in stopped.summary


def test_nothing_else_is_excused(project: Project, daemon: SmallDaemon) -> None:
    """A file that cannot be collected, and a worker that dies in a quarantined test, fail the session."""
    daemon.not_gating = dict.fromkeys(["test_bad.py", "test_bad", "test_dies::test_dies"])
    project.write(test_bad="import nothing_of_that_name\n")
    assert project.pytest("--quarantine").status == 2
    (project.root / "test_bad.py").unlink()
    project.write(test_dies="import os\n\ndef test_dies():\n    os._exit(3)\n")
    ran = project.pytest("--quarantine", "-n", "1", "--max-worker-restart", "0")
    assert ran.status == 1
    assert "the failure is not quarantined" in ran.summary


def test_subtests_of_a_quarantined_test_are_quarantined(project: Project, daemon: SmallDaemon) -> None:
    """A test whose subtests failed is one failure, excused with them."""
    daemon.not_gating = {"test_sub::test_sub": None}
    text = (
        "def test_sub(subtests):\n    for n in range(3):\n        with subtests.test(n=n):\n            assert n != 1\n"
    )
    ran = project.write(test_sub=text).pytest("--quarantine")
    assert ran.status == 0, ran.text
    assert "quarantine: 1 of 1 failure is quarantined and does not fail this run" in ran.summary
    assert "FAILURES" not in ran.text.replace("QUARANTINED FAILURES", "")


SHARED = """
import pytest

@pytest.fixture{scope}
def shared():
    {before}
    yield
    {after}

@pytest.fixture
def own(shared):
    yield
    {own}

def test_first():
    pass

def test_last(own):
    pass
"""
RAISES = 'raise RuntimeError("the words of the fixture")'


@pytest.mark.parametrize("words", [(), ("-n", "1")], ids=" ".join)
@pytest.mark.parametrize("scope", ["module", "package", "session"])
def test_a_tear_down_that_tests_share_is_excused_in_none(
    project: Project, daemon: SmallDaemon, scope: str, words: tuple[str, ...]
) -> None:
    """The last test that used the fixture is charged with it; that this one is quarantined does not matter."""
    daemon.not_gating = {"test_shared::test_last": None}
    text = SHARED.format(scope=f"(scope='{scope}')", before="pass", after=RAISES, own="pass")
    ran = project.write(test_shared=text).pytest("--quarantine", *words)
    assert ran.status == 1, ran.text
    assert "the failure is not quarantined" in ran.summary
    assert "QUARANTINED" not in ran.text


def test_a_shared_set_up_is_excused_in_no_test_that_needs_it(project: Project, daemon: SmallDaemon) -> None:
    """What a shared fixture failed with is raised again in every test, and is of none of them."""
    daemon.not_gating = {"test_shared::test_last": None, "test_shared::test_later": None}
    text = SHARED.format(scope="(scope='module')", before=RAISES, after="pass", own="pass")
    ran = project.write(test_shared=text + "\ndef test_later(own):\n    pass\n").pytest("--quarantine")
    assert ran.status == 1, ran.text
    assert "none of the failures is quarantined" in ran.summary
    assert "QUARANTINED" not in ran.text
    project.write(test_shared="def setup_module():\n    assert 0\n\ndef test_last():\n    pass\n")
    assert project.pytest("--quarantine").status == 1


def test_a_shared_fixture_that_ends_with_another_parameter_is_excused_in_none(
    project: Project, daemon: SmallDaemon
) -> None:
    """It is torn down while the next test is set up, which is charged with it."""
    daemon.not_gating = {"test_shared::test_last[2]": None}
    before, after = "number = request.param", f"if number == 1:\n        {RAISES}"
    text = SHARED.format(scope="(scope='module', params=[1, 2])", before=before, after=after, own="pass")
    ran = project.write(test_shared=text.replace("shared():", "shared(request):")).pytest("--quarantine")
    assert ran.status == 1, ran.text
    assert "QUARANTINED" not in ran.text


@pytest.mark.parametrize(
    ("after", "status"), [("pass", 0), (RAISES, 1)], ids=["the other ends well", "the other fails too"]
)
def test_a_tear_down_of_its_own_is_excused_beside_one_that_is_shared(
    project: Project, daemon: SmallDaemon, after: str, status: int
) -> None:
    """The last test of a module may fail in its own tear-down, as long as nothing that is shared does."""
    daemon.not_gating = {"test_shared::test_last": None}
    text = SHARED.format(scope="(scope='module')", before="pass", after=after, own=RAISES)
    ran = project.write(test_shared=text).pytest("--quarantine")
    assert ran.status == status, ran.text


UNITTEST = """
import unittest

class TestIt(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        assert 0

    def test_it(self):
        pass
"""
XUNIT = """
class TestIt:
    @classmethod
    def teardown_class(cls):
        assert 0

    def test_it(self):
        pass
"""
FIXTURE = """
import pytest

class TestIt:
    @pytest.fixture(scope="class")
    def shared(self):
        yield
        assert 0

    def test_it(self, shared):
        pass
"""


@pytest.mark.parametrize("text", [UNITTEST, XUNIT, FIXTURE], ids=["unittest", "xunit", "fixture"])
def test_an_end_of_a_class_is_excused_in_none(project: Project, daemon: SmallDaemon, text: str) -> None:
    """What is torn down with a class is shared by its tests, however the class says it."""
    daemon.not_gating = {"test_shared.TestIt::test_it": None}
    ran = project.write(test_shared=text).pytest("--quarantine")
    assert ran.status == 1, ran.text
    assert ran.counts() == {"tests": 1, "error": 1}


def test_the_variant_of_the_session_decides(project: Project, daemon: SmallDaemon) -> None:
    """A test that is quarantined in one variant gates in the others; the CI job is part of the variant."""
    here = {"os": sys.platform, "python": f"{sys.version_info[0]}.{sys.version_info[1]}", "job": "unit", "db": "pg"}
    daemon.not_gating = {"test_gates::test_gates": [variant_hash(here)]}
    project.write(test_gates=GATES)
    job = {"GITHUB_ACTIONS": "true", "GITHUB_JOB": "unit"}
    assert project.pytest("--quarantine").status == 1
    assert project.pytest("--quarantine", "--quarantine-variant", "db=pg", variables=job).status == 0


def test_a_variant_that_trunk_never_ran_is_told(project: Project, daemon: SmallDaemon) -> None:
    """The last line names the session's pairs and the option that adds the job, until the variant is a known one."""
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    known = variant_hash({"os": sys.platform, "python": minor, "job": "unit"})
    daemon.not_gating, daemon.variants = {"test_gates::test_gates": [known]}, [known]
    project.write(test_gates=GATES)
    desk = project.pytest("--quarantine")
    assert desk.status == 1
    assert (
        f"the failure is not quarantined; trunk never ran this variant (os={sys.platform} python={minor}), so every "
        "test gates in it; to go by a job of CI, add its pairs, such as --quarantine-variant job=NAME; snapshot "
    ) in desk.summary
    as_in_ci = project.pytest("--quarantine", "--quarantine-variant", "job=unit")
    assert as_in_ci.status == 0
    assert "never ran" not in as_in_ci.summary


def test_a_prefix_of_the_report_is_part_of_the_name(project: Project, daemon: SmallDaemon) -> None:
    """With --junit-prefix the daemon knows tests by other names, and a bare node id may be another test."""
    daemon.not_gating = {"api.test_gates::test_gates": None}
    project.write(test_gates=GATES)
    assert project.pytest("--quarantine", "--junit-prefix", "api").status == 0
    assert project.pytest("--quarantine").status == 1
    daemon.not_gating = {"test_gates.py::test_gates": None}
    assert project.pytest("--quarantine", "--junit-prefix", "api").status == 1


def test_while_the_daemon_is_down_the_last_snapshot_serves_then_everything_gates(
    project: Project, daemon: SmallDaemon
) -> None:
    """The line says what decided: a snapshot and its age, or that every test gates; observing excuses nothing."""
    daemon.not_gating = {"test_gates::test_gates": None}
    project.write(test_gates=GATES)
    unknown = project.pytest("--quarantine", variables={"QUARANTINE_URL": REFUSES})
    assert unknown.status == 1
    assert "the failure is not quarantined" in unknown.summary
    assert f"; every test gates, for {REFUSES} cannot be reached (" in unknown.summary
    assert project.pytest("--quarantine").status == 0
    daemon.server.server_close()
    down = project.pytest("--quarantine")
    assert down.status == 0, down.text
    assert re.search(rf"; snapshot {SNAPSHOT[:12]}, \d+ s old, for {daemon.url} cannot be reached \(", down.summary)
    assert down.text.count("cannot be reached") == 1


def test_observing_excuses_nothing(project: Project, daemon: SmallDaemon) -> None:
    """A project that only observes has every test in its gating set."""
    daemon.not_gating, daemon.mode = {"test_gates::test_gates": None}, "observe"
    assert project.write(test_gates=GATES).pytest("--quarantine").status == 1


@pytest.mark.parametrize("words", [(), ("-n", "2")], ids=" ".join)
def test_only_the_quarantined_tests(suite: Project, daemon: SmallDaemon, words: tuple[str, ...]) -> None:
    """Only they run; when there are none there is nothing to do, and the session passes."""
    ran = suite.pytest("--quarantined-only", "--doctest-modules", *words)
    assert ran.status == 0
    assert "quarantine: ran only the 11 tests of 12 that are quarantined; 11 of 11 failures" in ran.summary
    daemon.not_gating = {}
    ran = suite.pytest("--quarantined-only", "--doctest-modules", *words)
    assert ran.status == 0, ran.text
    assert "quarantine: none of 12 tests is quarantined, so there was nothing to run; snapshot" in ran.summary


def test_when_nobody_knows_what_is_quarantined_nothing_ran(suite: Project) -> None:
    """Nothing to do is not the same as not knowing what to do: pytest's own status stays."""
    ran = suite.pytest("--quarantined-only", variables={"QUARANTINE_URL": REFUSES})
    assert ran.status == 5
    assert "quarantine: which tests are quarantined is not known, so none of them ran" in ran.summary
