"""Our part in the process that a person looks at: ask first, report last, and say in one line what it came to."""

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.junitxml import LogXML

from quarantine.pytest_plugin import contexts, junit_file, upload
from quarantine.pytest_plugin.gates import Gates, ask, junit_name
from quarantine.pytest_plugin.options import Options
from quarantine.pytest_plugin.process import Findings, Process, Work, gates_to_text
from quarantine.pytest_plugin.wording import summary
from quarantine.pytest_plugin.worker import KEY

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

__all__ = ["join_session"]


def join_session(config: pytest.Config, options: Options) -> None:
    """Take part in a session."""
    config.pluginmanager.register(Session(config, options))


class Session:
    """One session of pytest, with or without workers."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.config = config
        self.options = options
        self.work = Work.of(options)
        self.is_distributed = False
        self.gates = Gates(frozenset(), "")
        self.upload: upload.Upload | None = None
        self.remarks: list[str] = []
        self.reach = ""
        self._process: Process | None = None
        self._findings: list[Findings] = []
        self._own_report: tuple[LogXML, Path] | None = None
        self._coverage: Path | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Ask the daemon, and describe the build, before anything of the project has run or workers are started."""
        self.is_distributed = self.config.pluginmanager.hasplugin("dsession")
        self.gates = ask(
            self.options.target,
            self.options.full_variant(),
            getattr(self.config.option, "junitprefix", None) or "",
            excuses=self.options.excuses,
        )
        self._process = Process(session, self.gates, self.work, runs_tests=not self.is_distributed)
        if self.options.upload and self.options.target and not self.config.option.collectonly:
            self._prepare_upload(self.options.target)
        if self.options.reach:
            self._coverage = contexts.data_file()

    def _prepare_upload(self, target: Any) -> None:
        report = self._named_report()
        if report is None:
            report = upload.own_report()
            suite = (
                self.config.getini("junit_suite_name") if self.config.pluginmanager.hasplugin("junitxml") else "pytest"
            )
            log = LogXML(str(report), self.gates.prefix, suite, family="xunit1")
            self.config.pluginmanager.register(log)
            self._own_report = (log, report)
            log.pytest_sessionstart()
        self.upload = upload.Upload(self.config, target, self.options, report)
        self.remarks = self.upload.remarks

    def _named_report(self) -> Path | None:
        """Return the JUnit file that was asked for, where pytest will write it."""
        named = getattr(self.config.option, "xmlpath", None)
        return Path(os.path.expandvars(named)).expanduser().absolute() if named else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what to do."""
        node.workerinput[KEY] = [gates_to_text(self.gates), json.dumps(self.work)]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker found; one that crashed found nothing."""
        told = getattr(node, "workeroutput", {}).get(KEY)
        if told:
            self._findings.append(Findings.from_text(told))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report, now that pytest has written what it writes."""
        if self._process is None:
            return
        self._take_findings(self._process)
        self._excuse_an_empty_session(session)
        self._correct_report(self._process)
        if self.options.reach:
            self._keep_reach()
        if self.upload is not None:
            self.upload.send(int(session.exitstatus))
        if self._own_report is not None:
            log, report = self._own_report
            self.config.pluginmanager.unregister(log)
            upload.forget(report)

    def _take_findings(self, process: Process) -> None:
        if not self.is_distributed:
            self._findings = [process.findings()]
        self.remarks += dict.fromkeys(one.remark for one in self._findings if one.remark)
        if not self.is_distributed:
            return
        for one in self._findings:
            for nodeid, tries in one.repeats.items():
                process.tries.repeats[nodeid].extend(tries)

    def _excuse_an_empty_session(self, session: pytest.Session) -> None:
        """A session that was to run the quarantined tests has done so when there are none; not when nobody knows."""
        is_empty = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
        if is_empty and self.options.only_quarantined and self.gates.snapshot and self.collected:
            session.exitstatus = pytest.ExitCode.OK

    @property
    def collected(self) -> int:
        """How many tests there were before the quarantined ones were picked; every worker collects all of them."""
        return max((one.collected for one in self._findings), default=0)

    @property
    def left(self) -> int:
        """How many of them are quarantined."""
        return max((one.left for one in self._findings), default=0)

    def _correct_report(self, process: Process) -> None:
        report = self._own_report[1] if self._own_report else self._named_report()
        repeated = process.tries.repeated()
        if report is None or not report.is_file() or not repeated:
            return
        if getattr(self.config.option, "dist", "no") == "each" or self.config.option.keepduplicates:
            self.remarks.append("A test that was to run more than once is not told from one that was tried again.")
            return
        prefix = self.gates.prefix
        tries = {junit_name(nodeid, prefix): made for nodeid, made in repeated.items()}
        excused = {junit_name(nodeid, prefix) for nodeid in set(repeated) - process.excuses.failed}
        try:
            missing = junit_file.correct(report, tries, excused)
        except (OSError, ValueError) as error:
            self.remarks.append(f"The tries could not be put into {report.name}: {error}.")
            return
        if missing:
            shown = ", ".join("::".join(name) for name in missing[:5])
            self.remarks.append(f"{report.name} has no record of {len(missing)} tests that were tried again: {shown}.")

    def _keep_reach(self) -> None:
        own = [one.data for one in self._findings if one.data is not None]
        file = self._coverage
        if own:
            file = contexts.joined(own) if self.is_distributed else own[0]
        maps = [one.fixtures for one in self._findings if one.fixtures is not None]
        appended = not own and getattr(self.config.option, "cov_append", False)
        self.reach = contexts.put_map(file, maps, is_appended=appended)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: "TerminalReporter") -> Generator[None, object, object]:
        """Say after everything else what it came to."""
        result = yield
        if self._process is not None:
            for line in self._lines(self._process):
                terminalreporter.write_line(line)
        return result

    def _lines(self, process: Process) -> Generator[str]:
        for remark in self.remarks:
            yield f"quarantine: {remark}"
        repeats = {nodeid: tries for nodeid, tries in process.tries.repeats.items() if tries}
        yield summary(
            excused=len(process.excuses.excused - process.excuses.failed),
            failed=len(process.excuses.excused | process.excuses.failed),
            selected=(self.left, self.collected) if self.options.only_quarantined else None,
            passed_again=sum(tries[-1].outcome == "passed" for tries in repeats.values()),
            repeated=len(repeats),
            gates=self.gates,
            endings=[self.reach, self._upload_sentence()],
        )

    def _upload_sentence(self) -> str:
        if self.upload is not None:
            return self.upload.sentence
        return "no report is sent" if self.options.upload else ""
