"""A pytest plugin that writes the outcome of every test, by node id, to the file that STUDY_OUTCOMES names."""

import json
import os
from pathlib import Path

import pytest

_outcomes: dict[str, str] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the worst outcome of a test's three phases."""
    if report.failed or _outcomes.get(report.nodeid) == "failed":
        _outcomes[report.nodeid] = "failed"
    elif report.when == "call" or report.skipped:
        _outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    """Write the file, whatever the session came to."""
    Path(os.environ["STUDY_OUTCOMES"]).write_text(json.dumps(_outcomes), encoding="utf-8")
