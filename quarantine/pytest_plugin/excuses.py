"""Failures of quarantined tests: not counted by the session, and shown apart. What they came to stays as it is."""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from quarantine.pytest_plugin.gates import Gates
from quarantine.pytest_plugin.ownership import is_shared

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

__all__ = ["CATEGORY", "Excuses"]

CATEGORY = "quarantined"
PHASES = frozenset({"setup", "call", "teardown"})
"""A report of anything else (a collection, a worker that crashed) is excused by nothing."""
_SHOWN = 160


class Excuses:
    """Excuses what does not gate; registered in every process that counts failures.

    Args:
        session: which counts the failures.
        gates: what does not gate.

    Attributes:
        excused: the node ids of tests whose failure did not count.
        failed: of those whose failure did.
    """

    def __init__(self, session: pytest.Session, gates: Gates) -> None:
        self.session = session
        self.config = session.config
        self.gates = gates
        self.excused: set[str] = set()
        self.failed: set[str] = set()

    def covers(self, report: Any) -> bool:
        """Return whether a failure in this report would not count; what tests share is no test's to be excused for."""
        return report.when in PHASES and not is_shared(report) and self.gates.excuse(report.nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Take back beforehand what the session and pytest-xdist will count for an excused failure.

        Beforehand, because `--maxfail` compares when it has counted, and what it then sets cannot be unset.
        """
        is_excused = False
        if report.failed and not hasattr(report, "wasxfail"):
            is_excused = self.covers(report)
            (self.excused if is_excused else self.failed).add(report.nodeid)
        if is_excused:
            self.session.testsfailed -= 1
        result = yield
        distributed: Any = self.config.pluginmanager.getplugin("dsession")
        if distributed is not None and report.failed and self.covers(report):  # it counts when this hook is over
            distributed.countfailures -= 1
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> Generator[None, Any, Any]:
        """Give an excused failure a category, a letter and a word of its own."""
        status = yield
        if status and status[0] in ("failed", "error") and self.covers(report):
            return CATEGORY, "Q", ("QUARANTINED", {"yellow": True})
        return status

    def pytest_terminal_summary(self, terminalreporter: "TerminalReporter") -> None:
        """Print the text of each excused failure, then a line for each."""
        reports: list[Any] = terminalreporter.stats.get(CATEGORY, [])
        if not reports:
            return
        if self.config.option.tbstyle != "no":
            terminalreporter.write_sep("=", "QUARANTINED FAILURES")
            for report in reports:
                terminalreporter.write_sep("_", _headline(report), yellow=True)
                self._show(report)
        terminalreporter.write_sep("=", "quarantined test summary", cyan=True)
        for report in reports:
            terminalreporter.write_line(f"QUARANTINED {report.nodeid}{_reason(report)}")

    def _show(self, report: Any) -> None:
        writer = self.config.get_terminal_writer()
        report.toterminal(writer)
        wanted = self.config.option.showcapture
        for title, content in report.sections if wanted != "no" else ():
            if wanted == "all" or wanted in title:
                writer.sep("-", title)
                writer.line(content.removesuffix("\n"))


def _headline(report: Any) -> str:
    name = report.head_line or report.nodeid
    return name if report.when == "call" else f"ERROR at {report.when} of {name}"


def _reason(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    first, _, _ = str(crash.message if crash else report.longrepr).partition("\n")
    return f" - {first[:_SHOWN]}{'...' * (len(first) > _SHOWN)}" if first else ""
