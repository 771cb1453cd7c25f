"""Which owners' file of a commit counts, and that only the commit is read."""

import subprocess
from pathlib import Path

import pytest

from quarantine.client.errors import TreeError
from quarantine.client.owners_file import OwnersSource, owners_file

PLACES = [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"]


def run_git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def repository(root: Path, places: list[str]) -> Path:
    run_git(root, "init", "-q")
    for place in [*places, "src/x.py"]:
        (root / place).parent.mkdir(exist_ok=True)
        (root / place).write_text(f"* @{place}\n")
    run_git(root, "add", "--all")
    run_git(root, "commit", "-q", "-m", "x")
    return root


@pytest.mark.parametrize(
    ("variables", "order", "dialect"),
    [
        ({}, [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"], ""),
        ({"GITHUB_ACTIONS": "true"}, [".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"], "github"),
        ({"GITLAB_CI": "true"}, ["CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS"], "gitlab"),
    ],
    ids=["unknown", "github", "gitlab"],
)
def test_the_first_place_of_the_host_counts(
    variables: dict[str, str], order: list[str], dialect: str, tmp_path: Path
) -> None:
    """Each host has its order; what lies in the other's folder alone is not seen."""
    repository(tmp_path, PLACES)
    by_place = {".github/CODEOWNERS": "github", ".gitlab/CODEOWNERS": "gitlab"}
    for place in order:
        expected = OwnersSource(place, f"* @{place}\n", dialect or by_place.get(place, ""), "")
        assert owners_file(tmp_path, variables=variables) == expected
        run_git(tmp_path, "rm", "-q", place)
        run_git(tmp_path, "commit", "-q", "-m", "less")
    assert owners_file(tmp_path, variables=variables) is None


def test_the_commit_is_read_and_not_the_folder(tmp_path: Path) -> None:
    """An uncommitted edit changes nothing, and a file that was never committed is none."""
    repository(tmp_path, ["docs/CODEOWNERS"])
    (tmp_path / "docs/CODEOWNERS").write_text("* @intruder\n")
    (tmp_path / "CODEOWNERS").write_text("* @intruder\n")
    run_git(tmp_path, "add", "--all")
    found = owners_file(tmp_path, variables={})
    assert found == OwnersSource("docs/CODEOWNERS", "* @docs/CODEOWNERS\n", "", "")


def test_a_project_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    """The file of the whole repository counts, and the folder is told."""
    repository(tmp_path, ["CODEOWNERS"])
    found = owners_file(tmp_path / "src", variables={})
    assert found is not None
    assert (found.path, found.folder) == ("CODEOWNERS", "src")


def test_a_link_is_no_file(tmp_path: Path) -> None:
    """What a link says is a path, so the next place counts."""
    repository(tmp_path, ["docs/CODEOWNERS"])
    (tmp_path / "CODEOWNERS").symlink_to("docs/CODEOWNERS")
    run_git(tmp_path, "add", "--all")
    run_git(tmp_path, "commit", "-q", "-m", "link")
    found = owners_file(tmp_path, variables={})
    assert found is not None
    assert found.path == "docs/CODEOWNERS"


def test_a_file_that_no_host_reads_is_an_error_that_says_so(tmp_path: Path) -> None:
    """Beyond 3 MB nothing is sent."""
    repository(tmp_path, ["CODEOWNERS"])
    (tmp_path / "CODEOWNERS").write_bytes(b"#" * (3 * 1024 * 1024 + 1))
    run_git(tmp_path, "commit", "-q", "-a", "-m", "huge")
    with pytest.raises(TreeError, match=r"CODEOWNERS of HEAD has 3,145,729 bytes") as caught:
        owners_file(tmp_path, variables={})
    assert caught.value.mend


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    """A file in another encoding is still read, its odd letters replaced."""
    repository(tmp_path, ["CODEOWNERS"])
    (tmp_path / "CODEOWNERS").write_bytes(b"d\xe9/ @a\n")
    run_git(tmp_path, "commit", "-q", "-a", "-m", "latin")
    found = owners_file(tmp_path, variables={})
    assert found is not None
    assert found.text == "d\ufffd/ @a\n"


def test_no_repository_and_no_such_commit(tmp_path: Path) -> None:
    """Nothing is found where there is no commit to read."""
    assert owners_file(tmp_path, variables={}) is None
    repository(tmp_path, ["CODEOWNERS"])
    assert owners_file(tmp_path, "no-such", variables={}) is None
