"""Counting, build by build: the columns every decision starts from."""

import numpy as np
import pytest

from quarantine.policy.history import Advance, History, advance


def build(
    history: History, outcomes: str, *, seq: int = 1, day: int = 1, trunk: bool = True, counted: str = ""
) -> Advance:
    """Advance by one build in which test i did outcomes[i]: P passed, F failed, - absent."""
    history.grow(len(outcomes))
    present = np.array([i for i, letter in enumerate(outcomes) if letter != "-"], np.intp)
    failed = np.array([outcomes[i] == "F" for i in present], np.bool_)
    counts = np.array([not counted or counted[i] == "c" for i in present], np.bool_)
    pairs = int(history.pair.max(initial=0))
    return advance(history, present, failed=failed, counted=counts, trunk=trunk, day=day, build_seq=seq, pairs=pairs)


def heads_of(sequence: str) -> list[int]:
    """Return the trial indices at which one test's history has a head."""
    history, found = History(), []
    for index, letter in enumerate(sequence, start=1):
        if build(history, letter, seq=index).is_head.any():
            found.append(index)
    return found


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        ("PPPP", []),
        ("FFFF", []),
        ("PF", [2]),
        ("PFFF", [2]),
        ("PFPF", [2, 4]),
        ("FPF", [3]),
        ("P-F", [3]),
    ],
)
def test_a_head_is_a_failure_whose_previous_counted_trial_passed(sequence: str, expected: list[int]) -> None:
    """A failure after a failure is no head, and neither is a failure with nothing before it."""
    assert heads_of(sequence) == expected


def test_a_trial_that_does_not_count_leaves_no_trace_in_the_evidence() -> None:
    """An uncounted failure neither takes an index nor separates its neighbours."""
    history = History()
    build(history, "P")
    uncounted = build(history, "F", counted="-", trunk=False)
    head = build(history, "F")
    assert not uncounted.is_head.any()
    assert head.is_head.all()
    assert history.trials[0] == 2
    assert history.heads[0] == 1


def test_trunk_streaks_and_days() -> None:
    """Streaks count trunk trials; a day with a failure is not clean, whatever passes later that day."""
    history = History()
    for seq, (letter, day) in enumerate([("P", 1), ("P", 1), ("F", 2), ("P", 2), ("P", 3), ("P", 5)], start=1):
        build(history, letter, seq=seq, day=day)
    assert (history.trunk_trials[0], history.pass_streak[0], history.fail_streak[0]) == (6, 3, 0)
    assert (history.days[0], history.clean_days[0], history.last_day[0]) == (4, 2, 5)


def test_other_lanes_leave_the_trunk_columns_alone() -> None:
    """A counted trial of a review moves the trial index and nothing that exit or broken read."""
    history = History()
    build(history, "P")
    build(history, "F", trunk=False)
    assert history.trials[0] == 2
    assert (history.trunk_trials[0], history.fail_streak[0], history.pass_streak[0]) == (1, 0, 1)


def test_pairs_are_numbered_once_in_order_of_appearance() -> None:
    """A (test, variant) pair keeps the number it got with its first counted trial; an uncounted one gives none."""
    history = History()
    assert build(history, "P", counted="-", trunk=False).new_pairs == 0
    assert build(history, "PP").new_pairs == 2
    assert build(history, "PPP").new_pairs == 1
    assert history.pair.tolist() == [1, 2, 3]


def test_bytes_round_trip_and_refuse_what_is_not_theirs() -> None:
    """What was written is read back exactly; other bytes raise."""
    history = History()
    build(history, "PFP")
    again = History.from_bytes(history.to_bytes())
    assert again.trials.tolist() == [1, 1, 1]
    assert again.last.tolist() == history.last.tolist()
    assert len(History.from_bytes(History().to_bytes())) == 0
    with pytest.raises(ValueError, match="no history columns"):
        History.from_bytes(b"something else")


def test_restart_forgets_the_evidence_and_keeps_the_streaks() -> None:
    """After an exit the index and the heads begin anew; what trunk did is still known."""
    history = History()
    for letter in "PFP":
        build(history, letter)
    history.restart(0)
    assert (history.trials[0], history.heads[0], history.trunk_trials[0], history.pass_streak[0]) == (0, 0, 3, 1)
