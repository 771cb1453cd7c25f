"""Running a judged run again: on the head, in the folder it ran in, and on the base, in a scratch worktree.

One rerun is the recorded command again, whole, in the same environment. It counts only if the tree is byte for byte
the one that is claimed, before and after; otherwise it is not made or not used, and the reason is said.
"""

import os
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from quarantine.client.claims import scratch_folder, scratch_worktree
from quarantine.client.errors import ClientError, TreeError
from quarantine.client.executing import Execution, execute, suite_environment
from quarantine.client.git import git, is_shallow
from quarantine.client.local_code import COPY, LocalCode, local_code
from quarantine.client.report_files import matching
from quarantine.client.tree import Tree, read_tree
from quarantine.client.worktrees import checkout

__all__ = ["JudgedRun", "Outcome", "Place", "reports_kept", "rerun_of"]

Place = Literal["head", "base"]

_COPIED = (
    *("schema", "job", "commit", "tree", "base_commit", "changed", "hash_alg", "complete", "variant", "stream"),
    *("runner", "change", "environment_hash"),
)
_OF_THE_BASE = (*("schema", "job", "complete", "variant", "stream", "runner", "change", "environment_hash"),)
_SHOWN_FILES = 3


class JudgedRun(NamedTuple):
    """A run that is judged, with what it takes to make it again.

    Attributes:
        root: the folder whose files are the tree.
        tree: those files, as they were tested.
        build_part: what was sent about it.
        command: the command line that ran, from the root; empty when nobody said it, and then nothing can be rerun.
        patterns: what finds its reports; see `report_files.matching`.
        leave_out: what was left out of the tree, the reports among it.
        python: the interpreter that ran it; None when nobody said which.
    """

    root: Path
    tree: Tree
    build_part: Mapping[str, Any]
    command: str
    patterns: tuple[str, ...]
    leave_out: tuple[Path, ...] = ()
    python: str | None = None


class Outcome(NamedTuple):
    """What became of a rerun.

    Attributes:
        made: whether it ran and may be sent; with no report too, for that it wrote none is an outcome.
        sentence: what happened, or why it was not made.
        build_part: what to send with it.
        reports: what it wrote, in a folder that is removed when the rerun is left.
        timed_out: whether it was killed because its time was up.
        seconds: how long it took.
    """

    made: bool
    sentence: str
    build_part: Mapping[str, Any]
    reports: tuple[Path, ...]
    timed_out: bool
    seconds: float


@contextmanager
def rerun_of(run: JudgedRun, place: Place, *, timeout_s: float) -> Iterator[Outcome]:
    """Make one rerun of a judged run on one of the two trees; what it wrote is gone when the block is left.

    Args:
        run: what is judged.
        place: on the head or on the base.
        timeout_s: seconds after which it is killed with its children.
    """
    with scratch_folder("rerun") as scratch:
        again = _on_head if place == "head" else _on_base
        try:
            outcome = again(run, scratch, timeout_s)
        except ClientError as error:
            outcome = _left_out(str(error))
        yield outcome


@contextmanager
def reports_kept(run: JudgedRun) -> Iterator[None]:
    """Put the reports of the judged run back when the block is left: a rerun in the same folder writes over them."""
    present = matching(run.root, run.patterns)
    with scratch_folder("reports") as scratch:
        copies = [(path, scratch / str(number)) for number, path in enumerate(present)]
        for path, copy in copies:
            shutil.copy2(path, copy)
        try:
            yield
        finally:
            for path, copy in copies:
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(copy, path)


def _left_out(sentence: str) -> Outcome:
    return Outcome(made=False, sentence=sentence, build_part={}, reports=(), timed_out=False, seconds=0.0)


def _on_head(run: JudgedRun, scratch: Path, timeout_s: float) -> Outcome:
    before = _difference(run, "The tree is no longer the one that was judged")
    if before:
        return _left_out(before)
    environment = suite_environment(run.python)
    ran = execute(run.command, run.root, run.patterns, environment=environment, timeout_s=timeout_s)
    reports = _taken(ran.reports, scratch)
    after = _difference(run, "The rerun changed the tree that is judged, so it says nothing about it")
    if after:
        return _left_out(after)
    return _made(run, ran, reports, {name: run.build_part[name] for name in _COPIED if name in run.build_part})


