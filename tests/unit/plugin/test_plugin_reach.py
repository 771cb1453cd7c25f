"""Reach recorded in a real project: what tests share is charged to those who use it, and to nobody else."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing

import pytest

from quarantine.client.fixture_map import read_fixture_map
from quarantine.client.reach_map import reach_of_coverage
from quarantine.client.tree import read_tree
from tests.unit.plugin.projects import Project

PARTS = ("session", "module", "klass", "every", "param", "unit", "late", "own", "end", "package", "nested", "loose")
CONFTEST = """
import pytest
from shop import nested

@pytest.fixture(scope="session")
def whole():
    from shop import session, end
    session.run()
    yield 1
    end.run()

@pytest.fixture(scope="session", autouse=True)
def every():
    from shop import every
    every.run()

@pytest.fixture(scope="module", params=[1, 2])
def twice(request):
    from shop import param
    param.run()
    return request.param

@pytest.fixture(scope="session")
def asked_for_by_name():
    from shop import late
    late.run()

@pytest.fixture(scope="session")
def asks_by_name(request):
    return request.getfixturevalue("inner")

@pytest.fixture(scope="session")
def inner():
    nested.run()
"""
TEST_A = """
import unittest
import pytest

@pytest.fixture(scope="module")
def mod():
    from shop import module
    module.run()

@pytest.fixture
def loose():
    from shop import loose
    loose.run()

def test_first(whole, mod, loose):
    from shop import own
    own.run()

def test_plain():
    pass

def test_mod(mod):
    pass

def test_twice(twice):
    pass

class TestKlass:
    @pytest.fixture(scope="class")
    @classmethod
    def klass(cls):
        from shop import klass
        klass.run()

    def test_k1(self, klass):
        pass

    def test_k2(self, klass):
        pass

    def test_no(self):
        pass

class TestUnit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        from shop import unit
        unit.run()

    def test_u1(self):
        pass

    def test_u2(self):
        pass
"""
TEST_B = """
def test_user(whole):
    pass

def test_none():
    pass

def test_late(request):
    request.getfixturevalue("asked_for_by_name")

def test_late_again(request):
    request.getfixturevalue("asked_for_by_name")

def test_inner(inner):
    pass

def test_outer(asks_by_name):
    pass

def test_outer_again(asks_by_name):
    pass

def test_last():
    pass
