"""The workspace as a transaction: what is put back, what is never touched, what a patch may reach."""

import hashlib
import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quarantine.client.tree import read_tree
from quarantine.loop.errors import BadPatch, WorkspaceError
from quarantine.loop.patch import Patch
from quarantine.loop.protected import Protected
from quarantine.loop.workspace import Workspace
from tests.cli.repository import Repository

LOCK_FILE = "quarantine-worktrees.lock"
GOOD = Patch.parse(
    "--- a/src/app.py\n+++ b/src/app.py\n@@ -1,3 +1,3 @@\n def double(number):\n-    return number + number\n"
    "+    return 2 * number\n \n--- /dev/null\n+++ b/src/new/made.py\n@@ -0,0 +1 @@\n+NEW = 1\n"
)


def everything(root: Path, *, but: frozenset[str] = frozenset()) -> dict[str, tuple[int, str]]:
    """Return mode and content of all that lies below a folder, by an independent walk."""
    found = {}
    for folder, names, files in os.walk(root):
        for name in names + files:
            path = Path(folder, name)
            shown = str(path.relative_to(root))
            if shown in but:
                continue
            mode = path.lstat().st_mode
            content = path.read_bytes() if stat.S_ISREG(mode) else b""
            content = os.fsencode(path.readlink()) if stat.S_ISLNK(mode) else content
            found[shown] = (mode, hashlib.sha256(content).hexdigest())
    return found


def test_nothing_of_the_users_is_touched(repository: Repository, place: Path, tmp_path: Path) -> None:
    """Checkout, index, references, stash, hooks and configuration are byte for byte what they were; no hook runs."""
    before = everything(repository.path)
    with Workspace.open(repository.path, folder=place) as workspace:
        workspace.apply(GOOD)
        inside = everything(repository.path, but=frozenset({f".git/{LOCK_FILE}"}))
        workspace.roll_back(prove=True)
        with workspace.agent_folder() as folder:
            (folder / "src" / "app.py").write_text("changed\n")
    assert everything(repository.path, but=frozenset({f".git/{LOCK_FILE}"})) == before
    assert all(name.startswith(".git/worktrees") for name in inside.keys() - before.keys())
    assert list(place.iterdir()) == []
    assert not (tmp_path / "hook-ran").exists()


def test_the_worktree_is_the_base_and_not_the_checkout(repository: Repository, place: Path) -> None:
    """What the user has not committed is not tested; the tree's hash is the one a plain checkout has."""
    clone = place.parent / "clone"
    repository.git("clone", "-q", str(repository.path), str(clone))
    with Workspace.open(repository.path, folder=place) as workspace:
        assert (workspace.path / "empty.txt").read_text() == ""
        assert not (workspace.path / "draft.py").exists()
        assert workspace.base_commit == repository.head
        assert workspace.base_tree == read_tree(clone).hash == workspace.tree().hash


def test_a_patch_is_applied_and_rolled_back(repository: Repository, place: Path) -> None:
    """After a roll-back the worktree is what it was, by every byte of it."""
    with Workspace.open(repository.path, folder=place) as workspace:
        before = everything(workspace.path)
        workspace.apply(GOOD)
        assert (workspace.path / "src/new/made.py").read_text() == "NEW = 1\n"
        assert workspace.tree().hash != workspace.base_tree
        workspace.roll_back(prove=True)
        assert everything(workspace.path) == before
        workspace.apply(GOOD)


def test_a_second_patch_needs_a_roll_back(repository: Repository, place: Path) -> None:
    """Patches never lie on top of each other."""
    with Workspace.open(repository.path, folder=place) as workspace:
        workspace.apply(GOOD)
        with pytest.raises(WorkspaceError, match="Roll back first"):
            workspace.apply(GOOD)


def _link_over_a_folder(root: Path) -> None:
    outside = root.parent.parent / "outside"
    outside.mkdir()
    (outside / "leaf.txt").write_text("not ours\n")
    for name in ("leaf.txt",):
        (root / "src/pkg/deep" / name).unlink()
    (root / "src/pkg/deep").rmdir()
    (root / "src/pkg/deep").symlink_to(outside)


