"""Worktrees of one clone, for several processes at once."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from quarantine.client.errors import TreeError
from quarantine.client.git import git, head_commit
from quarantine.client.worktrees import add_worktree, alone, remove_worktree

REFUSED_S = 0.3


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a repository of one commit."""
    folder = tmp_path / "clone"
    folder.mkdir()
    person = ("-c", "user.name=tester", "-c", "user.email=tester@example.org")
    (folder / "shop.py").write_text("PRICE = 1\n")
    for words in (("init", "-q"), ("add", "."), (*person, "commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def test_adding_waits_until_nobody_else_changes_the_worktrees(clone: Path, tmp_path: Path) -> None:
    """Whoever holds the lock is alone, and the next one goes on where it ends."""
    wanted = tmp_path / "tree"
    adding = Thread(target=add_worktree, args=(clone, wanted, head_commit(clone)))
    with alone(clone):
        adding.start()
        adding.join(REFUSED_S)
        assert adding.is_alive()
        assert not wanted.exists()
    adding.join()
    assert (wanted / "shop.py").read_text() == "PRICE = 1\n"


def test_removing_waits_too(clone: Path, tmp_path: Path) -> None:
    """A worktree is there until the lock is free."""
    wanted = tmp_path / "tree"
    add_worktree(clone, wanted, "HEAD")
    removing = Thread(target=remove_worktree, args=(clone, wanted))
    with alone(clone):
        removing.start()
        removing.join(REFUSED_S)
        assert wanted.exists()
    removing.join()
    assert not wanted.exists()


def test_many_at_once_all_get_their_worktree_and_leave_nothing(clone: Path, tmp_path: Path) -> None:
    """All bear the same last name, as those of `reruns run` do."""

    def comes_and_goes(number: int) -> str:
        tree = tmp_path / f"scratch{number}" / "tree"
        add_worktree(clone, tree, "HEAD")
        content = (tree / "shop.py").read_text()
        remove_worktree(clone, tree)
        return content

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(comes_and_goes, range(16))) == {"PRICE = 1\n"}
    assert git(clone, "worktree", "list").count(b"\n") == 1


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    """There is nothing to lock, and git's words say why."""
    with pytest.raises(TreeError, match="not a git repository"):
        add_worktree(tmp_path, tmp_path / "tree", "HEAD")
