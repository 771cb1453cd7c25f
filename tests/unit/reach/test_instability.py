"""Names that stand for another case in each process."""

from quarantine.reach.instability import unstable_ids
from quarantine.reach.reach_map import ReachMap

HOME = "tests/test_codecs.py"


def a_map(**ran: list[str]) -> ReachMap:
    """A map of tests that all run their own file and a shared helper, and the bodies named."""
    own = [HOME, "tests/conftest.py", "src/shared.py"]
    filler = {f"{HOME}::test_plain{n}": [*own, "src/plain.py"] for n in range(4)}
    named = {f"{HOME}::test_{name}": [*own, *bodies] for name, bodies in ran.items()}
    return ReachMap.of({test: [(path, "body") for path in bodies] for test, bodies in (filler | named).items()})


def test_a_case_that_is_another_each_time_is_named() -> None:
    """A name whose function bodies have nothing in common in two runs is named, and its neighbours are not."""
    old = a_map(set0=["src/utf8.py"], set1=["src/latin.py"], steady=["src/utf8.py"])
    new = a_map(set0=["src/latin.py"], set1=["src/utf8.py"], steady=["src/utf8.py", "src/latin.py"])
    assert unstable_ids(old, new) == [f"{HOME}::test_set0", f"{HOME}::test_set1"]


def test_a_test_without_bodies_of_its_own_is_not_named() -> None:
    """Nothing speaks against a test that reaches only what all reach, or that is in one run only."""
    old = a_map(bare=[], once=["src/utf8.py"])
    new = a_map(bare=["src/utf8.py"])
    assert unstable_ids(old, new) == []
    assert unstable_ids(new, new) == []
