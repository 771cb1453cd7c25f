"""The failing reports of real tools give records that keep the bounds and what the tool said."""

from pathlib import Path

import pytest

from quarantine.record import estimate_tokens, failure_record
from tests.study.records import CORPUS, failures_of

KEPT = {
    "surefire/mavensurefire-TEST-com.shape.CircleTest.xml": (
        "| junit.framework.AssertionFailedError: expected:<20> but was:<10>",
        "| at com/shape/CircleTest.java:34 in CircleTest.testRadius",
        "| java.lang.ArithmeticException: / by zero",
    ),
    "gradle/cirrus-JunitKotlin.xml": (
        "| java.lang.AssertionError: expected:<1> but was:<2>",
        "| at com/fkorotkov/kubernetes/SimpleCompilationTest.kt:41",
    ),
    "playwright/gen-playwright-include-retries.xml": (
        "| Expected: 99",
        "| Received: 2",
        "| at js/pw/tests/a.spec.js:4",
    ),
    "jest-junit/gen-jest-junit-suite-errors.xml": (
        "Cannot find module './nope' from 'broken.test.js'",
        "| at broken.test.js:1",
    ),
    "gotestsum/gotestsum-report-golden.xml": ("| failed sub a", "| at fails_test.go:50"),
    "nextest/mikepenz-basic.xml": ("| left: 0", "| right: 1", "| at tests/parry3d.rs:154 in test_failure"),
    "rspec/buildkite-failure-and-error-1.xml": ("expected: 250", "got: 500", "spec/models/account_spec.rb:78"),
    "vitest/gen-vitest-retry.xml": ("| - 2", "| + 1", "| at a.test.mjs:5"),
    "phpunit/xunitplugin-phpunit-10.xml": (
        "Cannot navigate to invalid URL",
        "tests/_support/Page/Signup/MainPage.php:19",
    ),
    "pytest/gen-pytest-collection-error.xml": (
        "No module named 'does_not_exist_module'",
        "| at test_collect_error.py:1",
    ),
    "unittest-xml-reporting/gen-uxr-single.xml": ("AssertionError: 1 != 2", "| at py/ut/test_ut.py:5 in test_fail"),
    "dotnet-junit-logger/spekt-TestResults.xml": ("| Expected: False", "UnitTest1.cs:241"),
}


@pytest.fixture(scope="module")
def corpus() -> Path:
    """Return the folder of real reports."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real reports is not beside the checkout")
    return CORPUS


def reports(corpus: Path) -> list[Path]:
    """Return every report of the corpus."""
    return [path for path in sorted(corpus.rglob("*")) if path.is_file() and path.suffix not in {".csv", ".md"}]


@pytest.mark.parametrize("name", KEPT)
def test_what_a_fix_needs_is_kept_of_each_tools_report(corpus: Path, name: str) -> None:
    """Assertion, expected and actual, the frame in the repository."""
    failures, events = failures_of(corpus / name)
    text = failure_record(failures, events, exit_code=1, root="/ci").text
    assert [kept for kept in KEPT[name] if kept not in text] == []


def test_every_report_keeps_bounds_and_names_no_library(corpus: Path) -> None:
    """Two hundred reports of sixty tools, with little room and with much."""
    seen = 0
    for path in reports(corpus):
        failures, events = failures_of(path)
        for budget in (60, 1000) if failures or events else ():
            record = failure_record(failures, events, exit_code=1, root="/ci", budget_tokens=budget)
            assert record.tokens == estimate_tokens(record.text) <= budget
            assert record.text.replace("\n", "").isprintable()
            places = [line for line in record.text.split("\n") if line.startswith("| at ")]
            assert [line for line in places if "node_modules/" in line or "site-packages/" in line] == []
            seen += 1
    assert seen > 150


def test_without_any_want_of_room_a_third_goes_all_the_same(corpus: Path) -> None:
    """Of all the reports together: frames of libraries, and what was said twice."""
    before = after = 0
    for path in reports(corpus):
        failures, events = failures_of(path)
        if failures:
            before += sum([estimate_tokens(one.detail) for one in failures])
            after += failure_record(failures, events, exit_code=1, budget_tokens=100_000).tokens
    assert after < before * 2 / 3