def _nested_repository(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root / "src/pkg/nested")], check=True)
    (root / "src/pkg/nested/file").write_text("x")


def _replaced_git(root: Path) -> None:
    subprocess.run(["rm", "-rf", str(root / ".git")], check=True)
    (root / ".git").write_text(f"gitdir: {root.parent}\n")


def _deep(root: Path) -> None:
    os.chdir(root)
    try:
        for _ in range(60):  # a path of 6,000 characters
            Path("d" * 100).mkdir()
            os.chdir("d" * 100)
        Path("end").write_text("deep")
    finally:
        os.chdir(root)


def _read_only(root: Path) -> None:
    (root / "src" / "locked").mkdir()
    (root / "src" / "locked" / "file").write_text("x")
    (root / "src" / "locked" / "file").chmod(0o000)
    (root / "src" / "locked").chmod(0o555)
    (root / "src").chmod(0o555)


def _special_files(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        os.chdir(root)
        bound.bind("socket")
    (root / "src/app.py").unlink()
    os.mkfifo(root / "src/app.py")


def _same_size_and_time(root: Path) -> None:
    path = root / "src/app.py"
    times = path.stat()
    path.write_bytes(path.read_bytes().replace(b"number +", b"number -"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _kinds_swapped(root: Path) -> None:
    (root / "empty.txt").unlink()
    (root / "empty.txt").mkdir()
    (root / "empty.txt" / "inside").write_text("x")
    (root / "src/pkg/deep/leaf.txt").unlink()
    (root / "src/pkg/deep").rmdir()
    (root / "src/pkg/deep").write_text("a file now")
    (root / "shortcut").unlink()
    (root / "shortcut").symlink_to("tests")


def _beside_the_tree(root: Path) -> None:
    (root.parent / "conftest.py").write_text("raise SystemExit(0)\n")
    (root.parent / "pytest.ini").write_text("[pytest]\n")


MESSES: list[Callable[[Path], object]] = [
    _link_over_a_folder, _nested_repository, _replaced_git, _deep, _read_only, _special_files, _same_size_and_time,
    _kinds_swapped, _beside_the_tree,
    lambda root: (root / "src/app.py").chmod(0o777),
    lambda root: root.chmod(0o500),
    lambda root: (root / "src/empty/folders").mkdir(parents=True),
    lambda root: (root / "ignored.log").write_text("x"),
    lambda root: os.link(root / "src/app.py", root.parent / "second-name"),
    lambda root: subprocess.run(["rm", "-rf", *map(str, root.iterdir())], check=True),
    lambda root: subprocess.run(["git", "-C", str(root), "tag", "mine"], check=True),
    lambda root: subprocess.run("rm -rf ../tree; ln -s / ../tree", shell=True, cwd=root, check=True),  # noqa: S602 - as code under test would
    lambda root: (root / "src/app.py").write_text((root / "src/app.py").read_text()),
    lambda root: (root / os.fsdecode(b"not-\xff-text")).write_text("x"),
]  # fmt: skip


@pytest.fixture(scope="module")
def lasting(model_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Yield one workspace that many messes are made in, one after the other, as attempts do."""
    with Workspace.open(model_repository, folder=tmp_path_factory.mktemp("lasting")) as workspace:
        yield workspace


@pytest.mark.parametrize("mess", MESSES)
def test_whatever_a_run_leaves_is_put_back(
    lasting: Workspace, mess: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No kind of file, mode, link, depth or repository survives a roll-back, and nothing outside is followed."""
    place = lasting.path.parent.parent
    monkeypatch.chdir(place)  # what changes the folder is taken back
    before = everything(lasting.path)
    beside = set(lasting.path.parent.iterdir())
    lasting.apply(GOOD)
    mess(lasting.path)
    os.chdir(place)
    lasting.roll_back(prove=True)
    assert everything(lasting.path) == before
    assert len(set(lasting.path.parent.iterdir())) == len(beside)
    outside = place / "outside"
    assert not outside.exists() or (outside / "leaf.txt").read_text() == "not ours\n"


def test_a_change_without_a_trace_is_found_by_the_proof(repository: Repository, place: Path) -> None:
    """The proof reads content: it does not believe the noted times."""
    with Workspace.open(repository.path, folder=place) as workspace:
        path = workspace.path / "src/app.py"
        path.write_bytes(b"other")
        marks = workspace._state._folders["src"]
        s = path.lstat()
        marks["app.py"] = (
            s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_uid, s.st_gid, s.st_dev,
        )  # fmt: skip
        workspace.roll_back()
        with pytest.raises(WorkspaceError, match="is not what it was"):
            workspace.roll_back(prove=True)


def test_a_forged_copy_is_not_put_back(repository: Repository, place: Path) -> None:
    """Copies that lie beside the worktree are compared with their hash before they are used."""
    with Workspace.open(repository.path, folder=place) as workspace:
        for kept in (workspace.path.parent / "kept").iterdir():
            kept.write_bytes(b"forged")
        (workspace.path / ".git/config").unlink()
        with pytest.raises(WorkspaceError, match="kept copy"):
            workspace.roll_back()


def _git_says(where: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=where, check=True, capture_output=True, text=True).stdout


def test_the_worktree_has_no_history_to_look_the_answer_up_in(repository: Repository, place: Path) -> None:
    """Neither the tests nor the agent find a later commit, an earlier one, a remote, or the user's references."""
    base = repository.head
    answer = repository.commit({"answer.py": "42\n"})
    repository.git("tag", "answer")
    with Workspace.open(repository.path, base, folder=place) as workspace, workspace.agent_folder() as folder:
        for where in (workspace.path, folder):
            asked = ("log --all --oneline", "tag", "remote", "stash list", "status --short")
            told = "".join(_git_says(where, *words.split()) for words in asked)
            assert len(told.splitlines()) == 1, told
            assert told.endswith(" The base\n")
            shown = subprocess.run(["git", "cat-file", "-e", answer], cwd=where, check=False, capture_output=True)
            assert shown.returncode != 0
        assert (folder / "tests/test_app.py").exists()
        assert read_tree(folder).hash == workspace.base_tree


def test_an_agent_that_reaches_into_the_worktree_gains_nothing(repository: Repository, place: Path) -> None:
    """What it changes there instead of in its folder is gone before its patch is applied."""
    with Workspace.open(repository.path, folder=place) as workspace:
        with workspace.agent_folder() as folder:
            (folder / "../../tree/src/app.py").resolve().write_text("changed\n")
            (folder / "../../conftest.py").resolve().write_text("changed\n")
        workspace.apply(GOOD)
        assert "2 * number" in (workspace.path / "src/app.py").read_text()
        assert not (workspace.path.parent / "conftest.py").exists()
        workspace.roll_back(prove=True)


def test_two_workspaces_share_a_repository(repository: Repository, place: Path) -> None:
    """Each has a worktree of its own, and opening one does not take the other for a leftover."""
    with Workspace.open(repository.path, folder=place) as one, Workspace.open(repository.path, folder=place) as other:
        assert other.recovered == []
        one.apply(GOOD)
        assert other.tree().hash == other.base_tree
        other.roll_back(prove=True)
        one.roll_back(prove=True)


@pytest.mark.parametrize(
    ("diff", "code", "said"),
    [
        ("--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-never there\n+x\n", "does-not-apply", "src/app.py"),
        ("--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n", "does-not-apply", "none.py"),
        ("--- a/shortcut/app.py\n+++ b/shortcut/app.py\n@@ -6 +6 @@\n-a\n+b\n", "symlink", "shortcut"),
        ("--- /dev/null\n+++ b/shortcut/new.py\n@@ -0,0 +1 @@\n+x\n", "symlink", "shortcut"),
        ("--- a/shortcut\n+++ b/shortcut\n@@ -1 +1 @@\n-src\n\\ No newline at end\n+/etc\n", "symlink", "shortcut"),
        ("--- /dev/null\n+++ b/src/app.py\n@@ -0,0 +1 @@\n+x\n", "does-not-apply", "already exists"),
        ("--- /dev/null\n+++ b/src/app.py/x\n@@ -0,0 +1 @@\n+x\n", "does-not-apply", "src/app.py"),
    ],
)  # fmt: skip
def test_a_patch_that_cannot_be_applied_changes_nothing(
    repository: Repository, place: Path, diff: str, code: str, said: str
) -> None:
    """Each refusal says where, and the base stays clean for the next attempt."""
    with Workspace.open(repository.path, folder=place) as workspace:
        before = everything(workspace.path)
        with pytest.raises(BadPatch, match=said) as refused:
            workspace.apply(Patch.parse(diff))
        assert refused.value.code == code
        assert everything(workspace.path) == before
        workspace.apply(GOOD)


def test_a_submodule_is_out_of_reach(repository: Repository, place: Path) -> None:
    """A path in a submodule's folder is refused, for nothing of it is the repository's."""
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{repository.head},vendor/lib")
    repository.git("commit", "-qm", "a submodule")
    with Workspace.open(repository.path, folder=place) as workspace:
        with pytest.raises(BadPatch, match="vendor/lib") as refused:
            workspace.apply(Patch.parse("--- /dev/null\n+++ b/vendor/lib/x.py\n@@ -0,0 +1 @@\n+x\n"))
        assert refused.value.code == "submodule"


def test_protected_paths_are_restored_and_the_rest_is_left(repository: Repository, place: Path) -> None:
    """Tests come back, new ones of the runner's go, and what the patch did stays."""
    with Workspace.open(repository.path, folder=place) as workspace:
        workspace.apply(GOOD)
        (workspace.path / "tests/test_app.py").write_text("def test_double():\n    pass\n")
        (workspace.path / "src/conftest.py").write_text("evil\n")
        (workspace.path / "extra/tests").mkdir(parents=True)
        (workspace.path / "extra/tests/test_more.py").write_text("evil\n")
        (workspace.path / "extra/data.bin").write_text("stays\n")
        (workspace.path / "other").symlink_to(place)
        changed = workspace.restore(Protected())
        assert changed == ["extra/tests/test_more.py", "other", "src/conftest.py", "tests/test_app.py"]
        assert (workspace.path / "tests/test_app.py").read_text().endswith("assert True\n")
        assert (workspace.path / "src/new/made.py").exists()
        assert (workspace.path / "extra/data.bin").exists()
        assert workspace.restore(Protected()) == []
        workspace.roll_back(prove=True)


def test_a_folder_of_tests_that_became_a_link_is_restored(repository: Repository, place: Path) -> None:
    """Replacing a whole protected folder by a link does not keep the tests away."""
    with Workspace.open(repository.path, folder=place) as workspace:
        subprocess.run("rm -r tests; ln -s src tests", shell=True, cwd=workspace.path, check=True)  # noqa: S602
        assert workspace.restore(Protected()) == ["tests", "tests/test_app.py"]
        assert not (workspace.path / "tests").is_symlink()
        workspace.roll_back(prove=True)


def test_line_ends_are_those_of_a_checkout(tmp_path: Path, place: Path) -> None:
    """A file that is checked out with CRLF is patched and put back with CRLF."""
    user = Repository.of(tmp_path / "crlf", {".gitattributes": "*.bat text eol=crlf\n", "run.bat": "one\ntwo\n"})
    with Workspace.open(user.path, folder=place) as workspace:
        assert (workspace.path / "run.bat").read_bytes() == b"one\r\ntwo\r\n"
        workspace.apply(Patch.parse("--- a/run.bat\n+++ b/run.bat\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"))
        assert (workspace.path / "run.bat").read_bytes() == b"ONE\r\ntwo\r\n"
        workspace.roll_back(prove=True)
        assert (workspace.path / "run.bat").read_bytes() == b"one\r\ntwo\r\n"


def test_the_repositorys_own_line_ends_are_kept(tmp_path: Path, place: Path) -> None:
    """With core.autocrlf the worktree is as the user's checkout is, and patches with plain line ends apply."""
    user = Repository.of(tmp_path / "autocrlf", {"a.txt": "one\ntwo\n"})
    user.git("config", "core.autocrlf", "true")
    with Workspace.open(user.path, folder=place) as workspace:
        assert (workspace.path / "a.txt").read_bytes() == b"one\r\ntwo\r\n"
        workspace.apply(Patch.parse("--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"))
        assert (workspace.path / "a.txt").read_bytes() == b"ONE\r\ntwo\r\n"
        workspace.roll_back(prove=True)


def test_no_program_of_the_repository_is_run(tmp_path: Path, place: Path) -> None:
    """Filters, hooks, monitors and external diffs that the configuration names stay unused; LFS files are pointers."""
    user = Repository.of(
        tmp_path / "filters", {".gitattributes": "*.bin filter=evil diff=evil\n", "a.bin": "pointer\n"}
    )
    ran = tmp_path / "ran"
    for name in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "diff.evil.textconv", "diff.external"):
        user.git("config", name, f"touch {ran}; cat")
    user.git("config", "filter.evil.required", "true")
    user.git("config", "core.hooksPath", str(tmp_path))
    ran.unlink(missing_ok=True)  # git status of the fixture itself may have asked the monitor
    with Workspace.open(user.path, folder=place) as workspace:
        assert (workspace.path / "a.bin").read_text() == "pointer\n"
        workspace.apply(Patch.parse("--- a/a.bin\n+++ b/a.bin\n@@ -1 +1 @@\n-pointer\n+other\n"))
        workspace.roll_back(prove=True)
    assert not ran.exists()


def test_a_sparse_checkout_is_made_whole(repository: Repository, place: Path) -> None:
    """What the user does not have checked out is tested all the same."""
    repository.git("checkout", "-q", "--force", "HEAD", ".")
    repository.git("sparse-checkout", "set", "--no-cone", "/src/")
    assert not (repository.path / "run.sh").exists()
    with Workspace.open(repository.path, folder=place) as workspace:
        assert (workspace.path / "run.sh").exists()


def test_a_partial_clone_is_refused_in_words(repository: Repository, place: Path, tmp_path: Path) -> None:
    """Nothing is fetched: a clone that lacks contents of the base cannot be worked on, and leaves nothing behind."""
    repository.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    repository.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository.path}", str(partial))
    with pytest.raises(WorkspaceError, match="must have all files of the base"):
        Workspace.open(partial, folder=place)
    assert list(place.iterdir()) == []


def test_a_bare_repository_and_a_folder_below_the_root_will_do(repository: Repository, place: Path) -> None:
    """The repository may be given by any folder of it, and need not be checked out."""
    bare = place.parent / "bare.git"
    repository.git("clone", "-q", "--bare", str(repository.path), str(bare))
    with (
        Workspace.open(bare, "main", folder=place) as one,
        Workspace.open(repository.path / "src", folder=place) as two,
    ):
        assert one.base_tree == two.base_tree


def test_places_and_bases_that_will_not_do_are_named(repository: Repository, place: Path) -> None:
    """A workspace in the checkout would change it; a base that is not there cannot be tested."""
    with pytest.raises(WorkspaceError, match="outside of the repository"):
        Workspace.open(repository.path, folder=repository.path / "build")
    with pytest.raises(WorkspaceError, match="no commit"):
        Workspace.open(repository.path, "nowhere", folder=place)
    with pytest.raises(WorkspaceError, match="cannot be worked on"):
        Workspace.open(place, folder=place)
    assert list(place.iterdir()) == []


def test_scratch_goes_with_the_roll_back(repository: Repository, place: Path) -> None:
    """Homes and reports of one attempt are not there for the next."""
    with Workspace.open(repository.path, folder=place) as workspace:
        scratch = workspace.scratch()
        (scratch / "junit.xml").write_text("<testsuite/>")
        assert scratch != workspace.scratch()
        workspace.roll_back()
        assert not scratch.exists()
