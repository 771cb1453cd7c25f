"""What is reached without having been seen: files that every test reaches, and files that none does.

Reach is what ran. Some files decide what runs without running themselves (`conftest.py`, lock files, the test
workflow): they are *global*. Of some it is known that no test depends on them (documents, editor settings): they are
*ignored*. A file that no map has ever seen and that is not ignored is *blind*: nobody knows who depends on it, so it
counts as reached by every test. A file seen in reach wins over the ignored ones.

A pattern without `/` matches the name of a file in any folder; one with `/` matches the path from the root. `*` and `?`
stay within one folder, `**` crosses them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from quarantine.reach.columns import Column

__all__ = ["DEFAULT_GLOBAL", "DEFAULT_IGNORE", "Globs", "ReachedBy"]

DEFAULT_GLOBAL = (
    *("conftest.py", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini", "*.lock", "*requirements*.txt"),
    *("constraints*.txt", "Dockerfile*", "Makefile", "MANIFEST.in", ".coveragerc", ".python-version*"),
    *(".github/workflows/*test*", ".github/workflows/ci*", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile*"),
)
"""The last line stands for the test workflow; a project whose workflow is called otherwise names it."""

_LINTERS = (
    *(
        "autopep8",
        "bandit",
        "basedpyright",
        "black",
        "bumpversion",
        "codespell",
        "commitizen",
        "djlint",
        "docformatter",
    ),
    *("flake8", "importlinter", "interrogate", "isort", "mypy", "pydocstyle", "pylint", "pyright", "refurb", "ruff"),
    *("semantic_release", "towncrier", "ty", "typos", "vulture", "yapf"),
)
DEFAULT_IGNORE = (
    *("docs/**", "examples/**", "*.md", "*.rst", "CHANGE*", "LICENSE*"),
    *("*.png", "*.jpg", "*.jpeg", "*.gif", "*.svg", "*.ico", "*.webp"),
    *(".editorconfig", ".idea/**", ".vscode/**", "*.code-workspace"),
    *(".gitignore", ".gitattributes", ".mailmap", ".git-blame-ignore-revs", ".pre-commit-config.yaml"),
    *(".github/**", ".circleci/**", ".travis.yml", "appveyor.yml", "codecov.yml", ".codecov.yml", ".readthedocs.y*ml"),
    "*.pyi",
    *(f"pyproject.toml#tool.{tool}" for tool in _LINTERS),
)
"""Of pyproject.toml, which the client hashes by section, only the tables of tools that no test runs."""


class ReachedBy(StrEnum):
    """Whom a change of a file concerns."""

    EVERY_TEST = "every-test"
    """It is global, or blind."""
    ITS_TESTS = "its-tests"
    """The tests whose reach holds it."""
    NO_TEST = "no-test"
    """It is ignored, and no map has seen it."""


@dataclass(frozen=True)
class Globs:
    """A project's patterns; the defaults where it names none."""

    global_patterns: tuple[str, ...] = DEFAULT_GLOBAL
    ignore_patterns: tuple[str, ...] = DEFAULT_IGNORE

    @cached_property
    def _global(self) -> re.Pattern[str]:
        return _compiled(self.global_patterns)

    @cached_property
    def _ignore(self) -> re.Pattern[str]:
        return _compiled(self.ignore_patterns)

    def reached_by(self, path: str, *, seen: bool) -> ReachedBy:
        """Return whom a change of a file concerns.

        Args:
            path: from the root of the tree, with `/`.
            seen: whether any map's reach holds the file.
        """
        if self._global.fullmatch(path):
            return ReachedBy.EVERY_TEST
        if seen:
            return ReachedBy.ITS_TESTS
        return ReachedBy.NO_TEST if self._ignore.fullmatch(path) else ReachedBy.EVERY_TEST

    def is_global(self, path: str) -> bool:
        """Return whether every test reaches the file by what it is, whether or not a map has seen it."""
        return self._global.fullmatch(path) is not None

    def of_every_test(self, columns: Iterable[Column], seen: frozenset[str]) -> list[Column]:
        """Return those columns that every test reaches, given the files that maps have seen."""
        return [
            column for column in columns if self.reached_by(column[0], seen=column[0] in seen) is ReachedBy.EVERY_TEST
        ]


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_expression, patterns)) or r"(?!)", re.DOTALL)


def _expression(pattern: str) -> str:
    anchored = pattern if "/" in pattern else f"**/{pattern}"
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", anchored)
    meaning = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return "".join(meaning.get(piece, re.escape(piece)) for piece in pieces)
