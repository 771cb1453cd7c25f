"""Laws of taking reports in, on both databases: repeating, reordering and dividing uploads changes nothing."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, select

from quarantine.clock import FrozenClock
from quarantine.domain.outcome import Lane
from quarantine.errors import BadReport
from quarantine.services.app import App
from quarantine.store import projects
from quarantine.store.engine import reading
from quarantine.store.tables import metadata
from tests.scenarios.stored import rows
from tests.world import World, junit, tree

NAMES = [f"t{number}" for number in range(12)]
TRIES = st.sampled_from(["P", "P", "P", "F", "E", "S", "FP", "FF"])
REPORT = st.dictionaries(st.sampled_from(NAMES), TRIES, min_size=1, max_size=6)
FRESH = {"secret", "fingerprint", "id", "project_id", "slug"}
"""Columns that differ between two projects to which the same happened."""

few = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def make_world(app: App, clock: FrozenClock) -> Callable[[], World]:
    """Return a function that makes one more project on the same database."""
    numbers = count()
    return lambda: World(app, clock, f"law-{next(numbers)}").created()


def told(world: World, names: list[str] = NAMES) -> dict[str, Any]:
    """Return what is known about each test that was seen, without what differs from project to project."""
    with reading(world.app.engine) as connection:
        project_id = projects.by_slug(connection, world.project).id
        table = metadata.tables["test"]
        seen = set(connection.execute(select(table.c.name).where(table.c.project_id == project_id)).scalars())
    return {name: plain(world.explain(name)) for name in names if name in seen}


def plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items() if key not in ("fingerprint", "project", "policy")}
    return [plain(one) for one in value] if isinstance(value, list) else value


HISTORY = st.lists(st.tuples(st.integers(0, 3), REPORT, st.booleans()), min_size=1, max_size=6)
"""Uploads: the number of their build, their report, and whether they are of a rerun."""


def play(world: World, history: list[tuple[int, dict[str, str], bool]]) -> None:
    for build, report, is_rerun in history:
        world.rerun(build, report) if is_rerun else world.send(build, report)


@few
@given(history=HISTORY)
def test_ingesting_twice_is_ingesting_once(
    make_world: Callable[[], World], history: list[tuple[int, dict[str, str], bool]]
) -> None:
    """Whatever was sent and is sent again, in any order, no row of any table changes."""
    world = make_world()
    play(world, history)
    before = rows(world)
    play(world, history)
    play(world, history[::-1])
    assert rows(world) == before


@few
@given(history=HISTORY, order=st.randoms(use_true_random=False))
def test_repeats_in_between_change_nothing(
    make_world: Callable[[], World], history: list[tuple[int, dict[str, str], bool]], order: Any
) -> None:
    """A client that repeats a call it is unsure of leaves the same rows as one that does not."""
    once, again = make_world(), make_world()
    play(once, history)
    for place, upload in enumerate(history):
        play(again, [upload, order.choice(history[: place + 1])])
    assert rows(again, but=FRESH) == rows(once, but=FRESH)


@few
@given(reports=st.lists(REPORT, min_size=2, max_size=4), order=st.randoms(use_true_random=False))
def test_the_order_of_reports_in_an_upload_does_not_matter(
    make_world: Callable[[], World], reports: list[dict[str, str]], order: Any
) -> None:
    """However the files of one upload are ordered, also where they share tests, the same is known afterwards."""
    one, other = make_world(), make_world()
    shuffled = order.sample(reports, len(reports))
    for world, files in ((one, reports), (other, shuffled)):
        world.send(1, dict.fromkeys(NAMES, "P"))
        world.send(2, *files)
        world.rerun(2, dict.fromkeys(NAMES, "P"))
    assert told(one) == told(other)
    counts = {"passed", "failed", "skipped", "flaky", "run_events"}
    assert [[build[key] for key in sorted(counts & build.keys())] for build in one.summary()["latest_builds"]] == [
        [build[key] for key in sorted(counts & build.keys())] for build in other.summary()["latest_builds"]
    ]


@few
@given(report=st.dictionaries(st.sampled_from(NAMES), TRIES, min_size=2), parts=st.integers(2, 4))
def test_a_build_may_come_in_parts(make_world: Callable[[], World], report: dict[str, str], parts: int) -> None:
    """A build whose tests come in several uploads counts as one that came at once."""
    whole, divided = make_world(), make_world()
    for world in (whole, divided):
        world.send(1, dict.fromkeys(NAMES, "P"))
    whole.send(2, report)
    for part in range(parts):
        if some := {name: tries for number, (name, tries) in enumerate(report.items()) if number % parts == part}:
            divided.send(2, some)
    assert told(divided) == told(whole)


@few
@given(first=REPORT, second=REPORT)
def test_the_first_tries_of_a_build_stay(
    make_world: Callable[[], World], first: dict[str, str], second: dict[str, str]
) -> None:
    """A test in two uploads of one build has the first try of the first and the last try of the second."""
    world = make_world()
    world.send(1, dict.fromkeys(NAMES, "P"))
    world.send(2, first)
    world.send(2, second)
    for name in first.keys() | second.keys():
        tries = first.get(name, "") + second.get(name, "")
        wanted = tries[0] if tries[0] == tries[-1] else tries[0] + tries[-1]
        [variant] = world.explain(name)["variants"]
        assert variant["strip"][-1]["outcome"] == wanted
        begun = first.get(name) or second[name]
        assert variant["trials"] == 1 + (begun != "S")
        assert len(variant["heads"]) == (begun[0] in "FE")
        assert variant["disagreements"] == []


@few
@given(first=REPORT, second=REPORT)
def test_what_is_known_of_an_upload_is_not_taken_in_again(
    make_world: Callable[[], World], first: dict[str, str], second: dict[str, str]
) -> None:
    """An upload that holds a file the build already has brings only the others."""
    apart, overlapping = make_world(), make_world()
    for world in (apart, overlapping):
        world.send(1, first)
    receipts = apart.send(1, second), overlapping.send(1, first, second)
    assert told(apart) == told(overlapping)
    assert receipts[0].new == receipts[1].new == (junit(first) != junit(second))


def test_a_pass_confirms_whether_it_comes_before_or_after(make_world: Callable[[], World]) -> None:
    """A tree that passed and then failed is as confirmed as one that failed and then passed."""
    before, after = make_world(), make_world()
    for world, order in ((before, "PF"), (after, "FP")):
        world.send(1, {"t1": "P"})
        for number, tries in enumerate(order):
            world.send(f"same-{number}", {"t1": tries}, tree=tree("same"))
    heads = [world.explain("t1")["variants"][0]["heads"] for world in (before, after)]
    assert [[bool(head["confirmed_at"]) for head in found] for found in heads] == [[True], [True]]


@pytest.mark.parametrize(
    ("again", "confirmed"),
    [
        ({}, [True]),
        ({"command": "pytest --lf"}, [False]),
        ({"environment_hash": "f" * 64}, [False]),
        ({"tree": tree("edited")}, [False]),
        ({"variant": {"os": "mac"}}, [False]),
    ],
)
@pytest.mark.parametrize("known", [tree("own"), None])
def test_only_the_same_run_of_the_same_tree_confirms(
    make_world: Callable[[], World], again: dict[str, Any], confirmed: list[bool], known: str | None
) -> None:
    """A later upload of the same build confirms if it ran the same tree by the same command in the same environment."""
    world = make_world()
    world.send(1, {"t1": "P"})
    world.send(2, {"t1": "F"}, tree=known)
    world.send(2, {"t1": "P"}, **({"tree": known} | again))
    variants = world.explain("t1")["variants"]
    assert [bool(head["confirmed_at"]) for variant in variants for head in variant["heads"]] == confirmed
    assert world.disagreements(["t1"]) == []


def test_a_pass_is_not_hidden_by_a_later_upload(make_world: Callable[[], World]) -> None:
    """A build that passed and failed on a tree in two uploads has passed on it, whichever came last."""
    world = make_world()
    world.send(1, {"t1": "P"}, tree=tree("a"))
    world.send("same-1", {"t1": "P"}, tree=tree("same"))
    world.send("same-1", {"t1": "F"}, tree=tree("same"))
    world.send("same-1", {"t1": "FF"}, tree=tree("same"))
    world.send("same-2", {"t1": "F"}, tree=tree("same"))
    assert world.disagreements(["t1"]) == []
    [head] = world.explain("t1")["variants"][0]["heads"]
    assert head["confirmed_by"] == "2"


def test_nothing_readable_stores_nothing_but_the_refusal(make_world: Callable[[], World]) -> None:
    """An upload that cannot be read makes no build and no test; the refusal is kept to be looked at."""
    world = make_world()
    before = rows(world)
    with pytest.raises(BadReport, match=r"No report in this upload could be read\. report-1\.xml"):
        world.send(1, b"this is no report")
    after = rows(world)
    assert {name for name in after if after[name] != before[name]} == {"refused_report"}
    assert world.send(1, b"this is no report", {"t1": "P"}).new


class Broken(Exception):
    """Stands for whatever may go wrong."""


@contextmanager
def breaking(engine: Engine, statement: int) -> Iterator[None]:
    """Let the engine fail at its so-many-th statement from here."""
    executed = count()

    def count_down(*_arguments: object) -> None:
        if next(executed) == statement:
            raise Broken

    event.listen(engine, "before_cursor_execute", count_down)
    try:
        yield
    finally:
        event.remove(engine, "before_cursor_execute", count_down)


def test_an_upload_that_fails_is_undone_whole(make_world: Callable[[], World]) -> None:
    """At whichever statement an upload fails, no row of it stays, and what comes next is counted without it."""
    world = make_world()
    world.send(1, dict.fromkeys(NAMES, "P"))
    before = rows(world)
    for statement in count():
        try:
            with breaking(world.app.engine, statement):
                world.send(2, {"new": "P", "t1": "F"})
        except Broken:
            assert rows(world) == before, f"statement {statement}"
        else:
            break
    assert statement > 20
    assert world.send(3, {"other": "P", "new": "P"}).new_tests == 1
    assert world.disagreements(["new", "other", "t1"]) == []


def test_failing_for_ever_costs_no_more_each_time(make_world: Callable[[], World]) -> None:
    """A build in which a test fails as ever asks the database as often after many failures as after a few."""
    world, executed = make_world(), 0

    def tally(*_arguments: object) -> None:
        nonlocal executed
        executed += 1

    event.listen(world.app.engine, "before_cursor_execute", tally)
    costs = []
    for build in range(25):
        world.wait(hours=24)  # the first of a day asks once more than the others: a variant may have run again
        executed = 0
        world.send(build, dict.fromkeys(NAMES, "P") | ({"t1": "F"} if build else {}))
        costs.append(executed)
    event.remove(world.app.engine, "before_cursor_execute", tally)
    assert len(set(costs[3:])) == 1, costs


def test_a_failed_upload_leaves_no_phantom_in_memory(make_world: Callable[[], World]) -> None:
    """Tests that a failed upload would have added are new to the next one, under numbers without a gap."""
    world = make_world()
    world.send(1, {"t1": "P"})
    with pytest.raises(Broken), breaking(world.app.engine, 25):
        world.send(2, {"phantom": "F", "t1": "F"})
    assert world.send(3, {"real": "P", "phantom": "P"}).new_tests == 2
    assert world.disagreements(["real", "phantom", "t1"]) == []


def test_lanes_do_not_share_builds(make_world: Callable[[], World]) -> None:
    """Two lanes that use one name for their builds have two builds."""
    world = make_world()
    for lane in Lane:
        assert world.send("same name", {"t1": "P"}, lane=lane, change=None if lane is Lane.TRUNK else "PR-1").new
    assert world.summary()["builds"] == 3


def test_the_bytes_count_not_the_name(make_world: Callable[[], World]) -> None:
    """The same file under another name, or twice in one upload, is one file."""
    world = make_world()
    world.send(1, junit({"t1": "F"}), junit({"t1": "F"}))
    before = rows(world)
    assert not world.send(1, junit({"t1": "F"})).new
    assert rows(world) == before
    assert world.explain("t1")["unique"]
