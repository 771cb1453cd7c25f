"""Manifests, and what differs from a base commit, with a real git."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from quarantine.client import git
from quarantine.client.errors import TreeError
from quarantine.client.manifest import changed_since, difference, manifest_of_commit, manifest_of_tree
from quarantine.client.tree import read_tree


def run_git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
    )
    return done.stdout.strip()


def commit(root: Path) -> str:
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "x", "--allow-empty")
    return run_git(root, "rev-parse", "HEAD")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/shop.py").write_text("RATE = 1\ndef price(x):\n    return x * RATE\n")
    (root / "src/cart.py").write_text("class Cart:\n    pass\n")
    (root / "data.txt").write_text("a\n")
    (root / "größe\n.txt").write_text("a\n")
    run_git(root, "init", "-q", "-b", "main")
    commit(root)
    return root


def changed(root: Path, base: str = "HEAD") -> list[tuple[str, str, bool]]:
    return [(part.path, part.part, part.hash is not None) for part in changed_since(read_tree(root), base)]


def test_an_untouched_checkout_differs_in_nothing(project: Path) -> None:
    """A fresh checkout differs from its commit in nothing, and their manifests are one."""
    assert changed(project) == []
    assert manifest_of_tree(read_tree(project)) == manifest_of_commit(project, "HEAD")


def test_the_delta_is_the_difference_of_the_manifests(project: Path) -> None:
    """The delta names what was edited, added, removed and replaced, and equals the difference of both manifests."""
    (project / "src/shop.py").write_text("RATE = 1\ndef price(x):\n    return x + RATE  # new\n")
    (project / "src/cart.py").write_text("class Cart(:\n")
    (project / "data.txt").unlink()
    (project / "größe\n.txt").unlink()
    (project / "größe\n.txt").symlink_to("src")
    (project / "ignored.pth").write_text("import os\n")
    tree = read_tree(project)
    assert changed(project) == [
        ("data.txt", "blob", False),
        ("größe\n.txt", "blob", True),
        ("ignored.pth", "blob", True),
        ("src/cart.py", "blob", True),
        ("src/cart.py", "body", False),
        ("src/cart.py", "module", False),
        ("src/shop.py", "body", True),
    ]
    both = difference(manifest_of_commit(project, "HEAD"), manifest_of_tree(tree))
    assert changed_since(tree, "HEAD") == both


def test_comments_change_nothing(project: Path) -> None:
    """A file whose bytes changed and whose parts did not is not in the delta."""
    (project / "src/shop.py").write_text("# rates\nRATE = 1\n\ndef price(x):\n    return (x * RATE)\n")
    assert changed(project) == []


def test_committed_edits_count_from_the_base(project: Path) -> None:
    """The delta counts from the base commit, whatever was committed since."""
    base = run_git(project, "rev-parse", "HEAD")
    (project / "src/new.py").write_text("x = 1\n")
    commit(project)
    assert changed(project, base) == [("src/new.py", "body", True), ("src/new.py", "module", True)]


def test_what_the_tree_leaves_out_is_not_gone(project: Path) -> None:
    """A committed file in a place that trees leave out does not count as removed."""
    (project / "node_modules").mkdir()
    (project / "node_modules/a.js").write_text("1\n")
    commit(project)
    assert changed(project) == []


def test_a_folder_of_a_repository(project: Path) -> None:
    """A tree that is a folder of its repository is compared with that folder of the commit."""
    (project / "src/shop.py").write_text("RATE = 2\ndef price(x):\n    return x * RATE\n")
    assert changed(project / "src") == [("shop.py", "module", True)]


def test_files_filled_in_by_lfs(project: Path) -> None:
    """A file whose pointer is committed counts as unchanged while its content is what the pointer names."""
    content = b"\x00large"
    (project / "big.bin").write_bytes(content)
    blob = next(entry.blob for entry in read_tree(project).entries if entry.name == "big.bin")
    (project / "big.bin").write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{blob}\nsize {len(content)}\n"
    )
    commit(project)
    (project / "big.bin").write_bytes(content)
    assert changed(project) == []
    (project / "big.bin").write_bytes(content + b"!")
    assert changed(project) == [("big.bin", "blob", True)]


def test_a_submodule_is_compared_with_its_commit(project: Path, tmp_path: Path) -> None:
    """Files of a submodule are compared with the commit of it that the base names."""
    shutil.copytree(project, tmp_path / "library")
    run_git(project, "submodule", "--quiet", "add", str(tmp_path / "library"), "vendor/library")
    commit(project)
    assert changed(project) == []
    (project / "vendor/library/data.txt").write_text("b\n")
    assert changed(project) == [("vendor/library/data.txt", "blob", True)]


def test_a_repository_of_ones_own(project: Path, tmp_path: Path) -> None:
    """The base can be read from a clone elsewhere, so that the tree's own repository need not be believed."""
    base = run_git(project, "rev-parse", "HEAD")
    run_git(tmp_path, "clone", "-q", "--bare", str(project), "own.git")
    (project / "data.txt").write_text("b\n")
    commit(project)
    shutil.rmtree(project / ".git")
    delta = changed_since(read_tree(project), base, tmp_path / "own.git")
    assert [part[:2] for part in delta] == [("data.txt", "blob")]


def test_a_base_that_is_not_there(project: Path) -> None:
    """A commit that the repository lacks, as in a shallow clone, is an error, and so is no repository."""
    with pytest.raises(TreeError, match="git ls-tree"):
        changed(project, "0" * 40)
    assert git.merge_base(project, "HEAD", "origin/main") is None
    shutil.rmtree(project / ".git")
    assert git.head_commit(project) is None
    assert not git.is_repository(project)


def test_an_edit_while_reading_is_noticed(project: Path) -> None:
    """A file that changes between the tree's hash and the manifest is an error, not a mixture of both."""
    tree = read_tree(project)
    (project / "data.txt").write_text("b\n")
    with pytest.raises(TreeError, match=r"data\.txt changed"):
        manifest_of_tree(tree)


def test_git_runs_nothing_the_repository_names(project: Path, tmp_path: Path) -> None:
    """Configuration that names programs is not followed, and replaced objects are not believed."""
    marker = tmp_path / "marker"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {marker}\n")
    program.chmod(0o755)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand", "filter.x.smudge"):
        run_git(project, "config", name, str(program))
    (project / ".gitattributes").write_text("* filter=x\n")
    base = git.head_commit(project)
    assert base is not None
    (project / "data.txt").write_text("b\n")
    blob = run_git(project, "rev-parse", "HEAD:data.txt")
    other = run_git(project, "-c", "core.fsmonitor=false", "hash-object", "-w", "--no-filters", "data.txt")
    run_git(project, "replace", blob, other)
    marker.unlink(missing_ok=True)
    assert changed(project, base) == [(".gitattributes", "blob", True), ("data.txt", "blob", True)]
    assert git.merge_base(project, "HEAD", "main") == base
    assert not marker.exists()


def test_the_id_is_pinned(tmp_path: Path) -> None:
    """The id of a small manifest never changes between versions."""
    (tmp_path / "a.py").write_text("x = 1\n")
    assert (
        manifest_of_tree(read_tree(tmp_path)).id == "65745e055eb91361e14679a18a123522a02fe25ba9482851bad89a758760d6fc"
    )
