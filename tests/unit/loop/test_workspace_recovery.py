"""What a workspace leaves when its process dies, and who may remove it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quarantine.loop import claims
from quarantine.loop.workspace import Workspace
from tests.cli.repository import Repository

ROOT = Path(__file__).parents[3]
ONE_ATTEMPT = """
import os, signal, sys
from pathlib import Path
from quarantine.loop.patch import Patch
from quarantine.loop.workspace import Workspace

repository, place, mark = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
seen = 0

def watch(event, arguments):
    global seen
    if event not in WATCHED or not any(str(place) in str(one) for one in arguments):
        return
    seen += 1
    if seen == mark:
        os.kill(os.getpid(), signal.SIGKILL)

WATCHED = {"subprocess.Popen", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.chmod", "open"}
PATCH = Patch.parse("--- a/run.sh\\n+++ b/run.sh\\n@@ -1,2 +1,2 @@\\n #!/bin/sh\\n-exit 0\\n+exit 1\\n")
sys.addaudithook(watch)
with Workspace.open(repository, folder=place) as workspace:
    workspace.apply(PATCH)
    (workspace.path / "left").mkdir()
    (workspace.path / "left" / "file").write_text("x")
    workspace.roll_back()
print(seen)
"""
WAITING = """
import sys
from pathlib import Path
from quarantine.loop.workspace import Workspace
with Workspace.open(Path(sys.argv[1]), folder=Path(sys.argv[2])) as workspace:
    print(workspace.path, flush=True)
    sys.stdin.read()
"""


def _attempt(repository: Path, place: Path, mark: int) -> "subprocess.CompletedProcess[str]":
    """Make one attempt in a process that kills itself at its mark-th step; 0 for never."""
    return subprocess.run(
        [sys.executable, "-c", ONE_ATTEMPT, str(repository), str(place), str(mark)],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip


@contextmanager
def _another_process(repository: Path, place: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """Hold a workspace in another process, and yield the process and its worktree."""
    command = [sys.executable, "-c", WAITING, str(repository), str(place)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def _registered(repository: Repository) -> int:
    return repository.git("worktree", "list").count("\n")


def test_a_kill_at_any_step_is_recovered_from(repository: Repository, place: Path) -> None:
    """Killed at steps spread over open, apply, roll-back and close, the next open leaves nothing of it."""
    whole = _attempt(repository.path, place, 0)
    assert whole.returncode == 0, whole.stderr
    steps = int(whole.stdout)
    for mark in sorted({1 + step * (steps - 1) // 8 for step in range(9)}):
        killed = _attempt(repository.path, place, mark)
        assert killed.returncode == -signal.SIGKILL, (mark, killed.stderr)
        with Workspace.open(repository.path, folder=place) as workspace:
            assert _registered(repository) == 1
            assert _only_unclaimed(place, workspace)
    assert _registered(repository) == 0
    assert repository.git("fsck", "--strict") == ""


def _only_unclaimed(place: Path, workspace: Workspace) -> bool:
    """Whether all else that lies there is a folder killed before it could say whose it is: that holds nothing."""
    others = [folder for folder in place.iterdir() if folder != workspace.path.parent]
    return all(not [one for one in folder.iterdir() if one.stat().st_size] for folder in others)


def test_a_live_workspace_is_never_taken(repository: Repository, place: Path) -> None:
    """As long as its process lives, another's open leaves a workspace alone; after a kill it goes."""
    with _another_process(repository.path, place) as (process, tree):
        with Workspace.open(repository.path, folder=place) as workspace:
            assert workspace.recovered == []
            assert tree.exists()
        process.kill()
        process.wait()
        with Workspace.open(repository.path, folder=place) as workspace:
            assert workspace.recovered == [str(tree.parent)]
            assert not tree.exists()


def test_one_that_was_made_elsewhere_is_found_through_git(repository: Repository, place: Path, tmp_path: Path) -> None:
    """A dead process's workspace is removed wherever it lies, and whatever its worktree has become."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with _another_process(repository.path, elsewhere) as (process, tree):
        process.kill()
        process.wait()
        (tree / ".git" / "config").unlink()
        (tree / "src").chmod(0o000)
        (tree / "x").symlink_to(repository.path)
        with Workspace.open(repository.path, folder=place) as workspace:
            assert workspace.recovered == [str(tree.parent)]
    assert list(elsewhere.iterdir()) == []
    assert (repository.path / "src/app.py").exists()


def test_a_record_whose_folder_is_gone_is_removed(repository: Repository, place: Path) -> None:
    """When somebody has emptied the temporary folder, git's record of a dead process's worktree goes too."""
    with _another_process(repository.path, place) as (process, tree):
        process.kill()
        process.wait()
        subprocess.run(["rm", "-rf", str(tree.parent)], check=True)
        assert _registered(repository) == 1
        with Workspace.open(repository.path, folder=place):
            assert _registered(repository) == 1
    assert _registered(repository) == 0


@pytest.mark.parametrize("lock", [True, False])
def test_the_users_own_worktrees_stay(repository: Repository, place: Path, *, lock: bool) -> None:
    """A worktree that somebody else made stays, locked or not, there or gone, even under a name like ours."""
    mine = place / "quarantine-workspace-mine" / "tree"
    gone = place / "gone"
    words = ["--lock", "--reason", "quarantine workspace is what I call it"] if lock else []
    for path in (mine, gone):
        repository.git("worktree", "add", "-q", "--detach", *words, str(path))
    subprocess.run(["rm", "-rf", str(gone)], check=True)
    with Workspace.open(repository.path, folder=place) as workspace:
        assert workspace.recovered == []
    assert _registered(repository) == 2
    assert (mine / "src/app.py").exists()


def test_who_is_gone_is_only_said_of_this_machine() -> None:
    """Another machine's processes may live, whatever runs here under their number."""
    machine, boot, namespace, _, _ = here = claims._identity()
    assert not claims._is_gone(here)
    assert claims._is_gone([machine, boot, namespace, str(os.getpid()), "1"])
    assert claims._is_gone([machine, "another-boot", namespace, str(os.getpid()), "1"])
    assert not claims._is_gone([machine, boot, "another-namespace", "1", "1"])
    assert not claims._is_gone(["another-machine", boot, namespace, "1", "1"])