def _on_base(run: JudgedRun, scratch: Path, timeout_s: float) -> Outcome:
    commit = run.build_part.get("base_commit")
    if not commit:
        return _left_out("No base is known to compare with: name one by --base, and fetch the history.")
    repository = checkout(run.root)
    obstacle = _missing_commit(repository, commit)
    if obstacle:
        return _left_out(obstacle)
    code = _local_code(repository, run)
    if code.copies:
        return _left_out(COPY.format(" and ".join(code.copies)))
    prefix = os.fsdecode(git(run.root, "rev-parse", "--show-prefix").removesuffix(b"\n"))
    with scratch_worktree(repository, commit) as worktree:
        folder = worktree / prefix
        if not folder.is_dir():
            return _left_out(f"The base commit {commit[:12]} has no folder {prefix}.")
        tree = read_tree(folder, leave_out=_moved(run.leave_out, run.root, folder)).hash
        if tree == run.tree.hash:
            return _left_out("The base is the very tree that was tested: name what to compare with by --base.")
        environment = code.environment(worktree, suite_environment(run.python))
        patterns = [_moved_pattern(pattern, run.root) for pattern in run.patterns]
        ran = execute(run.command, folder, patterns, environment=environment, timeout_s=timeout_s)
        reports = _taken(ran.reports, scratch)
    part = {name: run.build_part[name] for name in _OF_THE_BASE if name in run.build_part}
    return _made(run, ran, reports, part | {"commit": commit, "base_commit": commit, "tree": tree})


def _difference(run: JudgedRun, what: str) -> str:
    """Return in which files the folder differs from the judged tree, as a sentence; empty when it is the same."""
    now = read_tree(run.root, leave_out=run.leave_out)
    if now.hash == run.tree.hash:
        return ""
    names = sorted({entry.name for entry in set(now.entries) ^ set(run.tree.entries)})
    shown = ", ".join(names[:_SHOWN_FILES]) + f" and {len(names) - _SHOWN_FILES} more" * (len(names) > _SHOWN_FILES)
    return f"{what}: {shown}. What the run itself writes can be left out by --leave-out."


def _missing_commit(repository: Path, commit: str) -> str:
    """Return why the base cannot be had from the clone, as a sentence; empty when it can."""
    try:
        git(repository, "cat-file", "-e", f"{commit}^{{commit}}")
    except TreeError:
        why = "which is shallow: fetch the history (depth 0)" if is_shallow(repository) else "so fetch it"
        return f"The base commit {commit[:12]} is not in this clone, {why}."
    return ""


def _local_code(repository: Path, run: JudgedRun) -> LocalCode:
    """Return what the interpreter that runs the suite, or any that may, would import of the repository."""
    found = [local_code(repository, one) for one in ([run.python] if run.python else _likely_pythons(run))]
    folders = dict.fromkeys(folder for code in found for folder in code.folders)
    return LocalCode(tuple(folders), tuple(sorted({copy for code in found for copy in code.copies})))


def _likely_pythons(run: JudgedRun) -> list[str]:
    """Return the interpreters a command may mean when nobody says which, one a folder.

    Those of the PATH, those that lie beside a program the command names by its path, and this one.
    """
    beside = [run.root / Path(word).parent / "python" for word in run.command.split() if "/" in word]
    on_path = [shutil.which(name) for name in ("python", "python3")]
    found = [*filter(None, on_path), *(str(path) for path in beside if path.is_file()), sys.executable]
    return list({Path(path).parent.absolute(): path for path in reversed(found)}.values())


def _moved(paths: Sequence[Path], root: Path, folder: Path) -> list[Path]:
    """Return the same places below another folder; what lies outside of the root stays outside."""
    top = root.resolve()
    below = [path.resolve() for path in paths]
    return [folder / path.relative_to(top) for path in below if path.is_relative_to(top)]


def _moved_pattern(pattern: str, root: Path) -> str:
    """Return a pattern as it reads from any root."""
    path, top = Path(pattern), root.resolve()
    return str(path.relative_to(top)) if path.is_relative_to(top) else pattern


def _taken(reports: Sequence[Path], scratch: Path) -> tuple[Path, ...]:
    """Move the reports to a folder of ours, each in one of its own, so that nothing of the rerun stays in the tree."""
    taken = []
    for number, report in enumerate(reports):
        folder = scratch / str(number)
        folder.mkdir()
        taken.append(Path(shutil.move(report, folder / report.name)))
    return tuple(taken)


def _made(run: JudgedRun, ran: Execution, reports: tuple[Path, ...], part: Mapping[str, Any]) -> Outcome:
    told = {
        "kind": "rerun",
        "rerun_of": run.build_part["build"],
        "build": f"rerun-{part['tree'][:12]}-{uuid.uuid4().hex[:12]}",
        "command": run.command,
        "started_at": ran.started_at,
    }
    exit_code = {} if ran.exit_code is None else {"exit_code": ran.exit_code}
    how = f"killed after {ran.seconds:.1f} s" if ran.timed_out else f"exit code {ran.exit_code}, {ran.seconds:.1f} s"
    wrote = "" if reports else "; it wrote no report"
    return Outcome(
        made=True,
        sentence=f"{how}{wrote}.",
        build_part={**part, **told, **exit_code},
        reports=reports,
        timed_out=ran.timed_out,
        seconds=ran.seconds,
    )
