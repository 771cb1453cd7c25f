"""What a run leaves behind when its reports do not tell everything: run events, so that it never looks green."""

from collections.abc import Iterator, Sequence

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import RunEvent
from quarantine.junit import Reading

NO_REPORT, UNREADABLE, TRUNCATED, TIMED_OUT = "no-report", "unreadable-report", "truncated-report", "timed-out"
BROKE_OFF = frozenset({NO_REPORT, UNREADABLE, TRUNCATED, TIMED_OUT})
"""Kinds of run events of a run that did not come to its end, or did not tell everything."""

_CUT_SHORT = frozenset({"breaks-off", "broken-gzip"})
_MOST = 50
"""Reports named in one upload: one is enough to make it red."""


def traces_of(
    readings: Sequence[Reading], *, exit_code: int | None, timed_out: bool, has_reports: bool
) -> list[RunEvent]:
    """Return the run events for what is missing from an upload.

    Args:
        readings: what became of each document.
        exit_code: what the runner ended with; None when nobody said it.
        timed_out: whether the client stopped the run.
        has_reports: whether the build has reports from an earlier upload.
    """
    found = list(_of_readings(readings))[:_MOST]
    if not readings and not has_reports:
        ended = "." if exit_code is None else f"; the runner ended with {exit_code}."
        found.append(_event(NO_REPORT, "", f"No report came with this run{ended}"))
    if timed_out:
        found.append(_event(TIMED_OUT, "", "The run was stopped because it took too long."))
    return found


def _of_readings(readings: Sequence[Reading]) -> Iterator[RunEvent]:
    for reading in readings:
        cut = next((problem for problem in reading.problems if problem.code in _CUT_SHORT), None)
        if reading.status == "rejected":
            yield _event(UNREADABLE, reading.name, reading.sentence)
        elif cut is not None:
            yield _event(TRUNCATED, reading.name, cut.message)


def _event(kind: str, where: str, message: str) -> RunEvent:
    return RunEvent(kind, where, Outcome.ERRORED, message)
