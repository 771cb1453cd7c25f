"""Which tests that vanished from trunk may be the same as tests that appeared in their place.

Only a proposal: a person says whether it is so. Two tests are looked at together when they share the name in whole, or
the file, the class and the parameters; so a suite of thousands that moves costs no more than its size. Where two tests
would do equally well for a third, none is proposed.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

__all__ = ["LEAST_SCORE", "MOST_PROPOSED", "Candidate", "Proposal", "propose"]

LEAST_SCORE = 0.7
"""Below it two tests are not alike enough to bother a person."""
MOST_PROPOSED = 50
_LEAST_LIKE = 0.6
"""Names alike to a smaller share, `test_` left out, are names of two tests."""
_CLEARLY = 0.02
"""A pair has to score so much better than any other pair of either test."""
_NEIGHBOURS = 4
"""Of many that share a key each is compared with so many, those that come nearest in the alphabet."""
_COMPARED = 5_000
"""Names compared letter by letter, at most."""
_LOOKED_AT = 200
"""Characters of a name that are compared."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A test that vanished or appeared.

    Attributes:
        test: its ordinal.
        place: the suites and the classname, or the file where a report says it.
        name: the bare name, parameters included.
    """

    test: int
    place: str
    name: str

    @property
    def function(self) -> str:
        """The name without parameters."""
        return self.name.partition("[")[0][:_LOOKED_AT]

    @property
    def case(self) -> str:
        """The parameters; empty when there are none."""
        return self.name.partition("[")[2]

    @property
    def group(self) -> str:
        """The class, where the last part of the place looks like one; else empty."""
        last = re.split(r"[./:]", self.place)[-1]
        return last if last[:1].isupper() else ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pair that looks like one test renamed.

    Attributes:
        former, present: ordinals.
        score: between 0 and 1.
        why: what is alike, to follow "because".
    """

    former: int
    present: int
    score: float
    why: str


def propose(vanished: Sequence[Candidate], appeared: Sequence[Candidate]) -> list[Proposal]:
    """Return the pairs that look like a rename, the likeliest first; each test is in one pair at most."""
    found: dict[tuple[int, int], Proposal] = {}
    for one in (*_moved(vanished, appeared), *_retitled(vanished, appeared)):
        known = found.get((one.former, one.present))
        if one.score >= LEAST_SCORE and (known is None or known.score < one.score):
            found[one.former, one.present] = one
    ranked = sorted(found.values(), key=lambda one: (-one.score, one.former, one.present))
    return _one_to_one(ranked)


def _moved(vanished: Sequence[Candidate], appeared: Sequence[Candidate]) -> Iterator[Proposal]:
    """Yield pairs of one name in two places."""
    for old, new in _pairs(vanished, appeared, key=lambda one: one.name, order=lambda one: one.place[::-1]):
        same_class = bool(old.group) and old.group == new.group
        score = (0.8 if same_class else 0.7) + 0.2 * _ends_alike(old.place, new.place)
        why = "the same class and name are elsewhere now" if same_class else "the same name is elsewhere now"
        yield Proposal(old.test, new.test, score, why)


def _retitled(vanished: Sequence[Candidate], appeared: Sequence[Candidate]) -> Iterator[Proposal]:
    """Yield pairs of like names in one place."""
    pairs = _pairs(vanished, appeared, key=lambda one: (one.place, one.case), order=lambda one: one.function)
    for _, (old, new) in zip(range(_COMPARED), pairs, strict=False):
        like = _like(_own_part(old.function), _own_part(new.function))
        if like >= _LEAST_LIKE:
            yield Proposal(old.test, new.test, 0.4 + 0.55 * like, "a like name stands in the same place")


def _pairs(
    vanished: Sequence[Candidate],
    appeared: Sequence[Candidate],
    *,
    key: Callable[[Candidate], object],
    order: Callable[[Candidate], str],
) -> Iterator[tuple[Candidate, Candidate]]:
    """Yield pairs that share a key: all of them, or the neighbours by `order` where there are many."""
    by_key: dict[object, list[Candidate]] = defaultdict(list)
    for new in appeared:
        by_key[key(new)].append(new)
    ranks: dict[object, list[str]] = {}
    for sharing, several in by_key.items():
        several.sort(key=order)
        ranks[sharing] = list(map(order, several))
    for old in vanished:
        several = by_key.get(key(old), [])
        start = 0
        if len(several) > _NEIGHBOURS:
            start = max(0, bisect_left(ranks[key(old)], order(old)) - _NEIGHBOURS // 2)
        for new in several[start : start + _NEIGHBOURS]:
            yield old, new


def _own_part(function: str) -> str:
    """Return the name without the word that every test begins with."""
    return re.sub(r"^[Tt]est_?", "", function)


def _like(one: str, other: str) -> float:
    """Return how alike two texts are, letter by letter: 1 for equal ones."""
    if 2 * min(len(one), len(other)) < _LEAST_LIKE * (len(one) + len(other)):
        return 0.0
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _ends_alike(one: str, other: str) -> float:
    """Return which share of the longer text's parts both begin or end with."""
    mine, theirs = (re.split(r"[./:]", text[:_LOOKED_AT]) for text in (one, other))
    most = min(len(mine), len(theirs))
    ahead = next((place for place in range(most) if mine[place] != theirs[place]), most)
    behind = next((place for place in range(most - ahead) if mine[-1 - place] != theirs[-1 - place]), most - ahead)
    return (ahead + behind) / max(len(mine), len(theirs))


def _one_to_one(ranked: Sequence[Proposal]) -> list[Proposal]:
    """Return the best pair of each test, where it is clearly the best."""
    taken: set[tuple[str, int]] = set()
    scores: dict[tuple[str, int], list[float]] = defaultdict(list)
    for one in ranked:
        for side in _sides(one):
            scores[side].append(one.score)
    found = []
    for one in ranked:
        rivals = Counter(side for side in _sides(one) for score in scores[side] if abs(score - one.score) < _CLEARLY)
        if taken.isdisjoint(_sides(one)) and max(rivals.values()) == 1:
            found.append(one)
        taken.update(_sides(one))
    return found


def _sides(one: Proposal) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("former", one.former), ("present", one.present)
