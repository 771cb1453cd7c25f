"""One run of the project's tests in the worktree: nothing of an earlier run is left, nothing of this one stays running.

The report goes to a folder of a new random name outside of the tree, so that neither yesterday's report nor a planted
one is taken for it. The tests see a home and a temporary folder of their own.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from quarantine.client.claims import scratch_folder
from quarantine.client.instants import iso_instant, wall_s
from quarantine.client.report_files import matching
from quarantine.client.tree import Tree, read_tree
from quarantine.loop.canary import Canary
from quarantine.loop.command import Command
from quarantine.loop.processes import Finished, Limits, run
from quarantine.loop.subset import Subset

__all__ = ["Execution", "Ran"]

MAX_REPORT_BYTES = 256 * 1024 * 1024
_FIRST_SIGNAL = 128


class Ran(NamedTuple):
    """What came of one run.

    Attributes:
        exit_code: as a shell says it: a signal n is 128 + n.
        started_at: ISO 8601.
        reports: what it wrote, in a folder that is gone when the run is left.
        log: its whole output, which stays.
        finished: how the process ended.
        heard_canary: whether any report names the canary.
        rewritten: files of the tree that were written, replaced or removed while it ran, even if put back.
        planted: files that were not there before.
    """

    exit_code: int
    started_at: str
    reports: tuple[Path, ...]
    log: Path
    finished: Finished
    heard_canary: bool
    rewritten: frozenset[str]
    planted: frozenset[str]

    @property
    def tail(self) -> str:
        """The last lines of its output."""
        text = (self.finished.stdout + self.finished.stderr).decode("utf-8", "replace")
        return "\n".join(text.rstrip().splitlines()[-12:])

    def as_last(self) -> Path:
        """Return a path that leads to the log and is the same for each run, so that two equal records read the same."""
        link = self.log.with_name("last.log")
        link.unlink(missing_ok=True)
        link.symlink_to(self.log.name)
        return link


@dataclass(frozen=True, slots=True)
class Execution:
    """How the tests are run.

    Attributes:
        command: the line, with its places.
        reports: globs below the tree that find what the command writes, where it has no place for the report.
        variables: all that the tests see, but for their scratch folders.
        timeout_s: seconds after which a run is killed with all it started.
        max_output_bytes: how much of each output is kept in the log.
        limits: what each process of a run may use.
        logs: the folder the logs go to.
    """

    command: Command
    reports: tuple[str, ...]
    variables: Mapping[str, str]
    timeout_s: float
    max_output_bytes: int
    limits: Limits
    logs: Path
    _count: list[int] = field(default_factory=lambda: [0])

    @contextmanager
    def made(self, root: Path, tree: Tree, subset: Subset, canary: Canary, *, name: str) -> Iterator[Ran]:
        """Run the tests once in a tree that was just made.

        Args:
            root: the tree's folder.
            tree: its files, as they were read before.
            subset: which tests.
            canary: the test that must fail among them; it is gone afterwards.
            name: of the log, such as `attempt-1-head`.

        Raises:
            ProcessError: the command cannot be started.
            ClientConfigurationError: there is no folder for the canary.
        """
        with scratch_folder("run") as outside, scratch_folder("home") as home:
            report = outside / secrets.token_hex(8) / "junit.xml"
            report.parent.mkdir()
            started_at = iso_instant(wall_s())
            self._forget_old_reports(root)
            before = _states(root, tree)
            with canary.planted(root):
                line = self._line(subset, canary, outside / "tests.txt", report)
                finished = run(
                    line,
                    cwd=root,
                    env={**self.variables, **_scratch_variables(home)},
                    timeout_s=self.timeout_s,
                    max_output_bytes=self.max_output_bytes,
                    limits=self.limits,
                )
            found = self._found(root, report, outside / "found")
            rewritten, planted = _disturbed(root, tree, before)
            yield Ran(
                exit_code=finished.exit_code if finished.exit_code >= 0 else _FIRST_SIGNAL - finished.exit_code,
                started_at=started_at,
                reports=found,
                log=self._logged(name, line, finished),
                finished=finished,
                heard_canary=any(canary.test.encode() in report.read_bytes() for report in found),
                rewritten=rewritten,
                planted=planted,
            )

    def listed(self, root: Path, command: str) -> Finished:
        """Run a command that lists tests, as the tests are run."""
        with scratch_folder("home") as home:
            return run(
                command,
                cwd=root,
                env={**self.variables, **_scratch_variables(home)},
                timeout_s=self.timeout_s,
                max_output_bytes=self.max_output_bytes,
                limits=self.limits,
            )

    def _line(self, subset: Subset, canary: Canary, tests_file: Path, report: Path) -> str:
        tests = [] if subset.tests is None else [*subset.tests, *filter(None, [canary.select])]
        tests_file.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8", errors="surrogateescape")
        return self.command.line(tests, tests_file=tests_file, report=report)

    def _forget_old_reports(self, root: Path) -> None:
        for path in () if self.command.reports_by_name else matching(root, self.reports):
            path.unlink()

    def _found(self, root: Path, report: Path, folder: Path) -> tuple[Path, ...]:
        """Return the reports of this run, moved out of the tree; what is no plain file of a sane size is none."""
        if self.command.reports_by_name:
            return (report,) if _is_report(report) else ()
        taken = []
        for number, path in enumerate(filter(_is_report, matching(root, self.reports))):
            place = folder / str(number) / path.name
            place.parent.mkdir(parents=True)
            taken.append(Path(shutil.move(path, place)))
        return tuple(taken)

    def _logged(self, name: str, line: str, finished: Finished) -> Path:
        """Write the whole output to a file of its own and return its path."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self._count[0] += 1
        path = self.logs / f"{self._count[0]:03d}-{name}.log"
        parts = [f"$ {line}\n".encode("utf-8", "surrogateescape"), finished.stdout, finished.stderr]
        path.write_bytes(b"".join(parts))
        return path


def _scratch_variables(home: Path) -> dict[str, str]:
    """Return the variables that lead to folders of this run alone."""
    places = {"HOME": "home", "TMPDIR": "tmp"}
    for folder in places.values():
        (home / folder).mkdir()
    return {name: str(home / folder) for name, folder in places.items()}


def _is_report(path: Path) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= MAX_REPORT_BYTES


_State = tuple[int, ...] | None


def _states(root: Path, tree: Tree) -> dict[str, _State]:
    """Return of each file what changes whenever it is written: its change time cannot be set by anybody."""
    return {entry.name: _state(os.fsencode(root) + b"/" + entry.path) for entry in tree.entries}


def _state(path: bytes) -> _State:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mode, status.st_ino, status.st_size, status.st_ctime_ns


def _disturbed(root: Path, tree: Tree, before: Mapping[str, _State]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the files of the tree that were touched since, and those that are new."""
    rewritten = frozenset(name for name, state in _states(root, tree).items() if state != before[name])
    planted = frozenset(entry.name for entry in read_tree(root).entries) - before.keys()
    return rewritten, planted
