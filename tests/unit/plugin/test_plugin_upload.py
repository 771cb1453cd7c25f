"""Reports that the plugin sends, to the small daemon and to the real one."""

import subprocess
import sys
from pathlib import Path

import pytest

from quarantine.client.tree import read_tree
from quarantine.clock import system_clock
from quarantine.policy.criteria import Policy
from quarantine.pytest_plugin.upload import reports_of, tree_of
from quarantine.services import decisions
from quarantine.services.app import App
from quarantine.store.engine import open_engine
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.unit.plugin.projects import REFUSES, Project, SmallDaemon
from tests.world import OWNER

SUITE = """
from pathlib import Path

tries = []

def test_writes():
    Path("left-behind.txt").write_text("by the run")

def test_flaky():
    tries.append(1)
    assert len(tries) > 1
"""
GATES = "\ndef test_gates():\n    assert 0\n"


def committed(project: Project) -> None:
    """Make the project a repository with one commit."""
    who = ["-c", "user.name=N", "-c", "user.email=n@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *who, *words], cwd=project.root, check=True)


@pytest.fixture
def suite(project: Project) -> Project:
    """A repository with a test that writes into it and one that passes at the second try."""
    project.write(sub__test_suite=SUITE)
    committed(project)
    return project


def test_the_build_is_described_before_it_runs(suite: Project, daemon: SmallDaemon) -> None:
    """What the run wrote is no part of the tree; CI names build and job; exit code, tries and command are sent."""
    before = read_tree(suite.root).hash
    ci = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "77", "GITHUB_JOB": "unit"}
    ran = suite.pytest("--quarantine-upload", "--quarantine-variant", "db=pg", "--reruns", "1", variables=ci)
    assert ran.status == 0, ran.text
    assert ran.summary.endswith("; report sent as build 77.")
    [(part, report)] = daemon.uploads
    assert report == ran.report.read_bytes()
    assert part["tree"] == before != read_tree(suite.root).hash
    minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert part["variant"] == {"os": sys.platform, "python": minor, "db": "pg"}
    assert (part["build"], part["job"], part["exit_code"], part["complete"]) == ("77", "unit", 0, True)
    assert part["started_at"].endswith("+00:00")
    assert part["command"].startswith("QUARANTINE_UPLOAD=off python -m pytest -p no:cacheprovider -W error --junitxml ")
    assert "--quarantine-upload" not in part["command"]
    assert part["command"].endswith(" --quarantine-variant db=pg --reruns 1")
    assert ran.tries() == {"test_writes": ["passed"], "test_flaky": ["failed", "passed"]}


def test_a_report_that_an_earlier_run_left_is_no_part_of_the_tree(suite: Project, daemon: SmallDaemon) -> None:
    """Neither the file the session writes nor the recorded command's: what its commit holds is the whole tree."""
    pristine = read_tree(suite.root).hash
    for name in ("mine.xml", "junit.xml"):
        (suite.root / "sub" / name).write_text("<testsuite/>", encoding="utf-8")
    (suite.root / "stated.xml").write_text("<testsuite/>", encoding="utf-8")
    stated = "cd sub && pytest --junit-xml junit.xml; cp mine.xml x"
    words = ("--quarantine-upload", "--junitxml", "mine.xml", "--quarantine-command", stated)
    ran = suite.pytest(*words, "-k", "flaky", within="sub")
    assert "Files that are in no commit count as part of what was tested: stated.xml. If an earlier run or" in ran.text
    (suite.root / "stated.xml").unlink()
    suite.pytest(*words, "-k", "flaky", within="sub")
    [part, again] = (part for part, _ in daemon.uploads)
    assert part["tree"] != pristine
    assert again["tree"] == pristine


