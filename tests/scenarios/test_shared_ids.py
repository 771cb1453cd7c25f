"""An id that stood for several tests is nobody's history, until trunk has told of it once often enough."""

from quarantine.domain.outcome import Lane
from quarantine.services.naming import SOUND_BUILDS
from tests.world import World, junit

ONCE = {"t1": "P", "t2": "P"}
TWICE = junit(ONCE).replace(
    b"</testsuite>", b"<testcase classname='tests.test_ledger' name='t1'/></testsuite>"
)  # t1 a second time, in a dialect that has no retries


def trials(world: World, name: str) -> int:
    """Return how many trials of a test count."""
    return int(world.explain(name)["variants"][0]["trials"])


def test_an_id_heals_once_trunk_has_told_of_it_once_often_enough(world: World) -> None:
    """A report sent twice over bars its ids for twenty trunk builds and not for good; the last of them counts again."""
    world.send("first", ONCE)
    world.send("doubled", TWICE)
    for number in range(SOUND_BUILDS - 1):
        world.send(f"sound-{number}", ONCE)
    told = world.explain("t1")
    assert (told["unique"], trials(world, "t1"), trials(world, "t2")) == (False, 1, SOUND_BUILDS + 1)
    assert told["barred"] is not None
    assert told["barred"].endswith(f"once {SOUND_BUILDS} trunk builds in a row have told of it once: 19 have.")
    assert [doubt for doubt in world.summary()["doubts"] if doubt["code"] == "ids-collide"]
    world.send("the last", ONCE)
    told = world.explain("t1")
    assert (told["unique"], told["barred"], trials(world, "t1")) == (True, None, 2)
    assert world.disagreements(["t1", "t2"]) == []
    assert not [doubt for doubt in world.summary()["doubts"] if doubt["code"] == "ids-collide"]


def test_only_trunk_runs_in_a_row_heal_it(world: World) -> None:
    """Other lanes, reruns, further uploads and builds without the test say nothing; a relapse starts anew."""
    world.send("doubled", TWICE)
    for number in range(2 * SOUND_BUILDS):
        world.send(f"agent-{number}", ONCE, lane=Lane.AGENT, change="PR-1")
        world.rerun("doubled", ONCE, number=number)
        world.send(f"other-{number}", {"t2": "P"})
    world.send("one", ONCE)
    world.send("one", junit(ONCE, said="again") + b" ")
    assert "once: 1 have." in world.explain("t1")["barred"]
    for number in range(SOUND_BUILDS - 2):
        world.send(f"sound-{number}", ONCE)
    world.send("doubled again", TWICE)
    world.send("after", ONCE)
    assert "once: 1 have." in world.explain("t1")["barred"]
    assert trials(world, "t2") > trials(world, "t1") == 0


def test_it_is_quarantined_again_on_what_it_does_from_then_on(world: World) -> None:
    """A flaky test whose id was shared for a while is found, on trials of the time since."""
    world.send("doubled", TWICE)
    for number in range(SOUND_BUILDS):
        world.send(f"sound-{number}", ONCE)
    for number in range(12):
        world.wait(hours=9)
        world.send(f"red-{number}", {"t1": "F", "t2": "P"})
        world.rerun(f"red-{number}", ONCE)
        world.wait(hours=9)
        world.send(f"green-{number}", ONCE)
    [variant] = world.explain("t1")["variants"]
    assert variant["status"] == "quarantined"
