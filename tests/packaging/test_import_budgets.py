"""What other people's test runs and the gate pay for: the client and the light verbs load nothing heavy."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.fake_judge import answer, judging

HEAVY = {
    "scipy",
    "numpy",
    "sqlalchemy",
    "sqlmodel",
    "pydantic",
    "starlette",
    "alembic",
    "uvicorn",
    "jinja2",
    "coverage",
}
TELL = "import json, sys; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def loaded_by(code: str) -> set[str]:
    """Return the top-level modules that are loaded after this code ran in a process of its own."""
    command = [sys.executable, "-c", f"{code}\n{TELL}"]
    with tempfile.TemporaryDirectory() as home:
        alone = os.environ | {"XDG_CACHE_HOME": home, "XDG_STATE_HOME": home}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return set(names)


def verb(*words: str) -> str:
    """Return code that runs a verb and goes on after it."""
    return (
        "import sys\nfrom quarantine.cli import main\n"
        f"sys.argv = ['quarantine', *{list(words)!r}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )


@pytest.mark.parametrize("module", ["quarantine", "quarantine.client", "quarantine.cli", "quarantine.errors"])
def test_light_modules_load_nothing_heavy(module: str) -> None:
    """Importing the package, the client or the command line loads no database, no web and no numbers."""
    assert not loaded_by(f"import {module}") & HEAVY


def test_the_client_is_the_standard_library_alone() -> None:
    """Every module of the client, but for the one that reads coverage's files, loads only what Python brings."""
    code = (
        "import importlib, pkgutil, quarantine.client\n"
        "for found in pkgutil.iter_modules(quarantine.client.__path__, 'quarantine.client.'):\n"
        "    importlib.import_module(found.name)"
    )
    before = loaded_by("")
    assert loaded_by(code) - before - sys.stdlib_module_names == {"quarantine"}


@pytest.mark.parametrize("name", ["is-gating", "report", "gate", "run", "list", "explain", "release"])
def test_the_help_of_a_light_verb_is_light(name: str) -> None:
    """Asking a verb that talks to a daemon for help loads nothing heavy."""
    assert not loaded_by(verb(name, "--help")) & HEAVY


def test_the_gate_itself_is_light() -> None:
    """Asking whether a test gates, with the daemon away, answers without anything heavy."""
    loaded = loaded_by(verb("is-gating", "tests/test_a.py::t", "--url", "http://127.0.0.1:9", "--project", "ledger"))
    assert not loaded & HEAVY
    assert "quarantine" in loaded


def test_a_verdict_that_the_daemon_gives_is_light(tmp_path: Path) -> None:
    """Asking for it, reruns included, and showing it loads nothing heavy; only deciding it here may."""
    (tmp_path / "r.xml").write_text("<testsuite/>")
    with judging() as judge:
        judge.answering(answer("inconclusive", head=1), answer())
        words = ("--report", str(tmp_path / "r.xml"), "--exit-code", "0", "--command", "true", "--root", str(tmp_path))
        loaded = loaded_by(verb("gate", *words, "--url", judge.url, "--project", "ledger"))
    assert [one.path for one in judge.asked] == ["verdicts", "verdicts/17/reruns"]
    assert not loaded & HEAVY


def test_the_budget_can_be_exceeded() -> None:
    """A verb that opens the database does load it, so the checks above can fail."""
    assert {"sqlalchemy", "sqlmodel", "numpy"} <= loaded_by("import quarantine.bootstrap")


def test_what_makes_pictures_is_loaded_with_the_first_picture() -> None:
    """A daemon that sends none never pays for it."""
    assert "resvg_py" not in loaded_by("import quarantine.bootstrap, quarantine.pictures")
