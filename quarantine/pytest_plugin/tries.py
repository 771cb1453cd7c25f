"""What every try of every test came to, as pytest reported it phase by phase."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import pytest

__all__ = ["Tries", "Try", "try_of"]


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


def _text(report: Any) -> str:
    text = "" if report.longrepr is None else str(report.longrepr)
    return text if report.when == "call" else f"[{report.when}] {text}"


def _message(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message) if crash else str(report.longrepr or "").partition("\n")[0]


class Tries:
    """Collects the reports of the session, and the tries that were made after it."""

    def __init__(self) -> None:
        self._reports: dict[str, list[list[pytest.TestReport]]] = defaultdict(list)
        self.repeats: dict[str, list[Try]] = defaultdict(list)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a report; each set-up begins another try."""
        tries = self._reports[report.nodeid]
        if report.when == "setup" or not tries:
            tries.append([])
        tries[-1].append(report)

    @property
    def names(self) -> list[str]:
        """The node ids of all tests that were tried, in order."""
        return list(self._reports)

    def in_session(self, nodeid: str) -> list[Try]:
        """Return the tries before the last test had run; the last one is what the session goes by."""
        return [try_of(reports) for reports in self._reports[nodeid]]

    def failing(self) -> list[str]:
        """Return the node ids of the tests whose last try in the session failed."""
        return [nodeid for nodeid, tries in self._reports.items() if try_of(tries[-1]).is_failure]

    def repeated(self) -> dict[str, list[Try]]:
        """Return all tries of each test that was tried more than once, the first try first."""
        names = [name for name, tries in self._reports.items() if len(tries) > 1 or self.repeats.get(name)]
        return {name: [*self.in_session(name), *self.repeats.get(name, ())] for name in names}
