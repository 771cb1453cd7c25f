"""The roster: dense ordinals that several processes agree on."""

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection, Engine

from quarantine.domain.report import Run
from quarantine.junit import Document, read_one
from quarantine.store import projects, roster
from quarantine.store.engine import reading, writing
from quarantine.store.projects import Project
from quarantine.store.roster import Roster
from tests.world import PROJECT, junit


def runs(*names: str) -> Sequence[Run]:
    return read_one(Document("r.xml", junit(dict.fromkeys(names, "P")))).runs


def resolved(known: Roster, engine: Engine, *names: str) -> list[int]:
    """Take runs in as a process does: under the project's lock, refreshed before and counted after."""
    with writing(engine) as connection:
        project = projects.by_slug(connection, PROJECT, lock=True)
        known.refresh(connection, project.id, project.tests)
        ordinals = known.resolve(connection, project.id, runs(*names), stream="", build_seq=1)
        projects.set_counters(connection, project, pairs=0, tests=len(known), builds=0, uploads=0, reserve=None)
    return [int(ordinal) for ordinal in ordinals]


def test_ordinals_are_dense_and_stay(engine: Engine, project: Project) -> None:
    """Tests are numbered from 0 in the order they are first seen, and keep their number."""
    known = Roster()
    assert resolved(known, engine, "a", "b", "c") == [0, 1, 2]
    assert resolved(known, engine, "c", "d", "a") == [2, 3, 0]
    assert len(known) == 4
    with reading(engine) as connection:
        stored = roster.rows(connection, project.id, range(10))
    assert [stored[ordinal]["name"] for ordinal in sorted(stored)] == ["a", "b", "c", "d"]


@pytest.mark.usefixtures("project")
def test_two_processes_agree(engine: Engine) -> None:
    """A process that has cached the roster learns what another one added."""
    one, two = Roster(), Roster()
    assert resolved(one, engine, "a", "b") == [0, 1]
    assert resolved(two, engine, "b", "c") == [1, 2]
    assert resolved(one, engine, "d", "c", "a") == [3, 2, 0]
    assert resolved(two, engine, "a", "b", "c", "d") == [0, 1, 2, 3]


@pytest.mark.usefixtures("project")
def test_a_rolled_back_upload_is_forgotten(engine: Engine) -> None:
    """Ordinals given out in a transaction that failed are given out again, to whoever comes next."""
    one, two = Roster(), Roster()
    assert resolved(one, engine, "a") == [0]

    def failing() -> None:
        with writing(engine) as connection:
            project = projects.by_slug(connection, PROJECT, lock=True)
            one.refresh(connection, project.id, project.tests)
            one.resolve(connection, project.id, runs("phantom"), stream="", build_seq=1)
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        failing()
    one.forget()
    assert resolved(two, engine, "real") == [1]
    assert resolved(one, engine, "phantom", "real", "a") == [2, 1, 0]


@pytest.mark.usefixtures("project")
def test_a_phantom_is_noticed_by_the_count(engine: Engine) -> None:
    """Even when nobody said that the transaction failed, a cache that knows too many tests is read anew."""
    known = Roster()
    with writing(engine) as connection:
        project = projects.by_slug(connection, PROJECT, lock=True)
        known.resolve(connection, project.id, runs("a", "phantom"), stream="", build_seq=1)
        connection.rollback()
    assert resolved(known, engine, "a") == [0]


def test_thousands_of_tests_at_once(engine: Engine, project: Project) -> None:
    """An upload with more new tests than one statement takes is numbered like any other."""
    names = [f"t{number}" for number in range(7_003)]
    assert resolved(Roster(), engine, *names) == list(range(7_003))
    assert resolved(Roster(), engine, *reversed(names)) == list(reversed(range(7_003)))
    with reading(engine) as connection:
        assert len(roster.rows(connection, project.id, range(8_000))) == 7_003


def test_the_names_are_kept_as_reported(connection: Connection, project: Project) -> None:
    """Long and foreign names come back as they were, and are found by bare name, digest and part of the name."""
    names = ["test_ä[" + "x" * 3_000 + "]", "test_100%_sure", "test_100_sure", "t\u2028\U0001f40d"]
    Roster().resolve(connection, project.id, runs(*names), stream="", build_seq=1)
    stored = roster.rows(connection, project.id, range(4))
    assert {row["name"] for row in stored.values()} == set(names)
    assert [row["name"] for row in roster.named(connection, project.id, [names[3], "other"])] == [names[3]]
    found = roster.by_digest(connection, project.id, stored[0]["digest"])
    assert found is not None
    assert found["name"] == stored[0]["name"]
    assert roster.by_digest(connection, project.id, b"0" * 16) is None
    assert [row["name"] for row in roster.resembling(connection, project.id, "100%", 5)] == ["test_100%_sure"]


def test_ids_that_are_not_unique_are_marked(connection: Connection, project: Project) -> None:
    """Marking is kept, for many ids at once, and marks nothing else."""
    Roster().resolve(connection, project.id, runs(*[f"t{n}" for n in range(1_200)]), stream="", build_seq=1)
    assert roster.not_unique(connection, project.id) == set()
    marked = set(range(0, 1_200, 2))
    roster.mark_not_unique(connection, project.id, marked)
    assert roster.not_unique(connection, project.id) == marked


def test_ids_that_are_told_of_once_often_enough_are_unique_again(connection: Connection, project: Project) -> None:
    """In a row: a mark begins the count anew, and only those that were told of are counted."""
    Roster().resolve(connection, project.id, runs("t0", "t1", "t2"), stream="", build_seq=1)
    roster.mark_not_unique(connection, project.id, [0, 1])
    roster.note_sound(connection, project.id, [0, 1], needed=2)
    roster.mark_not_unique(connection, project.id, [1])
    roster.note_sound(connection, project.id, [0, 1], needed=2)
    assert roster.not_unique(connection, project.id) == {1}
    assert [row["sound_builds"] for row in roster.every(connection, project.id)] == [0, 1, 0]
