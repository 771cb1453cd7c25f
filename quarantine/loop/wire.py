"""What a run of the loop says of itself to the daemon: its build part, and the question about it."""

import socket
import uuid
from typing import Any

from quarantine.client.parts import HASH_ALG
from quarantine.client.tree import Tree
from quarantine.loop.canary import Canary
from quarantine.loop.case import Case
from quarantine.loop.execution import Ran
from quarantine.loop.setup import Ready, Settings

__all__ = ["build_part", "question_of", "rerun_note", "variant_of"]

_NAMED_DIGITS = 12


def build_part(
    ready: Ready, settings: Settings, case: Case, tree: Tree, ran: Ran, *, rerun_of: str | None = None
) -> dict[str, Any]:
    """Return the build part of a run; see docs/build-part.md.

    Args:
        ready: how it was made.
        settings: as the harness was told.
        case: what was run.
        tree: the files, as they were before the canary.
        ran: what came of it.
        rerun_of: the judged build, for a rerun.
    """
    environment = ready.pinned.environment
    again = {"kind": "rerun", "rerun_of": rerun_of} if rerun_of else {"kind": "run"}
    return {
        "schema": 1,
        **again,
        "build": f"solve-{tree.hash[:_NAMED_DIGITS]}-{uuid.uuid4().hex[:_NAMED_DIGITS]}",
        "job": settings.job,
        "commit": case.workspace.base_commit,
        "tree": tree.hash,
        "base_commit": case.workspace.base_commit,
        "changed": [list(part) for part in case.changed],
        "hash_alg": HASH_ALG,
        "complete": case.subset.tests is None,
        "variant": variant_of(ready, settings),
        "stream": settings.stream,
        "runner": socket.gethostname(),
        "change": case.ticket.id,
        "started_at": ran.started_at,
        "exit_code": ran.exit_code,
        "command": ready.execution.command.recorded(case.subset.sha256),
        "environment_hash": environment.hash,
    }


def variant_of(ready: Ready, settings: Settings) -> dict[str, str]:
    """Return the keys of the variant that the tests run in, without the job."""
    environment = ready.pinned.environment
    python = ".".join(environment.version.split(".")[:2])
    return {"os": environment.platform, "python": python, **settings.variant}


def rerun_note(ran: Ran, canary: Canary) -> dict[str, Any]:
    """Return what is said of each run: the canary that was in it, and how it went."""
    return {
        "canary": {"name": canary.test, "exit_code": canary.exit_code},
        "timed_out": ran.finished.timed_out,
        "runner_s": round(ran.finished.seconds, 3),
    }


def question_of(settings: Settings, case: Case, ran: Ran, canary: Canary) -> dict[str, Any]:
    """Return what is asked about a run of a patch; see docs/http.md."""
    asked = {
        "schema": 1,
        **rerun_note(ran, canary),
        "base_commit": case.workspace.base_commit,
        "base_tree": case.workspace.base_tree,
        "expected": None if case.subset.tests is None else list(case.subset.tests),
        "must_pass": list(case.ticket.must_pass),
        "changed_lines": [list(lines) for lines in case.lines] or None,
        "can_rerun": True,
        "ticket": case.ticket.id,
        "attempt": case.number,
        "patch": case.patch.sha256 if case.patch else None,
        "subset": case.subset.sha256 or None,
        "tokens": case.spent.tokens,
        "cost": case.spent.cost,
        "log": str(ran.log),
        "root": str(case.workspace.path),
        "record_tokens": settings.record_tokens,
    }
    return {name: value for name, value in asked.items() if value is not None}
