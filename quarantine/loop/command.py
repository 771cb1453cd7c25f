"""The project's test command, with places for what the harness chooses.

- `{tests}`: the selected tests, each quoted for the shell; nothing when all are to run.
- `{tests_file}`: a file with one selected test a line; empty when all are to run.
- `{report}`: the JUnit file to write, outside of the tree and of a new name each time.
"""

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["REPORT", "TESTS", "TESTS_FILE", "Command"]

TESTS, TESTS_FILE, REPORT = "{tests}", "{tests_file}", "{report}"
MAX_BYTES = 100_000
"""Linux takes no longer argument than 128 KiB, and the shell is given the line as one."""
_SHOWN_DIGITS = 16


class Command(NamedTuple):
    """A line for the shell with the places above."""

    text: str

    @property
    def selects(self) -> bool:
        """Whether it can run a part of the tests."""
        return TESTS in self.text or TESTS_FILE in self.text

    @property
    def reports_by_name(self) -> bool:
        """Whether it is told where to write its report."""
        return REPORT in self.text

    def fits(self, tests: Sequence[str]) -> bool:
        """Whether so many tests can be named on the line."""
        return TESTS not in self.text or sum(len(shlex.quote(test).encode()) + 1 for test in tests) < MAX_BYTES

    def line(self, tests: Sequence[str], *, tests_file: Path, report: Path) -> str:
        """Return the line that is run; raises nothing, for `fits` was asked."""
        chosen = " ".join(map(shlex.quote, tests))
        line = self.text.replace(TESTS_FILE, shlex.quote(str(tests_file)))
        return line.replace(REPORT, shlex.quote(str(report))).replace(TESTS, chosen)

    def recorded(self, subset: str) -> str:
        """Return the line as builds record it: no scratch path and no canary, but which tests were selected.

        Runs may confirm each other only if they agree in it.

        Args:
            subset: SHA-256 of the selected tests; empty when all ran.
        """
        named = f"{{tests:{subset[:_SHOWN_DIGITS]}}}" if subset else "{tests:all}"
        line = self.text.replace(TESTS_FILE, named).replace(TESTS, named)
        if len(line) > _RECORDED_CHARACTERS:
            line = f"{line[: _RECORDED_CHARACTERS - 64]}{hashlib.sha256(line.encode()).hexdigest()}"
        return line


_RECORDED_CHARACTERS = 4_000
"""What a build part takes."""
