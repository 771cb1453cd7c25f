"""`quarantine reruns run`: the recorded command, whole, on the identical tree, and nothing of it left behind."""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.local_code import local_code
from quarantine.client.tree import read_tree
from quarantine.clock import FrozenClock, system_clock
from quarantine.domain.outcome import Lane
from quarantine.services.explain import explain
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.cli.shell import Shell
from tests.world import CLASSNAME, PROJECT, World, junit, tree

GREEN, RED = junit({"t1": "P", "t2": "P"}).decode(), junit({"t1": "F", "t2": "P"}).decode()
COMMAND = "cp green.txt report.xml"
PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Trunk:
    """A clone whose trunk has failed once, the daemon that was told, and the shell of whoever reruns it."""

    repository: Repository
    world: World
    daemon: Daemon
    shell: Shell

    def send(self, name: str, report: str, *options: str | Path) -> None:
        """Report a run of what lies in the clone now, as its CI does."""
        path = self.shell.folder / f"{name}.xml"
        path.write_text(report)
        self.shell.run(
            "report", path, "--root", self.repository.path, *self.daemon.over_http, "--build", name, *options
        )

    def run(self, *words: str | Path) -> list[dict[str, Any]]:
        """Make the reruns that are wanted, and return what became of each."""
        at = ("--repository", str(self.repository.path), *self.daemon.over_http)
        told: list[dict[str, Any]] = self.shell.run("reruns", "run", *at, *words, "--json").json
        return told

    def confirmed_by(self, name: str = "t1") -> object:
        """Return the build that confirmed the test's one head; None while it is pending."""
        [variant] = explain(self.daemon.app, PROJECT, f"{CLASSNAME}::{name}")["variants"]
        [head] = variant["heads"]
        return variant["builds"][head["confirmed_by"]]["build"] if head["confirmed_by"] else None

    def left_behind(self) -> list[str]:
        """Return what reruns left on this machine."""
        return [path.name for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith("quarantine-")]


