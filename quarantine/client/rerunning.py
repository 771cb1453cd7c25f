"""Making the reruns the daemon wants: the recorded command, whole, on the byte-identical tree, in the same environment.

Only trees of the trunk lane are rerun here, for only those can be had from a commit. Each runs in a worktree of its
own that is removed afterwards. A rerun that would not be the same run again is not made, and the reason is said.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.environment import Environment, environment_of, named
from quarantine.client.errors import ClientError, TreeError
from quarantine.client.git import git
from quarantine.client.instants import iso_instant, wall_s
from quarantine.client.local_code import LocalCode, local_code
from quarantine.client.tree import read_tree
from quarantine.client.worktrees import add_worktree, remove_worktree

__all__ = ["Outcome", "Rerun", "rerun", "reruns_of"]

TIMEOUT_S = 3600.0
_TRUNK = "trunk"
_OF_THE_ENVIRONMENT = ("os", "python")
_NOT_PASSED_ON = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "QUARANTINE_TOKEN"}
)


class Rerun(NamedTuple):
    """One rerun as the daemon asks for it; see `GET /v1/projects/{project}/reruns`."""

    tree: str
    commit: str
    lane: str
    variant: dict[str, str]
    job: str
    command: str
    environment_hash: str | None
    stream: str
    rerun_of: str
    why: str

    @classmethod
    def of(cls, wanted: Mapping[str, Any]) -> "Rerun":
        """Return the rerun that one entry of the daemon's answer describes."""
        return cls(**{name: wanted[name] for name in cls._fields})


class Outcome(NamedTuple):
    """What became of a wanted rerun.

    Attributes:
        made: whether the command ran and its reports are ready.
        sentence: what happened, or why it was not made.
        build_part, reports: what to send; the reports lie in a folder that `rerun` removes when it is left.
    """

    made: bool
    sentence: str
    build_part: dict[str, Any]
    reports: tuple[Path, ...]


@contextmanager
def rerun(
    wanted: Rerun, repository: Path, *, python: str, patterns: Sequence[str], timeout_s: float = TIMEOUT_S
) -> Iterator[Outcome]:
    """Make one rerun and yield what became of it; the worktree is gone afterwards.

    Args:
        wanted: what the daemon asks for.
        repository: a clone that has the commit.
        python: the interpreter whose environment must be the recorded one.
        patterns: globs below the worktree that find the reports the command writes.
        timeout_s: seconds the command may take before it is killed with its children.
    """
    obstacle = _obstacle(wanted, environment_of(python))
    if obstacle:
        yield _left_out(obstacle)
        return
    scratch = Path(tempfile.mkdtemp(prefix="quarantine-rerun-")).resolve()
    try:
        yield _attempt(wanted, repository, scratch / "tree", python=python, patterns=patterns, timeout_s=timeout_s)
    finally:
        remove_worktree(repository, scratch / "tree")
        shutil.rmtree(scratch, ignore_errors=True)


def _left_out(sentence: str) -> Outcome:
    return Outcome(made=False, sentence=sentence, build_part={}, reports=())


def _attempt(
    wanted: Rerun, repository: Path, tree: Path, *, python: str, patterns: Sequence[str], timeout_s: float
) -> Outcome:
    try:
        code = local_code(_checkout(repository), python)
        if code.copies:
            return _left_out(
                f"{' and '.join(code.copies)} is installed as a copy here, so the command would test that and not the "
                "tree: install it with --editable, from this clone."
            )
        add_worktree(repository, tree, wanted.commit)
        return _made(wanted, tree, patterns, timeout_s, _environment(tree, code, python))
    except TreeError as error:
        return _left_out(f"The tree could not be made: {error}")


def _checkout(repository: Path) -> Path:
    """Return the folder the repository is checked out in; a bare one is its own."""
    try:
        return Path(os.fsdecode(git(repository, "rev-parse", "--show-toplevel").removesuffix(b"\n")))
    except TreeError:
        return repository


