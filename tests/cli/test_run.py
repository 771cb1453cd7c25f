"""`quarantine run`: the command is run as it is, its reports are found, and the verdict is the exit code."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarantine.client.tree import read_tree
from tests.cli.repository import Repository
from tests.cli.shell import Said, Shell
from tests.commands import QUARANTINE
from tests.fake_judge import FakeJudge, answer, judging
from tests.world import PROJECT, junit

RED, GREEN = junit({"t1": "F"}).decode(), junit({"t1": "P"}).decode()
PATIENCE_S = 30.0


@pytest.fixture
def judge() -> Iterator[FakeJudge]:
    with judging() as judge:
        yield judge


@pytest.fixture
def repository(shell: Shell) -> Repository:
    """Return a clone in the folder the shell is in, with reports as fixtures in it and one that was left there."""
    os.rmdir(shell.folder)  # noqa: PTH106 - it is made again
    repository = Repository.of(shell.folder, {"red.xml": RED, "green.xml": GREEN, "sub/a.txt": "a"})
    (shell.folder / "old.xml").write_text(GREEN)
    return repository


def run(shell: Shell, url: str, *words: str, code: int | None = 0) -> Said:
    """Run `quarantine run` for the project."""
    return shell.run("run", "--url", url, "--project", PROJECT, "--base", "main", *words, code=code)


def sh(command: str) -> tuple[str, ...]:
    """Return the words that run a line of shell."""
    return ("--", "sh", "-c", command)


@pytest.mark.parametrize(("word", "code"), [("accept", 0), ("reject", 1), ("inconclusive", 3)])
def test_it_exits_by_the_verdict(shell: Shell, judge: FakeJudge, repository: Repository, word: str, code: int) -> None:
    """Whatever the command ended with; the tree is the one before the run, without the reports that were left there."""
    before = read_tree(repository.path, leave_out=[repository.path / "old.xml"]).hash
    judge.answering(answer(word))
    said = run(shell, judge.url, *sh("cp red.xml out.xml; echo litter > litter; exit 7"), code=code)
    assert said.out.startswith(word.upper())
    [asked] = judge.asked
    assert asked.reports == {"out.xml": RED.encode()}
    assert (asked.build["tree"], asked.build["exit_code"], asked.build["changed"]) == (before, 7, [])
    assert asked.build["command"] == "sh -c 'cp red.xml out.xml; echo litter > litter; exit 7'"
    assert asked.build["started_at"].endswith("+00:00")
    assert asked.question is not None
    assert (asked.question["timed_out"], asked.question["can_rerun"]) == (False, True)
    assert asked.question["runner_s"] > 0
    assert said.err.splitlines()[-1] == "quarantine: The command ended (exit code 7). Reports: out.xml."


@pytest.mark.usefixtures("repository")
def test_its_output_passes_through(shell: Shell, judge: FakeJudge) -> None:
    """To stdout and stderr as it comes; with --json to stderr, so that stdout holds one document."""
    judge.answering(answer())
    done = [
        subprocess.run(
            [*QUARANTINE, "run", "--url", judge.url, "--project", PROJECT, *json, *sh("echo out; echo err >&2")],
            cwd=shell.folder,
            env=os.environ | shell.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        for json in ((), ("--json",))
    ]
    assert [one.returncode for one in done] == [0, 0]
    assert done[0].stdout.startswith("out\nACCEPT")
    assert "err\n" in done[0].stderr
    assert done[1].stdout.startswith("{")
    assert "out\n" in done[1].stderr


@pytest.mark.usefixtures("repository")
def test_a_run_that_writes_no_report_says_so(shell: Shell, judge: FakeJudge) -> None:
    """Reports that lie there, that are copied with yesterday's time, that are empty, are not of this run."""
    (shell.folder / "kept").write_text(GREEN)
    os.utime(shell.folder / "kept", (1e9, 1e9))
    for command, reason in (
        ("exit 3", "none was written that matches **/*.xml"),
        ("cp -p kept new.xml", "is older than it"),
        (": > new.xml", "none was written"),
    ):
        (shell.folder / "new.xml").unlink(missing_ok=True)
        said = run(shell, judge.url, *sh(command))
        assert reason in said.err
        assert judge.asked[-1].reports == {}
    run(shell, judge.url, "--reports", "new.xml", *sh(": > new.xml"))
    assert judge.asked[-1].reports == {}
    said = run(shell, judge.url, "--reports", "*.xml", *sh(": > new.xml; cp green.xml b.xml"))
    assert "new.xml is empty" in said.err
    assert judge.asked[-1].reports == {"b.xml": GREEN.encode(), "new.xml": b""}


def test_it_runs_where_we_are(shell: Shell, judge: FakeJudge, repository: Repository) -> None:
    """In a folder below the root it runs there, and is recorded so; --reports is meant from there too."""
    shell.folder = repository.path / "sub"
    run(shell, judge.url, "--reports", "r/*.res", *sh("mkdir r; cp ../green.xml r/a.res; pwd > ../../seen"))
    assert (repository.path.parent / "seen").read_text().strip() == str(shell.folder)
    assert judge.asked[-1].reports == {"a.res": GREEN.encode()}
    assert judge.asked[-1].build["command"].startswith("cd sub && sh -c ")


