"""A small real git repository with a trunk, made the way a person makes one."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_OWN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_PERSON = ("-c", "user.name=tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false")


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout on its trunk `main`."""

    path: Path

    @classmethod
    def of(cls, path: Path, files: Mapping[str, str]) -> "Repository":
        """Make one in a new folder, with one commit of these files."""
        path.mkdir(parents=True)
        made = cls(path)
        made.git("init", "-q", "-b", "main")
        made.commit(files)
        return made

    def git(self, *words: str) -> str:
        """Return what git prints."""
        done = subprocess.run(
            ["git", *_PERSON, *words], cwd=self.path, env=os.environ | _OWN, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def write(self, files: Mapping[str, str]) -> None:
        """Write files without committing them."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")

    def commit(self, files: Mapping[str, str]) -> str:
        """Commit these files and return the commit."""
        self.write(files)
        self.git("add", "--", *files)
        self.git("commit", "-qm", "a commit")
        return self.head

    @property
    def head(self) -> str:
        """The commit checked out."""
        return self.git("rev-parse", "HEAD")
