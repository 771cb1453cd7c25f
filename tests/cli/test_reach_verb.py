"""`quarantine reach`: maps that a real run recorded, maps as JSON lines, manifests, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from quarantine.client.manifest import manifest_of_commit
from quarantine.client.tree import read_tree
from quarantine.reach.reach_map import ReachMap
from quarantine.store import builds, projects, reaches
from quarantine.store.engine import reading
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.cli.shell import Shell
from tests.world import PROJECT

FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
    "shop/tax.py": "RATE = 2\n\ndef tax(price):\n    return price * RATE\n",
    "tests/test_cart.py": (
        "from shop.cart import total\n\ndef test_total():\n    assert total([1, 2]) == 3\n\n"
        "def test_empty():\n    assert total([]) == 0\n"
    ),
    "tests/test_tax.py": "from shop.tax import tax\n\ndef test_tax():\n    assert tax(1) == 2\n",
}


@pytest.fixture
def repository(shell: Shell) -> Repository:
    """Return a clone of a small shop, in the folder the shell is in."""
    shell.folder.rmdir()
    return Repository.of(shell.folder, FILES)


def run_suite(repository: Repository, report: Path, *options: str) -> None:
    """Really run the suite, recording coverage."""
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *options]
    subprocess.run(words, cwd=repository.path, check=True, capture_output=True)


def stored_maps(daemon: Daemon) -> list[ReachMap]:
    """Return the maps the daemon keeps."""
    with reading(daemon.app.engine) as connection:
        return reaches.every(connection, projects.by_slug(connection, PROJECT).id)


def test_what_a_real_run_recorded_becomes_a_map(daemon: Daemon, shell: Shell, repository: Repository) -> None:
    """Recorded by --cov-context=test: each test reaches what it ran and imports, under names the reports use."""
    report = shell.folder.parent / "report.xml"
    run_suite(repository, report, "--cov=shop", "--cov-context=test", "--cov-report=")
    shell.run("report", report, *daemon.over_http, "--build", "b1")
    said = shell.run("reach", "add", ".coverage", *daemon.over_http, "--json")
    told = said.json
    assert (told["map"], told["tests"], told["matched"], told["unknown"], told["unstable"]) == (1, 3, 3, [], [])
    [kept] = stored_maps(daemon)
    assert kept.tests == (
        "tests/test_cart.py::test_empty",
        "tests/test_cart.py::test_total",
        "tests/test_tax.py::test_tax",
    )
    tax = kept.reach("tests/test_tax.py::test_tax")
    assert {("shop/tax.py", "body"), ("shop/tax.py", "module"), ("tests/test_tax.py", "body")} <= tax
    assert "shop/cart.py" not in {path for path, _part in tax}
    with reading(daemon.app.engine) as connection:
        project_id = projects.by_slug(connection, PROJECT).id
        assert reaches.latest_of_tree(connection, project_id, read_tree(repository.path).hash) is not None
    again = shell.run("reach", "add", ".coverage", *daemon.over_http).out
    assert again == f"Map 2: 3 tests reach {told['columns']} parts of files.\n"


def test_a_recording_without_contexts_is_refused(daemon: Daemon, shell: Shell, repository: Repository) -> None:
    """It says nothing about single tests; the sentence says how to record one that does."""
    run_suite(repository, shell.folder.parent / "report.xml", "--cov=shop", "--cov-report=")
    refusal = shell.refused("reach", "add", ".coverage", *daemon.over_http)
    assert refusal.endswith("recorded without contexts. Run pytest with --cov --cov-context=test.")
    assert stored_maps(daemon) == []


def test_json_lines_name_whole_files(daemon: Daemon, shell: Shell) -> None:
    """What a build tool's dependency query prints is a map too; who is in no report so far is said."""
    lines = [
        {"test": "tests.test_ledger::t1", "files": ["shop/cart.py", "page.html"]},
        {"test": "t2", "files": ["a.py"]},
    ]
    (shell.folder / "reach.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    said = shell.run("reach", "add", "reach.jsonl", *daemon.over_http).out
    first, second = said.splitlines()
    assert first.startswith("Map 1: 2 tests reach ")
    assert second == "2 of them are in no report so far, such as t2, tests.test_ledger::t1."
    [kept] = stored_maps(daemon)
    assert kept.reach("tests.test_ledger::t1") >= {("page.html", "blob"), ("shop/cart.py", "body")}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'{"test": "a", "files": ["x.py"]}\n{"test": "b", "file": []}\n',
            "Line 2 of the reach map has a field 'file'",
        ),
        (b"\n\n{nonsense\n", "Line 3 of the reach map is not JSON"),
        (b"", "The reach map names no test."),
        (b"\x00\xff\xfe", "Line 1 of the reach map is not JSON"),
        (b"SQLite format 3\x00 and then nothing", "coverage"),
    ],
)
def test_a_map_that_cannot_be_read_is_refused(daemon: Daemon, shell: Shell, content: bytes, said: str) -> None:
    """With the number of the line; nothing of it is stored."""
    (shell.folder / "reach").write_bytes(content)
    assert said in shell.refused("reach", "add", "reach", *daemon.over_http)
    assert stored_maps(daemon) == []


def test_only_a_trunk_token_says_what_tests_reach(daemon: Daemon, shell: Shell, repository: Repository) -> None:
    """Else an agent could say that its patch reaches nothing: refused with whom to leave it to."""
    (shell.folder / "reach.jsonl").write_text('{"test": "t1", "files": ["shop/cart.py"]}\n')
    tokens = {lane: daemon.token("report", lane=lane) for lane in ("agent", "review", "trunk")}
    with hosted(daemon.app, open_lane=None) as url:
        at = ("--url", url, "--project", PROJECT, "--token")
        for lane in ("agent", "review"):
            for words in (("add", "reach.jsonl"), ("manifest",)):
                refusal = shell.refused("reach", *words, *at, tokens[lane])
                assert refusal.startswith("Only a trunk token may say what tests reach.")
        assert shell.run("reach", "add", "reach.jsonl", *at, tokens["trunk"]).code == 0
    assert len(stored_maps(daemon)) == 1
    assert repository.head


def test_a_manifest_is_named_by_the_builds_that_use_it(daemon: Daemon, shell: Shell, repository: Repository) -> None:
    """The parts of a trunk commit are sent once; a report with --manifest names them by the same id."""
    said = shell.run("reach", "manifest", *daemon.over_http).out
    found = manifest_of_commit(repository.path, repository.head)
    assert said == f"Manifest {found.id[:12]}: {len(found.parts)} parts.\n"
    assert shell.run("reach", "manifest", "--commit", "HEAD", *daemon.over_http).out == said
    report = shell.folder.parent / "report.xml"
    report.write_text("<testsuite name='s'><testcase classname='c' name='t'/></testsuite>")
    shell.run("report", report, *daemon.over_http, "--build", "b1", "--manifest")
    with reading(daemon.app.engine) as connection:
        project_id = projects.by_slug(connection, PROJECT).id
        assert builds.get(connection, project_id, [1])[1]["manifest"] == found.id
        assert reaches.manifest(connection, project_id, found.id) is not None
    assert "git" in shell.refused("reach", "manifest", "--commit", "nonsense", *daemon.over_http)
