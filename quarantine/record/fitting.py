"""Room shared out fairly, and lines chosen for it: what tells most stays, and what is left out is counted."""

from collections.abc import Callable, Sequence

from quarantine.record.stacks import TELLING
from quarantine.record.tokens import estimate_tokens

Gap = Callable[[int], str]
FEED = 1


def cost(lines: Sequence[str]) -> int:
    """Return the tokens of the lines, each with its line feed."""
    return sum([estimate_tokens(line) + FEED for line in lines])


def shared_out(demands: Sequence[int], room: int) -> list[int]:
    """Return what each demand is allowed, all together within `room`: the small ones in full, the others alike."""
    allowed = [0] * len(demands)
    left = room
    order = sorted(range(len(demands)), key=lambda index: (demands[index], index))
    for position, index in enumerate(order):
        allowed[index] = min(demands[index], left // (len(order) - position))
        left -= allowed[index]
    return allowed


def head_and_tail(lines: Sequence[str], room: int, gap: Gap, *, end_first: bool) -> list[str]:
    """Return the lines that fit into `room` tokens, in order, each gap with a line that counts it.

    All of them when they fit. Else they are taken by turns from the tail, from the head, and from those in the middle
    that speak of an error; nothing at all when not even one line fits beside the count of the others.
    """
    costs = [estimate_tokens(line) + FEED for line in lines]
    if sum(costs) <= room:
        return list(lines)
    gap_cost = estimate_tokens(gap(len(lines))) + FEED
    chosen: set[int] = set()
    spent = gap_cost  # the gap that there will be in any case
    for index in _by_importance(lines, end_first=end_first):
        joins = (index - 1 in chosen or index == 0) + (index + 1 in chosen or index == len(lines) - 1)
        more = costs[index] + gap_cost * (1 - joins)
        if spent + more + (0 if joins else gap_cost) <= room:
            chosen.add(index)
            spent += more
    return _with_gaps(lines, chosen, gap) if chosen else []


def _by_importance(lines: Sequence[str], *, end_first: bool) -> list[int]:
    last = len(lines) - 1
    head, tail = list(range(len(lines))), list(range(last, -1, -1))
    telling = [index for index in tail if TELLING.search(lines[index])]
    first, second = (tail, head) if end_first else (head, tail)
    turns = [*zip(first, second, strict=True)]
    order: dict[int, None] = {}
    for number, (one, other) in enumerate(turns):
        order[one] = None
        order[other] = None
        if number < len(telling):
            order[telling[number]] = None
    return list(order)


def _with_gaps(lines: Sequence[str], chosen: set[int], gap: Gap) -> list[str]:
    shown: list[str] = []
    left_out = 0
    for index, line in enumerate(lines):
        if index not in chosen:
            left_out += 1
            continue
        if left_out:
            shown.append(gap(left_out))
        left_out = 0
        shown.append(line)
    return [*shown, gap(left_out)] if left_out else shown
