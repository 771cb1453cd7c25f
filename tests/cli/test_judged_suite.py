"""`gate` and `run` on the real daemon: a real pytest suite in a real clone, and what each of its runs comes to."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quarantine.domain.outcome import Mode
from quarantine.services import decisions
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.repository import Repository
from tests.cli.shell import Said, Shell
from tests.world import OWNER, PROJECT

SHOP = "def total(prices):\n    return sum(prices)\n"
SUITE = '''
import os
from pathlib import Path
from shop import total

COUNTER = Path(os.environ["COUNTER"])

def test_total():
    assert total([1, 2]) == 3

def test_sometimes():
    """Fails in those of its runs that are named."""
    COUNTER.write_text(COUNTER.read_text() + "x")
    assert str(len(COUNTER.read_text())) not in os.environ["FAILS_IN"].split()
'''
BROKEN = "\ndef test_owed():\n    assert total([]) is None\n"
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=junit.xml")


@dataclass(slots=True)
class Change:
    """A change in a clone whose trunk is at origin/main, the daemon, and a shell with a review token."""

    repository: Repository
    daemon: Daemon
    shell: Shell
    url: str
    counter: Path

    def run(self, *words: str, fails_in: str = "", code: int | None = 0, url: str = "") -> Said:
        """Run the suite by `quarantine run`; `fails_in` names the runs in which the flaky test fails, from 1."""
        self.counter.write_text("")
        at = ("--url", url or self.url, "--project", PROJECT, "--python", sys.executable, *words)
        return self.shell.run("run", *at, "--", *PYTEST, code=code, COUNTER=str(self.counter), FAILS_IN=fails_in)

    def verdict(self, *words: str, fails_in: str = "", code: int | None = 0) -> dict[str, Any]:
        """Return the whole answer about a run."""
        answer: dict[str, Any] = self.run("--json", *words, fails_in=fails_in, code=code).json
        return answer

    @property
    def runs(self) -> int:
        """How often the flaky test has run."""
        return len(self.counter.read_text())


@pytest.fixture
def change(daemon: Daemon, shell: Shell, tmp_path: Path) -> Any:
    """Yield a clone with a harmless change on a branch."""
    shell.folder.rmdir()
    repository = Repository.of(shell.folder, {"shop.py": SHOP, "test_shop.py": SUITE})
    repository.git("checkout", "-qb", "change")
    repository.commit({"shop.py": SHOP + "\n# a remark\n", "notes.txt": "harmless\n"})
    token = daemon.token("report", lane="review", change="7")
    decisions.set_mode(daemon.app, PROJECT, Mode.ENFORCE, bearer=OWNER)
    shell.variables |= {"QUARANTINE_TOKEN": token, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with hosted(daemon.app, open_lane=None) as url:
        yield Change(repository, daemon, shell, url, tmp_path / "counter")


def findings(answer: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the finding and the effect of each test by its bare name."""
    return {test["name"].split("::")[-1]: (test["finding"], test["effect"]) for test in answer["tests"]}


def test_a_green_run_is_accepted(change: Change) -> None:
    """At once and without a rerun; the tree, the base and the reports are those of the change."""
    said = change.run()
    assert said.out.startswith("ACCEPT  Accepted: 2 gating tests ran and nothing speaks against the change.\n")
    assert "Reports: junit.xml." in said.err
    assert change.runs == 1


def test_a_flaky_test_is_excused(change: Change) -> None:
    """It fails once on the head and once on the base: two reruns show that it passes too, and the change goes in."""
    answer = change.verdict(fails_in="1 2")
    assert findings(answer) == {"test_sometimes": ("flaky", "excused")}
    assert (answer["verdict"], answer["final"]) == ("accept", True)
    [test] = answer["tests"]
    assert test["base"]["failed"] == 1
    assert test["head"]["failed"] == 1
    assert change.repository.git("status", "--porcelain") == "?? junit.xml"
    assert len(change.repository.git("worktree", "list").splitlines()) == 1


