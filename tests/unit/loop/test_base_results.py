"""What the base's reports say of tests that are named as pytest names them."""

from pathlib import Path

import pytest

from quarantine.client.errors import ClientConfigurationError
from quarantine.loop.base_results import BaseResults
from quarantine.loop.protected import Protected

REPORT = """\
<testsuites><testsuite name="pytest">
<testcase classname="tests.test_app" name="test_one"/>
<testcase classname="tests.test_app.TestDeep" name="test_two[a::b]"><failure message="boom"/></testcase>
<testcase classname="tests.test_app" name="test_three"><skipped/></testcase>
<testcase classname="tests.test_app" name="test_four"/>
<testcase classname="tests.test_app" name="test_four"><error message="teardown"/></testcase>
</testsuite></testsuites>
"""


def read(folder: Path, text: str = REPORT) -> BaseResults:
    """Return what a report of this text says."""
    report = folder / "junit.xml"
    report.write_text(text, encoding="utf-8")
    return BaseResults.read([report, folder / "missing.xml"])


@pytest.mark.parametrize(
    ("test", "end"),
    [
        ("tests/test_app.py::test_one", "passed"),
        ("tests/test_app.py::TestDeep::test_two[a::b]", "failed"),
        ("tests/test_app.py::test_three", "skipped"),
        ("tests/test_app.py::test_four", "failed"),
        ("inner/tests/test_app.py::test_one", "passed"),
        ("tests/test_other.py::test_one", None),
        ("tests/test_app.py::TestDeep::test_one", None),
    ],
)
def test_a_test_is_found_by_its_name(tmp_path: Path, test: str, end: str | None) -> None:
    """Whatever folder the runner was started in; the worst of several results counts."""
    assert read(tmp_path).of(test) == end


def test_a_broken_report_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """And one that declares entities no further."""
    assert read(tmp_path, REPORT[:120]).of("tests/test_app.py::test_one") == "passed"
    assert read(tmp_path, f'<!DOCTYPE x [<!ENTITY a "b">]>{REPORT}').found == {}


def test_a_test_that_nobody_has_is_refused(tmp_path: Path) -> None:
    """Unless a patch may add it, or its name is none of pytest's, which other reports spell in their own way."""
    found, protected = read(tmp_path), Protected()
    found.require(["tests/test_app.py::test_one", "tests/test_app.py::test_two", "Shop adds prices"], protected, "")
    with pytest.raises(ClientConfigurationError, match=r"no such test on the base: tests/test_app\.py::test_nope"):
        found.require(["tests/test_app.py::test_one", "tests/test_app.py::test_nope"], protected, "")
    found.require(["tests/test_app.py::test_nope"], protected.extended(allow=["tests/test_app.py"]), "")
