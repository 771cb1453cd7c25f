"""The second derivation finds what is not as it should be: a check that cannot fail would prove nothing."""

import re
from typing import Any

import pytest
from sqlalchemy import Connection, update

from quarantine.store import histories, projects, standings
from quarantine.store.engine import writing
from quarantine.store.tables import HEAD, TRANSITION
from tests.world import START, World


@pytest.fixture
def flaky(world: World) -> World:
    """Return a project with a confirmed head, a pending one, and a test that was released by a person."""
    world.send(1, {"t1": "P", "t2": "P"})
    world.send(2, {"t1": "FP", "t2": "P"})
    world.send(3, {"t1": "P", "t2": "F"})
    assert world.disagreements(["t1", "t2"]) == []
    return world


def forge_trial(connection: Connection, _project_id: int) -> None:
    connection.execute(update(HEAD).where(HEAD.c.test == 0).values(trial=1))


def forge_confirmation(connection: Connection, _project_id: int) -> None:
    connection.execute(update(HEAD).where(HEAD.c.test == 1).values(confirmed_at=START, confirmed_by=1))


def forge_pending(connection: Connection, _project_id: int) -> None:
    connection.execute(update(HEAD).where(HEAD.c.test == 0).values(confirmed_at=None, confirmed_by=None))


def forge_absence(connection: Connection, _project_id: int) -> None:
    connection.execute(HEAD.delete().where(HEAD.c.test == 0))


def forge_count(connection: Connection, project_id: int) -> None:
    [(variant, history)] = histories.every(connection, project_id)
    history.trials[0] += 1
    histories.save(connection, project_id, variant, history, 3)


@pytest.mark.parametrize(
    ("forge", "found"),
    [
        (forge_trial, "t1 .*stored at trial 1 of build 2, derived at trial 2 of build 2"),
        (forge_confirmation, "t2 .*confirmed, but no build of its tree passed"),
        (forge_pending, "t1 .*pending, but its tree passed"),
        (forge_absence, "t1 .*derived, not stored"),
        (forge_count, "t1 .*trials: stored 4, derived 3"),
    ],
)
def test_a_forged_row_is_found(flaky: World, forge: Any, found: str) -> None:
    """Whichever row is not what the outcomes say, the derivation names it."""
    with writing(flaky.app.engine) as connection:
        forge(connection, projects.by_slug(connection, flaky.project).id)
    said = flaky.disagreements(["t1", "t2"])
    assert len(said) == 1
    assert re.search(found, said[0])


def test_forged_evidence_is_found(world: World) -> None:
    """A decision whose kept numbers do not follow from its kept evidence is named, with both numbers."""
    names = [f"t{number}" for number in range(10)]
    world.send(0, dict.fromkeys(names, "P"))
    for build in range(1, 25):
        world.wait(hours=12)
        world.send(build, dict.fromkeys(names, "P") | ({"t1": "FP"} if build % 2 else {}))
    [variant] = world.explain("t1")["variants"]
    assert variant["status"] == "quarantined"
    assert variant["disagreements"] == []
    with writing(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        [move] = standings.transitions(connection, project.id)
        move["evidence"]["result"]["window"]["p_value"] /= 2
        forged = update(TRANSITION).where(TRANSITION.c.number == move["number"]).values(evidence=move["evidence"])
        connection.execute(forged)
    [said] = world.disagreements(["t1"])
    assert "window.p_value: stored" in said
