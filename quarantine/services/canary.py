"""The canary: one test of a random name that must fail, in the same run. It is no test of the project.

It is taken out before anything is stored, so that it gets no ordinal and no history. A name that the project knows is
refused, else a client could have a real failure taken out.
"""

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import Connection

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Run
from quarantine.errors import BadInput
from quarantine.store import roster

CanaryState = Literal["failed", "passed", "skipped", "absent"]


def taken_out(runs: Sequence[Run], name: str) -> tuple[tuple[Run, ...], CanaryState]:
    """Return the runs without the canary, and the worst that the canary did: passing is worse than being skipped."""
    canaries = [run for run in runs if run.name == name]
    outcomes = {result.outcome for run in canaries for result in run.results}
    state: CanaryState = "absent" if not canaries else "failed"
    if Outcome.PASSED in outcomes:
        state = "passed"
    elif Outcome.SKIPPED in outcomes:
        state = "skipped"
    return tuple(run for run in runs if run.name != name), state


def require_unknown(connection: Connection, project_id: int, name: str) -> None:
    """Raise BadInput when a test of the project has the canary's name."""
    if roster.named(connection, project_id, [name]):
        raise BadInput(
            f"The canary {name!r} is the name of a test of this project.",
            mend="Give the canary a random name that no test has.",
            code="canary-known",
        )
