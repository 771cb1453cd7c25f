"""A user's repository to try patches on."""

import shutil
from pathlib import Path

import pytest

from tests.cli.repository import Repository

FILES = {
    "src/app.py": "def double(number):\n    return number + number\n\n\ndef name():\n    return 'app'\n",
    "src/pkg/deep/leaf.txt": "leaf\n",
    "tests/test_app.py": "def test_double():\n    assert True\n",
    "run.sh": "#!/bin/sh\nexit 0\n",
    ".gitignore": "*.log\nbuild/\n",
    "empty.txt": "",
}


@pytest.fixture(scope="session")
def model_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make, once, what `repository` copies."""
    made = Repository.of(tmp_path_factory.mktemp("model") / "user", FILES)
    (made.path / "run.sh").chmod(0o755)
    (made.path / "shortcut").symlink_to("src")
    made.git("add", "run.sh", "shortcut")
    made.git("commit", "-qm", "modes and links")
    made.write({"src/app.py": FILES["src/app.py"] + "# stashed\n"})
    made.git("stash")
    made.write({"empty.txt": "changed by the user\n", "notes.log": "ignored\n", "draft.py": "untracked\n"})
    return made.path


@pytest.fixture
def repository(tmp_path: Path, model_repository: Path) -> Repository:
    """Return a checkout with a link, an executable, an ignored, an untracked and a changed file, a stash and a hook."""
    made = Repository(tmp_path / "user")
    shutil.copytree(model_repository, made.path, symlinks=True)
    hook = made.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'hook-ran'}\n")
    hook.chmod(0o755)
    return made


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder for workspaces."""
    folder = tmp_path / "places"
    folder.mkdir()
    return folder
