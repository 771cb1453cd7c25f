"""What a green run does not show, line by line: a change in a function that nobody calls, in a file that is tested."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.changed_lines import lines_of_file
from quarantine.client.manifest import ChangedFile
from quarantine.client.parts import file_parts
from quarantine.client.reach_map import reach_of_lines, to_json_lines
from quarantine.domain.outcome import Mode
from quarantine.loop.ends import Accepted
from quarantine.services import decisions, reaching
from quarantine.store import projects
from quarantine.store.engine import reading
from tests.databases import SqliteFiles
from tests.scenarios.asking import BASE, ask, settle, suite
from tests.scenarios.loops import FILES, MENDED, REACH, SUM, files, shop
from tests.world import OWNER, World, sender, tree

TOTALS, TESTS = "src/ledger/totals.py", "tests/test_ledger.py"
SOURCE = """\
RATE = 2

class Totals:
    def total(self):
        return RATE

    def discount(self, amount):
        kept = amount
        return kept
"""
SUITE = "from ledger import totals\n" + "".join(f"\ndef {name}():\n    pass\n" for name in suite())
TOTAL, DISCOUNT = 5, 9
CHANGED = SOURCE.replace("kept = amount", "kept = amount - 1").replace("return kept", "return kept + 1")
NAMED = {
    "path": TOTALS,
    "parts": ["body"],
    "pieces": [
        {
            "function": "Totals.discount",
            "first": 8,
            "last": 9,
            "new": False,
            "text": "lines 8-9 (in Totals.discount)",
        }
    ],
    "pieces_left_out": 0,
}


def send_map(world: World, ran: Mapping[str, Iterable[int]], *, with_functions: bool = True) -> None:
    """Send the map of a run in which each of these tests ran lines of the totals, and every test its own."""
    own = {name: SUITE.splitlines().index(f"def {name}():") + 2 for name in suite()}
    lines = {
        f"{TESTS}::{name}|run": {
            TESTS: 1 << own[name],
            TOTALS: sum(1 << line for line in ran.get(name, ())),
        }
        for name in suite()
    }
    header = {TOTALS: sum(1 << line for line in (1, 3, 4, 7)), TESTS: 1 << 1}
    contents = {TOTALS: SOURCE.encode(), TESTS: SUITE.encode()}
    sent = [json.loads(line) for line in to_json_lines(reach_of_lines({"": header, **lines}, contents))]
    if not with_functions:
        sent = [{key: value for key, value in line.items() if key != "functions"} for line in sent]
        sent = [line for line in sent if "function_table" not in line]
    body = [json.dumps(line).encode() + b"\n" for line in sent]
    reaching.add_reach(world.app, world.project, sender(), body, tree=tree(BASE))


def change(**files: str) -> dict[str, Any]:
    """Return what a client says of a change that leaves these contents; `totals` and `tests` name the two files."""
    known = {"totals": (TOTALS, SOURCE), "tests": (TESTS, SUITE)}
    parts: list[list[str | None]] = []
    lines: list[list[object]] = []
    for name, text in files.items():
        path, old = known.get(name, (f"src/ledger/{name}.py", None))
        before = set(file_parts(path, old.encode())) if old is not None else set()
        parts += [list(part) for part in file_parts(path, text.encode()) if part not in before]
        told = lines_of_file(ChangedFile(path, old.encode() if old is not None else None, text.encode()))
        lines += [list(line) for line in told]
    return {"changed": parts, "question": {"changed_lines": lines}}


def unreached(verdict: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the files that the verdict names as not reached."""
    found: list[dict[str, Any]] = verdict["not_shown"]["unreached"]
    return found


def sentences(verdict: Mapping[str, Any]) -> str:
    return " ".join(verdict["not_shown"]["sentences"])


@pytest.fixture
def mapped(world: World) -> World:
    """Return a project whose every test runs the total, and none the discount."""
    world.send(BASE, suite())
    send_map(world, {name: [TOTAL] for name in suite()})
    return world


