"""`quarantine tree`: the hash that a build part needs, for whoever writes it by hand."""

import pytest

from quarantine.client.tree import read_tree
from tests.cli.repository import Repository
from tests.cli.shell import Shell


@pytest.fixture
def repository(shell: Shell) -> Repository:
    """Return a clone with a trunk of one commit, in the folder the shell is in."""
    shell.folder.rmdir()
    return Repository.of(shell.folder, {"shop.py": "PRICE = 1\n", "till/till.py": "OPEN = True\n", "README": "one\n"})


def test_it_prints_the_hash_and_nothing_else(shell: Shell, repository: Repository) -> None:
    """So that a script can take it; the same from a folder below, and a --root is believed."""
    said = shell.run("tree")
    assert (said.out, said.err) == (read_tree(repository.path).hash + "\n", "")
    below = Shell(repository.path / "till", shell.monkeypatch, shell.capsys, shell.variables)
    assert below.run("tree").out == said.out
    assert below.run("tree", "--root", ".").out == read_tree(repository.path / "till").hash + "\n"


def test_files_that_no_commit_knows_are_said(shell: Shell, repository: Repository) -> None:
    """They count, unless they are left out."""
    clean = shell.run("tree").out
    repository.write({"junit.xml": "<testsuite/>"})
    said = shell.run("tree")
    assert said.out != clean
    assert "Files that are in no commit count as part of what was tested: junit.xml." in said.err
    assert shell.run("tree", "--leave-out", "junit.xml").out == clean


def test_json_says_what_differs_from_the_commit_and_from_trunk(shell: Shell, repository: Repository) -> None:
    """Edited, stray and missing files by name, and the changed parts as the build part has them."""
    trunk = repository.head
    repository.git("checkout", "-qb", "feature")
    repository.commit({"shop.py": "PRICE = 2\n"})
    repository.write({"till/till.py": "OPEN = False\n", ".env": "SECRET=1\n", ".gitignore": ".env\n"})
    (repository.path / "README").unlink()
    told = shell.run("tree", "--json").json
    assert (told["tree"], told["root"]) == (read_tree(repository.path).hash, str(repository.path))
    assert (told["commit"], told["base_commit"], told["hash_alg"]) == (repository.head, trunk, "py-ast-1")
    assert (told["edited"], told["stray"], told["gone"]) == (["till/till.py"], [".env", ".gitignore"], ["README"])
    assert {(path, part) for path, part, _hash in told["changed"]} == {
        *(("shop.py", "module"), ("till/till.py", "module"), ("README", "blob")),
        *((".env", "blob"), (".gitignore", "blob")),
    }
    against_itself = shell.run("tree", "--json", "--base", "HEAD").json
    assert ["shop.py", "module"] not in [part[:2] for part in against_itself["changed"]]
    report = shell.run("report", "--dry-run", "--build", "b1").json
    assert (report["tree"], report["changed"]) == (told["tree"], told["changed"])


def test_outside_a_repository_there_is_a_hash_and_no_more(shell: Shell) -> None:
    """That nothing can be said of the change is said on stderr."""
    (shell.folder / "shop.py").write_text("PRICE = 1\n")
    said = shell.run("tree", "--json")
    assert said.json["tree"] == read_tree(shell.folder).hash
    assert (said.json["commit"], said.json["base_commit"], said.json["changed"]) == (None, None, None)
    assert (said.json["edited"], said.json["stray"], said.json["gone"]) == ([], [], [])
    assert "every test counts as reached" in said.err
