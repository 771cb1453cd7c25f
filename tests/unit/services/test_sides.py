"""The columns of one tree: how a test's tries add up over uploads, builds and retries."""

from datetime import UTC, datetime

import numpy as np
import pytest

from quarantine.domain.outcome import Lane
from quarantine.policy.findings import Tries
from quarantine.services.sides import Columns, Side, tries_of
from quarantine.store.outcomes import ABSENT, ERRORED, FAILED, PASSED, SKIPPED, Outcomes

AT = datetime(2026, 1, 5, 9, tzinfo=UTC)
CODES = {"P": PASSED, "F": FAILED, "E": ERRORED, "S": SKIPPED, "-": ABSENT}


def upload(build: int, tries: str) -> Outcomes:
    """Return what one upload said of one test: its first and its last try."""
    code = CODES[tries[0]] | CODES[tries[-1]] << 4
    return Outcomes(
        arrival=build, build_seq=build, variant_hash="v", tree="t", setting="s", lane=Lane.AGENT, is_run=True,
        received_at=AT, codes=np.array([code], np.uint8), counted=np.zeros(1, np.bool_),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("runs", "tries", "seen"),
    [
        ([], Tries(0, 0, 0), False),
        (["P"], Tries(0, 1, 1), True),
        (["F", "P", "P"], Tries(1, 2, 2), True),
        (["P", "F"], Tries(1, 1, 0), True),
        (["FP"], Tries(1, 1, 1), True),
        (["FP", "P"], Tries(1, 2, 2), True),
        (["PF"], Tries(1, 1, 0), True),
        (["E", "F"], Tries(2, 0, 0), True),
        (["S"], Tries(0, 0, 0), True),
        (["P", "S", "P"], Tries(0, 2, 2), True),
        (["P", "-", "P"], Tries(0, 2, 2), True),
    ],
    ids=str,
)
def test_tries_add_up_over_builds(runs: list[str], tries: Tries, seen: bool) -> None:  # noqa: FBT001 - a column
    """Each build is a failed and a passed try at most; skips are none, and a failure breaks the streak."""
    columns = Columns.of([upload(number, run) for number, run in enumerate(runs, start=1)], 1)
    assert columns.tries(0) == tries
    assert bool(columns.seen[0]) is seen
    assert bool(columns.ran[0]) is (tries.total > 0)


def test_a_build_counts_once_however_many_uploads_it_came_in() -> None:
    """A failure that a later upload of the build follows up is one failed and one passed try, whatever came between."""
    columns = Columns.of([upload(1, "P"), upload(1, "F"), upload(1, "P"), upload(2, "P")], 1)
    assert columns.tries(0) == Tries(1, 2, 2)


def test_tries_of_something_seen_or_not() -> None:
    """The streak begins anew after each time it was seen."""
    assert tries_of([]) == Tries(0, 0, 0)
    assert tries_of([True, False, True, False, False]) == Tries(2, 3, 2)


def side(*runs: tuple[int | None, int, list[str]], canaries: dict[int, int] | None = None) -> Side:
    """Return the runs of one tree, each with its exit code, failed tests and kinds of run events."""
    rows = {number: {"exit_code": code, "failed": failed} for number, (code, failed, _) in enumerate(runs)}
    events = {
        number: [{"kind": kind, "where": "x"} for kind in kinds] for number, (_, _, kinds) in enumerate(runs) if kinds
    }
    return Side({}, rows, events, canaries or {})


def test_runs_that_break_off() -> None:
    """A missing or damaged report, a time-out and a signal; a collection error is a red run that came to its end."""
    told = side(
        (0, 0, []), (1, 1, []), (2, 0, ["collection-error"]), (1, 0, ["no-report"]), (0, 0, ["truncated-report"]),
        (0, 0, ["timed-out"]), (139, 3, []), (-9, 0, []), (None, 0, []),
    )  # fmt: skip
    assert [number for number in told.builds if told.broke_off(number)] == [3, 4, 5, 6, 7]
    assert told.broken() == Tries(5, 4, 1)
    assert told.faults() == {("collection-error", "x")}
    assert told.fault("collection-error", "x") == Tries(1, 3, 1)


def test_exit_codes_that_nothing_explains() -> None:
    """Success needs no reason, a failed test or a run event is one; what nobody said counts neither way."""
    told = side((0, 0, []), (1, 1, []), (2, 0, ["hook"]), (None, 0, []), (3, 0, []), (139, 0, []))
    assert told.exits() == Tries(1, 3, 0)


def test_with_a_canary_the_exit_code_is_known_beforehand() -> None:
    """Whatever else failed: that code, or nothing explains it; success is the canary's own matter."""
    codes = dict.fromkeys(range(4), 1)
    told = side((1, 0, []), (1, 4, []), (2, 4, []), (0, 0, []), canaries=codes)
    assert [told.has_unexplained_exit(number) for number in told.builds] == [False, False, True, False]