def test_a_committed_file_where_the_report_goes_is_a_part_of_the_tree(tmp_path: Path) -> None:
    """With what the commit has there, whatever an earlier run wrote over it; another commit's is another tree."""
    made = Repository.of(tmp_path / "shop", {"shop.py": "PRICE = 1\n", "junit.xml": "<testsuite/>"})
    reports = [made.path / "junit.xml", made.path / "absent.xml", tmp_path / "elsewhere.xml"]
    pristine = read_tree(made.path)
    assert tree_of(made.path, reports) == pristine
    made.write({"junit.xml": "<testsuite name='another'/>", "absent.xml": "<testsuite/>"})
    assert tree_of(made.path, reports).hash == pristine.hash
    made.commit({"junit.xml": "<testsuite name='fixed'/>"})
    assert tree_of(made.path, reports).hash not in {pristine.hash, read_tree(made.path, leave_out=reports).hash}


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("QUARANTINE_UPLOAD=off pytest -q --junitxml=junit.xml", ["junit.xml"]),
        ("cd 'a b' && pytest --junit-xml out/r.xml tests", ["a b/out/r.xml"]),
        ("pytest --junitxml=r.xml; cat r.xml", ["r.xml"]),
        ("make tests", []),
        ("pytest 'unclosed", []),
    ],
)
def test_the_report_of_a_recorded_command(tmp_path: Path, command: str, files: list[str]) -> None:
    """It is found by its option, in the folder the command goes to; a command that hides it names none."""
    assert reports_of(command, tmp_path) == [tmp_path / file for file in files]


def test_the_recorded_command_sends_nothing(suite: Project, daemon: SmallDaemon) -> None:
    """Run again in the shell, from the top of the checkout, it does the same and is no second run to the daemon."""
    (suite.root / "pytest.ini").write_text("[pytest]\nquarantine_upload = true\n", encoding="utf-8")
    (suite.root / "sub" / "test_suite.py").write_text(SUITE + GATES, encoding="utf-8")
    assert suite.pytest("-k", "gates", within="sub").status == 1
    [(part, _)] = daemon.uploads
    command = part["command"]
    assert command.startswith("cd sub && QUARANTINE_UPLOAD=off python -m pytest ")
    assert (part["exit_code"], part["complete"]) == (1, False)
    folder = Path(sys.executable).parent
    known = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(suite.home), "QUARANTINE_URL": suite.url}
    again = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=suite.root,
        env=known | {"QUARANTINE_PROJECT": "shop", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout
    assert len(daemon.uploads) == 1


def test_without_a_report_of_its_own_a_session_sends_one(suite: Project, daemon: SmallDaemon) -> None:
    """Where no JUnit file is asked for, one is written for the daemon and forgotten; a stated command is sent as is."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--quarantine-upload", "--quarantine-reruns=1"]
    done = subprocess.run(
        [*command, "--quarantine-command", "make tests"],
        cwd=suite.root,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(suite.home),
            "QUARANTINE_URL": suite.url,
            "QUARANTINE_PROJECT": "shop",
        }
        | {"PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(suite.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    [(part, report)] = daemon.uploads
    assert part["command"] == "make tests"
    assert b"<flakyFailure" in report
    assert b'file="sub/test_suite.py"' in report
    assert "generated xml file" not in done.stdout
    assert [path.name for path in suite.home.iterdir() if path.name.startswith("quarantine-")] == []


@pytest.mark.parametrize("passes", [True, False], ids=["green", "red"])
def test_an_upload_never_changes_the_exit_status(suite: Project, daemon: SmallDaemon, *, passes: bool) -> None:
    """While the daemon is down the report waits on this machine, one line says so, and the next upload brings it."""
    (suite.root / "sub" / "test_suite.py").write_text("def test_it():\n    assert " + str(passes), encoding="utf-8")
    status = 0 if passes else 1
    down = suite.pytest("--quarantine-upload", variables={"QUARANTINE_URL": REFUSES})
    assert down.status == status
    *remarks, summary = down.told
    assert summary.endswith("; the report is kept on this machine and sent with the next upload.")
    assert [remark.endswith(": no failing test is.") for remark in remarks] == [True] * status
    assert suite.pytest("--quarantine-upload").status == status
    assert [part["exit_code"] for part, _ in daemon.uploads] == [status]


def test_the_real_daemon_takes_it(suite: Project, sqlite_url: str) -> None:
    """The daemon itself stores the build, and knows its tests by the names that the plugin asks for."""
    app = App(open_engine(sqlite_url), system_clock, Policy())
    decisions.create_project(app, "shop", bearer=OWNER)
    with hosted(app) as url:
        ran = suite.pytest("--quarantine-upload", "--quarantine-reruns", "1", variables={"QUARANTINE_URL": url})
    app.engine.dispose()
    assert ran.status == 1
    assert "the failure is not quarantined; 1 of 1 passed when run again; snapshot " in ran.summary
    assert "; report sent as build local-" in ran.summary
