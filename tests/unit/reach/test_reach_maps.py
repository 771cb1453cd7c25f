"""Reach maps as matrices: fingerprints against plain sums, unions against plain sets, bytes there and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.errors import BadReach
from quarantine.reach.columns import Column, column_value, column_values, whole_tree_fingerprint
from quarantine.reach.reach_map import ReachMap, fingerprints, touched, union

SECRET = b"secret of the server"
COLUMNS = st.tuples(st.sampled_from([f"f{n}.py" for n in range(6)]), st.sampled_from(["body", "module", "blob"]))
MAPS = st.dictionaries(st.text(min_size=1, max_size=3), st.frozensets(COLUMNS, max_size=8), max_size=6)
HASHES = st.dictionaries(COLUMNS, st.none() | st.text("abc", min_size=1, max_size=2), max_size=18)


@given(MAPS)
def test_a_map_holds_what_it_was_made_of(reach: dict[str, frozenset[Column]]) -> None:
    """Every test reaches what it was said to reach, asked one by one or all at once."""
    made = ReachMap.of(reach)
    assert dict(made.items()) == reach
    assert all(made.reach(test) == columns for test, columns in reach.items())
    assert made.reach("no such test") == frozenset()
    assert made.paths() == {path for columns in reach.values() for path, _ in columns}


@given(MAPS)
def test_bytes_there_and_back(reach: dict[str, frozenset[Column]]) -> None:
    """A map comes back from its bytes as it was, and equal maps have equal bytes."""
    made = ReachMap.of(reach)
    again = ReachMap.from_bytes(made.to_bytes())
    assert dict(again.items()) == reach
    assert again.to_bytes() == made.to_bytes()


@given(MAPS, MAPS)
def test_a_union_is_the_union_of_sets(one: dict[str, frozenset[Column]], two: dict[str, frozenset[Column]]) -> None:
    """In the union of two maps each test reaches what either says, and no test is lost."""
    expected = {test: one.get(test, frozenset()) | two.get(test, frozenset()) for test in one.keys() | two.keys()}
    assert dict(union(ReachMap.of(one), ReachMap.of(two)).items()) == expected


@given(MAPS, HASHES, st.integers(0, 2**64 - 1))
def test_a_fingerprint_is_a_sum(
    reach: dict[str, frozenset[Column]], hashes: dict[Column, str | None], common: int
) -> None:
    """A test's fingerprint is the sum of its columns' values modulo 2^64, whatever the order and the other tests."""
    made = ReachMap.of(reach)
    found = fingerprints(made, column_values(SECRET, made.columns, hashes), common)
    for test, fingerprint in zip(made.tests, found, strict=True):
        values = [column_value(SECRET, column, hashes.get(column)) for column in reach[test]]
        assert int(fingerprint) == (sum(values) + common) % 2**64


@given(MAPS, st.frozensets(COLUMNS, max_size=5))
def test_touched_tests_are_those_that_reach_a_change(
    reach: dict[str, frozenset[Column]], changed: frozenset[Column]
) -> None:
    """A change touches exactly the tests whose reach it meets."""
    made = ReachMap.of(reach)
    hit = touched(made, changed)
    assert dict(zip(made.tests, hit.tolist(), strict=True)) == {
        test: bool(columns & changed) for test, columns in reach.items()
    }


@given(MAPS, HASHES, HASHES)
def test_a_fingerprint_changes_only_where_a_column_does(
    reach: dict[str, frozenset[Column]], before: dict[Column, str | None], after: dict[Column, str | None]
) -> None:
    """Between two trees a fingerprint stays exactly for the tests that no changed column touches."""
    made = ReachMap.of(reach)
    changed = {column for column in before.keys() | after.keys() if before.get(column) != after.get(column)}
    old, new = (fingerprints(made, column_values(SECRET, made.columns, hashes)) for hashes in (before, after))
    assert (old != new).tolist() == touched(made, changed).tolist()


def test_values_are_keyed_and_apart() -> None:
    """A column's value depends on the secret and on every field, and fields cannot be shifted into one another."""
    values = {
        column_value(SECRET, ("a.py", "body"), "h"),
        column_value(b"other", ("a.py", "body"), "h"),
        column_value(SECRET, ("a.py", "module"), "h"),
        column_value(SECRET, ("a.pyb", "ody"), "h"),
        column_value(SECRET, ("b.py", "body"), "h"),
        column_value(SECRET, ("a.py", "body"), "h2"),
    }
    assert len(values) == 6
    assert column_value(SECRET, ("a.py", "body"), None) == 0


def test_values_are_pinned() -> None:
    """Stored fingerprints are compared with new ones, so these values never change."""
    assert column_value(b"k", ("a.py", "body"), "00") == 17921355837456008671
    assert whole_tree_fingerprint(b"k", "ab") == 2663747564167343872


WHOLE = ReachMap.of({"t": [("a.py", "body")], "u": [("b.py", "body")]}).to_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"reach-map-1\n",
        WHOLE[:-5],
        WHOLE.replace(b"reach-map-1", b"reach-map-2"),
        WHOLE[:20] + bytes([WHOLE[20] ^ 255]) + WHOLE[21:],
    ],
)
def test_damaged_bytes_are_refused(data: bytes) -> None:
    """Bytes that are no whole map are refused, never half read."""
    with pytest.raises(BadReach):
        ReachMap.from_bytes(data)


def test_parts_that_do_not_fit_are_refused() -> None:
    """A map whose rows point outside its columns is refused."""
    made = ReachMap.of({"t": [("a.py", "body")]})
    wrong = ReachMap(made.tests, made.columns, made.indptr, made.indices + np.int32(1))
    with pytest.raises(BadReach, match="fit together"):
        ReachMap.from_bytes(wrong.to_bytes())