def _environment(tree: Path, code: LocalCode, python: str) -> dict[str, str]:
    """Return the variables the command sees: as here, but it finds the tree, and neither the checkout nor a token."""
    variables = {name: value for name, value in os.environ.items() if name not in _NOT_PASSED_ON}
    variables["PATH"] = f"{Path(named(python)).parent}{os.pathsep}{variables.get('PATH', '')}"
    if code.folders:
        variables["PYTHONPATH"] = code.import_path(tree, variables.get("PYTHONPATH", ""))
    return variables


def _obstacle(wanted: Rerun, here: Environment) -> str | None:
    """Return why the rerun would not be the same run again, as a sentence; None when it would."""
    if wanted.lane != _TRUNK:
        return f"Its tree is of the {wanted.lane} lane: whoever still has it can rerun it."
    if not wanted.command:
        return "The build did not record its command; send reports with --command."
    if not wanted.commit:
        return "The build did not record its commit."
    if wanted.environment_hash and wanted.environment_hash != here.hash:
        return (
            "The environment here is another (interpreter or installed distributions): a pass here would prove nothing."
        )
    mine = {"os": here.platform, "python": ".".join(here.version.split(".")[:2])}
    for key in _OF_THE_ENVIRONMENT:
        if key in wanted.variant and wanted.variant[key] != mine[key]:
            return f"The variant has {key}={wanted.variant[key]}; here it is {mine[key]}."
    return None


def _made(
    wanted: Rerun, tree: Path, patterns: Sequence[str], timeout_s: float, environment: Mapping[str, str]
) -> Outcome:
    found = read_tree(tree).hash
    if found != wanted.tree:
        sentence = (
            f"Commit {wanted.commit[:12]} alone does not give the tree that ran ({wanted.tree[:12]}): "
            "the build had other files too, such as generated or uncommitted ones."
        )
        return _left_out(sentence)
    before = {path: path.stat().st_mtime_ns for path in _matching(tree, patterns)}
    started_at = iso_instant(wall_s())
    exit_code = _run(wanted.command, tree, timeout_s, environment)
    if exit_code is None:
        return _left_out(f"The command was killed after {timeout_s:g} s.")
    written = [path for path in _matching(tree, patterns) if before.get(path) != path.stat().st_mtime_ns]
    if not written:
        return _left_out(f"The command ended with {exit_code} and wrote no report that matches {', '.join(patterns)}.")
    part = {
        "schema": 1,
        "kind": "rerun",
        "rerun_of": wanted.rerun_of,
        "build": f"rerun-{wanted.tree[:12]}-{uuid.uuid4().hex[:12]}",
        "job": wanted.job,
        "commit": wanted.commit,
        "tree": wanted.tree,
        "variant": {key: value for key, value in wanted.variant.items() if key != "job" or not wanted.job},
        "stream": wanted.stream,
        "command": wanted.command,
        "environment_hash": wanted.environment_hash,
        "started_at": started_at,
        "exit_code": exit_code,
    }
    part = {key: value for key, value in part.items() if value is not None}
    return Outcome(
        made=True, sentence=f"Ran {wanted.command!r}: exit code {exit_code}.", build_part=part, reports=tuple(written)
    )


def _matching(tree: Path, patterns: Sequence[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in tree.glob(pattern) if path.is_file()})


def _run(command: str, tree: Path, timeout_s: float, environment: Mapping[str, str]) -> int | None:
    """Run the command by the shell, as CI did; return its exit code, or None when it had to be killed."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _kill_group(process)


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill whatever the command left running."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def reruns_of(answer: Any) -> list[Rerun]:
    """Return the reruns of the daemon's answer; raises ClientError when it is not what was expected."""
    try:
        return [Rerun.of(wanted) for wanted in answer["reruns"]]
    except (KeyError, TypeError) as error:
        raise ClientError(
            "The daemon's answer about reruns is not understood.", mend="Do its versions match?"
        ) from error
