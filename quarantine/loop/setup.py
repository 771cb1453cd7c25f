"""What stays the same through a loop: how tests are run, in which environment, with which canary, from which list."""

import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from quarantine.client.errors import ClientConfigurationError
from quarantine.client.local_code import COPY, local_code
from quarantine.client.tree import Tree
from quarantine.loop.canary import CanaryTemplate
from quarantine.loop.command import Command
from quarantine.loop.execution import Execution
from quarantine.loop.pinning import Pinned, clean_variables
from quarantine.loop.processes import Limits
from quarantine.loop.subset import collected_ids
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace

__all__ = ["Ready", "Settings"]

TIMEOUT_S = 1800.0
MAX_OUTPUT_BYTES = 8_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a project's tests are run.

    Attributes:
        reports: globs below the tree that find the reports, where the command has no `{report}`.
        python: the interpreter that runs the tests; it comes first on their PATH.
        timeout_s: seconds that one run may take, until it is killed with all it started.
        job, variant, stream: as trunk reports them, for a test is quarantined in one variant of one job.
        canary: how a canary is written for this test runner; None writes one for pytest, beside the tests.
        collect: a command that prints one test a line; those that the daemon does not know always run.
        kept_variables: names, or globs of names, of this process's variables that the tests see beside harmless ones.
        variables: variables that the tests see as they are given here.
        import_paths: folders of the tree that the tests import from; None asks the interpreter.
        limits: what each process of a run may use.
        max_output_bytes: how much of each output of a run is kept in its log.
        logs: the folder the logs go to; None makes one that stays.
        record_tokens: how long a failure record may be.
    """

    reports: tuple[str, ...] = ("junit.xml",)
    python: str = sys.executable
    timeout_s: float = TIMEOUT_S
    job: str = ""
    variant: Mapping[str, str] = field(default_factory=dict)
    stream: str = ""
    canary: CanaryTemplate | None = None
    collect: str | None = None
    kept_variables: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    import_paths: tuple[str, ...] | None = None
    limits: Limits = field(default_factory=Limits)
    max_output_bytes: int = MAX_OUTPUT_BYTES
    logs: Path | None = None
    record_tokens: int = 1000


@dataclass(frozen=True, slots=True)
class Ready:
    """The settings, worked out for one base.

    Attributes:
        files: the paths of the base.
        canary: how canaries are written.
        execution: how the tests are run.
        pinned: the environment as it was at the start.
        collected: every test there is, as the runner lists them; None when nobody asked it.
    """

    files: frozenset[str]
    canary: CanaryTemplate
    execution: Execution
    pinned: Pinned
    collected: tuple[str, ...] | None

    @classmethod
    def made(cls, settings: Settings, command: Command, workspace: Workspace, ticket: Ticket, base: Tree) -> "Ready":
        """Work the settings out on a clean base, which is in the workspace now.

        Raises:
            ClientConfigurationError: the interpreter does not answer, or would test a copy of the project that is
                installed; or the tests cannot be listed.
        """
        files = frozenset(entry.name for entry in base.entries)
        execution = Execution(
            command,
            settings.reports,
            _variables(settings, workspace),
            settings.timeout_s,
            settings.max_output_bytes,
            settings.limits,
            settings.logs or Path(tempfile.mkdtemp(prefix="quarantine-logs-")),
        )
        return cls(
            files,
            settings.canary or CanaryTemplate.for_pytest(files, ticket.must_pass),
            execution,
            pinned(settings, workspace, base, execution.variables),
            _listed(settings.collect, execution, workspace) if settings.collect else None,
        )


def pinned(settings: Settings, workspace: Workspace, base: Tree, variables: Mapping[str, str]) -> Pinned:
    """Return the environment as it is now; what only says where the worktree lies is no part of it."""
    lasting = {name: value for name, value in variables.items() if str(workspace.path) not in value}
    return Pinned.taken(settings.python, base, lasting)


def _variables(settings: Settings, workspace: Workspace) -> dict[str, str]:
    folders = settings.import_paths
    if folders is None:
        code = local_code(workspace.repository, settings.python)
        if code.copies:
            raise ClientConfigurationError(
                COPY.format(" and ".join(code.copies)), mend="Or name the folders to import from, by --import-path."
            )
        folders = code.folders
    variables = clean_variables(settings.python, os.environ, kept=settings.kept_variables, stated=settings.variables)
    paths = [*(str(workspace.path / folder) for folder in folders), *filter(None, [variables.get("PYTHONPATH")])]
    return {**variables, "PYTHONPATH": os.pathsep.join(paths)} if paths else variables


def _listed(command: str, execution: Execution, workspace: Workspace) -> tuple[str, ...]:
    done = execution.listed(workspace.path, command)
    found = collected_ids(done.stdout.decode("utf-8", "replace"))
    if done.exit_code or not found:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-3:]
        raise ClientConfigurationError(
            f"{command!r} listed {len(found)} tests and ended with {done.exit_code}: {' '.join(said)}",
            mend="It has to print one test a line, such as `python -m pytest --collect-only -q`.",
        )
    return found
