"""The environment of a loop: what the tests see of it, and how a change of it is named."""

import sys
from pathlib import Path

import pytest

from quarantine.client.environment import Environment
from quarantine.client.errors import ClientConfigurationError
from quarantine.client.tree import read_tree
from quarantine.loop.pinning import Pinned, clean_variables, lock_files

HERE = Environment("CPython", "3.11.7", "linux", "x86_64", ("click==8.3.0", "pytest==9.0.3"))
PINNED = Pinned(HERE, "a", "b", {"TZ": "c"})


def test_the_tests_see_no_secret() -> None:
    """Harmless names are passed on, and those the user names; no token, no credential, no CI variable."""
    here = {"PATH": "/bin", "LANG": "C", "LC_ALL": "C", "TZ": "UTC", "QUARANTINE_TOKEN": "qt_x", "AWS_SECRET": "x"}
    seen = clean_variables(sys.executable, here | {"CI": "1", "DB_URL": "x", "HOME": "/root"}, kept=("DB_*",))
    assert {*seen} == {"PATH", "LANG", "LC_ALL", "TZ", "DB_URL", "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH"}
    assert seen["PATH"].split(":")[0] == str(Path(sys.executable).parent)


def test_what_is_stated_wins() -> None:
    """Also over what is set for safety: it is the user's to say."""
    seen = clean_variables(sys.executable, {"TZ": "UTC"}, stated={"TZ": "CET", "PYTHONSAFEPATH": ""})
    assert (seen["TZ"], seen["PYTHONSAFEPATH"]) == ("CET", "")


@pytest.mark.parametrize(
    ("now", "named"),
    [
        (PINNED._replace(environment=HERE._replace(version="3.12.1")), "the interpreter"),
        (PINNED._replace(environment=HERE._replace(distributions=("click==8.3.0",))), "pytest==9.0.3"),
        (PINNED._replace(startup="z"), ".pth"),
        (PINNED._replace(lock="z"), "lock files"),
        (PINNED._replace(variables={"TZ": "z"}), "TZ"),
        (PINNED._replace(variables={"TZ": "c", "LANG": "d"}), "LANG"),
    ],
)
def test_each_change_is_named(now: Pinned, named: str) -> None:
    """So that nobody blames the patch."""
    [phrase] = PINNED.differences(now)
    assert named in phrase
    assert PINNED.differences(PINNED) == []


def test_it_is_taken_from_the_interpreter_and_the_base(tmp_path: Path) -> None:
    """A lock file that differs is another environment; the values of variables are not kept, only their hashes."""
    (tmp_path / "uv.lock").write_text("one", encoding="utf-8")
    first = Pinned.taken(sys.executable, read_tree(tmp_path), {"KEY": "secret"})
    assert first.differences(Pinned.taken(sys.executable, read_tree(tmp_path), {"KEY": "secret"})) == []
    (tmp_path / "uv.lock").write_text("two", encoding="utf-8")
    assert first.differences(Pinned.taken(sys.executable, read_tree(tmp_path), {"KEY": "secret"})) == [
        "the base's lock files"
    ]
    assert "secret" not in repr(first.to_json())
    assert first.to_json()["version"] == first.environment.version


def test_an_interpreter_that_is_none_is_named(tmp_path: Path) -> None:
    """Before anything is asked of an agent."""
    with pytest.raises(ClientConfigurationError, match="no-such-python"):
        Pinned.taken(str(tmp_path / "no-such-python"), read_tree(tmp_path), {})


def test_lock_files_are_known_by_name() -> None:
    """In any folder."""
    paths = ["uv.lock", "app/requirements-dev.txt", "package-lock.json", "src/lock.py", "go.sum"]
    assert lock_files(paths) == ["uv.lock", "app/requirements-dev.txt", "package-lock.json", "go.sum"]
