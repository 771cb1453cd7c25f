"""Reach maps on the whole product: what they let other lanes say about trunk, and who may say what tests reach."""

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.errors import NotAllowed
from quarantine.services import reaching
from quarantine.store import projects, reaches
from quarantine.store.engine import reading
from quarantine.web import reach as reach_routes
from tests.web.site import AT, Site, problem
from tests.world import World, commit, sender, tree

SUITE = [f"t{number}" for number in range(20)]
Columns = Sequence[tuple[str, str]]
on_one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For what does not depend on how things are stored; the main cases run on both."""


def suite(**tries: str) -> dict[str, str]:
    """Return a run of the whole suite in which every test passed but for these."""
    return dict.fromkeys(SUITE, "P") | tries


def reach_of(number: int) -> list[tuple[str, str]]:
    """Return what a test reaches: its own module, whole; of the next one only what runs when it is imported."""
    return [
        (f"shop/m{number % 4}.py", "body"),
        (f"shop/m{number % 4}.py", "module"),
        (f"shop/m{(number + 1) % 4}.py", "module"),
        ("tests/test_ledger.py", "body"),
    ]


def lines(reach: Mapping[str, Columns]) -> list[bytes]:
    """Return a map as it is sent; tests are named as pytest names them."""
    return [
        json.dumps({"test": f"tests/test_ledger.py::{name}", "columns": columns}).encode() + b"\n"
        for name, columns in reach.items()
    ]


MAP: dict[str, Columns] = {name: reach_of(number) for number, name in enumerate(SUITE)}


def add_map(world: World, reach: Mapping[str, Columns] = MAP, *, of: str | None = None) -> dict[str, Any]:
    """Send a map from trunk's pipeline, recorded on the tree named `of`."""
    tested = tree(of) if of else None
    return reaching.add_reach(world.app, world.project, sender(), lines(reach), tree=tested)


def review(world: World, build: str, *changed: tuple[str, str], change: str = "PR-1", **more: Any) -> None:
    """Play one build of a change on top of the first trunk build that differs in these parts."""
    parts = [[path, part, f"{build} {path}"] for path, part in changed]
    tests = more.pop("tests", suite())
    stated = {"lane": Lane.REVIEW, "change": change, "base_commit": commit("first"), "changed": parts}
    world.send(build, tests, **stated | more)


def trials(world: World, name: str) -> int:
    """Return how many trials of the test counted."""
    return int(world.explain(name)["variants"][0]["trials"])


def counting(world: World) -> set[str]:
    """Return the tests of which more than the first trunk build's trial counted."""
    return {name for name in SUITE if trials(world, name) > 1}


@pytest.fixture
def mapped(world: World) -> World:
    """Return a project with one trunk build and a map of its tests."""
    world.send("first", suite())
    told = add_map(world, of="first")
    assert (told["tests"], told["matched"], told["unknown"], told["unstable"]) == (20, 20, [], [])
    world.wait(hours=1)
    return world


@on_one_database
def test_without_a_map_a_review_says_nothing_about_trunk(world: World) -> None:
    """A test reaches everything as long as nobody has said what it reaches."""
    world.send("first", suite())
    review(world, "r1", ("shop/m1.py", "body"))
    assert counting(world) == set()
    assert world.disagreements(SUITE) == []


def test_a_change_that_a_test_does_not_reach_is_a_trial_of_it(mapped: World) -> None:
    """Of the tests whose reach it touches it says nothing; of all others it counts as trunk would."""
    review(mapped, "r1", ("shop/m1.py", "body"))
    assert counting(mapped) == {name for number, name in enumerate(SUITE) if number % 4 != 1}
    assert mapped.disagreements(SUITE) == []


@on_one_database
def test_what_runs_at_import_is_reached_by_everyone_who_imports_it(mapped: World) -> None:
    """A change at module level touches those whose reach holds that part, whoever ran its functions."""
    review(mapped, "r1", ("shop/m1.py", "module"))
    assert counting(mapped) == {name for number, name in enumerate(SUITE) if number % 4 not in (0, 1)}


@on_one_database
@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ((("conftest.py", "module"),), False),
        ((("tests/deep/conftest.py", "body"),), False),
        ((("poetry.lock", "blob"),), False),
        ((("shop/never_seen.py", "body"),), False),
        ((("templates/page.html", "blob"),), False),
        ((("README.md", "blob"), ("shop/never_seen.py", "body")), False),
        ((("README.md", "blob"),), True),
        ((("docs/index.rst", "blob"), ("LICENSE", "blob")), True),
        ((), True),
    ],
)
def test_global_and_blind_files_are_reached_by_every_test(
    mapped: World, changed: tuple[tuple[str, str], ...], *, counts: bool
) -> None:
    """What decides what runs, and what no map has ever seen, concerns all; documents concern nobody."""
    review(mapped, "r1", *changed)
    assert counting(mapped) == (set(SUITE) if counts else set())