def test_a_changed_function_that_nobody_calls_is_named(mapped: World) -> None:
    """By its lines, though its file is tested; a function that tests call is not, nor what a comment changed."""
    verdict = ask(mapped, "head", suite(), **change(totals=CHANGED))
    assert verdict["verdict"] == "accept"
    assert unreached(verdict) == [NAMED]
    assert f"No passing gating test reached {TOTALS} lines 8-9 (in Totals.discount)." in sentences(verdict)
    tested = SOURCE.replace("return RATE", "return RATE + 1  # more").replace("amount\n", "amount  # all\n")
    assert unreached(ask(mapped, "head-2", suite(), **change(totals=tested))) == []


def test_a_passing_gating_test_that_reaches_it_ends_that(mapped: World) -> None:
    """While it passes; when it fails or is skipped, or did not run, what it reaches was not shown."""
    send_map(mapped, {"t2": [DISCOUNT]})
    assert unreached(ask(mapped, "green", suite(), **change(totals=CHANGED))) == []
    for number, tries in enumerate(("F", "S")):
        verdict = ask(mapped, f"red-{number}", suite(t2=tries), **change(totals=CHANGED))
        assert unreached(verdict) == [NAMED]
    assert unreached(ask(mapped, "part", {"t1": "P"}, **change(totals=CHANGED))) == [NAMED]


def test_it_holds_after_each_rerun(mapped: World) -> None:
    """What the client told once is kept with the question."""
    send_map(mapped, {"t2": [DISCOUNT]})
    verdict = ask(mapped, "head", suite(t2="F"), **change(totals=CHANGED))
    assert unreached(verdict) == [NAMED]
    again = settle(mapped, verdict, "head", head=[suite(t2="F")], base=[suite()])
    assert (again["id"], again["verdict"], unreached(again)) == (verdict["id"], "reject", [NAMED])


def test_what_only_a_quarantined_test_reaches_is_not_shown(world: World) -> None:
    """It passes here, but it could not have rejected anything. Where quarantine is only observed it gates."""
    for number in range(12):
        world.send(f"clean-{number}", suite())
        world.wait(hours=12)
        world.send(f"flake-{number}", suite(t2="F"))
        world.rerun(f"flake-{number}", suite())
        world.wait(hours=12)
    world.send(BASE, suite())
    send_map(world, {name: [TOTAL] for name in suite()} | {"t2": [TOTAL, DISCOUNT]})
    assert unreached(ask(world, "observed", suite(), **change(totals=CHANGED))) == []
    decisions.set_mode(world.app, world.project, Mode.ENFORCE, bearer=OWNER)
    assert unreached(ask(world, "enforced", suite(), **change(totals=CHANGED))) == [NAMED]
    ordered = change(totals=CHANGED)
    ordered["question"]["must_pass"] = ["t2"]
    assert unreached(ask(world, "ordered", suite(), **ordered)) == []


def test_a_new_function_is_called_new(mapped: World) -> None:
    """No map can have seen it; a map of a tree that has it ends that, one way or the other."""
    verdict = ask(mapped, "head", suite(), **change(totals=SOURCE + "\n    def rebate(self):\n        return 3\n"))
    [file] = unreached(verdict)
    assert [piece["text"] for piece in file["pieces"]] == ["lines 11-12 (in Totals.rebate; new, no map has seen it)"]
    assert "The function Totals.rebate of src/ledger/totals.py is new: no map has seen it" in sentences(verdict)


def test_a_new_test_that_passed_was_seen_by_this_very_run(mapped: World) -> None:
    """It needs no map to be known to run itself; a helper beside it is new, and a new test that failed is not shown."""
    more = "\n\ndef test_new(x):\n    pass\n\n\ndef helper():\n    pass\n"
    green = {**suite(), "test_new[1]": "P"}
    [file] = unreached(ask(mapped, "head", green, **change(tests=SUITE + more)))
    assert [piece["function"] for piece in file["pieces"]] == ["helper"]
    [file] = unreached(ask(mapped, "red", {**suite(), "test_new[1]": "F"}, **change(tests=SUITE + more)))
    assert [piece["function"] for piece in file["pieces"]] == ["test_new", "helper"]


def test_a_new_file_is_told_of_by_its_lines(mapped: World) -> None:
    """Its functions are new, and nobody knows who imports it."""
    verdict = ask(mapped, "head", suite(), **change(rebates="X = 1\n\ndef rebate():\n    return X\n"))
    [file] = unreached(verdict)
    assert (file["path"], file["parts"]) == ("src/ledger/rebates.py", ["body", "module"])
    assert [piece["text"] for piece in file["pieces"]] == [
        "lines 1-3 (module-level code)",
        "lines 3-4 (in rebate; new, no map has seen it)",
    ]
    assert "No reach map has ever seen src/ledger/rebates.py" in sentences(verdict)