@pytest.fixture
def trunk(daemon: Daemon, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trunk:
    """Return a clone of a trunk whose suite is a copied report."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    files = {"green.txt": GREEN, "red.txt": RED, "old.xml": RED, "shop.py": "PRICE = 1\n"}
    repository = Repository.of(tmp_path / "clone", files)
    return Trunk(repository, World(daemon.app, FrozenClock(system_clock())), daemon, shell)


def failed_once(trunk: Trunk, command: str = COMMAND) -> str:
    """Send a green and a red run of the trunk's head, on two commits; return the red one's commit."""
    trunk.send("green", GREEN, "--command", command)
    commit = trunk.repository.commit({"shop.py": "PRICE = 2\n"})
    trunk.send("red", RED, "--command", command)
    return commit


def is_over(process: int) -> bool:
    """Return whether a process has ended; one that nobody has asked after is a zombie, and has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_rerun_of_a_trunk_tree_confirms_its_head(trunk: Trunk) -> None:
    """The tree that failed passes in a rerun: an onset. The clone, its worktrees and the disk are as before."""
    commit = failed_once(trunk)
    trunk.repository.commit({"shop.py": "PRICE = 3\n"})
    trunk.repository.write({"shop.py": "PRICE = 4\n", "untracked.txt": "mine"})
    elsewhere = trunk.shell.folder / "gone"
    trunk.repository.git("worktree", "add", "-q", "--detach", str(elsewhere))
    elsewhere.rename(trunk.shell.folder / "unplugged")

    def state() -> list[str]:
        asked = (
            ("worktree", "list"),
            ("status", "--porcelain"),
            ("rev-parse", "HEAD"),
            ("branch", "-a"),
            ("stash", "list"),
        )
        return [trunk.repository.git(*words) for words in asked]

    before = state()
    assert str(elsewhere) in before[0]
    assert trunk.confirmed_by() is None
    [told] = trunk.run()
    assert (told["made"], told["commit"]) == (True, commit)
    assert told["sentence"] == f"Ran {COMMAND!r}: exit code 0. {trunk.daemon.url} has taken 1 report."
    assert str(trunk.confirmed_by()).startswith("rerun-")
    assert state() == before
    assert trunk.left_behind() == []
    assert trunk.run() == []
    assert trunk.shell.run("reruns", "run", *trunk.daemon.over_http).out == "No rerun is wanted now.\n"


def test_a_rerun_that_fails_again_confirms_nothing(trunk: Trunk) -> None:
    """It is told for people too, and makes no trial."""
    failed_once(trunk, "cp red.txt report.xml; exit 1")
    said = trunk.shell.run("reruns", "run", "--repository", trunk.repository.path, *trunk.daemon.over_http)
    assert said.out.startswith(
        f"tree {read_tree(trunk.repository.path).hash[:12]}: Ran 'cp red.txt report.xml; exit 1'"
    )
    assert "exit code 1." in said.out
    assert trunk.confirmed_by() is None
    [variant] = explain(trunk.daemon.app, PROJECT, f"{CLASSNAME}::t1")["variants"]
    assert (variant["trials"], variant["heads"][0]["reruns_failed"]) == (2, 1)


def test_only_what_the_command_wrote_is_sent(trunk: Trunk) -> None:
    """Reports that lie in the repository are no outcomes of this run; other names are found by --reports."""
    failed_once(trunk, "mkdir -p out; cp green.txt out/junit.report")
    [told] = trunk.run()
    assert told["sentence"] == "The command ended with 0 and wrote no report that matches **/*.xml."
    [told] = trunk.run("--reports", "out/*.report")
    assert told["made"]
    assert trunk.confirmed_by() is not None


def test_what_would_not_be_the_same_run_is_left_out_with_the_reason(trunk: Trunk) -> None:
    """Another lane, environment, variant or tree, no command, no commit: each is said, and none is sent."""
    repository, world = trunk.repository, trunk.world
    head, lies_there = repository.head, read_tree(repository.path).hash
    reasons: dict[str, tuple[str, dict[str, Any]]] = {
        "lane": ("Its tree is of the review lane: whoever still has it can rerun it.", {"lane": Lane.REVIEW}),
        "environment": ("The environment here is another", {"environment_hash": "a" * 64}),
        "variant": ("The variant has python=2.7; here it is 3.", {"variant": {"python": "2.7"}}),
        "system": ("The variant has os=plan9; here it is", {"variant": {"os": "plan9"}}),
        "command": ("The build did not record its command; send reports with --command.", {"command": ""}),
        "commit": ("The build did not record its commit.", {"commit": None}),
        "unknown": ("The tree could not be made: git worktree add failed", {"commit": "0" * 40}),
        "other": (f"Commit {head[:12]} alone does not give the tree that ran", {"tree": tree("generated files")}),
    }
    for job, (_reason, fields) in reasons.items():
        stated = {"job": job, "tree": lies_there, "commit": head, "command": COMMAND} | fields
        world.send(f"{job}-green", {"t1": "P"}, **stated | {"lane": Lane.TRUNK, "tree": tree(job)})
        world.send(f"{job}-trunk", {"t2": "P"}, **stated | {"lane": Lane.TRUNK})
        world.send(f"{job}-red", {"t1": "F"}, **stated)
    builds = world.summary()["builds"]
    said = {one["sentence"] for one in trunk.run()}
    for job, (reason, _fields) in reasons.items():
        assert any(sentence.startswith(reason) for sentence in said), (job, said)
    assert len(said) == len(reasons)
    assert world.summary()["builds"] == builds
    assert trunk.left_behind() == []


def test_one_job_is_rerun_where_its_machine_is(trunk: Trunk) -> None:
    """--job leaves the others to other machines, --most leaves the rest for later."""
    for job in ("one", "two"):
        stated: dict[str, Any] = {"commit": trunk.repository.head, "command": "true"}
        trunk.world.send(f"{job}-green", {"t1": "P"}, job=job, **stated)
        trunk.world.send(f"{job}-red", {"t1": "F"}, job=job, **stated)
    assert len(trunk.run("--job", "one")) == 1
    assert len(trunk.run("--most", "1")) == 1
    assert len(trunk.run()) == 2
    assert trunk.run("--job", "three") == []


def test_a_command_that_runs_too_long_is_killed_with_its_children(trunk: Trunk) -> None:
    """Nothing of it goes on running, nothing is sent, and its worktree is gone."""
    child = trunk.shell.folder / "child"
    failed_once(trunk, f"cp green.txt report.xml; sleep 600 & echo $! > {child}; wait")
    [told] = trunk.run("--timeout", "1")
    assert (told["made"], told["sentence"]) == (False, "The command was killed after 1 s.")
    until(lambda: is_over(int(child.read_text())))
    assert trunk.confirmed_by() is None
    assert trunk.left_behind() == []


def test_what_a_command_leaves_running_ends_with_it(trunk: Trunk) -> None:
    """Also when it ended by itself, in time and well."""
    child = trunk.shell.folder / "child"
    failed_once(trunk, f"sleep 600 & echo $! > {child}; cp green.txt report.xml")
    assert trunk.run()[0]["made"]
    until(lambda: is_over(int(child.read_text())))


def until(holds: Callable[[], bool]) -> None:
    """Return once it holds; fail when it does not before long."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("damage", ["rm -rf .git", "rm -rf ../tree && mkdir ../tree", "chmod -w ."])
def test_a_worktree_that_was_damaged_is_forgotten_too(trunk: Trunk, damage: str) -> None:
    """Whatever the command did to it, git does not go on listing it."""
    before = trunk.repository.git("worktree", "list")
    failed_once(trunk, f"cp green.txt report.xml; {damage}")
    trunk.run()
    assert trunk.repository.git("worktree", "list").split()[0] == before.split()[0]
    assert len(trunk.repository.git("worktree", "list").splitlines()) == 1
    assert trunk.left_behind() == []


def test_the_command_sees_neither_the_token_nor_another_repository(
    trunk: Trunk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code that is tested cannot report in trunk's name, nor write where a git hook pointed."""
    seen = trunk.shell.folder / "seen"
    failed_once(trunk, f"env > {seen}; cp green.txt report.xml")
    monkeypatch.setenv("GIT_INDEX_FILE", str(trunk.shell.folder / "index"))
    token = trunk.daemon.token("report", lane="trunk")
    with hosted(trunk.daemon.app, open_lane=None) as url:
        at = ("--repository", trunk.repository.path, "--url", url, "--project", PROJECT)
        assert trunk.shell.run("reruns", "run", *at, "--json", QUARANTINE_TOKEN=token).json[0]["made"]
    variables = dict(line.partition("=")[::2] for line in seen.read_text().splitlines())
    assert not {"QUARANTINE_TOKEN", "GIT_INDEX_FILE"} & variables.keys()
    assert token not in seen.read_text()
    assert variables["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert variables["PWD"] != str(trunk.repository.path)


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a fresh environment, in which nothing is installed."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


FINDER = """
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return importlib.util.spec_from_file_location(name, {place!r}) if name == "till" else None
sys.meta_path.append(Finder)
"""


def install(interpreter: Path, source: Path, *, how: str) -> None:
    """Put what an installer would into the environment: a path, a finder, or a copy."""
    [site] = interpreter.parents[1].glob("lib/python*/site-packages")
    record = site / "till-1.0.dist-info"
    record.mkdir(exist_ok=True)
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: till\nVersion: 1.0\n")
    (record / "top_level.txt").write_text("till\n")
    info = {"url": source.as_uri(), "dir_info": {"editable": how != "copy"}}
    (record / "direct_url.json").write_text(json.dumps(info))
    for name in ("_till.pth", "_till_finder.py", "till.py"):
        (site / name).unlink(missing_ok=True)
    if how == "path":
        (site / "_till.pth").write_text(f"{source / 'src'}\n")
    elif how == "finder":
        (site / "_till.pth").write_text("import _till_finder\n")
        (site / "_till_finder.py").write_text(FINDER.format(place=str(source / "src" / "till.py")))
    else:
        (site / "till.py").write_text((source / "src" / "till.py").read_text())


SUITE = f"""
import till
with open("report.xml", "w") as report:
    report.write({GREEN!r} if till.PRICE == 1 else {RED!r})
"""


@pytest.mark.parametrize("how", ["path", "finder"])
def test_an_editable_install_does_not_stand_in_for_the_tree(trunk: Trunk, interpreter: Path, how: str) -> None:
    """The rerun imports the code of the tree that failed, not of the checkout that it was installed from."""
    trunk.repository.commit({"src/till.py": "PRICE = 1\n", "suite.py": SUITE})
    install(interpreter, trunk.repository.path, how=how)
    options = ("--command", "python suite.py", "--python", interpreter)
    trunk.send("green", GREEN, *options)
    trunk.repository.commit({"src/till.py": "PRICE = 2\n"})
    trunk.send("red", RED, *options)
    trunk.repository.write({"src/till.py": "PRICE = 1\n"})
    tested = subprocess.run(
        [interpreter, "-c", "import till; print(till.PRICE)"], capture_output=True, text=True, check=True, cwd="/"
    )
    assert tested.stdout == "1\n"
    [told] = trunk.run("--python", interpreter)
    assert told["made"]
    assert trunk.confirmed_by() is None
    assert local_code(trunk.repository.path, str(interpreter)).folders == ("src",)


def test_a_copy_that_was_installed_is_no_tree(trunk: Trunk, interpreter: Path) -> None:
    """What lies in site-packages was made from some other state: nothing is run, and the mend is said."""
    trunk.repository.commit(
        {"src/till.py": "PRICE = 1\n", "suite.py": SUITE, "pyproject.toml": "[project]\nname='till'\n"}
    )
    install(interpreter, trunk.repository.path, how="copy")
    options = ("--command", "python suite.py", "--python", interpreter)
    trunk.send("green", GREEN, *options)
    trunk.repository.commit({"src/till.py": "PRICE = 2\n"})
    trunk.send("red", RED, *options)
    [told] = trunk.run("--python", interpreter)
    assert told["made"] is False
    assert told["sentence"] == (
        "till is installed as a copy here, so the command would test that and not the tree: install it with "
        "--editable, from this clone."
    )
    assert local_code(trunk.repository.path, str(interpreter)).copies == ("till",)
    assert local_code(trunk.shell.folder, str(interpreter)).copies == ()


def test_a_suite_in_a_folder_below_is_run_again_there(trunk: Trunk) -> None:
    """What was reported from below is recorded with the way to it, on the tree of the whole repository."""
    trunk.repository.commit({"till/green.txt": GREEN})
    below = Shell(trunk.repository.path / "till", trunk.shell.monkeypatch, trunk.shell.capsys, trunk.shell.variables)
    for name, report in (("green", GREEN), ("red", RED)):
        path = trunk.shell.folder / f"{name}.xml"
        path.write_text(report)
        below.run("report", path, *trunk.daemon.over_http, "--build", name, "--command", COMMAND)
        trunk.repository.commit({"shop.py": f"# {name}\n"}) if name == "green" else None
    [told] = trunk.run()
    assert told["sentence"].startswith(f"Ran 'cd till && {COMMAND}': exit code 0.")
    assert trunk.confirmed_by() is not None


def test_a_clone_that_is_none_is_said(trunk: Trunk) -> None:
    """A folder without a repository cannot give the tree."""
    failed_once(trunk)
    told = trunk.shell.run("reruns", "run", "--repository", trunk.shell.folder, *trunk.daemon.over_http, "--json").json
    assert told[0]["sentence"].startswith("The tree could not be made: git rev-parse --git-common-dir failed")
    assert "could not be asked" in trunk.shell.refused(
        "reruns", "run", "--repository", trunk.repository.path, *trunk.daemon.over_http, "--python", "no-such-python"
    )