@on_one_database
def test_a_document_that_a_test_reads_is_reached_by_it(world: World) -> None:
    """A file seen in reach is not ignored, whatever its name."""
    world.send("first", suite())
    add_map(world, MAP | {"t0": [("README.md", "blob"), ("shop/m0.py", "body")]})
    review(world, "r1", ("README.md", "blob"))
    assert counting(world) == {*SUITE} - {"t0"}


@on_one_database
@pytest.mark.parametrize(
    "stated",
    [
        {"base_commit": None},
        {"base_commit": commit("nobody")},
        {"changed": None},
        {"kind": "rerun", "rerun_of": "first"},
    ],
    ids=["no base", "a base that trunk never ran", "no word of what changed", "a rerun"],
)
def test_what_cannot_be_compared_with_trunk_does_not_count(mapped: World, stated: dict[str, Any]) -> None:
    """Without a base that ran on trunk, or without the difference, nothing is known about trunk; reruns never count."""
    review(mapped, "r1", ("README.md", "blob"), **stated)
    assert counting(mapped) == set()


@on_one_database
def test_a_base_that_only_an_agent_ran_is_no_trunk(mapped: World) -> None:
    """What another lane ran before is not what trunk is."""
    mapped.send("agents", suite(), lane=Lane.AGENT)
    review(mapped, "r1", ("README.md", "blob"), base_commit=commit("agents"))
    assert counting(mapped) == set()


def test_a_test_in_no_map_reaches_everything(mapped: World) -> None:
    """New tests are touched by every change until a map has seen them."""
    mapped.send("second", suite(t_new="P"))
    mapped.wait(hours=1)
    review(mapped, "r1", ("shop/m1.py", "body"), tests=suite(t_new="P"))
    assert trials(mapped, "t_new") == 1
    assert trials(mapped, "t0") == 3
    add_map(mapped, {"t_new": reach_of(0)})
    review(mapped, "r2", ("shop/m1.py", "body"), tests=suite(t_new="P"))
    assert trials(mapped, "t_new") == 2


def test_a_flake_in_a_review_is_an_onset_once_per_change(mapped: World) -> None:
    """Where the change cannot touch the test its flake is a head, to count beside trunk's; where it can, none."""
    for number in range(6):
        mapped.wait(hours=12)
        flaky = suite(t0="FP", t1="FP")
        review(mapped, f"r{number}", ("shop/m1.py", "body"), change=f"PR-{number % 3}", tests=flaky)
        mapped.wait(hours=12)
        review(mapped, f"quiet-{number}", ("shop/m1.py", "body"), change=f"PR-{number % 3}")
    [untouched], [touched] = mapped.explain("t0")["variants"], mapped.explain("t1")["variants"]
    assert (untouched["trials"], len(untouched["heads"])) == (13, 6)
    assert all(head["confirmed_by"] and head["lane"] == "review" for head in untouched["heads"])
    assert untouched["entry"]["result"]["counted"] == 0
    assert untouched["status"] == "gating"
    assert (touched["trials"], touched["heads"]) == (1, [])
    assert mapped.disagreements(SUITE) == []


@on_one_database
def test_only_trunk_says_what_tests_reach(mapped: World) -> None:
    """An agent that could send maps could say that its patch reaches nothing; a review is a patch too."""
    for lane in (Lane.AGENT, Lane.REVIEW):
        with pytest.raises(NotAllowed, match="Only a trunk token may say what tests reach"):
            reaching.add_reach(mapped.app, mapped.project, sender(lane), lines({"t0": reach_of(3)}), tree=None)
    site = Site(mapped)
    tokens = [site.token("report", lane=lane) for lane in ("agent", "review")] + [
        site.token("read"),
        site.token("admin"),
    ]
    for token in tokens:
        client = site.client(token=token)
        problem(client.post(f"{AT}/reach", content=b"".join(lines(MAP))), 403, "not-allowed")
        problem(client.put(f"{AT}/manifests/{'a' * 64}", content=b"[]"), 403, "not-allowed")
    sent = site.client().post(f"{AT}/reach", content=b"".join(lines(MAP)))
    problem(sent, 401, "token-needed")
    trunk = site.client(token=site.token("report", lane="trunk"))
    assert trunk.post(f"{AT}/reach", content=b"".join(lines(MAP))).json()["map"] == 2


def quarantine_or_hold(world: World, name: str) -> str:
    """Play trunk builds in which the test flakes until the evidence is there; return where it then stands."""
    for number in range(12):
        world.send(f"clean-{number}", suite())
        world.wait(hours=12)
        world.send(f"flake-{number}", suite(**{name: "FP"}))
        world.wait(hours=12)
        [variant] = world.explain(name)["variants"]
        if variant["status"] != "gating":
            return str(variant["status"])
    raise AssertionError(world.explain(name))