"""
EXPECTED = {
    "a::test_first": "every session end module loose own",
    "a::test_plain": "every",
    "a::test_mod": "every module",
    "a::test_twice[1]": "every param",
    "a::test_twice[2]": "every param",
    "a::TestKlass::test_k1": "every klass",
    "a::TestKlass::test_k2": "every klass",
    "a::TestKlass::test_no": "every",
    "a::TestUnit::test_u1": "every unit",
    "a::TestUnit::test_u2": "every unit",
    "b::test_user": "every session end",
    "b::test_none": "every",
    "b::test_late": "every late",
    "b::test_late_again": "every late",
    "b::test_inner": "every nested",
    "b::test_outer": "every nested",
    "b::test_outer_again": "every nested",
    "b::test_last": "every end",  # the session's fixtures are taken down in the last test's own tear-down
    "c::test_c1": "every package",
    "c::test_c2": "every package",
}


@pytest.fixture
def shop(project: Project) -> Project:
    """A project in which each fixture runs a function of a file of its own."""
    files = {f"shop__{name}": "def run():\n    return 1\n" for name in (*PARTS, "__init__".strip("_"))}
    del files["shop__init"]
    project.write(**files, tests__conftest=CONFTEST, tests__test_a=TEST_A, tests__test_b=TEST_B)
    (project.root / "shop" / "__init__.py").touch()
    deep = project.root / "tests" / "adeep"  # collected before test_a.py
    deep.mkdir()
    (deep / "__init__.py").write_text("def setup_module():\n    from shop import package\n    package.run()\n")
    (deep / "test_c.py").write_text("def test_c1():\n    pass\n\ndef test_c2():\n    pass\n")
    (project.root / "tests" / "__init__.py").touch()
    return project


def reach(project: Project) -> dict[str, set[str]]:
    """Per test, the files of the package of which a function body is in its reach."""
    reading = reach_of_coverage(project.root / ".coverage", read_tree(project.root))
    return {
        test.replace("tests/adeep/", "tests/").removeprefix("tests/test_").replace(".py", ""): {
            path.removeprefix("shop/").removesuffix(".py")
            for path, part in columns
            if part == "body" and path.startswith("shop/")
        }
        for test, columns in reading.columns.items()
    }


def words(expected: Mapping[str, str]) -> dict[str, set[str]]:
    return {test: set(parts.split()) for test, parts in expected.items()}


@pytest.mark.parametrize(
    "options", [(), ("--cov", "shop", "--cov", "tests"), ("--cov=.", "--cov-context=test")], ids=["own", "cov", "test"]
)
def test_every_fixture_is_charged_to_its_users(shop: Project, options: tuple[str, ...]) -> None:
    """With coverage.py of our own, with pytest-cov, and with its contexts: the reach is exact. No daemon is needed."""
    ran = shop.pytest("--quarantine-reach", "--cov-report=", *options, variables={"QUARANTINE_URL": ""})
    assert ran.status == 0, ran.text
    assert ran.summary.endswith("; reach is in .coverage.")
    assert reach(shop) == words(EXPECTED)
    assert sorted(path.name for path in shop.root.iterdir() if "cov" in path.name) == [".coverage"]


@pytest.mark.parametrize("options", [(), ("--cov=.",)], ids=["own", "cov"])
def test_each_worker_pays_for_its_own(shop: Project, options: tuple[str, ...]) -> None:
    """With workers every test has at least the reach it has without, and tear-downs alone lie elsewhere."""
    ran = shop.pytest("--quarantine-reach", "--cov-report=", "-n", "2", *options)
    assert ran.status == 0, ran.text
    found, expected = reach(shop), words(EXPECTED)
    assert {test: parts - {"end"} for test, parts in found.items()} == {
        test: parts - {"end"} for test, parts in expected.items()
    }
    assert "end" in found["a::test_first"] & found["b::test_user"]
    assert sorted(path.name for path in shop.root.iterdir() if "cov" in path.name) == [".coverage"]


def test_a_map_of_other_data_is_not_believed(shop: Project) -> None:
    """When anything was recorded into the file afterwards, set-ups are charged to all tests of a file again."""
    shop.pytest("--quarantine-reach")
    file = shop.root / ".coverage"
    assert read_fixture_map(file) is not None
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE line_bits SET numbits = x'ff' WHERE rowid = (SELECT min(rowid) FROM line_bits)")
    assert read_fixture_map(file) is None
    assert reach(shop)["a::test_plain"] > set(EXPECTED["a::test_plain"].split())


def test_a_recording_that_is_appended_to_has_no_map(shop: Project) -> None:
    """What another session paid for is not known to this one, so the data is read as if there were no map."""
    shop.pytest("--quarantine-reach", "--cov=.", "--cov-report=")
    ran = shop.pytest("--quarantine-reach", "--cov=.", "--cov-report=", "--cov-append", "tests/test_b.py")
    assert ran.summary.endswith("reach is in .coverage, without a fixture map, because it was appended to other data.")
    assert read_fixture_map(shop.root / ".coverage") is None


def test_a_name_for_the_whole_run_does_no_harm(shop: Project) -> None:
    """Where the project names its runs, our own recording leaves that out; in pytest-cov's, users still share."""
    (shop.root / ".coveragerc").write_text("[run]\ncontext = linux\n", encoding="utf-8")
    shop.pytest("--quarantine-reach")
    assert reach(shop) == words(EXPECTED)
    shop.pytest("--quarantine-reach", "--cov", "shop", "--cov", "tests", "--cov-report=")
    found = reach(shop)
    assert found["a::test_mod"] >= {"every", "module"}
    assert found["a::TestKlass::test_k2"] >= {"every", "klass"}
    assert "module" not in found["b::test_last"]