@pytest.mark.usefixtures("repository")
def test_a_run_whose_time_is_up_is_killed_with_its_children(shell: Shell, judge: FakeJudge) -> None:
    """It is judged as timed out, with what it had written."""
    child = shell.folder.parent / "child"
    command = f"cp green.xml out.xml; sleep 600 & echo $! > {child}; wait"
    said = run(shell, judge.url, "--timeout", "1", "--no-reruns", *sh(command))
    assert "killed after 1." in said.err
    [asked] = judge.asked
    assert asked.reports == {"out.xml": GREEN.encode()}
    assert asked.question is not None
    assert asked.question["timed_out"] is True
    assert "exit_code" not in asked.build
    assert until_over(int(child.read_text()))
    run(shell, judge.url, "--timeout", "1", "--report-only", *sh("sleep 600"), code=124)


def until_over(process: int) -> bool:
    """Return whether a process ends before long; one that nobody has asked after is a zombie, and has."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


HEARING = "import os, signal, sys; signal.signal(1, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"
"""Starts a command that hears of a terminal that closes, also where whoever runs the tests does not."""


def started(shell: Shell, url: str, *words: str) -> "subprocess.Popen[bytes]":
    """Start `quarantine run` in a process of its own, with all of its scratch folders in one place."""
    (shell.folder.parent / "scratch").mkdir(exist_ok=True)
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            HEARING,
            *QUARANTINE,
            "run",
            "--url",
            url,
            "--project",
            PROJECT,
            "--base",
            "main",
            *words,
        ],
        cwd=shell.folder,
        env=os.environ | shell.variables | {"TMPDIR": str(shell.folder.parent / "scratch")},
    )


def written(path: Path) -> str:
    """Wait until something is in a file, and return it."""
    deadline = time.monotonic() + PATIENCE_S
    while not (path.exists() and path.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return path.read_text()


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_who_is_stopped_stops_the_command(shell: Shell, judge: FakeJudge, number: signal.Signals) -> None:
    """A CI system that cancels the job, or a terminal that closes, leaves nothing running, and gets no verdict."""
    child = shell.folder.parent / "child"
    process = started(shell, judge.url, *sh(f"setsid sleep 600 & echo $! > {child}; sleep 600"))
    pid = int(written(child))
    process.send_signal(number)
    assert process.wait(PATIENCE_S) in {128 + number, -number}
    assert until_over(pid)
    assert judge.asked == []


@pytest.mark.usefixtures("repository")
def test_what_hides_in_another_session_is_killed_too(shell: Shell, judge: FakeJudge) -> None:
    """A server that the tests put into the background is no part of the next rerun."""
    child = shell.folder.parent / "child"
    run(shell, judge.url, *sh(f"cp green.xml out.xml; setsid sleep 600 & echo $! > {child}"))
    assert until_over(int(child.read_text()))


def test_a_base_rerun_that_was_killed_leaves_nothing_to_the_next_run(
    shell: Shell, judge: FakeJudge, repository: Repository
) -> None:
    """Killed with -9 its worktree stays, and the next run removes it with git's record of it, and says so."""
    base = repository.head
    repository.commit({"sub/a.txt": "b"})
    judge.answering(answer("inconclusive", base=1), answer())
    place, scratch = shell.folder.parent / "place", shell.folder.parent / "scratch"
    words = ("--base", base, *sh(f"cp red.xml out.xml; grep -q b sub/a.txt || {{ pwd > {place}; sleep 600; }}"))
    process = started(shell, judge.url, *words)
    tree = Path(written(place).strip())
    process.kill()
    process.wait(PATIENCE_S)
    assert tree.exists()
    (scratch / "quarantine-mine").mkdir()
    done = subprocess.run(
        [*QUARANTINE, "run", "--url", judge.url, "--project", PROJECT, *sh("cp red.xml out.xml")],
        cwd=shell.folder,
        env=os.environ | shell.variables | {"TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{tree.parent} was left by a run that was killed; it has been removed." in done.stderr
    assert [path.name for path in scratch.iterdir()] == ["quarantine-mine"]
    assert repository.git("worktree", "list").count("\n") == 0


@pytest.mark.usefixtures("repository")
def test_report_only_keeps_the_exit_code(shell: Shell, judge: FakeJudge) -> None:
    """The reports are sent; nothing is asked, and trouble with the upload changes nothing."""
    run(shell, judge.url, "--report-only", *sh("cp red.xml out.xml; exit 7"), code=7)
    [asked] = judge.asked
    assert (asked.path, asked.question, asked.reports) == ("reports", None, {"out.xml": RED.encode()})
    assert asked.build["exit_code"] == 7
    assert "waits in" in run(shell, "http://127.0.0.1:9", "--report-only", *sh("exit 0"), code=0).err


@pytest.mark.usefixtures("repository")
def test_reruns_run_the_same_line(shell: Shell, judge: FakeJudge) -> None:
    """Quotes, blanks and dollars in the words of the command arrive as they were."""
    judge.answering(answer("inconclusive", head=1), answer())
    script = "import os; open('out.xml', 'w').write('<testsuite name=\"' + '$HOME' + '\"/>')"
    run(shell, judge.url, "--", sys.executable, "-c", script)
    assert [one.reports for one in judge.asked] == [{"out.xml": b'<testsuite name="$HOME"/>'}] * 2


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("words", [("--", "no-such-program"), (), ("--", "./red.xml")])
def test_a_command_that_cannot_be_run_is_2(shell: Shell, judge: FakeJudge, words: tuple[str, ...]) -> None:
    """It is named, and nothing is asked."""
    said = run(shell, judge.url, *words, code=2)
    assert "COMMAND" in said.err
    assert judge.asked == []
