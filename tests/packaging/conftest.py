"""The wheel, built from a clean clone and installed where nothing but what it declares can be imported."""

import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

CHECKOUT = Path(__file__).parents[2]
NAME = "quarantine-daemon"


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command to its good end and return what it said; it keeps its files in `cwd` and sees no other packages."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "QUARANTINE"))}
    alone |= {"XDG_CACHE_HOME": str(cwd), "XDG_STATE_HOME": str(cwd), "PYTHONNOUSERSITE": "1"}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command} said:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clean clone of what is committed."""
    if not (CHECKOUT / ".git").exists():
        pytest.skip("these are no sources under git, so there is nothing to clone the wheel from")
    folder = tmp_path_factory.mktemp("clone") / "repository"
    run("git", "clone", "--quiet", CHECKOUT, folder, cwd=CHECKOUT)
    return folder


@pytest.fixture(scope="session")
def wheel(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel built from the clone."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, clone, cwd=folder)
    [built] = folder.iterdir()
    return built


@dataclass(frozen=True, slots=True)
class Installed:
    """The wheel in a virtual environment of its own.

    Attributes:
        folder: where commands run; no source tree is above it.
        declared: the distributions that the wheel needs by its own account, however indirectly.
    """

    folder: Path
    declared: frozenset[str]

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "venv" / "bin" / "python"

    @property
    def quarantine(self) -> Path:
        """The command the wheel installs."""
        return self.folder / "venv" / "bin" / "quarantine"

    def run(self, *command: str | Path) -> str:
        """Run a command in the environment."""
        return run(*command, cwd=self.folder)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel beside links to its declared dependencies, as they are in the environment of the tests."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", symlinks=True)
    [packages] = (folder / "venv" / "lib").glob("python*/site-packages")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", folder / "venv" / "bin" / "python")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    [own] = packages.glob("*.dist-info")
    needed = {found.name: found for found in _closure(Distribution.at(own))}
    for entry in {entry for found in needed.values() for entry in _entries(found)}:
        (packages / entry.name).symlink_to(entry)
    return Installed(folder, frozenset(needed))


def _closure(root: Distribution) -> Iterator[Distribution]:
    """Yield every distribution that `root` requires without extras, and what those require."""
    waiting, seen = [(root, "")], set()
    while waiting:
        found, extra = waiting.pop()
        for requirement in map(Requirement, found.requires or ()):
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
                continue
            wanted = distribution(requirement.name)
            for asked in ("", *requirement.extras):
                if (wanted.name, asked) not in seen:
                    seen.add((wanted.name, asked))
                    waiting.append((wanted, asked))
                    yield wanted


def _entries(found: Distribution) -> Iterator[Path]:
    """Yield the top-level files and folders of a distribution in its site-packages, but for what runs at start-up."""
    root = Path(str(found.locate_file("")))
    names = {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
    yield from (root / name for name in names if not name.endswith(".pth"))
