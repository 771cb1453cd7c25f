"""What rules make of worlds: ours keeps its promises, the others do what they publish, and the loop counts right."""

import numpy as np
import pytest

from quarantine.policy.criteria import Policy
from quarantine.simulate import loops, peers
from quarantine.simulate.accidents import draw
from quarantine.simulate.loops import Attempt, Failing, Reading, Ticket
from quarantine.simulate.measures import measured
from quarantine.simulate.ours import Confirming, Stay, Story, let_loose
from quarantine.simulate.peers import RULES, History
from quarantine.simulate.running import OURS, compared
from quarantine.simulate.world import Shape, World

POLICY = Policy()
SMALL = Shape(tests=600, days=40, builds_a_day=60, outages=6)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    """Return a few small worlds with many outages."""
    return [draw(SMALL, seed) for seed in range(6)]


@pytest.mark.parametrize("confirming", list(Confirming))
def test_healthy_and_broken_tests_are_left_alone(worlds: list[World], confirming: Confirming) -> None:
    """With outages, a bad machine, storms, broken trunks and agents, and whenever what is confirmed becomes known."""
    found = [measured(world, let_loose(world, POLICY, confirming), tolerated=POLICY.p0) for world in worlds]
    assert sum(one["broken tests quarantined"] for one in found) == 0
    assert sum(one["healthy tests quarantined"] for one in found) / len(found) <= POLICY.budget


def test_an_outage_that_comes_back_is_no_flaking() -> None:
    """Many outages of two days: counted once a day in company they quarantine nobody; counted like flakes they do."""
    shape = Shape(tests=600, days=60, builds_a_day=100, outages=12, flaky_share=0.0, agents=0, bad_host_days=0.0,
                  storms_a_week=0.0, regressions_a_week=0.0)  # fmt: skip
    alike = Policy(company_spacing_hours=POLICY.onset_spacing_hours)
    healthy, without = (
        sum(len({stay.test for stay in let_loose(draw(shape, seed), policy).stays}) for seed in range(4))
        for policy in (POLICY, alike)
    )
    assert healthy <= 2
    assert without > 10 * max(1, healthy)


def test_flaky_tests_are_found(worlds: list[World]) -> None:
    """Those that fail right after a pass in 5 % of trials and more."""
    shares = [
        measured(world, let_loose(world, POLICY), tolerated=POLICY.p0).get("found, 5 to 30 %") for world in worlds
    ]
    known = [share for share in shares if share is not None]
    assert known
    assert float(np.mean(known)) >= 0.9


def history(failed: str, *, hours: float = 1.0) -> History:
    """Return a test's history on trunk, a build an hour: `F` failed, `f` failed and passed on a retry."""
    red = np.array([letter in "Ff" for letter in failed])
    return History(
        at=np.arange(len(failed), dtype=np.float64) * hours,
        is_trunk=np.ones(len(failed), np.bool_),
        change=np.full(len(failed), -1),
        failed=red,
        flipped=np.array([letter == "f" for letter in failed]),
        crowded=np.zeros(len(failed), np.bool_),
        swamped=np.zeros(len(failed), np.bool_),
    )


def begun(name: str, failed: str, *, hours: float = 1.0) -> list[tuple[int, int | None]]:
    """Return (build of the entry, build of the exit) by a rule."""
    told = history(failed, hours=hours)
    stays = peers._stays(0, told.at, *RULES[name](told))
    return [(int(stay.begin / hours), None if stay.end == np.inf else int(stay.end / hours)) for stay in stays]


@pytest.mark.parametrize(
    ("name", "failed", "found"),
    [
        ("no quarantine", "fFfF", []),
        ("CircleCI", "..f" + "." * 400, [(2, 2 + 337)]),
        ("Harness CI", "..f......f.......", [(2, 7), (9, 14)]),
        ("Trunk, pass on retry", ".F.f" + "." * 200, [(3, 3 + 169)]),
        ("Buildkite", "f" + "." * 120, [(0, 100)]),
        ("TestGrid", "F.FFF..FFF", [(4, 5), (9, None)]),
        ("LUCI, failure rate", "FFF.......", [(2, 3)]),
        ("LUCI, flake rate", "f....f" + "." * 200, [(5, 169)]),
        ("Chromium", "f.f.f" + "." * 60, [(4, 29)]),
        ("Flutter", "." * 60 + "ff" + "." * 60, [(61, 111)]),
        ("Mozilla", "F" * 150, [(149, None)]),
        ("aspnetcore", "F.F.FF", [(2, None)]),
    ],
)
def test_peers_do_what_they_publish(name: str, failed: str, found: list[tuple[int, int | None]]) -> None:
    """Entry and exit of each on a history of a build an hour."""
    assert begun(name, failed) == found


def test_the_loop_counts_each_patch_once() -> None:
    """A right patch that is red by a flake, a wrong one that is red by itself, with and without quarantine."""
    world = draw(Shape(tests=100, days=5, builds_a_day=10), 1)
    flake, broken = Failing(3, 0.0, 0.4, 0.4), Failing(4, 1.0, 0.0, 0.0)
    tickets = [Ticket(50.0, (Attempt(False, (broken, flake)), Attempt(True, (flake,)), Attempt(True, ())), 1)]
    plain = loops.counted(world, tickets, Reading(Story(())))
    assert (plain.right, plain.right_rejected, plain.wrong, plain.wrong_accepted) == (2, 1, 1, 0)
    muted = loops.counted(world, tickets, Reading(Story((Stay(3, 0.0, 99.0), Stay(4, 0.0, 99.0)))))
    assert (muted.wrong_accepted, muted.wrong_excused, muted.right) == (1, 1, 0)
    ours = Reading(Story((Stay(3, 0.0, 99.0), Stay(4, 0.0, 99.0))), policy=POLICY)
    bites = loops.counted(world, tickets, ours)
    assert (bites.wrong_accepted, bites.right, bites.right_rejected) == (0, 1, 0)
    unquarantined = loops.counted(world, tickets, Reading(Story(()), policy=POLICY))
    assert (unquarantined.wrong_accepted, unquarantined.right_rejected) == (0, 0)


def test_the_answer_has_the_shape_it_says() -> None:
    """A mean and an interval for each measure of each rule, and only of the rules asked for."""
    told = compared(Shape(tests=200, days=10, builds_a_day=30), [1, 2], POLICY, rules=[OURS, "CircleCI"])
    assert list(told["rules"]) == [OURS, "CircleCI"]
    assert (told["worlds"], told["seeds"]) == (2, [1, 2])
    for measures in told["rules"].values():
        for value in measures.values():
            assert value["low"] <= value["mean"] <= value["high"]
