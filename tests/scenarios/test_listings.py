"""What pages list, on either database: every page of a project in which much has happened."""

from quarantine.domain.outcome import Lane, Status
from quarantine.services import build_listing, incident_listing, report_listing
from quarantine.services.company import in_company
from quarantine.services.overview import overview
from quarantine.services.quarantined_list import SORTS, Wanted, quarantined_list
from tests.world import PROJECT, World

SUITE = {f"t{number}": "P" for number in range(30)}


def play(world: World) -> None:
    """Let t1 and t2 flake together until they are quarantined, then let a storm strike three changes."""
    for number in range(24):
        failing = {"t1": "F", "t2": "F"} if number % 3 == 1 else {}
        world.send(f"b{number}", SUITE | failing)
        if failing:
            world.rerun(f"b{number}", SUITE)
        world.wait(hours=9)
    for number in range(3):
        down = {f"t{place}": "F" for place in range(5, 17)}
        world.send(f"pr{number}", SUITE | down, lane=Lane.REVIEW, change=f"pr-{number}", said="Connection refused")
        world.wait(minutes=9)


def test_every_list_on_either_database(world: World) -> None:
    """Sorted, filtered and paged, the lists and each thing's own page tell the same story."""
    play(world)
    app = world.app
    for sort in SORTS:
        found = quarantined_list(app, PROJECT, Wanted(sort=sort))
        assert sorted(row["name"].rpartition("::")[2] for row in found["rows"]) == ["t1", "t2"]
    [cause] = found["causes"]
    assert (cause["tests"], cause["message"]) == (2, "boom")
    assert quarantined_list(app, PROJECT, Wanted(cause=cause["signature"]))["total"] == 2
    assert quarantined_list(app, PROJECT, Wanted(status=Status.BROKEN))["rows"] == []
    told = overview(app, PROJECT)
    assert told["size"][-1]["tests"] == told["counts"]["quarantined"] == 2
    assert told["size"][0]["tests"] == 0
    builds = build_listing.page_of(app, PROJECT, page=1, lane=Lane.REVIEW)
    assert builds["total"] == 3
    one = build_listing.one(app, PROJECT, str(builds["rows"][0]["seq"]))
    assert {failure["why"] for failure in one["failures"]} == {"storm"}
    [incident] = incident_listing.page_of(app, PROJECT, page=1)["rows"]
    storm = incident_listing.one(app, PROJECT, incident["id"])
    assert len(storm["named"]) == 12
    assert [(one["message"], one["failures"]) for one in storm["said"]] == [("Connection refused", 36)]
    assert report_listing.page_of(app, PROJECT, page=1)["total"] == told["builds"]
    [variant] = in_company(app, PROJECT, "t1")["variants"]
    assert [(row["name"].rpartition("::")[2], row["builds"]) for row in variant["company"]["tests"]] == [("t2", 8)]
    [fold] = variant["folded"]
    assert (fold["failures"], fold["failures_left_out"]) == (8, 3)
    assert set(variant["marks"].values()) == {"onset"}
    [struck] = in_company(app, PROJECT, "t5")["variants"]
    assert list(struck["marks"].values()) == ["storm"] * 3
