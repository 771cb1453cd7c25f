"""Ids and variant hashes are promises to other programs: their vectors never change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.domain.identity import TestName, test_digest, test_id, variant_hash, variant_keys

parts = st.text(max_size=8)
names = st.builds(TestName, st.lists(parts, max_size=3).map(tuple), parts, parts)


def test_the_vectors_of_version_1() -> None:
    """These values are stored in databases and caches; a change here is a new version, not an edit."""
    assert test_id("", TestName((), "tests.test_a", "test_b")) == "v1:80bd08170dd283000d7474c06fab8f03"
    assert variant_hash(variant_keys({"os": "linux", "python": "3.11", "job": "täst"})) == "454580793d699089"
    assert variant_hash(()) == "44136fa355b3678a"


@given(st.tuples(parts, names), st.tuples(parts, names))
def test_different_parts_never_share_a_digest(left: tuple[str, TestName], right: tuple[str, TestName]) -> None:
    """The encoding under the hash is injective: equal digests mean equal parts, wherever the boundaries lie."""
    assert (test_digest(*left) == test_digest(*right)) == (
        [left[0], *left[1].suite, left[1].classname, left[1].name]
        == [right[0], *right[1].suite, right[1].classname, right[1].name]
    )


@pytest.mark.parametrize("twin", ["t\u0435st_b", "test_b\u200b", "Test_b", " test_b", "test_b\n"])
def test_look_alikes_are_different_tests(twin: str) -> None:
    """No folding, trimming or normalisation happens on the way into an id."""
    assert test_id("", TestName((), "c", twin)) != test_id("", TestName((), "c", "test_b"))


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=5))
def test_the_order_of_keys_does_not_matter(keys: dict[str, str]) -> None:
    """A variant is a map, not a list."""
    backwards = dict(reversed(list(keys.items())))
    assert variant_hash(variant_keys(keys)) == variant_hash(tuple(backwards.items()))