def test_a_name_that_is_another_case_in_each_process_is_held(mapped: World) -> None:
    """Two maps of one tree show it: the same name ran entirely other functions. It is named, and never quarantined."""
    told = add_map(mapped, MAP | {"t3": [("shop/other.py", "body"), ("tests/test_ledger.py", "body")]}, of="first")
    assert told["unstable"] == ["tests/test_ledger.py::t3"]
    assert quarantine_or_hold(mapped, "t3") == "held"
    told = mapped.explain("t3")
    assert (told["gating"], told["would_gate"]) == (True, True)
    assert "another case in each process" in told["variants"][0]["reason"]
    assert quarantine_or_hold(mapped, "t4") == "quarantined"
    for number in range(4):
        mapped.send(f"more-{number}", suite(t3="FP"))
        mapped.wait(hours=24)
    assert mapped.explain("t3")["variants"][0]["status"] == "held"
    assert mapped.disagreements(["t3", "t4"]) == []


@on_one_database
def test_other_functions_on_another_tree_are_a_change_and_no_sign(mapped: World) -> None:
    """Only the identical tree shows that a name is not to be followed; a map without its tree shows nothing."""
    other = MAP | {"t3": [("shop/other.py", "body"), ("tests/test_ledger.py", "body")]}
    assert add_map(mapped, other, of="second")["unstable"] == []
    assert add_map(mapped, other)["unstable"] == []
    assert quarantine_or_hold(mapped, "t3") == "quarantined"


def manifest(world: World, parts: Mapping[tuple[str, str], str]) -> str:
    """Send the part hashes of the first trunk commit, and return their id."""
    content = "".join(json.dumps([*column, found]) + "\n" for column, found in sorted(parts.items())).encode()
    name = hashlib.sha256(content).hexdigest()
    told = reaching.add_manifest(world.app, world.project, sender(), name, content)
    assert told == {"manifest": name, "parts": len(parts)}
    return name


def fingerprints(world: World, name: str) -> list[int]:
    """Return the fingerprint of each head of the test."""
    return [head["fingerprint"] for head in world.explain(name)["variants"][0]["heads"]]


def test_a_fingerprint_is_that_of_what_the_test_reaches(mapped: World) -> None:
    """With a manifest: the same where the reach did not change, another where it did or where a global file did."""
    base = {(f"shop/m{number}.py", part): "0" for number in range(4) for part in ("body", "module")}
    name = manifest(mapped, base | {("tests/test_ledger.py", "body"): "0", ("conftest.py", "module"): "0"})
    changes = [
        [],
        [["shop/m1.py", "body", "1"]],
        [["shop/m1.py", "body", "1"], ["README.md", "blob", "1"]],
        [["shop/m1.py", "body", "0"]],
        [["conftest.py", "module", "1"]],
        [["shop/m1.py", "body", None]],
    ]
    for number, changed in enumerate(changes):
        stated: dict[str, Any] = {"base_commit": commit("first"), "manifest": name, "changed": changed}
        mapped.send(f"red-{number}", suite(t0="FP", t1="FP", t_unmapped="FP"), **stated)
        mapped.wait(hours=12)
        mapped.send(f"quiet-{number}", suite(t_unmapped="P"))
        mapped.wait(hours=12)
    untouched, touched = fingerprints(mapped, "t0"), fingerprints(mapped, "t1")
    assert untouched[0] == untouched[1] == untouched[2] == untouched[3] == untouched[5] != untouched[4]
    assert touched[1] == touched[2] != touched[0]
    assert touched[3] == touched[0]
    assert len({touched[0], touched[1], touched[4], touched[5]}) == 4
    assert len(set(fingerprints(mapped, "t_unmapped"))) == 5
    assert not set(untouched) & set(touched)


@on_one_database
def test_without_the_manifest_a_fingerprint_is_the_tree(mapped: World) -> None:
    """An id nobody has sent, or none at all: each tree is another."""
    for number, name in enumerate([None, "a" * 64]):
        stated: dict[str, Any] = {"base_commit": commit("first"), "manifest": name, "changed": []}
        mapped.send(f"red-{number}", suite(t0="FP", t1="FP"), **stated)
        mapped.wait(hours=12)
        mapped.send(f"quiet-{number}", suite())
        mapped.wait(hours=12)
    assert fingerprints(mapped, "t0") == fingerprints(mapped, "t1")
    assert len(set(fingerprints(mapped, "t0"))) == 2


