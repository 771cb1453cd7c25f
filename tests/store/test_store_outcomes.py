"""Outcome columns: packed, merged over the uploads of a build, and asked for by build, tree and variant."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection

from quarantine.domain.outcome import Lane
from quarantine.store import outcomes
from quarantine.store.outcomes import ABSENT, ERRORED, FAILED, PASSED, SKIPPED, Outcomes
from quarantine.store.projects import Project
from tests.store.conftest import BuildOf
from tests.world import START, tree

VARIANT = "0123456789abcdef"
CODES = st.lists(st.sampled_from([0, *(a | b << 4 for a in range(1, 5) for b in range(1, 5))]), max_size=40)


@given(codes=CODES, tests=st.integers(0, 60))
def test_codes_are_unpacked_to_the_length_asked_for(codes: list[int], tests: int) -> None:
    """Packing loses nothing; unpacked over more tests the rest is absent, over fewer it is cut."""
    unpacked = outcomes.unpack(outcomes.pack(np.array(codes, np.uint8)), tests)
    assert unpacked.tolist() == (codes + [ABSENT] * tests)[:tests]
    assert unpacked.dtype == np.uint8


@given(mask=st.lists(st.booleans(), max_size=40), tests=st.integers(0, 60))
def test_masks_are_unpacked_to_the_length_asked_for(mask: list[bool], tests: int) -> None:
    """A mask comes back bit for bit, over exactly the tests asked for, not a multiple of eight."""
    unpacked = outcomes.unpack_mask(outcomes.pack_mask(np.array(mask, np.bool_)), tests)
    assert unpacked.tolist() == (mask + [False] * tests)[:tests]


TRIES = st.lists(
    st.lists(st.one_of(st.none(), st.tuples(*[st.integers(1, 4)] * 2)), min_size=3, max_size=3), max_size=5
)


@given(uploads=TRIES)
def test_a_build_is_its_first_first_try_and_its_last_last_try(
    uploads: list[list[tuple[int, int] | None]],
) -> None:
    """Merged over its uploads, a test has the first try of the first upload that has it, the last of the last."""
    parts = [part(number, 7, upload) for number, upload in enumerate(uploads, start=1)]
    merged = outcomes.merged(parts)
    assert len(merged) == bool(uploads)
    for place in range(3):
        tried = [tries for upload in uploads if (tries := upload[place]) is not None]
        wanted = tried[0][0] | tried[-1][1] << 4 if tried else ABSENT
        assert [whole.codes[place] for whole in merged] == [wanted] * len(merged)
        counted = any(upload[place] is not None for upload in uploads)
        assert [bool(whole.counted[place]) for whole in merged] == [counted] * len(merged)


def part(arrival: int, build: int, tries: Sequence[tuple[int, int] | None], **values: object) -> Outcomes:
    codes = np.array([ABSENT if pair is None else pair[0] | pair[1] << 4 for pair in tries], np.uint8)
    chosen: dict[str, object] = {"tree": None, "setting": "s", "lane": Lane.TRUNK, "is_run": True, "received_at": START}
    chosen |= {"arrival": arrival, "build_seq": build, "variant_hash": VARIANT, "codes": codes, "counted": codes > 0}
    return Outcomes(**(chosen | values))  # type: ignore[arg-type]  # the fields are those above


P, F, E, S = ((code, code) for code in (PASSED, FAILED, ERRORED, SKIPPED))
FP = (FAILED, PASSED)


@dataclass
class Stored:
    connection: Connection
    project_id: int

    def add(self, *parts: Outcomes) -> None:
        for one in parts:
            outcomes.insert(self.connection, self.project_id, one)

    def letters(self, found: Sequence[Outcomes]) -> list[tuple[int, list[int]]]:
        return [(one.build_seq, one.codes.tolist()) for one in found]


def test_a_build_in_several_uploads_is_merged(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """The second upload may bring more tests than the first; both are read over all tests there are."""
    stored = Stored(connection, project.id)
    store_build(1)
    stored.add(part(1, 1, [F, P, P]), part(2, 1, [P, None, None, F, *[P] * 9]))
    whole = outcomes.of_build(connection, project.id, 1, variant_hash=VARIANT, tests=14)
    assert whole is not None
    assert whole.codes.tolist() == [FAILED | PASSED << 4, 17, 17, 34, *[17] * 9, ABSENT]
    assert whole.counted.tolist() == [True] * 13 + [False]
    assert (whole.arrival, whole.received_at, whole.lane) == (1, START, Lane.TRUNK)
    assert outcomes.count(whole.codes) == {"passed": 11, "failed": 1, "skipped": 0, "flaky": 1}
    assert outcomes.of_build(connection, project.id, 2, variant_hash=VARIANT, tests=14) is None
    assert outcomes.of_build(connection, project.id, 1, variant_hash="f" * 16, tests=14) is None
    assert outcomes.variants_of_build(connection, project.id, 1) == [VARIANT]


def test_what_ran_on_the_identical_tree(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Builds of the same tree, variant and setting are found in order of arrival; others are not."""
    stored = Stored(connection, project.id)
    for seq in range(1, 6):
        store_build(seq)
    stored.add(
        part(4, 1, [P], tree=tree(1)),
        part(2, 2, [F], tree=tree(1)),
        part(5, 3, [P], tree=tree(2)),
        part(6, 4, [P], tree=tree(1), setting="other"),
        part(7, 5, [P], tree=tree(1), variant_hash="f" * 16),
    )
    found = outcomes.of_tree(connection, project.id, VARIANT, tree=tree(1), setting="s", tests=1)
    assert [(one.build_seq, one.codes.tolist()) for one in found] == [(2, [34]), (1, [17])]


def test_the_uploads_of_a_variant(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Uploads come in order of arrival, unmerged; the newest builds come merged, the oldest of them first."""
    stored = Stored(connection, project.id)
    for seq in range(1, 5):
        store_build(seq)
    stored.add(*(part(seq, seq, [P]) for seq in range(1, 5)), part(5, 2, [F]), part(6, 2, [P], variant_hash="f" * 16))
    uploads = list(outcomes.of_variant(connection, project.id, VARIANT, tests=1))
    assert [(one.arrival, one.build_seq) for one in uploads] == [(1, 1), (2, 2), (3, 3), (4, 4), (5, 2)]
    newest = outcomes.newest_of_variant(connection, project.id, VARIANT, tests=1, limit=3)
    assert [one.build_seq for one in newest] == [3, 4, 2]


def test_trunk_runs_are_counted_once_each(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Only runs on trunk after the given build count, a build in two uploads once."""
    stored = Stored(connection, project.id)
    for seq in range(1, 6):
        store_build(seq)
    stored.add(
        part(1, 1, [P]),
        part(2, 2, [P]),
        part(3, 2, [P]),
        part(4, 3, [P], lane=Lane.REVIEW),
        part(5, 4, [P], is_run=False),
        part(6, 5, [P]),
    )
    counts = [outcomes.trunk_runs_since(connection, project.id, VARIANT, after) for after in (0, 1, 2, 5)]
    assert counts == [3, 2, 1, 0]


def test_counts_tell_flaky_from_passed_and_failed() -> None:
    """A pass on a retry is flaky, not passed; a failure at the end is failed, whatever came first."""
    tries = [P, P, F, E, S, FP, (PASSED, FAILED), (ERRORED, SKIPPED), None]
    counted = outcomes.count(part(1, 1, tries).codes)
    assert counted == {"passed": 2, "failed": 3, "skipped": 2, "flaky": 1}
