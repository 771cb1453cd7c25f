"""Whom a recorded line is charged to, rule by rule, and the maps that are refused."""

import subprocess
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from quarantine.client.errors import MapError
from quarantine.client.reach_map import reach_of_coverage, reach_of_lines, to_json_lines
from quarantine.client.tree import read_tree
from quarantine.reach.json_lines import read_json_lines

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/rates.py": "RATE = 1\n\ndef rate():\n    return RATE\n",
    "src/shop/cart.py": "from shop import rates\n\ndef total():\n    return rates.rate()\n",
    "src/shop/lonely.py": "X = 1\n\ndef lonely():\n    return X\n",
    "tests/test_cart.py": "from shop import cart\n\ndef test_total():\n    assert cart.total()\n",
    "tests/test_other.py": "def test_other():\n    assert True\n",
}
CART, OTHER = "tests/test_cart.py::test_total", "tests/test_other.py::test_other"
MORE = "tests/test_cart.py::test_more"


def reach(ran: Mapping[str, Mapping[str, Iterable[int]]], **files: str) -> dict[str, set[tuple[str, str]]]:
    """The reach that follows when these lines ran, by context and path; `__` in a keyword stands for `/`."""
    contents = FILES | {name.replace("__", "/") + ".py": text for name, text in files.items()}
    lines = {
        context: {f"/ci/build/{path}": sum(1 << line for line in numbers) for path, numbers in paths.items()}
        for context, paths in ran.items()
    }
    reading = reach_of_lines(lines, {path: text.encode() for path, text in contents.items()})
    return {test: set(columns) for test, columns in reading.columns.items()}


def bodies(columns: set[tuple[str, str]]) -> set[str]:
    return {path.removeprefix("src/shop/") for path, part in columns if part == "body"}


def modules(columns: set[tuple[str, str]]) -> set[str]:
    return {path.removeprefix("src/shop/") for path, part in columns if part == "module"}


IMPORTING = {
    path: [number for number, line in enumerate(text.splitlines(), 1) if line and not line.startswith(" ")]
    for path, text in FILES.items()
    if path != "src/shop/lonely.py"
}
"""The lines that run while everything but the lonely module, which nobody imports, is imported."""


def test_bodies_that_ran_and_modules_that_are_imported() -> None:
    """A test reaches the bodies that ran in it, and the module level of everything its imports lead to."""
    found = reach(
        {"": IMPORTING, f"{CART}|run": {"src/shop/cart.py": [4]}, f"{OTHER}|run": {"tests/test_other.py": [2]}}
    )
    assert bodies(found[CART]) == {"cart.py", "tests/test_cart.py"}
    assert modules(found[CART]) == {"cart.py", "rates.py", "__init__.py", "tests/test_cart.py"}
    assert bodies(found[OTHER]) == modules(found[OTHER]) == {"tests/test_other.py"}


def test_a_module_level_line_in_a_test_is_no_body() -> None:
    """A lambda or an import that runs in a test is charged to the module level, not to the bodies."""
    found = reach({"": IMPORTING, f"{CART}|run": {"src/shop/rates.py": [1]}})
    assert "rates.py" not in bodies(found[CART])
    assert "rates.py" in modules(found[CART])


def test_a_file_run_by_other_means_is_reached_with_its_imports() -> None:
    """A file that ran brings its own imports, though the test's file does not import it."""
    found = reach({"": IMPORTING, f"{OTHER}|run": {"src/shop/cart.py": [4]}})
    assert bodies(found[OTHER]) == {"cart.py", "tests/test_other.py"}
    assert modules(found[OTHER]) >= {"cart.py", "rates.py", "__init__.py"}


def test_a_body_that_ran_while_importing_belongs_to_all_importers() -> None:
    """A function called at import runs once, outside any test: every importer reaches its body."""
    importing = IMPORTING | {"src/shop/rates.py": [1, 3, 4]}
    found = reach(
        {"": importing, f"{CART}|run": {"src/shop/cart.py": [4]}, f"{OTHER}|run": {"tests/test_other.py": [2]}}
    )
    assert "rates.py" in bodies(found[CART])
    assert "rates.py" not in bodies(found[OTHER])


def test_a_name_for_the_whole_run_is_no_test() -> None:
    """With `context = linux` the name stands before every test's context, and alone for what ran outside them."""
    importing = IMPORTING | {"src/shop/rates.py": [1, 3, 4]}
    found = reach({"linux": importing, f"linux|{CART}|run": {"src/shop/cart.py": [4]}})
    assert found.keys() == {CART}
    assert "rates.py" in bodies(found[CART])


