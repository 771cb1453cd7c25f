"""Where a flake began, on the whole product: the commits among which it did, as a page shows them."""

from quarantine.services import decisions
from quarantine.services.birth import COMMITS_SHOWN
from tests.world import OWNER, World, commit

SUITE = {f"t{number}": "P" for number in range(12)}


def play(world: World, clean: int, flaky: int, *, every: int = 2) -> None:
    """Let t1 pass for so many builds, then fail on every so-manyth first try, its tree passing when rerun."""
    for number in range(clean + flaky):
        fails = number >= clean and (number - clean) % every == 0
        world.send(f"b{number}", SUITE | ({"t1": "F"} if fails else {}))
        if fails:
            world.rerun(f"b{number}", SUITE)
        world.wait(hours=9)


def test_the_commits_are_named(world: World) -> None:
    """After a long clean past: a range that holds the true commit and ends at the first onset."""
    play(world, 60, 24)
    [variant] = world.explain("t1")["variants"]
    assert variant["status"] == "quarantined"
    birth = variant["birth"]
    assert birth["dated"]
    assert birth["commits"][-1] == commit("b60")
    assert 1 < len(birth["commits"]) + birth["left_out"] <= 40
    assert len(birth["commits"]) <= COMMITS_SHOWN
    reach = len(birth["commits"]) + birth["left_out"] - 1
    assert birth["after"] == commit(f"b{60 - reach - 1}")


def test_what_may_always_have_flaked_is_not_dated(world: World) -> None:
    """With three clean builds before, and of a test by hand that never failed."""
    play(world, 3, 24)
    [variant] = world.explain("t1")["variants"]
    assert not variant["birth"]["dated"]
    assert variant["birth"]["commits"] == []
    decisions.quarantine(world.app, world.project, "t2", bearer=OWNER, reason="the sandbox is down", days=3)
    [other] = world.explain("t2")["variants"]
    assert other["birth"] is None
