"""Making the reruns the daemon wants: the recorded command, whole, on the byte-identical tree, in the same environment.

Only trees of the trunk lane are rerun here, for only those can be had from a commit. Each runs in a worktree of its
own that is removed afterwards; what a killed process leaves of it, the next rerun removes. A rerun that would not be
the same run again is not made, and the reason is said.
"""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from quarantine.client.claims import scratch_worktree, sweep
from quarantine.client.environment import Environment, environment_of
from quarantine.client.errors import ClientError, TreeError
from quarantine.client.executing import TIMEOUT_S, execute, suite_environment
from quarantine.client.local_code import COPY, local_code
from quarantine.client.tree import read_tree
from quarantine.client.worktrees import checkout

__all__ = ["Outcome", "Rerun", "rerun", "reruns_of"]

_TRUNK = "trunk"
_OF_THE_ENVIRONMENT = ("os", "python")


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
    code = local_code(checkout(repository), python)
    if code.copies:
        yield _left_out(COPY.format(" and ".join(code.copies)))
        return
    sweep(repository)
    with ExitStack() as stack:
        try:
            tree = stack.enter_context(scratch_worktree(repository, wanted.commit))
            outcome = _made(wanted, tree, patterns, timeout_s, code.environment(tree, suite_environment(python)))
        except TreeError as error:
            outcome = _left_out(f"The tree could not be made: {error}")
        yield outcome


def _left_out(sentence: str) -> Outcome:
    return Outcome(made=False, sentence=sentence, build_part={}, reports=())


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
    ran = execute(wanted.command, tree, patterns, environment=environment, timeout_s=timeout_s)
    if ran.timed_out:
        return _left_out(f"The command was killed after {timeout_s:g} s.")
    if not ran.reports:
        sentence = f"The command ended with {ran.exit_code} and wrote no report that matches {', '.join(patterns)}."
        return _left_out(sentence)
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
        "started_at": ran.started_at,
        "exit_code": ran.exit_code,
    }
    part = {key: value for key, value in part.items() if value is not None}
    sentence = f"Ran {wanted.command!r}: exit code {ran.exit_code}."
    return Outcome(made=True, sentence=sentence, build_part=part, reports=ran.reports)


def reruns_of(answer: Any) -> list[Rerun]:
    """Return the reruns of the daemon's answer; raises ClientError when it is not what was expected."""
    try:
        return [Rerun.of(wanted) for wanted in answer["reruns"]]
    except (KeyError, TypeError) as error:
        raise ClientError(
            "The daemon's answer about reruns is not understood.", mend="Do its versions match?"
        ) from error