def test_set_up_is_shared_by_the_tests_of_a_file() -> None:
    """What the set-up of one test ran, a wider fixture may have run for all tests of its file."""
    found = reach(
        {
            "": IMPORTING,
            f"{CART}|setup": {"src/shop/rates.py": [4]},
            f"{CART}|run": {"src/shop/cart.py": [4]},
            f"{MORE}|run": {"tests/test_cart.py": [4]},
            f"{MORE}|teardown": {"src/shop/lonely.py": [4]},
            f"{OTHER}|run": {"tests/test_other.py": [2]},
        }
    )
    assert bodies(found[MORE]) == {"rates.py", "lonely.py", "tests/test_cart.py"}
    assert bodies(found[CART]) == bodies(found[MORE]) | {"cart.py"}
    assert bodies(found[OTHER]) == {"tests/test_other.py"}


WIDE = "import pytest\n\n@pytest.fixture(scope='session')\ndef shop():\n    return 1\n"
NARROW = "import pytest\n\n@pytest.fixture\ndef shop():\n    return 1\n"


def with_fixture(conftest: str, ran: Iterable[int], **files: str) -> set[str]:
    """The bodies that the other file's test reaches when the first one's set-up ran lines of a conftest.py."""
    importing = IMPORTING | {"tests/conftest.py": [1, 3, 4]}
    found = reach(
        {
            "": importing,
            f"{CART}|setup": {"tests/conftest.py": ran, "src/shop/rates.py": [4]},
            f"{CART}|run": {"src/shop/cart.py": [4]},
            f"{OTHER}|run": {"tests/test_other.py": [2]},
            "elsewhere/test_far.py::test_far|run": {"elsewhere/test_far.py": [2]},
        },
        tests__conftest=conftest,
        elsewhere__test_far="def test_far():\n    pass\n",
        **files,
    )
    assert "rates.py" not in bodies(found["elsewhere/test_far.py::test_far"])
    return bodies(found[OTHER])


def test_a_wide_fixture_is_shared_below_its_conftest() -> None:
    """What a session fixture of a conftest.py ran is charged to all tests below it, whoever came first."""
    assert "rates.py" in with_fixture(WIDE, [5])


def test_a_narrow_fixture_is_not_shared_so_widely() -> None:
    """A fixture of one test's scope is shared within the file only."""
    assert "rates.py" not in with_fixture(NARROW, [5])
    assert "rates.py" not in with_fixture(WIDE, [])


def test_a_wide_fixture_that_was_not_measured() -> None:
    """Where conftest.py was not measured, any set-up below it may have run its wide fixtures."""
    found = reach(
        {f"{CART}|setup": {"src/shop/rates.py": [4]}, f"{OTHER}|run": {"src/shop/lonely.py": [4]}}, tests__conftest=WIDE
    )
    assert "rates.py" in bodies(found[OTHER])


def test_a_wide_fixture_of_a_plugin_is_shared_by_all() -> None:
    """A wide fixture that is defined in no conftest.py is charged to every test."""
    found = reach(
        {
            "": IMPORTING | {"tests/plugin.py": [1, 3, 4]},
            f"{CART}|setup": {"tests/plugin.py": [5], "src/shop/rates.py": [4]},
            f"{OTHER}|run": {"tests/test_other.py": [2]},
        },
        tests__plugin=WIDE,
    )
    assert {"rates.py", "tests/plugin.py"} <= bodies(found[OTHER])


def test_a_file_nobody_imports_that_ran_anyway() -> None:
    """A file loaded by means that no import shows is charged to every test, with what it ran while loading."""
    found = reach(
        {
            "": IMPORTING | {"src/shop/lonely.py": [1, 3, 4]},
            f"{CART}|run": {"src/shop/cart.py": [4]},
            f"{OTHER}|run": {"tests/test_other.py": [2]},
        }
    )
    assert all("lonely.py" in modules(columns) & bodies(columns) for columns in found.values())


def test_files_that_were_not_measured_count_with_their_bodies() -> None:
    """Of a helper that coverage did not measure nobody knows what ran: its body counts where it is imported."""
    found = reach(
        {
            "": IMPORTING,
            f"{CART}|run": {"src/shop/cart.py": [4]},
            "tests/test_h.py::test_h|run": {"tests/test_h.py": [1]},
        },
        tests__test_h="import helpers\n",
        tests__helpers="def f():\n    pass\n",
    )
    assert "tests/helpers.py" in bodies(found["tests/test_h.py::test_h"])
    assert "tests/helpers.py" not in modules(found[CART])


def test_conftest_applies_to_the_tests_below_it() -> None:
    """Every conftest.py above a test's file is reached with all it imports."""
    found = reach(
        {
            "": IMPORTING,
            f"{CART}|run": {"src/shop/cart.py": [4]},
            "other/test_o.py::test_o|run": {"other/test_o.py": [1]},
        },
        tests__conftest="from shop import lonely\n",
        other__test_o="x = 1\n",
    )
    assert {"tests/conftest.py", "lonely.py"} <= modules(found[CART])
    assert "lonely.py" not in modules(found["other/test_o.py::test_o"])


