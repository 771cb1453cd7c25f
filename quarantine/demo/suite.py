"""Running the ledger's suite for real: pytest, in a clone of the repository, by the interpreter the demo runs on."""

import importlib.util
import os
import random
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.build_part import build_part
from quarantine.client.reach_map import reach_of_coverage, to_json_lines
from quarantine.client.tree import read_tree
from quarantine.demo import ledger
from quarantine.demo.timeline import PlannedBuild
from quarantine.errors import BadConfiguration, QuarantineError

__all__ = ["JOB", "REPORT", "Ran", "begin_anywhere", "require_pytest", "run"]

JOB = "unit-tests"
REPORT = "junit.xml"
TIMEOUT_S = 300
_DATA_FILE = ".coverage"
_COMMAND = (
    f"PYTEST_ADDOPTS= PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {Path(sys.executable).name} -B -m pytest -q --junitxml={REPORT}"
)
_CONTEXTS = " -p pytest_cov --cov=ledger --cov-context=test --cov-report="


class Ran(NamedTuple):
    """One run of the suite, ready to be sent.

    Attributes:
        build_part: which build it is.
        report: the JUnit report that pytest wrote.
        reach: which files each test reached, as JSON lines; None where no contexts were recorded.
    """

    build_part: dict[str, Any]
    report: Path
    reach: tuple[bytes, ...] | None


def require_pytest() -> None:
    """Raise BadConfiguration when what the ledger's suite runs with is not installed."""
    missing = [name for name in ("pytest", "pytest_cov") if importlib.util.find_spec(name) is None]
    if missing:
        raise BadConfiguration(
            f"The demo runs a real test suite and needs {' and '.join(missing)}, which this Python does not have.",
            mend="Install them with: pip install 'quarantine-daemon[demo]'.",
        )


def begin_anywhere() -> None:
    """Wait for less than a second, so that a run begins anywhere in a second of the wall clock, as runs in CI do.

    Without it runs of equal length would begin one after the other at the same fraction of a second, and whether a
    second ends inside the flaky test would hardly differ between them.
    """
    time.sleep(random.SystemRandom().random())


def run(repository: Path, planned: PlannedBuild, folder: Path) -> Ran:
    """Run the suite on the build's commit and keep what it wrote in `folder`, under the build's name.

    Raises QuarantineError when the run wrote no report.
    """
    command = _COMMAND + (_CONTEXTS if planned.with_contexts else "")
    with ledger.clone(repository, planned.commit.hash, folder / planned.name) as tree:
        begin_anywhere()
        exit_code = _run(command, tree)
        if not (tree / REPORT).is_file():
            raise QuarantineError(
                f"The suite of build {planned.name} ended with {exit_code} and wrote no report.",
                mend=f"Try it: check out {planned.commit.hash[:12]} and run {command!r}.",
            )
        part, _remarks = build_part(
            tree,
            options=_stated(planned, command, exit_code),
            environment={},
            python=sys.executable,
            base=ledger.TRUNK,
            leave_out=[tree / REPORT],
        )
        report = Path(shutil.move(tree / REPORT, folder / f"{planned.name}.xml"))
        reach = _reach(tree, folder / f"{planned.name}.coverage") if planned.with_contexts else None
    return Ran(part, report, reach)


def _reach(tree: Path, kept: Path) -> tuple[bytes, ...]:
    """Return the reach that the run recorded, and keep coverage's data file."""
    shutil.move(tree / _DATA_FILE, kept)
    return tuple(line.encode() for line in to_json_lines(reach_of_coverage(kept, read_tree(tree))))


def _run(command: str, tree: Path) -> int:
    """Run a command by the shell, with this interpreter's folder first on the path, as a rerun of it does."""
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        ["/bin/sh", "-c", command], cwd=tree, env=environment, capture_output=True, check=False, timeout=TIMEOUT_S
    )
    return done.returncode


def _stated(planned: PlannedBuild, command: str, exit_code: int) -> dict[str, Any]:
    return {
        "build": planned.name,
        "job": JOB,
        "change": planned.change,
        "runner": "demo",
        "command": command,
        "exit_code": exit_code,
        "started_at": (planned.arrives_at - timedelta(minutes=1)).isoformat(),
    }