def test_module_level_lines_go_by_the_reach_of_the_module(mapped: World) -> None:
    """Whoever imports the file reaches them; when nobody who does passed, they are named with their lines."""
    changed = change(totals=SOURCE.replace("RATE = 2", "RATE = 3"))
    assert unreached(ask(mapped, "green", suite(), **changed)) == []
    [file] = unreached(ask(mapped, "red", {"t1": "F"}, **changed))
    assert [piece["text"] for piece in file["pieces"]] == ["line 1 (module-level code)"]


def test_without_functions_or_without_lines_it_is_said_by_parts(world: World) -> None:
    """Older maps stay valid, and older clients: then a file whose other functions are tested counts as reached."""
    world.send(BASE, suite())
    send_map(world, {"t1": [TOTAL]}, with_functions=False)
    assert unreached(ask(world, "old-map", suite(), **change(totals=CHANGED))) == []
    [file] = unreached(ask(world, "red", suite(t1="F"), **change(totals=CHANGED)))
    assert (file["parts"], file["pieces"]) == (["body"], NAMED["pieces"])
    send_map(world, {"t1": [TOTAL]})
    assert unreached(ask(world, "new-map", suite(), **change(totals=CHANGED))) == [NAMED]
    told = change(totals=CHANGED)
    assert unreached(ask(world, "old-client", suite(), changed=told["changed"])) == []


def test_functions_change_neither_fingerprints_nor_the_subset(world: World) -> None:
    """The two maps say the same of what a change can touch, whether or not functions stand beside it."""
    world.send(BASE, suite())
    send_map(world, {"t1": [TOTAL], "t2": [DISCOUNT]}, with_functions=False)
    before = _index(world)
    send_map(world, {"t1": [TOTAL], "t2": [DISCOUNT]})
    assert _index(world) == before


def _index(world: World) -> bytes:
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        index = world.app.reach.of(connection, project, project.tests)
    assert index is not None
    return index.reach.to_bytes()


def test_many_places_are_bounded_and_counted(mapped: World) -> None:
    """Forty places of a file are listed, three are in its sentence, and the others are counted."""
    grown = SOURCE + "".join(f"\n    def new_{number}(self):\n        return {number}\n" for number in range(100))
    verdict = ask(mapped, "head", suite(), **change(totals=grown))
    [file] = unreached(verdict)
    assert (len(file["pieces"]), file["pieces_left_out"]) == (40, 60)
    assert "Totals.new_0, Totals.new_1, Totals.new_2 and 97 others" in sentences(verdict)


RECORDED = {"tests/test_pricing.py": ("shop/pricing.py", 8), "tests/test_tax.py": ("shop/tax.py", 8)}
"""A line of a function's body that the tests of these files ran, in the project that loops are run on."""


def test_the_loop_tells_lines_too(sqlite_files: SqliteFiles, tmp_path: Path) -> None:
    """An accepted patch that brought a function nobody calls is accepted, and the function is named."""
    untested = "\n\ndef without_tax(price):\n    return price\n"
    with shop(tmp_path, sqlite_files.create(tmp_path / "quarantine.db", migrated=True)) as made:
        lines = {
            f"{test}|run": {path: 1 << line} for test in REACH for path, line in [RECORDED[test.partition("::")[0]]]
        }
        contents = {path: text.encode() for path, text in FILES.items() if path.endswith(".py")}
        sent = [line.encode() for line in to_json_lines(reach_of_lines(lines, contents))]
        reaching.add_reach(made.world.app, made.world.project, sender(), sent, tree=None)
        pricing = FILES["shop/pricing.py"].replace(SUM, MENDED)
        end = made.solve(files({"shop/pricing.py": pricing, "shop/tax.py": FILES["shop/tax.py"] + untested}))
    assert isinstance(end, Accepted)
    told = end.judged.answer["not_shown"]
    assert [(file["path"], [piece["text"] for piece in file["pieces"]]) for file in told["unreached"]] == [
        ("shop/tax.py", ["lines 11-12 (in without_tax; new, no map has seen it)"])
    ]