def test_reach_is_the_union_over_the_newest_ten_maps(world: World) -> None:
    """What one recent run was seen to reach counts until ten newer maps have come, however little they saw."""
    world.send("first", suite())
    add_map(world, MAP | {"t0": [("shop/m3.py", "body")]})
    for _ in range(9):
        add_map(world)
    review(world, "r1", ("shop/m3.py", "body"))
    assert trials(world, "t0") == 1
    add_map(world)
    review(world, "r2", ("shop/m3.py", "body"))
    assert trials(world, "t0") == 2
    with reading(world.app.engine) as connection:
        assert len(reaches.every(connection, projects.by_slug(connection, world.project).id)) == 10


def test_an_upload_that_failed_leaves_no_reach_behind(mapped: World) -> None:
    """A test that was new in it is forgotten, so that the next new one is not taken for it."""
    add_map(mapped, {"ghost": reach_of(0)})
    right, mapped.app.policy = mapped.app.policy, None  # type: ignore[assignment]  # so that it fails after counting
    with pytest.raises(AttributeError):
        mapped.send("failed", suite(ghost="F"))
    mapped.app.policy = right
    mapped.send("second", suite(stranger="P"))
    mapped.wait(hours=1)
    review(mapped, "r1", ("shop/m1.py", "body"), tests=suite(stranger="P"))
    assert trials(mapped, "stranger") == 1
    assert trials(mapped, "t0") == 3


@on_one_database
def test_what_is_no_map_is_refused_by_its_place(mapped: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken gzip, too much of it, an unknown encoding, a malformed line by its number, a tree that is none."""
    monkeypatch.setattr(reach_routes, "MAX_SENT_BYTES", 20_000)
    monkeypatch.setattr(reach_routes, "MAX_UNPACKED_BYTES", 100_000)
    client, url = Site(mapped).open(), f"{AT}/reach"
    good = b"".join(lines(MAP))
    packed, gzipped = gzip.compress(good), {"content-encoding": "gzip"}

    def refused(content: bytes, status: int, code: str, *, of: str = "", **headers: str) -> str:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return str(problem(client.post(url + of, content=content, headers=names), status, code)["detail"])

    as_gzip: dict[str, Any] = {"content_encoding": "gzip"}
    assert refused(good, 422, "bad-input", **as_gzip) == "The body is no gzip."
    assert "cut off" in refused(packed[:-9], 422, "bad-input", **as_gzip)
    assert "more than one gzip stream" in refused(packed + packed, 422, "bad-input", **as_gzip)
    assert "Only gzip" in refused(packed, 422, "bad-input", content_encoding="br")
    assert "larger than" in refused(b" " * 20_001, 413, "too-large")
    assert "unpacks to more than" in refused(gzip.compress(b" " * 100_001), 413, "too-large", **as_gzip)
    third = good.splitlines(keepends=True)
    third[2] = b'{"test": "t", "columns": [17]}\n'
    assert refused(b"".join(third), 422, "bad-reach").startswith("Line 3 of the reach map names a column 17")
    assert "Line 1 of the reach map is not JSON" in refused(b"\x1f\x8b\x00", 422, "bad-reach")
    assert refused(b"", 422, "bad-reach") == "The reach map names no test."
    assert "`tree`" in refused(good, 422, "bad-input", of="?tree=main")
    with reading(mapped.app.engine) as connection:
        assert reaches.newest(connection, projects.by_slug(connection, mapped.project).id) == 1
    told = client.post(f"{url}?tree={tree('first')}", content=packed, headers=gzipped)
    assert (told.status_code, told.json()["map"], told.json()["matched"]) == (201, 2, 20)


@on_one_database
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'["a.py", "body", "h"]\n["a.py", "body"]\n', "Line 2 of the manifest"),
        (b'["a.py", "body", "h"]\n\n', "Line 2 of the manifest"),
        (b'[["a.py"], "body", "h"]\n', "Line 1 of the manifest"),
        (b'["a.py", "soul", "h"]\n', "Line 1 of the manifest"),
        (b'["a.py", "body", null]\n', "Line 1 of the manifest"),
        (b'"abc"\n', "Line 1 of the manifest"),
        (b"[" * 100_000 + b"\n", "Line 1 of the manifest"),
    ],
)
def test_what_is_no_manifest_is_refused_by_its_line(mapped: World, content: bytes, said: str) -> None:
    """And what has another name than its content is refused whatever it holds."""
    client = Site(mapped).open()
    name = hashlib.sha256(content).hexdigest()
    told = problem(client.put(f"{AT}/manifests/{name}", content=content), 422, "bad-input")
    assert told["detail"].startswith(said)
    named = problem(client.put(f"{AT}/manifests/{'0' * 64}", content=content), 422, "bad-input")
    assert named["detail"] == "The manifest's content is not what its name says."
    with reading(mapped.app.engine) as connection:
        project_id = projects.by_slug(connection, mapped.project).id
        assert [reaches.manifest(connection, project_id, one) for one in (name, "0" * 64)] == [None, None]
