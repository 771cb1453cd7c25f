"""Quarantine by hand: a person's word, until a date, and what evidence it takes to end it sooner."""

import pytest

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, Conflict, NotAllowed
from quarantine.services import decisions, gating
from quarantine.store import audit, projects
from quarantine.store.engine import reading
from tests.world import CLASSNAME, OWNER, World, sender

SUITE = [f"t{number}" for number in range(6)]


def suite(**tries: str) -> dict[str, str]:
    return dict.fromkeys(SUITE, "P") | tries


def is_gating(world: World, name: str) -> bool:
    return gating.take_snapshot(world.app, world.project).is_gating(f"{CLASSNAME}::{name}")


@pytest.fixture
def enforcing(world: World) -> World:
    """Return a project that enforces and has run its suite once."""
    world.send("first", suite())
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    return world


def enter(world: World, name: str = "t1", *, days: float = 7, reason: str = "the sandbox is down") -> dict[str, object]:
    return decisions.quarantine(world.app, world.project, name, bearer=OWNER, reason=reason, days=days)


def test_it_does_not_gate_until_the_date_and_gates_again_by_itself(enforcing: World) -> None:
    """Out at once, with the reason in its record; the first trunk build after the date lets it back."""
    assert is_gating(enforcing, "t1")
    enter(enforcing, days=2)
    assert not is_gating(enforcing, "t1")
    [variant] = enforcing.explain("t1")["variants"]
    assert "the sandbox is down" in variant["reason"]
    enforcing.wait(days=1)
    enforcing.send("second", suite(t1="F"))
    assert not is_gating(enforcing, "t1")
    enforcing.wait(days=1, minutes=1)
    enforcing.send("third", suite())
    assert is_gating(enforcing, "t1")
    assert enforcing.disagreements(["t1"]) == []


def test_a_long_clean_streak_ends_it_sooner(enforcing: World) -> None:
    """It has to refute the rate that is assumed of a test quarantined by hand, and to be clean for a week."""
    enter(enforcing, days=30)
    for number in range(400):
        enforcing.send(f"clean-{number}", suite())
        enforcing.wait(hours=1)
        if is_gating(enforcing, "t1"):
            break
    assert 150 < number < 390  # a week of builds, and (1 - 0.05)^m below the level
    assert enforcing.disagreements(["t1"]) == []


def test_it_is_written_down(enforcing: World) -> None:
    """Who, when, why and for how long."""
    enter(enforcing)
    with reading(enforcing.app.engine) as connection:
        project = projects.by_slug(connection, enforcing.project)
        rows = [row for row in audit.latest(connection, project.id) if row["action"] == "quarantine"]
    assert [(row["actor"], row["detail"]["reason"], row["detail"]["days"]) for row in rows] == [
        (OWNER.actor, "the sandbox is down", 7)
    ]


@pytest.mark.parametrize("days", [0, -1, 30.5, float("nan"), float("inf")])
def test_it_lasts_thirty_days_at_most(enforcing: World, days: float) -> None:
    """What lasts longer has to show its evidence."""
    with pytest.raises(BadInput, match="at most 30"):
        enter(enforcing, days=days)
    assert is_gating(enforcing, "t1")


def test_only_an_admin_may_and_a_reason_is_needed(enforcing: World) -> None:
    """No reporter and no agent takes a test out."""
    for lane in Lane:
        with pytest.raises(NotAllowed):
            decisions.quarantine(enforcing.app, enforcing.project, "t1", bearer=sender(lane), reason="x", days=1)
    with pytest.raises(BadInput, match="reason"):
        enter(enforcing, reason=" ")
    assert is_gating(enforcing, "t1")


def test_twice_is_a_conflict(enforcing: World) -> None:
    """A test that is out cannot be taken out again; nothing is renewed in passing."""
    enter(enforcing)
    with pytest.raises(Conflict, match="already"):
        enter(enforcing)


def test_a_broken_test_cannot_be_hidden(enforcing: World) -> None:
    """Broken is not flaky, whoever says so."""
    for number in range(3):
        enforcing.send(f"red-{number}", suite(t1="F"))
        enforcing.rerun(f"red-{number}", suite(t1="F"), number=1)
        enforcing.rerun(f"red-{number}", suite(t1="F"), number=2)
        enforcing.wait(hours=1)
    with pytest.raises(BadInput, match="broken"):
        enter(enforcing)
