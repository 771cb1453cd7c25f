"""Whom a change of a file concerns when reach says nothing about it."""

import pytest

from quarantine.reach.globs import DEFAULT_GLOBAL, DEFAULT_IGNORE, Globs, ReachedBy


@pytest.mark.parametrize(
    "path",
    [
        *("conftest.py", "tests/unit/conftest.py", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "pytest.ini"),
        *("poetry.lock", "uv.lock", "requirements.txt", "requirements-dev.txt", "sub/dev-requirements-3.txt"),
        *("constraints.txt", "constraints-ci.txt", "Dockerfile", "docker/Dockerfile.test", "Makefile", "MANIFEST.in"),
        *(".coveragerc", ".python-version", ".python-versions", ".github/workflows/tests.yml", ".gitlab-ci.yml"),
    ],
)
@pytest.mark.parametrize("seen", [True, False])
def test_global_files(path: str, *, seen: bool) -> None:
    """What decides which tests run, or on what they run, concerns every test, seen or not."""
    assert Globs().reached_by(path, seen=seen) is ReachedBy.EVERY_TEST


@pytest.mark.parametrize(
    "path",
    [
        *("docs/index.html", "docs/a/b/conf.py", "examples/x.py", "README.md", "src/pkg/notes.rst", "CHANGES.txt"),
        *("CHANGELOG", "LICENSE", "LICENSE.txt", "logo.png", "a/b/icon.svg", ".editorconfig", ".vscode/settings.json"),
        *(".gitignore", "sub/.gitattributes", ".github/workflows/release.yml", ".github/CODEOWNERS", ".travis.yml"),
        *("src/pkg/types.pyi", "pyproject.toml#tool.ruff", "sub/pyproject.toml#tool.mypy"),
    ],
)
def test_ignored_files(path: str) -> None:
    """What no test depends on concerns none, unless a test was seen to read it."""
    assert Globs().reached_by(path, seen=False) is ReachedBy.NO_TEST
    assert Globs().reached_by(path, seen=True) is ReachedBy.ITS_TESTS


@pytest.mark.parametrize(
    "path",
    [
        *("src/pkg/new.py", "data/table.csv", "src/docs/x.py", "mydocs/x.py", "src/examples.py", ".env", "hook.pth"),
        *("pyproject.toml", "pyproject.toml#project", "pyproject.toml#tool.pytest", "pyproject.toml#tool.unknown"),
        *("Makefile/x", "tests/data.mdx", "src/conftest_py", "x.lock/y"),
    ],
)
def test_blind_files(path: str) -> None:
    """What no map has seen and nobody ignores concerns every test; what was seen concerns its tests."""
    assert Globs().reached_by(path, seen=False) is ReachedBy.EVERY_TEST
    assert Globs().reached_by(path, seen=True) is ReachedBy.ITS_TESTS


def test_patterns_of_ones_own() -> None:
    """A project's patterns take the place of the defaults; `*` stays in a folder and `**` crosses them."""
    globs = Globs(("src/*/core.py",), ("gen/**/*.py", "?.txt"))
    assert globs.reached_by("src/a/core.py", seen=True) is ReachedBy.EVERY_TEST
    assert globs.reached_by("src/a/b/core.py", seen=True) is ReachedBy.ITS_TESTS
    assert globs.reached_by("gen/x.py", seen=False) is ReachedBy.NO_TEST
    assert globs.reached_by("gen/a/b/x.py", seen=False) is ReachedBy.NO_TEST
    assert globs.reached_by("a/b.txt", seen=False) is ReachedBy.NO_TEST
    assert globs.reached_by("a/bb.txt", seen=False) is ReachedBy.EVERY_TEST
    assert Globs((), ()).reached_by("conftest.py", seen=False) is ReachedBy.EVERY_TEST


def test_columns_of_every_test() -> None:
    """Of changed columns, those of global and blind files concern every test."""
    changed = [("conftest.py", "body"), ("a.py", "body"), ("new.py", "module"), ("README.md", "blob")]
    assert Globs().of_every_test(changed, frozenset({"a.py"})) == [("conftest.py", "body"), ("new.py", "module")]


def test_the_defaults_are_the_documented_ones() -> None:
    """The page on reach lists every default pattern."""
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "reach.md").read_text()
    assert [pattern for pattern in (*DEFAULT_GLOBAL, *DEFAULT_IGNORE) if f"`{pattern}`" not in page] == []
