"""What is said of a wanted rerun: what its pass would be worth to the entry rule, as the rule itself would count it."""

from quarantine.domain.outcome import Lane
from quarantine.services import decisions, reruns
from tests.world import OWNER, World, tree

GREEN, RED = {"t1": "P", "t2": "P"}, {"t1": "F", "t2": "P"}
NAME = "tests.test_ledger::t1"


def onset(world: World, name: str) -> None:
    """Play a green trunk build, a red one, and the pass of its tree."""
    world.send(f"{name}-before", GREEN)
    world.send(name, RED)
    world.rerun(name, GREEN)


def agents_head(world: World, name: str) -> None:
    """Let an agent's run fail on a tree that trunk has run in another job."""
    world.send(f"{name}-before", GREEN)
    world.send(f"{name}-elsewhere", {"t2": "P"}, job="other", tree=tree(name))
    world.send(name, RED, lane=Lane.AGENT, change=name)


def purposes(world: World) -> list[str]:
    """Return what each wanted rerun is for, the most valuable first."""
    return [one["why"].partition(": ")[2] for one in reruns.wanted(world.app, world.project)["reruns"]]


COMPLETES = "a pass would complete the evidence for quarantine."
AN_ONSET = "a pass would make its failure an onset (rerun 1 of 3)."
NOTHING = "a pass would confirm its failure, which would not count beside the onsets there are so far."


def test_a_pass_completes_the_evidence_only_by_the_whole_entry_rule(world: World) -> None:
    """Within the span of three days two onsets are not enough, whatever their p-value; after it they are."""
    onset(world, "first")
    world.wait(hours=8)
    world.send("early-before", GREEN)
    world.send("early", RED)
    assert purposes(world) == [AN_ONSET]
    world.wait(hours=80)
    world.send("late-before", GREEN)
    world.send("late", RED)
    assert purposes(world)[0] == COMPLETES
    world.rerun("late", GREEN)
    assert world.explain("t1")["variants"][0]["status"] == "quarantined"


def test_an_agents_head_never_completes_what_trunk_has_to_say(world: World) -> None:
    """Without an onset of trunk before it it counts for nothing, and after one it seconds it."""
    world.send("full", GREEN)
    agents_head(world, "alone")
    assert purposes(world) == [NOTHING]
    world.wait(days=20)
    onset(world, "trunk")
    world.wait(hours=80)
    agents_head(world, "second")
    assert purposes(world) == [AN_ONSET]


def test_after_a_release_an_agents_head_completes_nothing(world: World) -> None:
    """The evidence restarted: alone it counts for nothing, and beside one onset of trunk it is no second one."""
    onset(world, "first")
    world.wait(hours=80)
    onset(world, "second")
    assert world.explain("t1")["variants"][0]["status"] == "quarantined"
    decisions.release(world.app, world.project, NAME, bearer=OWNER, reason="mended")
    world.wait(hours=80)
    agents_head(world, "after")
    assert purposes(world) == [NOTHING]
    world.wait(days=20)
    onset(world, "third")
    world.wait(hours=80)
    agents_head(world, "beside")
    assert purposes(world) == [AN_ONSET]


def test_a_head_within_the_spacing_of_an_onset_would_not_count(world: World) -> None:
    """Six hours apart at least: a second failure of the same afternoon is no further onset."""
    onset(world, "first")
    world.wait(hours=1)
    world.send("soon-before", GREEN)
    world.send("soon", RED)
    assert purposes(world) == [NOTHING]
