"""Names that stand for another case in each process, such as tests parametrised over a set.

The order of a set differs between processes, so `test_x[0]` is one case today and another tomorrow. Such a name cannot
be followed through time. It shows in two passing runs of one tree: the same name ran entirely different functions.
"""

from collections import Counter

from quarantine.reach.columns import BODY
from quarantine.reach.reach_map import ReachMap

__all__ = ["unstable_ids"]

MAX_SHARE = 0.5
"""A function body that more than this share of the tests reach says nothing about which case ran."""


def unstable_ids(old: ReachMap, new: ReachMap) -> list[str]:
    """Return the tests whose function bodies in two *passing* runs of *one* tree have nothing in common, sorted.

    Bodies of the test's own file, which runs in any case, and those that most tests reach, are not compared. A test
    that reaches no others is not named: nothing speaks against it.
    """
    common = _common(old) | _common(new)
    before, after = dict(old.items()), dict(new.items())
    return sorted(
        test
        for test in before.keys() & after.keys()
        if _are_disjoint(_telling(test, before[test]) - common, _telling(test, after[test]) - common)
    )


def _telling(test: str, reach: frozenset[tuple[str, str]]) -> frozenset[str]:
    own = test.partition("::")[0]
    return frozenset(path for path, part in reach if part == BODY and path != own and not path.endswith("conftest.py"))


def _common(reach: ReachMap) -> frozenset[str]:
    users = Counter(path for _, columns in reach.items() for path, part in columns if part == BODY)
    return frozenset(path for path, count in users.items() if count > MAX_SHARE * len(reach.tests))


def _are_disjoint(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and bool(other) and not one & other
