"""`quarantine is-gating` as the process a harness starts: its exit code is the answer, and it never holds a run up."""

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from quarantine.domain.identity import variant_hash, variant_keys
from quarantine.services import decisions
from quarantine.services.explain import explain
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.shell import UNSET, Said
from tests.commands import QUARANTINE
from tests.world import CLASSNAME, OWNER, PROJECT, World

FLAKY, SOUND = f"{CLASSNAME}::t_flaky", f"{CLASSNAME}::t1"
NOWHERE = "http://127.0.0.1:9"


class Harness(NamedTuple):
    """Whoever asks, with a home of their own."""

    home: Path

    def ask(self, *words: str, url: str = "", **variables: str) -> Said:
        """Ask in a process of its own; the project is named by the environment."""
        inherited = {name: value for name, value in os.environ.items() if name not in UNSET}
        named = {"QUARANTINE_PROJECT": PROJECT, "XDG_CACHE_HOME": str(self.home)}
        done = subprocess.run(
            [*QUARANTINE, "is-gating", *words],
            env=inherited | named | ({"QUARANTINE_URL": url} if url else {}) | variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """Return whoever asks."""
    return Harness(tmp_path / "cache")


@pytest.fixture
def enforcing(judged: Daemon) -> Daemon:
    """Return the daemon of a project that acts on its decisions."""
    decisions.set_mode(judged.app, PROJECT, "enforce", bearer=OWNER)
    return judged


def test_the_exit_code_is_the_answer(enforcing: Daemon, harness: Harness) -> None:
    """0 for a test that gates and for one nobody knows, 1 for a quarantined one, under each of its names."""
    told = explain(enforcing.app, PROJECT, FLAKY)
    for name in (FLAKY, "tests/test_ledger.py::t_flaky", told["test"]):
        assert harness.ask(name, url=enforcing.url) == Said(1, "not gating\n", "")
    for name in (SOUND, "tests/test_new.py::test_of_this_branch"):
        assert harness.ask("--url", enforcing.url, name) == Said(0, "gating\n", "")


def test_a_test_gates_in_the_variants_it_was_not_quarantined_in(enforcing: Daemon, harness: Harness) -> None:
    """Without a variant it gates if it gates anywhere; --variant asks about one, in any order of its keys."""
    World(enforcing.app, None, PROJECT).send("windows", {"t_flaky": "P"}, variant={"os": "win32"})  # type: ignore[arg-type]  # no time passes
    hashes = {
        variant["variant_hash"]: variant["status"] for variant in explain(enforcing.app, PROJECT, FLAKY)["variants"]
    }
    assert hashes[variant_hash(variant_keys({"job": "unit"}))] == "quarantined"
    assert harness.ask(FLAKY, url=enforcing.url).code == 0
    assert harness.ask("--variant", "job=unit", FLAKY, url=enforcing.url).code == 1
    assert harness.ask(FLAKY, "--variant=os=win32", "--variant", "job=unit", url=enforcing.url).code == 0
    unknown = harness.ask(FLAKY, "--variant=os=win32", url=enforcing.url)
    assert (unknown.code, unknown.out) == (0, "gating\n")
    assert "has seen no trunk build in variant " in unknown.err


def test_what_follows_two_dashes_is_a_test(enforcing: Daemon, harness: Harness) -> None:
    """However much it looks like an option; and a name with spaces is one word."""
    for word in ("--help", "--url", "-h"):
        assert harness.ask("--", word, url=enforcing.url) == Said(0, "gating\n", "")
    assert harness.ask("a test [x y]", url=enforcing.url).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--nonsense", "t"], "There is no option --nonsense."),
        (["t", "--url"], "--url needs a value."),
        ([], "takes one TEST, not 0"),
        (["a", "b"], "takes one TEST, not 2"),
        (["--variant", "os", "t"], "'os' is not KEY=VALUE."),
        (["--url", "daemon.example.org", "t"], "is not the address of a daemon"),
        (["--project", "two words", "t", "--url", NOWHERE], "is not the name of a project"),
        (["t"], "QUARANTINE_URL is not set"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_line(harness: Harness, words: list[str], said: str) -> None:
    """A gate that is asked wrongly must not be taken for a yes or a no."""
    answer = harness.ask(*words)
    assert (answer.code, answer.out) == (2, "")
    [line] = answer.err.splitlines()
    assert line.startswith("quarantine: ")
    assert said in line


def test_nobody_there_and_nothing_known_means_that_it_gates(harness: Harness) -> None:
    """Exit code 0 and one line on stderr: a daemon that is away never excuses a failure."""
    answer = harness.ask(FLAKY, url=NOWHERE)
    assert (answer.code, answer.out) == (0, "gating\n")
    [line] = answer.err.splitlines()
    assert "every test gates" in line


def test_the_last_snapshot_answers_while_the_daemon_is_away(enforcing: Daemon, harness: Harness) -> None:
    """It is kept from one process to the next; one line says what is gone by."""
    with hosted(enforcing.app) as url:
        assert harness.ask(FLAKY, url=url).code == 1
    answer = harness.ask(FLAKY, url=url)
    assert (answer.code, answer.out) == (1, "not gating\n")
    [line] = answer.err.splitlines()
    assert "going by snapshot" in line
    assert harness.ask(SOUND, url=url).code == 0


def test_a_token_that_is_refused_excuses_nothing(enforcing: Daemon, harness: Harness) -> None:
    """Every test gates, and one line says to check the token; the last snapshot does not answer in its place."""
    assert harness.ask(FLAKY, url=enforcing.url).code == 1
    token = enforcing.token("read")
    with hosted(enforcing.app, open_lane=None) as url:
        assert harness.ask(FLAKY, url=url, QUARANTINE_TOKEN=token).code == 1
        answer = harness.ask(FLAKY, url=url, QUARANTINE_TOKEN="qt_wrong")
    assert (answer.code, answer.out) == (0, "gating\n")
    [line] = answer.err.splitlines()
    assert "check QUARANTINE_TOKEN" in line
    assert "qt_wrong" not in line


def test_its_help_says_what_the_exit_codes_are(harness: Harness) -> None:
    """And needs no configuration."""
    answer = harness.ask("--help")
    assert answer.code == 0
    assert "Exit 0 if TEST gates, 1 if it does not, 2 for wrong usage or configuration." in answer.out
