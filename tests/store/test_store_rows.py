"""Builds, failures, heads, histories, standings and incidents: what pages and decisions ask of them."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from quarantine.domain.outcome import Lane, Status
from quarantine.policy.history import History, advance
from quarantine.services.assess import fresh_row
from quarantine.store import builds, heads, histories, incidents, standings
from quarantine.store.projects import Project
from tests.store.conftest import BuildOf
from tests.world import START, commit, tree

VARIANT = "0123456789abcdef"
EDGES = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1]


def head(project: Project, number: int, build: int, **values: Any) -> dict[str, Any]:
    row = {
        "project_id": project.id,
        "variant_hash": VARIANT,
        "test": 3,
        "life": 0,
        "number": number,
        "trial": number * 10,
        "build_seq": build,
        "arrived_at": START,
        "lane": "trunk",
        "change": None,
        "tree": tree(build),
        "setting": "s",
        "fingerprint": 0,
        "signature": "s1:0",
        "confirmed_at": None,
        "confirmed_by": None,
        "reruns_failed": 0,
        "trunk_trials": number,
        "trunk_days": 1,
        "incident": None,
    }
    return row | values


@given(fingerprint=st.integers(0, (1 << 64) - 1))
def test_a_fingerprint_survives_its_sign(fingerprint: int) -> None:
    """Every unsigned 64-bit number has its own signed one, within what a database holds, and comes back."""
    stored = heads.signed(fingerprint)
    assert -(1 << 63) <= stored < 1 << 63
    assert heads.unsigned(stored) == fingerprint


def test_fingerprints_at_the_edges_are_stored(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Fingerprints around 2^63 and at both ends come back from the database as they were."""
    store_build(1)
    rows = [head(project, n, 1, fingerprint=heads.signed(edge)) for n, edge in enumerate(EDGES, start=1)]
    heads.insert(connection, rows)
    found = heads.of_test(connection, project.id, VARIANT, 3, 0)
    assert [one.fingerprint for one in found] == EDGES
    assert [one.number for one in found] == [1, 2, 3, 4, 5, 6]


