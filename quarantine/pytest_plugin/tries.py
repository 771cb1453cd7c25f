"""What every try of every test came to, as pytest reported it phase by phase."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import pytest

__all__ = ["Tries", "Try", "is_subtest", "try_of"]


class Try(NamedTuple):
    """One try of a test.

    Attributes:
        outcome: errored when set-up, or tear-down after a pass, failed. An expected failure is skipped, as in the
            JUnit file.
        seconds: that all its phases took.
        message: the assertion, or the first line of what went wrong; empty unless it failed.
        text: all of it.
    """

    outcome: Literal["passed", "failed", "errored", "skipped"]
    seconds: float
    message: str = ""
    text: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether it failed or errored."""
        return self.outcome in ("failed", "errored")


def try_of(reports: Iterable[Any]) -> Try:
    """Return what the reports of one try come to. `rerun` is what pytest-rerunfailures makes of a failed phase."""
    reports = list(reports)
    seconds = sum(getattr(report, "duration", 0.0) for report in reports)
    failing = [report for report in reports if report.outcome in ("failed", "rerun")]
    if not failing:
        skipped = any(report.outcome == "skipped" for report in reports)
        return Try("skipped" if skipped else "passed", seconds)
    outcome: Literal["failed", "errored"] = "errored" if failing[0].when in ("setup", "teardown") else "failed"
    texts = [_text(report) for report in failing]
    return Try(outcome, seconds, _message(failing[0]), "\n\n".join(text for text in texts if text))


def is_subtest(report: Any) -> bool:
    """Return whether a report is of a part of a test; what is no plain report of a test is taken for one."""
    return type(report) is not pytest.TestReport or hasattr(report, "context")


def _text(report: Any) -> str:
    text = "" if report.longrepr is None else str(report.longrepr)
    return text if report.when == "call" else f"[{report.when}] {text}"


def _message(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash else str(report.longrepr or "").partition("\n")[0]


def _is_over(reports: list[pytest.TestReport]) -> bool:
    """Return whether no subtest of this try can follow: pytest-rerunfailures leaves out the tear-down of a try."""
    return any(report.when == "teardown" or report.outcome == "rerun" for report in reports)  # type: ignore[comparison-overlap]  # a plugin's word


class Tries:
    """Collects the reports of the session, and the tries that were made after it."""

    def __init__(self) -> None:
        self._reports: dict[str, list[list[pytest.TestReport]]] = defaultdict(list)
        self.repeats: dict[str, list[Try]] = defaultdict(list)
        self.with_subtests: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report; each set-up begins another try.

        A subtest is reported while its test runs; where pytest-rerunfailures is, that is before the set-up is.
        """
        tries = self._reports[report.nodeid]
        if is_subtest(report):
            self.with_subtests.add(report.nodeid)
            begins = not tries or _is_over(tries[-1])
        else:
            begins = not tries or (report.when == "setup" and not all(map(is_subtest, tries[-1])))
        if begins:
            tries.append([])
        tries[-1].append(report)

    @property
    def names(self) -> list[str]:
        """The node ids of all tests that were tried, in order."""
        return list(self._reports)

    def in_session(self, nodeid: str) -> list[Try]:
        """Return the tries before the last test had run; the last one is what the session goes by.

        Subtests without their test are of a further try, and say nothing without it.
        """
        tries = self._reports[nodeid]
        return [try_of(reports) for reports in tries if not all(map(is_subtest, reports))] or [try_of(tries[0])]

    def failing(self) -> list[str]:
        """Return the node ids of the tests whose last try in the session failed."""
        return [nodeid for nodeid in self._reports if self.in_session(nodeid)[-1].is_failure]

    def repeated(self) -> dict[str, list[Try]]:
        """Return all tries of each test that was tried more than once, the first try first."""
        names = [name for name, tries in self._reports.items() if len(tries) > 1 or self.repeats.get(name)]
        return {name: [*self.in_session(name), *self.repeats.get(name, ())] for name in names}
