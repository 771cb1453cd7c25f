"""A real project from the package index, unpacked, with an environment of its own to run its suite in."""

import json
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 600
TEST_TIMEOUT_S = 20
PLUGIN_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Subject:
    """What is studied: a source distribution, what its tests need, and where its code lies."""

    name: str
    version: str
    needs: tuple[str, ...]
    package: str


SUBJECTS = (
    Subject("itsdangerous", "2.2.0", ("freezegun",), "src/itsdangerous"),
    Subject("jinja2", "3.1.6", ("markupsafe", "trio"), "src/jinja2"),
    Subject("click", "8.5.1", (), "src/click"),
)


class Workshop:
    """A subject unpacked below a folder, and the means to run its suite."""

    def __init__(self, subject: Subject, folder: Path) -> None:
        self.subject = subject
        self.folder = folder / subject.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.python = self.folder / "venv" / "bin" / "python"
        self.root = self.folder / f"{subject.name}-{subject.version}"
        self.coverage_file = self.folder / "contexts.coverage"

    def set_up(self) -> None:
        """Make the environment and unpack the sources afresh."""
        if not self.python.exists():
            _run([sys.executable, "-m", "venv", str(self.folder / "venv")])
            needs = ["pytest", "pytest-cov", "pytest-timeout", *self.subject.needs]
            _run([str(self.python), "-m", "pip", "install", "--quiet", *needs])
        archive = self._archive()
        if archive is None:
            pinned = f"{self.subject.name}=={self.subject.version}"
            options = ["--no-deps", "--no-binary", ":all:", "--quiet", "--dest", str(self.folder)]
            _run([sys.executable, "-m", "pip", "download", *options, pinned])
            archive = self._archive()
        if archive is None:
            raise FileNotFoundError(f"the index gave no source distribution of {self.subject.name}")
        with tarfile.open(archive) as packed:
            packed.extractall(self.folder, filter="data")

    def _archive(self) -> Path | None:
        return next(iter(self.folder.glob(f"*{self.subject.version}.tar.gz")), None)

    def outcomes(self, *options: str) -> dict[str, str]:
        """Run the suite and return the outcome of every test by node id."""
        written = self.folder / "outcomes.json"
        written.unlink(missing_ok=True)
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ},
            "COVERAGE_FILE": str(self.coverage_file),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(PLUGIN_FOLDER)]),
            "STUDY_OUTCOMES": str(written),
        }
        command = [str(self.python), "-m", "pytest", "-q", "-p", "outcomes", "-p", "no:cacheprovider", "--tb=no"]
        command += ["--continue-on-collection-errors", f"--timeout={TEST_TIMEOUT_S}", *options, "tests"]
        try:
            subprocess.run(command, cwd=self.root, env=environment, capture_output=True, check=False, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return {}
        found: dict[str, str] = json.loads(written.read_text()) if written.exists() else {}
        return found

    def sources(self) -> dict[str, str]:
        """Return the package's Python files by path from the root."""
        return {
            path.relative_to(self.root).as_posix(): path.read_text(encoding="utf-8")
            for path in sorted((self.root / self.subject.package).rglob("*.py"))
        }


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, timeout=TIMEOUT_S)
