"""The tree's hash: what changes it, what does not, and what cannot be hidden from it."""

import os
import py_compile
import shutil
import socket
import subprocess
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from quarantine.client.errors import TreeError
from quarantine.client.tree import git_blob, read_tree


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "shop.py").write_text("x = 1\n")
    (root / "run.sh").write_text("true\n")
    (root / "README.md").write_text("hello\n")
    git(root, "init", "-q")
    (root / ".gitignore").write_text("secret.py\n*.pth\n.env\n__pycache__/\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def tree_hash(root: Path) -> str:
    return read_tree(root).hash


def written(path: Path, text: str = "1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def replaced_by_a_link(path: Path, kept: Path) -> None:
    path.rename(kept)
    path.symlink_to(kept)


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda root: (root / "src/shop.py").write_text("x = 2\n"),
    "blanks only": lambda root: (root / "src/shop.py").write_text("x  = 1\n"),
    "line ends": lambda root: (root / "src/shop.py").write_bytes(b"x = 1\r\n"),
    "renamed": lambda root: (root / "src/shop.py").rename(root / "src/shop2.py"),
    "moved": lambda root: (root / "src/shop.py").rename(root / "shop.py"),
    "deleted": lambda root: (root / "README.md").unlink(),
    "untracked": lambda root: (root / "new.txt").write_text(""),
    "ignored module": lambda root: (root / "secret.py").write_text("x = 1\n"),
    "ignored pth": lambda root: (root / "hook.pth").write_text("import os\n"),
    "ignored env": lambda root: (root / ".env").write_text("A=1\n"),
    "executable": lambda root: (root / "run.sh").chmod(0o755),
    "link": lambda root: (root / "link").symlink_to("src"),
    "broken link": lambda root: (root / "link").symlink_to("nowhere"),
    "file became a link": lambda root: replaced_by_a_link(root / "README.md", root / ".git" / "kept"),
    "link named like a cache": lambda root: (root / "src/__pycache__").symlink_to(root.parent),
    "sitecustomize": lambda root: (root / "sitecustomize.py").write_text("1\n"),
    "hidden beside pyvenv.cfg": lambda root: (written(root / "src/pyvenv.cfg"), written(root / "src/evil.py")),
    "module in __pycache__": lambda root: written(root / "__pycache__/evil.py"),
    "sourceless bytecode": lambda root: py_compile.compile(str(root / "src/shop.py"), str(root / "src/ghost.pyc")),
    "unchecked bytecode": lambda root: py_compile.compile(
        str(root / "src/shop.py"), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    ),
    "plugin in metadata": lambda root: written(root / "x.egg-info/entry_points.txt", "[pytest11]\nx = shop\n"),
    "plugin hidden in metadata": lambda root: written(
        root / "x.egg-info/entry_points.txt", "[console_scripts]\na = shop:a\u2028[pytest11]\nx = shop\n"
    ),
    "plugin far down in metadata": lambda root: written(
        root / "x.egg-info/entry_points.txt", "[console_scripts]\n" + "#\n" * 2**20 + "[pytest11]\nx = shop\n"
    ),
    "module in metadata": lambda root: written(root / "x.egg-info/evil.py"),
    "metadata elsewhere": lambda root: written(root / "src/SOURCES.txt"),
    "coveragerc": lambda root: (root / ".coveragerc").write_text("[run]\n"),
    "not text": lambda root: (Path(os.fsdecode(os.fsencode(root) + b"/\xff.py"))).write_text("1\n"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_changes_the_tree(project: Path, kind: str) -> None:
    """Every edit of a file that can change what runs changes the tree, whatever git was told to ignore."""
    before = tree_hash(project)
    CHANGES[kind](project)
    assert tree_hash(project) != before


def build_environment(root: Path) -> None:
    venv.create(root / "env-of-any-name", with_pip=False, symlinks=True)


def open_socket(root: Path) -> None:
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{short}/s")  # the path of a socket may not be long
        shutil.move(f"{short}/s", root / "socket")


RUBBISH: dict[str, Callable[[Path], object]] = {
    "bytecode": lambda root: py_compile.compile(str(root / "src/shop.py")),
    "checked bytecode": lambda root: py_compile.compile(
        str(root / "src/shop.py"), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
    ),
    "caches": lambda root: [
        written(root / name / "file")
        for name in (".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "node_modules")
    ],
    "metadata of an editable install": lambda root: [
        written(root / "src/shop.egg-info" / name) for name in ("PKG-INFO", "SOURCES.txt", "requires.txt")
    ],
    "commands of an editable install": lambda root: written(
        root / "src/shop.egg-info/entry_points.txt", "[console_scripts]\nshop = shop:main\n"
    ),
    "coverage data": lambda root: [(root / name).write_text("x") for name in (".coverage", ".coverage.host.1.x")],
    "environment": build_environment,
    "empty folder": lambda root: (root / "empty").mkdir(),
    "touched": lambda root: os.utime(root / "src/shop.py", (0, 0)),
    "readable by all": lambda root: (root / "src/shop.py").chmod(0o666),
    "pipe": lambda root: os.mkfifo(root / "pipe"),
    "git's own": lambda root: git(root, "commit", "--allow-empty", "-qm", "second"),
    "staged": lambda root: git(root, "rm", "-q", "--cached", "src/shop.py"),
}


@pytest.mark.parametrize("kind", RUBBISH)
def test_what_does_not_change_the_tree(project: Path, kind: str) -> None:
    """Caches, environments, time stamps and git's own records leave the tree as it is."""
    before = tree_hash(project)
    RUBBISH[kind](project)
    assert tree_hash(project) == before


@pytest.mark.parametrize("lie", ["--assume-unchanged", "--skip-worktree"])
def test_git_cannot_be_told_to_hide_an_edit(project: Path, lie: str) -> None:
    """An edit that `git status` does not show changes the tree all the same."""
    before = tree_hash(project)
    git(project, "update-index", lie, "src/shop.py")
    (project / "src/shop.py").write_text("x = 2\n")
    (project / ".git/info/exclude").write_text("*\n")
    assert git(project, "status", "--porcelain") == ""
    assert tree_hash(project) != before


def test_a_checkout_elsewhere_is_the_same_tree(project: Path, tmp_path: Path) -> None:
    """The same content in another folder, without git, has the same hash."""
    shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    assert tree_hash(tmp_path / "copy") == tree_hash(project)


def test_what_the_caller_leaves_out(project: Path) -> None:
    """The reports of the build itself, or a folder it writes to, do not count."""
    before = tree_hash(project)
    (project / "out").mkdir()
    (project / "out" / "a.bin").write_text("x")
    (project / "report.xml").write_text("<testsuite/>")
    assert read_tree(project, leave_out=[project / "report.xml", project / "out"]).hash == before


def test_a_submodule_counts_by_its_files(project: Path, tmp_path: Path) -> None:
    """The files of a repository inside the tree count; its own records do not."""
    inner = project / "vendor"
    shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    shutil.copytree(tmp_path / "copy", inner)
    before = tree_hash(project)
    git(inner, "init", "-q")
    assert tree_hash(project) == before
    (inner / "README.md").write_text("other\n")
    assert tree_hash(project) != before


def test_blobs_are_named_as_git_names_them(project: Path) -> None:
    """The second hash of an entry is git's own, links included."""
    (project / "link").symlink_to("src/shop.py")
    git(project, "add", "-A")
    listed = {line.split("\t")[1]: tuple(line.split()[:2]) for line in git(project, "ls-files", "--stage").splitlines()}
    assert {entry.name: (entry.mode, entry.git_blob) for entry in read_tree(project).entries} == listed
    assert git_blob(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_the_hash_is_pinned(tmp_path: Path) -> None:
    """The hash of a small tree never changes between versions: stored evidence is keyed by it."""
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").symlink_to("a")
    assert tree_hash(tmp_path) == "e786b0505da43e74503028f753ace0974e17fb53f8da89e6ecc3296920c84c7d"


def test_names_cannot_be_shifted_into_one_another(tmp_path: Path) -> None:
    """Two trees that differ only in where one name ends have different hashes."""
    hashes: set[str] = set()
    for names in (["ab", "c"], ["a", "bc"], ["a\n", "bc"]):
        root = tmp_path / str(len(hashes))
        root.mkdir()
        for name in names:
            (root / name).write_text("")
        hashes.add(tree_hash(root))
    assert len(hashes) == 3


def test_a_tree_that_cannot_be_read(tmp_path: Path) -> None:
    """A folder that is not there is an error that names it."""
    with pytest.raises(TreeError, match="nowhere"):
        read_tree(tmp_path / "nowhere")