def test_a_head_waits_for_its_own_tree(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Pending heads are found by tree, setting and variant, and by build; a confirmed one is pending no more."""
    for seq in (1, 2):
        store_build(seq)
    rows = [
        head(project, 1, 1),
        head(project, 2, 2),
        head(project, 3, 2, setting="other"),
        head(project, 1, 2, test=4, tree=None),
    ]
    heads.insert(connection, rows)

    def waiting(seq: int) -> list[int]:
        return [row["number"] for row in heads.pending_of_tree(connection, project.id, VARIANT, tree(seq), "s")]

    assert (waiting(1), waiting(2)) == ([1], [2])
    assert [row["test"] for row in heads.pending_of_build(connection, project.id, VARIANT, 2)] == [3, 3, 4]
    heads.count_failed_rerun(connection, rows[0])
    heads.count_failed_rerun(connection, rows[0], 2)
    heads.confirm(connection, rows[0], by=9, at=START)
    assert waiting(1) == []
    first, *_ = heads.of_test(connection, project.id, VARIANT, 3, 0)
    assert (first.reruns_failed, first.confirmed_by, first.confirmed_at) == (3, "9", START)


def test_heads_of_a_storm_want_no_reruns(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """A head that belongs to an incident, is confirmed, or is too old, is not among the pending ones."""
    for seq in range(1, 5):
        store_build(seq)
    late = START + timedelta(days=1)
    heads.insert(connection, [head(project, seq, seq, arrived_at=late) for seq in range(1, 4)])
    heads.insert(connection, [head(project, 4, 4)])
    concerned = heads.assign_incident(connection, project.id, [2], "storm")
    heads.confirm(connection, head(project, 3, 3), by=4, at=late)
    assert concerned == [(VARIANT, 3)]
    found = heads.pending(connection, project.id, late)
    assert [(row["number"], row["commit"], row["job"]) for row in found] == [(1, commit(1), "unit")]
    assert len(heads.pending(connection, project.id, START)) == 2


def test_builds_are_found_by_key_and_number(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """A build is stored once under its key; a second one of the same key is refused by the database."""
    first = store_build(1)
    found = builds.find(connection, project.id, first.key)
    assert found is not None
    assert (found["seq"], found["tree"], found["started_at"], found["complete"]) == (1, tree(1), START, True)
    assert builds.find(connection, project.id, "0" * 32) is None
    assert builds.get(connection, project.id, [1, 2, 1]).keys() == {1}
    with pytest.raises(IntegrityError), connection.begin_nested():
        builds.insert(connection, project.id, 2, first, now=START, token_id=None)


def test_what_trunk_has_seen(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Trees, commits and sizes of trunk are those of trunk runs only."""
    store_build(1)
    store_build(2, lane=Lane.REVIEW)
    store_build(3, kind="rerun", rerun_of="1")
    store_build(4, commit=commit(1))
    builds.set_counts(connection, project.id, 4, {"passed": 5, "failed": 2, "skipped": 1, "flaky": 1})
    builds.set_counts(connection, project.id, 3, {"passed": 50, "failed": 2, "skipped": 1, "flaky": 1})
    on_trunk = [builds.trunk_tree_exists(connection, project.id, found) for found in (tree(1), tree(2), None)]
    assert on_trunk == [True, False, False]
    assert builds.last_trunk_size(connection, project.id) == 9
    assert builds.trunk_commit_before(connection, project.id, 4) == commit(1)
    assert builds.trunk_commit_before(connection, project.id, 1) is None
    assert builds.trunk_positions(connection, project.id, [commit(1), commit(2), "x"]) == {commit(1): 1}
    assert builds.reruns_since(connection, project.id, START) == 1
    assert builds.reruns_since(connection, project.id, START + timedelta(seconds=1)) == 0
    assert [row["seq"] for row in builds.latest(connection, project.id, 2)] == [4, 3]


def failure(project: Project, build: int, **values: Any) -> dict[str, Any]:
    row = {
        "project_id": project.id,
        "build_seq": build,
        "variant_hash": VARIANT,
        "test": 3,
        "is_trunk": True,
        "received_at": START,
        "outcome": "failed",
        "tries": 1,
        "passed_on_retry": False,
        "trial": build,
        "already_failing": False,
        "signature": "s1:0",
        "kind": "AssertionError",
        "message": "boom",
        "detail": "d" * 20_000,
    }
    return row | values


def test_the_first_failure_of_a_build_stays(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """A failure that an earlier upload of the build brought is not overwritten by a later one."""
    for seq in (1, 2, 3):
        store_build(seq)
    builds.add_failures(connection, [failure(project, 1), failure(project, 2, is_trunk=False)])
    builds.add_failures(connection, [failure(project, 1, message="later"), failure(project, 3, trial=None)])
    builds.add_failures(connection, [])
    found = builds.failures_of(connection, project.id, VARIANT, 3)
    assert [(row["build_seq"], row["message"]) for row in found] == [(1, "boom"), (2, "boom"), (3, "boom")]
    assert "detail" not in found[0]
    trunk = builds.failures_of(connection, project.id, VARIANT, 3, since=2, trunk_only=True)
    assert [row["build_seq"] for row in trunk] == [3]
    assert builds.failure_counts(connection, project.id, VARIANT) == {3: 2}
    assert len(builds.failures_since(connection, project.id, START)) == 3
    assert builds.failures_since(connection, project.id, START + timedelta(seconds=1)) == []


def test_run_events_are_numbered_over_uploads(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """Run events of later uploads follow those of earlier ones, and the build keeps their count."""
    store_build(1)
    event = {"kind": "hook", "where": "w", "outcome": "errored", "message": "m", "detail": "d"}
    for rows in ([event, event], [], [event]):
        builds.add_run_events(connection, project.id, 1, rows)
    assert builds.get(connection, project.id, [1])[1]["run_events"] == 3


def test_documents_are_known_by_their_bytes(connection: Connection, project: Project, store_build: BuildOf) -> None:
    """A document stored twice is there once; the same bytes in two builds share one body."""
    for seq in (1, 2):
        store_build(seq)
    row = {"project_id": project.id, "sha256": "a" * 64, "name": "r.xml", "status": "ok", "size_bytes": 3}
    row |= {"problems": [["code", "sentence"]], "received_at": START}
    body = {"project_id": project.id, "sha256": "a" * 64, "body": b"xml"}
    for seq in (1, 1, 2):
        builds.add_reports(connection, [row | {"build_seq": seq}], [body])
    assert builds.known_reports(connection, project.id, 1) == {"a" * 64}
    assert builds.known_reports(connection, project.id, 3) == set()


def test_refused_documents_are_kept_for_a_while(connection: Connection, project: Project) -> None:
    """The newest refusals are listed without their bytes, which count until they are forgotten."""
    row = {"project_id": project.id, "name": "r.xml", "code": "not-xml", "sentence": "No XML.", "size_bytes": 3}
    row |= {"token_id": None, "body": b"abc"}
    rows = [row | {"sha256": str(day) * 64, "received_at": START + timedelta(days=day)} for day in range(3)]
    builds.add_refused(connection, rows)
    builds.add_refused(connection, [rows[1] | {"sentence": "Again.", "body": None}])
    assert builds.refused_bytes(connection, project.id) == 6
    listed = builds.refused(connection, project.id, 2)
    assert [(one["sha256"][0], one["sentence"]) for one in listed] == [("2", "No XML."), ("1", "Again.")]
    assert "body" not in listed[0]
    assert builds.forget_refused(connection, START + timedelta(days=1)) == 1
    assert builds.refused_bytes(connection, project.id) == 3


def test_variants_are_noted_once(connection: Connection, project: Project) -> None:
    """A variant keeps the pairs it was first seen with."""
    for keys in ({"os": "linux", "ä": "1"}, {"os": "other"}):
        builds.add_variant(connection, project.id, VARIANT, keys, 1)
    assert builds.variants(connection, project.id) == {VARIANT: {"os": "linux", "ä": "1"}}


def test_histories_are_kept_by_variant(connection: Connection, project: Project) -> None:
    """The columns of a variant come back as they were saved, and nothing for a variant never seen."""
    history, trunk_builds = histories.load(connection, project.id, VARIANT)
    assert (len(history), trunk_builds) == (0, 0)
    history.grow(5)
    tests = np.array([4, 1], np.intp)
    for failed in ([False, False], [True, False]):
        advance(
            history,
            tests,
            failed=np.array(failed),
            counted=np.array([True, True]),
            trunk=True,
            day=20_000,
            build_seq=1,
            pairs=0,
        )
    histories.save(connection, project.id, VARIANT, history, 2)
    histories.save(connection, project.id, "f" * 16, History(), 0)
    loaded, trunk_builds = histories.load(connection, project.id, VARIANT)
    assert trunk_builds == 2
    assert loaded.to_bytes() == history.to_bytes()
    assert loaded.heads.tolist() == [0, 0, 0, 0, 1]
    assert dict(histories.every(connection, project.id)).keys() == {VARIANT, "f" * 16}
    loaded.trials[0] = 7  # what was loaded can be written to
    histories.save(connection, project.id, VARIANT, loaded, 3)
    assert histories.load(connection, project.id, VARIANT)[1] == 3


def test_standings_are_kept_by_test_and_variant(connection: Connection, project: Project) -> None:
    """A standing is overwritten in place, found by test and by status, and thousands are loaded at once."""
    rows = [fresh_row(project.id, VARIANT, test, START) for test in range(1_100)]
    standings.save(connection, rows)
    standings.save(connection, [rows[7] | {"status": Status.HELD.value, "since": START - timedelta(days=1)}])
    standings.save(connection, [fresh_row(project.id, "f" * 16, 8, START) | {"status": Status.QUARANTINED.value}])
    standings.save(connection, [])
    assert len(standings.load(connection, project.id, VARIANT, range(2_000))) == 1_100
    assert standings.load(connection, project.id, "e" * 16, range(10)) == {}
    found = standings.with_status(connection, project.id, Status.HELD, Status.QUARANTINED)
    assert [(row["test"], row["variant_hash"]) for row in found] == [(7, VARIANT), (8, "f" * 16)]
    assert [row["variant_hash"] for row in standings.of_test(connection, project.id, 8)] == [VARIANT, "f" * 16]


def test_transitions_are_numbered_and_newest_first(connection: Connection, project: Project) -> None:
    """Transitions are numbered from 1 in their project, and listed of one test or of all."""
    for test in (3, 4, 3):
        moved(connection, project, test)
    assert [row["number"] for row in standings.transitions(connection, project.id)] == [3, 2, 1]
    assert [row["number"] for row in standings.transitions(connection, project.id, test=3)] == [3, 1]
    assert [row["number"] for row in standings.transitions(connection, project.id, limit=1)] == [3]
    last = standings.last_moves(connection, project.id, [3, 4, 5])
    assert {key: row["number"] for key, row in last.items()} == {(3, VARIANT): 3, (4, VARIANT): 2}


def moved(connection: Connection, project: Project, test: int) -> int:
    return standings.record(
        connection,
        project.id,
        variant_hash=VARIANT,
        test=test,
        from_status="gating",
        to_status="held",
        at=START,
        reason="why",
        evidence={"kind": "entry", "p": 1e-300},
        actor="policy",
        policy_version="1",
        mode="observe",
        build_seq=None,
        arrival=1,
    )


def test_an_incident_that_comes_again_is_one(connection: Connection, project: Project) -> None:
    """The same incident is stored once and keeps when it was first seen."""
    values: dict[str, Any] = {"project_id": project.id, "id": "i" * 32, "first_at": START, "last_at": START}
    values |= {"builds": [1, 2], "tests": [3], "sentence": "s", "evidence": {}}
    assert incidents.first_seen(connection, project.id, "i" * 32) is None
    incidents.save(connection, **values)
    incidents.save(connection, **(values | {"last_at": START + timedelta(days=1), "builds": [1, 2, 9]}))
    incidents.save(connection, **(values | {"id": "j" * 32}))
    assert incidents.first_seen(connection, project.id, "i" * 32) == START
    assert [(row["id"][0], row["builds"]) for row in incidents.latest(connection, project.id)] == [
        ("i", [1, 2, 9]),
        ("j", [1, 2]),
    ]
