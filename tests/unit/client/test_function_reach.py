"""Which functions are noted for which test, and that too many are not sent at all."""

import json
from collections.abc import Iterable, Mapping

import pytest

from quarantine.client import function_reach
from quarantine.client.fixture_map import FixtureMap, WideFixture
from quarantine.client.reach_map import ReachReading, reach_of_lines, to_json_lines

FILES = {
    "shop/cart.py": (
        "from shop import rates\n\ndef total():\n    def inner():\n        return 1\n    return inner\n\n"
        "def lonely():\n    return 0\n"
    ),
    "shop/rates.py": "def rate():\n    return 1\n\ndef short(): return 2\n\nX = rate()\n",
    "tests/test_cart.py": "from shop import cart\n\ndef test_a():\n    pass\n\ndef test_b():\n    pass\n",
    "tests/test_else.py": "def test_c():\n    pass\n",
}
A, B, C = "tests/test_cart.py::test_a", "tests/test_cart.py::test_b", "tests/test_else.py::test_c"
IMPORTING = {
    "shop/cart.py": [1, 3, 8],
    "shop/rates.py": [1, 2, 4, 6],
    "tests/test_cart.py": [1, 3, 6],
    "tests/test_else.py": [1],
}


def reading(ran: Mapping[str, Mapping[str, Iterable[int]]], fixtures: FixtureMap | None = None) -> ReachReading:
    """What follows when these lines ran, by context and path, besides the importing."""
    lines = {
        context: {path: sum(1 << line for line in numbers) for path, numbers in paths.items()}
        for context, paths in ({"": IMPORTING} | dict(ran)).items()
    }
    return reach_of_lines(lines, {path: text.encode() for path, text in FILES.items()}, fixtures)


def functions(found: ReachReading) -> dict[str, set[str]]:
    """The functions of the shop that each test ran, by name."""
    table, ran = found.functions
    return {
        test: {table[place][1] for place in function_reach.places_of(mask) if table[place][0].startswith("shop")}
        for test, mask in ran.items()
    }


def test_a_function_is_noted_for_whoever_ran_a_line_of_its_own() -> None:
    """A nested header is the outer function's; what ran while importing is everybody's who imports, headers are not."""
    found = reading({f"{A}|run": {"shop/cart.py": [4, 6]}, f"{B}|run": {"shop/cart.py": [5]}, f"{C}|run": {}})
    assert functions(found) == {A: {"total", "rate"}, B: {"total.inner", "rate"}, C: set()}
    assert ("shop/cart.py", "lonely") in found.functions.table
    assert {path for path, name in found.functions.table if name == "<module>"} == set(FILES)


def test_set_up_is_not_charged_to_others_unless_a_fixture_map_says_so() -> None:
    """The columns charge it widely, which is safe there; to say that a test reached a function it would be a guess."""
    ran = {f"{A}|setup": {"shop/cart.py": [9]}, f"{B}|run": {"tests/test_cart.py": [7]}}
    found = reading(ran)
    assert ("shop/cart.py", "body") in found.columns[B]
    assert functions(found) == {A: {"lonely", "rate"}, B: {"rate"}}
    paid = f"fixture-1|{A}|setup"
    fixtures = FixtureMap({A: ("k",), B: ("k",)}, {"k": WideFixture("shop", "session", "", (paid,), ())})
    mapped = reading({paid: {"shop/cart.py": [9]}, f"{A}|run": {}, f"{B}|run": {}}, fixtures)
    assert functions(mapped) == {A: {"lonely", "rate"}, B: {"lonely", "rate"}}


def test_too_many_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the map is as it was before there were functions, and that is remarked."""
    ran = {f"{A}|run": {"shop/cart.py": [4, 9]}}
    whole = [json.loads(line) for line in to_json_lines(reading(ran))]
    assert [sorted(line) for line in whole] == [["table"], ["function_table"], ["columns", "functions", "test"]]
    monkeypatch.setattr(function_reach, "MOST_RUN", 2)
    found = reading(ran)
    assert [sorted(json.loads(line)) for line in to_json_lines(found)] == [["table"], ["columns", "test"]]
    assert "too many functions" in found.remarks[0]