def test_a_test_that_is_random_under_the_change_is_undecided(change: Change) -> None:
    """The base only passes, so only a streak of passes could settle it; the next run goes on with what is known."""
    answer = change.verdict("--reruns", "2", fails_in="1", code=3)
    assert findings(answer) == {"test_sometimes": ("nondeterministic", "undecided")}
    assert (answer["final"], change.runs) == (True, 3)
    [test] = change.verdict("--no-reruns", code=3)["tests"]
    assert (test["head"], test["base"]) == ({"failed": 1, "passed": 2}, {"failed": 0, "passed": 1})


def test_a_change_that_breaks_a_test_is_rejected(change: Change) -> None:
    """Two reruns of the head and one of the base: explained, with the record for whoever mends it."""
    change.repository.commit({"shop.py": SHOP.replace("sum(prices)", "sum(prices) + 1")})
    said = change.run("--record", str(change.counter.parent / "record.txt"), code=1)
    assert said.out.startswith("REJECT  Rejected: test_shop::test_total")
    record = (change.counter.parent / "record.txt").read_text()
    assert "assert 4 == 3" in record
    assert "test_sometimes" not in record
    assert change.runs == 4
    answer = change.verdict(code=1)
    assert findings(answer) == {"test_total": ("explained", "rejects")}
    assert change.runs == 1  # what is known of the head and of the base does not start over


def test_what_the_base_breaks_too_is_not_the_changes_business(change: Change) -> None:
    """Pre-existing: the change is accepted, and gets no instruction about it."""
    change.repository.git("checkout", "-q", "main")
    change.repository.commit({"test_shop.py": SUITE + BROKEN})
    change.repository.git("checkout", "-qb", "second")
    change.repository.commit({"shop.py": SHOP + "\n# another remark\n"})
    answer = change.verdict()
    assert findings(answer) == {"test_owed": ("pre-existing", "ignored")}
    assert (answer["verdict"], answer["record"]) == ("accept", None)


def test_a_run_that_crashes_is_not_green(change: Change) -> None:
    """The change ends the runner before it writes a report, every time, and the base does not: rejected."""
    change.repository.commit({"shop.py": SHOP + "import os\nos._exit(0)\n"})
    answer = change.verdict(code=1)
    assert [cause["code"] for cause in answer["causes"] if cause["effect"] == "rejects"] == ["no-report"]
    assert change.verdict("--no-reruns", code=None)["verdict"] != "accept"


def test_yesterdays_report_is_no_report(change: Change) -> None:
    """Of a green run that lies there, while this one writes none; by `gate` with --since as well."""
    change.run()
    change.repository.commit({"shop.py": SHOP + "import os\nos._exit(0)\n"})
    said = change.run("--no-reruns", code=3)
    assert "none was written" in said.err
    at = ("--url", change.url, "--project", PROJECT, "--report", "junit.xml", "--since", "4102444800")
    gated = change.shell.run("gate", *at, "--exit-code", "0", "--json", code=3)
    assert [cause["code"] for cause in gated.json["causes"]] == ["no-report"]


def test_gate_does_what_run_does(change: Change) -> None:
    """After the suite has run by itself: the same verdict, by the same reruns."""
    change.repository.commit({"shop.py": SHOP.replace("sum(prices)", "sum(prices) + 1")})
    command = shlex.join(PYTEST)
    words = ("--url", change.url, "--project", PROJECT, "--python", sys.executable)
    change.run("--report-only", "--build", "b1", code=1)
    ran = ("gate", *words, "--build", "b1", "--report", "junit.xml", "--exit-code", "1", "--command", command)
    variables = {"COUNTER": str(change.counter), "FAILS_IN": ""}
    answer = change.shell.run(*ran, "--json", code=1, **variables).json
    assert findings(answer) == {"test_total": ("explained", "rejects")}
    assert change.runs == 4
    later = change.shell.run(*ran, "--json", "--attempt", "2", code=1, **variables).json
    assert findings(later) == {"test_total": ("explained", "rejects")}


def test_without_the_daemon_the_run_is_judged_here_and_sent_later(change: Change) -> None:
    """A red run is rejected, a green one accepted; both wait, and go with the next."""
    nobody = "http://127.0.0.1:9"
    assert "Decided here, with every test gating" in change.run(url=nobody).err
    said = change.run(url=nobody, fails_in="1", code=1)
    assert said.out.startswith("REJECT  Rejected: test_shop::test_sometimes: it failed 1 of 1 run")
    assert change.runs == 1
