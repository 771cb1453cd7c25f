"""Which tests run for a patch. The harness chooses, from the reach maps; the agent cannot.

Always in are the tests that must pass, tests without a known reach, and tests the daemon has never heard of. Whatever
cannot be told apart (a file everything depends on, a test nobody can name on the command line) runs everything.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from quarantine.client.changed_lines import ChangedLines, changed_lines
from quarantine.client.errors import ClientError
from quarantine.client.manifest import changed_since
from quarantine.client.parts import Part
from quarantine.client.target import Target
from quarantine.client.tree import Tree
from quarantine.loop.command import Command
from quarantine.loop.daemon import post
from quarantine.loop.workspace import Workspace

__all__ = ["EVERYTHING", "Impact", "Subset", "changed_parts", "choose", "collected_ids", "lines_changed"]

_PYTHON = ".py"


class Subset(NamedTuple):
    """The tests of one run.

    Attributes:
        tests: as the runner names them, sorted; None for all there are.
        why: a sentence: what decided it.
    """

    tests: tuple[str, ...] | None
    why: str

    @property
    def sha256(self) -> str:
        """SHA-256 over one test a line; empty for all there are, whatever their names."""
        return "" if self.tests is None else hashlib.sha256("\n".join(self.tests).encode()).hexdigest()


EVERYTHING = Subset(None, "Every test runs.")


class Impact(NamedTuple):
    """What the daemon says about a change; see `POST impacted`.

    Attributes:
        run: the tests to run: impacted ones, and those without a reach.
        known: all tests it knows on the base.
        everything: whether every test has to run.
        why: a sentence: what decided it.
    """

    run: tuple[str, ...]
    known: frozenset[str]
    everything: bool
    why: str

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Impact":
        """Return what an answer says; raises ClientError when it is not understood."""
        try:
            run = (*answer["impacted"], *answer["unknown"])
            known = frozenset((*run, *answer["untouched"]))
            return cls(run, known, bool(answer["everything"]), str(answer["why"]))
        except (KeyError, TypeError) as error:
            raise ClientError(
                "The daemon's answer about impacted tests is not understood.", mend="Do its versions match?"
            ) from error

    @classmethod
    def asked(cls, target: Target, changed: Sequence[Part], base_commit: str) -> "Impact":
        """Ask the daemon; raises Refused and DaemonLost."""
        return cls.of(post(target, "impacted", {"changed": changed, "base_commit": base_commit}))


def changed_parts(workspace: Workspace, tree: Tree) -> list[Part]:
    """Return the parts in which a tree differs from the base, computed from the files; the agent is not asked."""
    return changed_since(tree, workspace.base_commit, workspace.repository)


def lines_changed(workspace: Workspace, tree: Tree) -> list[ChangedLines]:
    """Return the lines in which a tree differs from the base, computed as `changed_parts` is."""
    return changed_lines(tree, workspace.base_commit, workspace.repository)


def choose(
    command: Command,
    impact: Impact,
    *,
    must_pass: Sequence[str],
    files: Collection[str],
    collected: Sequence[str] | None = None,
) -> Subset:
    """Return the tests to run for a change.

    Args:
        command: what runs them.
        impact: what the daemon says about the change.
        must_pass: tests that are always in.
        files: the paths of the tree, to find what a test's name stands for.
        collected: every test there is, as the runner lists them; None when nobody listed them.
    """
    if not command.selects:
        return Subset(None, "The command takes no selection ({tests} or {tests_file}), so every test runs.")
    if impact.everything:
        return Subset(None, impact.why)
    named = {test: _runnable(test, files) for test in {*impact.run, *impact.known}}
    chosen = {named[test] or test for test in impact.run}
    if collected is not None:
        heard_of = {name for test, found in named.items() for name in (test, found) if name}
        chosen = {test for test in collected if test in chosen or test not in heard_of}
    elif nameless := sorted(test for test in impact.run if named[test] is None):
        return Subset(None, f"Nobody knows how to select {nameless[0]}, so every test runs; --collect can list them.")
    tests = tuple(sorted({*chosen, *must_pass}))
    if not tests:
        return Subset(None, "No test is known to reach the change, so every test runs.")
    if not command.fits(tests):
        return Subset(
            None, f"{len(tests):,} tests are too many for a command line ({{tests_file}} takes them), so all."
        )
    return Subset(tests, impact.why)


def _runnable(test: str, files: Collection[str]) -> str | None:
    """Return a test as pytest takes it on its command line; None when its name leads to no file of the tree."""
    where, parted, name = test.partition("::")
    if not parted or where in files:
        return test if where in files else None
    pieces = where.split(".")
    for end in range(len(pieces), 0, -1):
        path = "/".join(pieces[:end]) + _PYTHON
        if path in files:
            return "::".join([path, *pieces[end:], name])
    return None


def collected_ids(output: str) -> tuple[str, ...]:
    """Return the tests in what a listing command printed: one a line, up to the first empty line.

    That is what `pytest --collect-only -q` prints before its summary. Where any line has `::` the others are remarks.
    """
    lines: list[str] = []
    for line in output.splitlines():
        if not line.strip() and lines:
            break
        lines += [line.rstrip()] if line.strip() else []
    ids = [line for line in lines if "::" in line]
    return tuple(dict.fromkeys(ids or lines))
