"""`quarantine report`: what it fills in by itself, and what becomes of a report that nobody takes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from quarantine.client import upload
from quarantine.client.environment import environment_of
from quarantine.client.tree import read_tree
from quarantine.clock import FrozenClock
from quarantine.services.build_part import parse_build_part
from quarantine.store import builds, projects
from quarantine.store.engine import reading
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.cli.shell import Shell
from tests.commands import QUARANTINE
from tests.world import PROJECT, START, World, junit

NOWHERE = ("--url", "http://127.0.0.1:9", "--project", PROJECT)
REPORT = junit({"t1": "P", "t2": "F", "t3": "S"})


@pytest.fixture
def repository(shell: Shell) -> Repository:
    """Return a clone with a trunk of two commits, in the folder the shell is in."""
    os.rmdir(shell.folder)  # noqa: PTH106 - it is made again
    repository = Repository.of(shell.folder, {"shop.py": "PRICE = 1\n", "README": "one\n"})
    repository.commit({"shop.py": "PRICE = 2\n"})
    return repository


@pytest.fixture
def report(shell: Shell) -> Path:
    """Return a report that lies beside what was tested."""
    path = shell.folder.parent / "report.xml"
    path.write_bytes(REPORT)
    return path


def build_of(daemon: Daemon, seq: int = 1) -> dict[str, object]:
    """Return a stored build."""
    with reading(daemon.app.engine) as connection:
        project = projects.by_slug(connection, PROJECT)
        return dict(builds.get(connection, project.id, [seq])[seq])


def test_it_says_what_was_stored(daemon: Daemon, shell: Shell, repository: Repository, report: Path) -> None:
    """Counts for people, the receipt as JSON for programs; the same again is stored once and says so."""
    assert repository.path == shell.folder
    first = shell.run("report", report, *daemon.over_http, "--build", "b1")
    assert first.out == "Build 1: 1 passed, 1 failed, 1 skipped, 0 flaky.\n"
    assert first.err == ""
    again = shell.run("report", report, *daemon.over_http, "--build", "b1")
    assert again.out == "Build 1: 1 passed, 1 failed, 1 skipped, 0 flaky. It was already stored.\n"
    told = shell.run("report", report, *daemon.over_http, "--build", "b1", "--json").json
    assert (told["status"], told["build"], told["new"], told["failed"]) == ("sent", 1, False, 1)
    assert told["reports"][0]["status"] == "ok"


def test_the_tree_is_what_lies_there(daemon: Daemon, shell: Shell, repository: Repository, report: Path) -> None:
    """Uncommitted and untracked files, ignored ones too, are part of what was tested; the report itself is not."""
    committed = read_tree(repository.path).hash
    repository.write({"shop.py": "PRICE = 3\n", "new.py": "", ".gitignore": ".env\n", ".env": "SECRET=1\n"})
    inside = repository.path / "report.xml"
    inside.write_bytes(REPORT)
    said = shell.run("report", inside, *daemon.over_http, "--build", "b1")
    assert "Files that are in no commit count as part of what was tested: .env, .gitignore, new.py." in said.err
    stored = build_of(daemon)
    assert stored["tree"] == read_tree(repository.path, leave_out=[inside]).hash
    assert stored["tree"] != committed
    assert stored["commit"] == repository.head
    shell.run("report", inside, report, *daemon.over_http, "--build", "b2", "--leave-out", repository.path / ".env")
    assert build_of(daemon, 2)["tree"] == read_tree(repository.path, leave_out=[inside, repository.path / ".env"]).hash


def test_the_change_is_told_against_trunk(shell: Shell, repository: Repository, report: Path) -> None:
    """The commit shared with trunk, and each part of a file that differs from it; the environment and the machine."""
    trunk = repository.head
    repository.git("checkout", "-qb", "feature")
    repository.commit({"shop.py": "PRICE = 4\n", "gone.py": "", "README": "two\n"})
    repository.write({"shop.py": "PRICE = 5\n\ndef price():\n    return PRICE\n"})
    shell.run("report", report, *NOWHERE, "--build", "b1", "--job", "unit", "--variant", "browser=none")
    [kept] = (shell.folder.parent / "home" / "quarantine" / "spool").glob("*/waiting/*/build.json")
    part = json.loads(kept.read_text())
    assert part["base_commit"] == trunk
    changed = {(path, part) for path, part, _hash in part["changed"]}
    assert {("shop.py", "module"), ("shop.py", "body"), ("README", "blob")} <= changed
    assert part["environment_hash"] == environment_of().hash
    assert part["runner"]
    assert (part["job"], part["variant"]) == ("unit", {"os": sys.platform, "browser": "none"})


def test_options_overrule_what_ci_says(daemon: Daemon, shell: Shell, repository: Repository, report: Path) -> None:
    """The environment of a CI system is read; whatever is stated on the line wins."""
    ci = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "123", "GITHUB_JOB": "tests", "RUNNER_NAME": "runner-7"}
    shell.variables |= ci
    shell.run("report", report, *daemon.over_http)
    stored = build_of(daemon)
    assert [stored[key] for key in ("build", "job", "runner", "kind")] == ["123", "tests", "runner-7", "run"]
    stated = ("--job", "nightly", "--attempt", "1", "--stream", "shop", "--command", "make test", "--exit-code", "1")
    shell.run("report", report, *daemon.over_http, *stated, "--rerun-of", "123", "--build", "r1", "--incomplete")
    stored = build_of(daemon, 2)
    assert [stored[key] for key in ("build", "job", "stream", "command")] == ["r1", "nightly", "shop", "make test"]
    assert [stored[key] for key in ("exit_code", "kind", "rerun_of", "complete")] == [1, "rerun", "123", False]
    assert repository.head == stored["commit"]


def test_a_daemon_that_is_away_gets_it_the_next_time(
    daemon: Daemon, shell: Shell, repository: Repository, report: Path
) -> None:
    """A warning and exit code 0: an upload never decides a verdict. It waits here, and goes with the next one."""
    with hosted(daemon.app) as url:
        pass
    away = ("--url", url, "--project", PROJECT)
    said = shell.run("report", report, *away, "--build", "waited")
    assert said.out == ""
    [line] = said.err.splitlines()
    assert line.startswith(f"quarantine: {url} cannot be reached")
    assert "is sent with the next upload" in line
    told = shell.run("report", report, *away, "--build", "waited", "--json")
    assert told.json["status"] == "spooled"
    assert shell.run("report", report, *away, "--build", "waited", "--strict", code=1).out == ""
    assert repository.head
    port = url.rpartition(":")[2]
    with hosted(daemon.app, port=int(port)):
        report.write_bytes(junit({"t1": "P"}))
        assert shell.run("report", report, *away, "--build", "next").err == ""
    assert [build_of(daemon, seq)["build"] for seq in (1, 2)] == ["waited", "next"]


def test_what_is_refused_is_said_and_decides_nothing(
    daemon: Daemon, shell: Shell, repository: Repository, report: Path
) -> None:
    """A report nobody can read, an unknown project, a wrong token: a warning with the reason, and exit code 0."""
    assert repository.head
    page = shell.folder.parent / "page.xml"
    page.write_text("<html>502</html>")
    said = shell.run("report", page, *daemon.over_http)
    assert said.out == ""
    assert (
        "refused the report: No report in this upload could be read. page.xml: It looks like an HTML page" in said.err
    )
    told = shell.run("report", page, *daemon.over_http, "--json").json
    assert (told["status"], told["code"]) == ("refused", "not-junit")
    assert shell.run("report", page, *daemon.over_http, "--strict", code=1).out == ""
    lost = shell.run("report", report, "--url", daemon.url, "--project", "nowhere").err
    assert "'nowhere'" in lost
    token = daemon.token("read")
    with hosted(daemon.app, open_lane=None) as url:
        wrong = shell.run("report", report, "--url", url, "--project", PROJECT, "--token", "qt_wrong").err
        read_only = shell.run("report", report, "--url", url, "--project", PROJECT, QUARANTINE_TOKEN=token).err
    assert "unknown, expired or revoked" in wrong
    assert "may not send reports" in read_only
    assert len(wrong.splitlines()) == len(read_only.splitlines()) == 1


def test_a_mixed_upload_names_what_was_not_read(
    daemon: Daemon, shell: Shell, repository: Repository, report: Path
) -> None:
    """What could be read counts; of the rest the reason is shown, and nothing in it acts on the terminal."""
    assert repository.head
    bad = shell.folder.parent / "bad\x1b[31m.xml"
    bad.write_text("<html>502</html>")
    said = shell.run("report", report, bad, *daemon.over_http, "--build", "b1")
    counts, refused = said.out.splitlines()
    assert counts == "Build 1: 1 passed, 1 failed, 1 skipped, 0 flaky."
    assert refused.startswith("bad.xml: It looks like an HTML page")
    assert "\x1b" not in said.out + said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["absent.xml"], "Nothing is at 'absent.xml'. If the runner wrote no report, say how it ended: --exit-code N."),
        (["r.xml", "out/*.xml"], "Nothing is at 'out/*.xml'."),
        ([], "No FILES are named. If the runner wrote no report, say how it ended: --exit-code N."),
        ([".", "--exit-code", "1"], "'.' is a directory"),
        (["r.xml", "--variant", "os"], "'os' is not KEY=VALUE"),
        (["r.xml", "--attempt", "0"], "--attempt"),
        (["r.xml", "--root", "absent"], "--root"),
    ],
)
def test_wrong_usage_is_exit_code_2(shell: Shell, words: list[str], said: str) -> None:
    """What was typed wrongly is named, before anything is sent."""
    (shell.folder / "r.xml").write_bytes(REPORT)
    answer = shell.run("report", *words, *NOWHERE, code=2)
    assert answer.out == ""
    assert said in answer.err


@pytest.mark.parametrize(
    "variables",
    [{}, {"QUARANTINE_URL": "", "QUARANTINE_PROJECT": "", "QUARANTINE_TOKEN": ""}, {"QUARANTINE_URL": " "}],
    ids=["unset", "empty", "blank"],
)
def test_nobody_to_send_it_to_is_no_verdict(shell: Shell, variables: dict[str, str]) -> None:
    """A fork has no secrets: that nothing is sent is one line and exit code 0; what was typed wrongly is still 2."""
    (shell.folder / "r.xml").write_bytes(REPORT)
    shell.variables |= variables
    for words in (("r.xml",), ("absent.xml", "--exit-code", "139"), ("r.xml", "--project", PROJECT)):
        said = shell.run("report", *words)
        assert (said.out, said.err.count("\n")) == ("", 1)
        assert said.err.startswith("quarantine: No daemon is named (--url and QUARANTINE_URL are empty), so nothing is")
    assert shell.run("report", "r.xml", "--url", "").err == said.err
    assert shell.run("report", "r.xml", "--strict", code=1).err == said.err
    for wrong in (("absent.xml",), ("r.xml", "--variant", "os"), ("r.xml", "--no-such-option")):
        shell.run("report", *wrong, code=2)


def test_a_daemon_without_a_project_is_a_mistake_of_configuration(shell: Shell) -> None:
    """Half of it is there, so the other half was forgotten; so is an address that is none: exit code 2, one line."""
    (shell.folder / "r.xml").write_bytes(REPORT)
    assert "Missing option '--project'" in shell.run("report", "r.xml", "--url", "http://127.0.0.1:9", code=2).err
    at = ("report", "r.xml", "--project", PROJECT)
    assert "is not the address of a daemon" in shell.refused(*at, "--url", "ftp://example.org")
    assert "could not be asked" in shell.refused(*at, "--url", "http://127.0.0.1:9", "--python", "no-such-python")


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--strict",), 1)], ids=["", "strict"])
def test_a_mistake_of_ours_is_no_verdict(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    """What nobody expected is one line on stderr, and the build goes on; only --strict fails it."""

    def broken(*_: object, **__: object) -> NoReturn:
        raise KeyError("build")

    (shell.folder / "r.xml").write_bytes(REPORT)
    monkeypatch.setattr(upload, "post_reports", broken)
    said = shell.run("report", "r.xml", *NOWHERE, *words, code=code)
    assert said.err.splitlines()[-1] == "quarantine: The report could not be sent or kept: KeyError: 'build'"
    assert "Traceback" not in said.err


def test_a_full_stdout_is_no_verdict(daemon: Daemon, shell: Shell) -> None:
    """Where what was stored cannot be said, it is stored all the same, and the exit code is 0."""
    (shell.folder / "r.xml").write_bytes(REPORT)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*QUARANTINE, "report", "r.xml", *daemon.over_http, "--build", "b1"],
            cwd=shell.folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert build_of(daemon)["build"] == "b1"


def kept_part(shell: Shell) -> dict[str, Any]:
    """Return the build part of the one upload that waits on this machine."""
    [kept] = (shell.folder.parent / "home" / "quarantine" / "spool").glob("*/waiting/*/build.json")
    part: dict[str, Any] = json.loads(kept.read_text())
    return part


def test_globs_are_taken_as_the_shell_would(daemon: Daemon, shell: Shell, repository: Repository) -> None:
    """In quotes, or in a shell that leaves them alone; a file that two words name is sent once."""
    assert repository.head
    for name in ("one", "two", "deep/three"):
        path = shell.folder / "out" / f"{name}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(junit({f"t_{path.stem}": "P"}))
    said = shell.run("report", "out/**/*.xml", "out/one.xml", *daemon.over_http, "--build", "b1", "--json").json
    assert [report["name"] for report in said["reports"]] == ["three.xml", "one.xml", "two.xml"]
    assert said["passed"] == 3


def test_a_runner_that_wrote_no_report_leaves_a_trace(shell: Shell, repository: Repository) -> None:
    """With its exit code said, a build goes out that has no report; what was looked for is named."""
    assert repository.head
    said = shell.run("report", "junit.xml", "out/*.xml", *NOWHERE, "--build", "b1", "--exit-code", "139")
    assert said.err.splitlines()[0] == "quarantine: Nothing is at 'junit.xml' and 'out/*.xml': the build has no report."
    part = kept_part(shell)
    assert (part["build"], part["exit_code"], part["complete"]) == ("b1", 139, True)
    [reports] = (shell.folder.parent / "home" / "quarantine" / "spool").glob("*/waiting/*/reports")
    assert list(reports.iterdir()) == []


def test_a_crash_is_a_build_with_a_run_event(daemon: Daemon, shell: Shell, repository: Repository) -> None:
    """It is stored as a build of no test, red by what is missing; told again it is stored once."""
    assert repository.head
    crashed = ("report", "junit.xml", *daemon.over_http, "--build", "b1", "--exit-code", "139")
    assert shell.run(*crashed).out == "Build 1: recorded without a report.\n"
    assert shell.run(*crashed, "--strict").out == "Build 1: recorded without a report. It was already stored.\n"
    stored = build_of(daemon)
    assert (stored["build"], stored["exit_code"], stored["passed"], stored["failed"]) == ("b1", 139, 0, 0)
    with reading(daemon.app.engine) as connection:
        [event] = builds.run_events(connection, projects.by_slug(connection, PROJECT).id, [1])
    assert event["kind"] == "no-report"
    assert event["message"] == "No report came with this run; the runner ended with 139."


def test_where_some_reports_are_missing_the_build_is_not_complete(
    shell: Shell, repository: Repository, report: Path
) -> None:
    """The others are sent, the missing ones named."""
    assert repository.head
    said = shell.run("report", report, "absent.xml", *NOWHERE, "--build", "b1", "--exit-code", "1")
    assert "Nothing is at 'absent.xml': it is sent without, and as not complete." in said.err
    assert kept_part(shell)["complete"] is False


def test_in_a_folder_below_the_tree_is_the_whole_repository(shell: Shell, repository: Repository) -> None:
    """Its top level is found, and a command is recorded with the way to the folder; a --root is taken as it is."""
    folder = repository.path / "till side"
    repository.commit({"till side/till.py": "OPEN = True\n"})
    (folder / "r.xml").write_bytes(REPORT)
    below = Shell(folder, shell.monkeypatch, shell.capsys, shell.variables)
    below.run("report", "r.xml", *NOWHERE, "--build", "b1", "--command", "pytest --junitxml=r.xml")
    part = kept_part(shell)
    assert part["tree"] == read_tree(repository.path, leave_out=[folder / "r.xml"]).hash
    assert part["command"] == "cd 'till side' && pytest --junitxml=r.xml"
    at_the_root = shell.run("report", "--dry-run", "--command", "make test", "--leave-out", "till side/r.xml")
    assert at_the_root.json["tree"] == part["tree"]
    assert at_the_root.json["command"] == "make test"
    stated = below.run("report", "r.xml", "--dry-run", "--root", ".", "--command", "pytest").json
    assert stated["tree"] == read_tree(folder, leave_out=[folder / "r.xml"]).hash
    assert stated["command"] == "pytest"


def test_a_dry_run_prints_the_build_part_and_sends_nothing(
    daemon: Daemon, shell: Shell, repository: Repository, report: Path
) -> None:
    """On stdout the JSON that curl would send, on stderr where the tree lies; no daemon need be named."""
    stated = ("--build", "b1", "--exit-code", "1", "--variant", "browser=none")
    said = shell.run("report", report, "absent.xml", "--dry-run", *daemon.over_http, *stated)
    assert said.json == parse_build_part(said.out).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert (said.json["build"], said.json["exit_code"], said.json["commit"]) == ("b1", 1, repository.head)
    assert f"The tree is {repository.path}: the top level of the repository we are in." in said.err
    assert f"Reports: {report}." in said.err
    with reading(daemon.app.engine) as connection:
        assert projects.by_slug(connection, PROJECT).builds == 0
    assert (
        shell.run("report", "--dry-run", "--build", "b1", "--root", repository.path).json["tree"] == said.json["tree"]
    )
    shell.run("report", "--dry-run", "--variant", "os", code=2)


def test_outside_a_repository_it_still_reports(daemon: Daemon, shell: Shell) -> None:
    """The tree is hashed all the same; that nothing can be said of the change is said."""
    (shell.folder / "r.xml").write_bytes(REPORT)
    (shell.folder / "shop.py").write_text("PRICE = 1\n")
    said = shell.run("report", "r.xml", *daemon.over_http, "--build", "b1")
    assert "every test counts as reached" in said.err
    stored = build_of(daemon)
    assert stored["tree"] == read_tree(shell.folder, leave_out=[shell.folder / "r.xml"]).hash
    assert (stored["commit"], stored["base_commit"]) == (None, None)


def test_a_transition_is_told_to_whoever_sent_the_report(daemon: Daemon, shell: Shell) -> None:
    """The rerun that proves a test broken is answered with the sentence that says so."""
    (shell.folder / "r.xml").write_bytes(junit({"t1": "P", "t2": "F"}))
    tested = read_tree(shell.folder, leave_out=[shell.folder / "r.xml"]).hash
    world = World(daemon.app, FrozenClock(START))
    same: dict[str, Any] = {"variant": {"os": sys.platform}, "environment_hash": environment_of().hash, "job": ""}
    world.send("green", {"t1": "P", "t2": "P"}, **same)
    for number in range(3):
        stated = same | ({"tree": tested} if number == 0 else {})
        world.send(f"red-{number}", {"t1": "P", "t2": "F"}, **stated)
        for attempt in range(1 if number == 0 else 2):
            world.rerun(f"red-{number}", {"t1": "P", "t2": "F"}, number=attempt, **stated)
    said = shell.run("report", "r.xml", *daemon.over_http, "--rerun-of", "red-0", "--build", "rerun")
    counts, transition = said.out.splitlines()
    assert counts.startswith("Build ")
    assert transition.startswith("tests.test_ledger::t2: gating -> broken. Failed 3 trunk trials in a row")


@pytest.mark.parametrize("words", [("junit",), ("junit", "--together"), ("report", *NOWHERE)], ids=" ".join)
def test_what_may_never_end_is_not_read(shell: Shell, words: tuple[str, ...]) -> None:
    """A pipe that nobody writes to is refused by its name, rather than waited for; so is a device."""
    (shell.folder / "r.xml").write_bytes(REPORT)
    os.mkfifo(shell.folder / "pipe.xml")
    for name in ("pipe.xml", "/dev/zero"):
        said = shell.run(*words, "r.xml", name, code=2)
        assert said.out == ""
        assert f"'{name}' is no regular file." in said.err