def test_files_that_are_no_python_count_whole() -> None:
    """A template that a plugin measured, or source that cannot be parsed, is one part."""
    lines = {f"{CART}|run": {"/x/page.html": 0b10, "/x/tests/odd.py": 0b10}}
    contents = {"page.html": b"", "tests/odd.py": b"def (", "tests/test_cart.py": b"import odd\n"}
    columns = reach_of_lines(lines, contents).columns[CART]
    assert {("page.html", "blob"), ("tests/odd.py", "blob")} <= columns


@pytest.mark.parametrize(
    "recorded",
    [
        "/home/someone/else/src/shop/cart.py",
        "src/shop/cart.py",
        "C:\\ci\\src\\shop\\cart.py",
        "/venv/lib/python3.12/site-packages/shop/cart.py",
    ],
)
def test_recordings_made_elsewhere(recorded: str) -> None:
    """Recorded paths are found in the tree wherever the checkout or the installed copy lay."""
    contents = {path: text.encode() for path, text in FILES.items()}
    columns = reach_of_lines({f"{CART}|run": {recorded: 1 << 4}}, contents).columns[CART]
    assert ("src/shop/cart.py", "body") in columns


def test_names_of_tests() -> None:
    """A test's file is found from a node id below another root, and from a dotted name."""
    found = reach(
        {
            "test_cart.py::test_total|run": {"src/shop/lonely.py": [4]},
            "tests.test_cart.test_total": {"src/shop/lonely.py": [4]},
            "sub/tests/test_cart.py::test_total|run": {"src/shop/lonely.py": [4]},
        }
    )
    assert len(found) == 3
    assert all("tests/test_cart.py" in bodies(columns) for columns in found.values())


def test_a_test_whose_file_is_not_in_the_tree() -> None:
    """A test from elsewhere keeps what ran, and a remark names it."""
    lines = {"nowhere/test_n.py::test_n|run": {"/x/src/shop/cart.py": 1 << 4}}
    reading = reach_of_lines(lines, {path: text.encode() for path, text in FILES.items()})
    assert ("src/shop/cart.py", "body") in reading.columns["nowhere/test_n.py::test_n"]
    assert "nowhere/test_n.py::test_n" in reading.remarks[0]


def test_a_map_without_contexts_is_refused() -> None:
    """A recording without contexts says nothing about tests."""
    with pytest.raises(MapError, match="without contexts"):
        reach({"": IMPORTING})


def test_a_map_of_another_tree_is_refused() -> None:
    """A recording whose files are none of the tree's is refused."""
    with pytest.raises(MapError, match="in this tree"):
        reach_of_lines({f"{CART}|run": {"/elsewhere/x.py": 2}}, {"a.py": b""})


def test_a_map_in_which_no_line_has_two_tests_is_refused() -> None:
    """A core that reports each line once, to the first test, gives a map that cannot be believed."""
    source = "def f():\n" + "    x = 1\n" * 200
    once = {f"tests/test_cart.py::t{n}|run": {"src/shop/big.py": range(2 + 5 * n, 7 + 5 * n)} for n in range(30)}
    with pytest.raises(MapError, match="sysmon"):
        reach(once, src__shop__big=source)
    shared = {
        context: {"src/shop/big.py": [*paths["src/shop/big.py"], *range(2, 12)]} for context, paths in once.items()
    }
    assert len(reach(shared, src__shop__big=source)) == 30


def test_a_real_recording(tmp_path: Path) -> None:
    """A run of pytest-cov on a real project, from the data file to the map the server reads."""
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "tests/test_more.py").write_text(
        textwrap.dedent("""
            import unittest
            from shop.rates import RATE

            class TestRates(unittest.TestCase):
                @classmethod
                def setUpClass(cls):
                    from shop import lonely
                    cls.x = lonely.lonely()

                def test_a(self):
                    assert RATE

                def test_b(self):
                    assert RATE
        """)
    )
    command = [sys.executable, "-m", "pytest", "-q", "--cov=src", "--cov=tests", "--cov-context=test", "--cov-report="]
    subprocess.run(
        [*command, "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        env={"PYTHONPATH": "src", "PATH": "", "COVERAGE_CORE": "ctrace", "COVERAGE_FILE": "data.coverage"},
    )
    reading = reach_of_coverage(tmp_path / "data.coverage", read_tree(tmp_path))
    found, functions = read_json_lines(to_json_lines(reading))
    assert dict(found.items()) == reading.columns
    assert functions is not None
    assert functions.reach(CART) == {
        ("src/shop/cart.py", "total"), ("src/shop/rates.py", "rate"), ("tests/test_cart.py", "test_total"),
    }  # fmt: skip
    assert ("src/shop/lonely.py", "lonely") in functions.columns
    assert bodies(set(found.reach(CART))) == {"cart.py", "rates.py", "tests/test_cart.py"}
    second = set(found.reach("tests/test_more.py::TestRates::test_b"))
    assert bodies(second) == {"lonely.py", "tests/test_more.py"}
    assert "rates.py" in modules(second)
