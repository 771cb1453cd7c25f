"""Room is shared fairly, and lines are chosen by what they tell."""

from hypothesis import given
from hypothesis import strategies as st

from quarantine.record.fitting import cost, head_and_tail, shared_out


def gap(count: int) -> str:
    """Count what is left out."""
    return f"[... {count} lines left out ...]"


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(0, 2000))
def test_shares_stay_within_demand_and_room_and_waste_nothing(demands: list[int], room: int) -> None:
    """Nobody gets more than asked; the room is used up, or everybody is served in full."""
    shares = shared_out(demands, room)
    assert all(0 <= share <= demand for share, demand in zip(shares, demands, strict=True))
    assert sum(shares) == min(room, sum(demands))


def test_small_demands_are_met_in_full_and_large_ones_alike() -> None:
    """One long traceback takes nothing from three short ones."""
    assert shared_out([10, 500, 10, 500], 220) == [10, 100, 10, 100]


@given(lines=st.lists(st.text("ab error", max_size=30), max_size=40), room=st.integers(0, 200), end_first=st.booleans())
def test_lines_fit_keep_their_order_and_gaps_count_what_is_missing(
    lines: list[str], room: int, *, end_first: bool
) -> None:
    """Whatever is chosen: it fits, and shown plus counted is all there was."""
    shown = head_and_tail(lines, room, gap, end_first=end_first)
    assert cost(shown) <= room
    left_out = [int(line.split()[1]) for line in shown if line.startswith("[...")]
    kept = [line for line in shown if not line.startswith("[...")]
    if kept:
        assert len(kept) + sum(left_out) == len(lines)
        rest = iter(lines)
        assert all(line in rest for line in kept)


def test_a_log_keeps_head_tail_and_the_error_in_its_middle() -> None:
    """Three hundred lines, of which one says what went wrong."""
    log = [f"step {number}" for number in range(300)]
    log[150] = "ERROR cannot reach the ledger"
    shown = head_and_tail(log, 60, gap, end_first=True)
    assert shown[0] == "step 0"
    assert shown[-1] == "step 299"
    assert "ERROR cannot reach the ledger" in shown
    assert sum(int(line.split()[1]) for line in shown if line.startswith("[...")) + len(shown) - 2 == 300
