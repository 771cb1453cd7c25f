"""When the plugin takes part, what it costs where it does not, and what it refuses."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.plugin.projects import Project, SmallDaemon

FAILING = "def test_gates():\n    assert 0\n"


@pytest.fixture
def failing(project: Project, daemon: SmallDaemon) -> Project:
    """A project whose only test fails and is quarantined."""
    daemon.not_gating = {"test_gates::test_gates": None}
    return project.write(test_gates=FAILING)


@pytest.mark.parametrize("words", [(), ("-p", "no:quarantine")], ids=" ".join)
def test_it_is_inert_unless_asked(failing: Project, daemon: SmallDaemon, words: tuple[str, ...]) -> None:
    """Without one of its options nothing is asked, excused or printed."""
    ran = failing.pytest(*words)
    assert (ran.status, daemon.questions) == (1, 0)
    assert "quarantine: " not in ran.text


def test_a_setting_asks_too(failing: Project, daemon: SmallDaemon) -> None:
    """`quarantine = true` in the configuration file is as good as the option, and `-o` takes it back."""
    (failing.root / "pytest.ini").write_text("[pytest]\nquarantine = true\n", encoding="utf-8")
    assert failing.pytest().status == 0
    assert failing.pytest("-o", "quarantine=false").status == 1
    assert daemon.questions == 1


def test_a_setting_of_false_wins_over_what_else_asks(failing: Project, daemon: SmallDaemon) -> None:
    """With `quarantine = false` nothing is excused or asked, the report is sent, and only the option beats it."""
    (failing.root / "pytest.ini").write_text("[pytest]\nquarantine_upload = true\n", encoding="utf-8")
    assert failing.pytest().status == 0
    questions = daemon.questions
    ran = failing.pytest("-o", "quarantine=false")
    assert (ran.status, daemon.questions, len(daemon.uploads)) == (1, questions, 2)
    assert "; every test gates, for `quarantine` is set to false; report sent as build " in ran.text
    assert failing.pytest("-o", "quarantine=false", "--quarantine").status == 0


def test_no_daemon_is_no_mistake(failing: Project) -> None:
    """A fork without secrets runs the same command: every test gates, and nothing is sent."""
    ran = failing.pytest("--quarantine", "--quarantine-upload", variables={"QUARANTINE_URL": ""})
    assert ran.status == 1
    assert ran.summary.endswith("; every test gates, for no daemon is named (QUARANTINE_URL); no report is sent.")
    nameless = failing.pytest("--quarantine", variables={"QUARANTINE_PROJECT": ""})
    assert nameless.status == 4
    assert "QUARANTINE_PROJECT is not set" in nameless.text


def test_the_daemon_may_be_named_by_option_or_setting(failing: Project) -> None:
    """An option wins over the environment, the environment over a setting."""
    elsewhere = {"QUARANTINE_URL": "http://127.0.0.1:9", "QUARANTINE_PROJECT": ""}
    ran = failing.pytest(
        "--quarantine", "--quarantine-url", failing.url, "--quarantine-project", "shop", variables=elsewhere
    )
    assert ran.status == 0
    (failing.root / "pytest.ini").write_text(f"[pytest]\nquarantine_url = {failing.url}\n", encoding="utf-8")
    assert failing.pytest("--quarantine", variables={"QUARANTINE_URL": ""}).status == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--quarantine-url", "ftp://x"), "is not the address of a daemon"),
        (("--quarantine-reruns", "-1"), "-1 is no number of reruns"),
        (("--quarantine-variant", "python"), "'python' is not KEY=VALUE"),
    ],
)
def test_wrong_usage_is_said_before_anything_runs(failing: Project, words: tuple[str, ...], told: str) -> None:
    """What cannot be meant ends with pytest's usage error and a sentence."""
    ran = failing.pytest("--quarantine", *words)
    assert ran.status == 4
    assert told in ran.text


def test_every_option_and_setting_is_documented(project: Project) -> None:
    """docs/pytest.md has a row for each option, with its setting, and no row for what is not there."""
    helped = project.pytest("--help").text
    words = set(re.findall(r"--quarantine[a-z-]*", helped.split("quarantined tests:")[1].split("\n\n")[0]))
    settings = set(re.findall(r"^  (quarantine\w*) \(", helped, re.MULTILINE))
    table = (
        (Path(__file__).parents[3] / "docs" / "pytest.md").read_text(encoding="utf-8").split("## What is printed")[0]
    )
    rows = [row for row in table.splitlines() if row.startswith("| `--")]
    assert {word for row in rows for word in re.findall(r"^\| `(--[a-z-]+)", row)} == {*words, "--quarantined-only"}
    assert {word for row in rows for word in re.findall(r"`(quarantine\w*)", row.split("|")[2])} == settings


def test_an_unused_plugin_loads_nothing() -> None:
    """What every start of pytest pays is one small module: neither the client nor coverage nor anything heavier."""
    code = "import pytest, sys; before = set(sys.modules); import quarantine.pytest_plugin\n"
    told = subprocess.run(
        [sys.executable, "-c", f"{code}print(*sorted(set(sys.modules) - before))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == ["quarantine", "quarantine.pytest_plugin"]
