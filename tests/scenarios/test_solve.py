"""Loops on a real project: git, pytest and the daemon are the real ones, the agent follows a script."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quarantine.bootstrap import build_app
from quarantine.client.errors import ClientConfigurationError
from quarantine.client.target import Target
from quarantine.clock import FrozenClock
from quarantine.config import Settings as DaemonSettings
from quarantine.domain.outcome import Lane
from quarantine.loop.admission import require_agent
from quarantine.loop.agent import ScriptedAgent
from quarantine.loop.daemon import DaemonLost
from quarantine.loop.ends import Accepted, Exhausted, Inconclusive
from quarantine.loop.solve import solve
from quarantine.loop.ticket import Ticket
from quarantine.services import attempts, decisions
from quarantine.store import builds, histories, projects
from quarantine.store.engine import reading
from tests.cli.hosting import hosted
from tests.databases import SqliteFiles
from tests.scenarios.loops import BREAKS, COMMAND, FILES, MENDED, MENDS, MUST_PASS, QUICK, SUM, TICKET, Shop, edit, shop
from tests.world import OWNER, PROJECT, START, World

PAGE = Path(__file__).parents[2] / "docs" / "loop.md"
Made = Callable[[], Shop]


@pytest.fixture(scope="module")
def a_shop(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Return the project with its daemon, for the tests that only add to what the daemon knows."""
    folder = tmp_path_factory.mktemp("solve")
    with shop(folder, sqlite_files.create(folder / "quarantine.db", migrated=True)) as made:
        yield made


@pytest.fixture
def own_shop(sqlite_files: SqliteFiles, tmp_path: Path) -> Iterator[Shop]:
    """Return a project with a daemon of its own."""
    with shop(tmp_path, sqlite_files.create(tmp_path / "quarantine.db", migrated=True)) as made:
        yield made


def ran(made: Shop, folder: str = "logs") -> list[str]:
    """Return the command lines that were run, in order."""
    logs = sorted((made.folder / folder).glob("0*.log"))
    return [log.read_text(encoding="utf-8").splitlines()[0] for log in logs]


def test_a_rejected_patch_is_told_why_and_a_right_one_is_accepted(own_shop: Shop) -> None:
    """The record has the assertion and its place; the end is kept, and the user's checkout is untouched."""
    head, status = own_shop.repository.head, own_shop.repository.git("status", "--porcelain")
    end = own_shop.solve(BREAKS, MENDS)
    assert isinstance(end, Accepted)
    assert end.attempts == 2
    assert "(100 - discount)" in end.patch.text.decode()
    told = own_shop.agent.prompts[1]
    assert "assert 324 == 360" in told
    assert "tests/test_pricing.py:9" in told
    assert "test_z" not in told.partition("Your last patch")[2]
    summary = attempts.summary(own_shop.world.app, PROJECT, ticket=TICKET)
    assert summary["ends"]["accepted"] == 1
    assert [row["on"] for row in summary["solved"]] == [0, 1]
    assert (own_shop.repository.head, own_shop.repository.git("status", "--porcelain")) == (head, status)
    assert list((own_shop.folder / "work").iterdir()) == []
    assert {path.name for path in (own_shop.folder / "logs").glob("*.diff")} == {"attempt-1.diff", "attempt-2.diff"}


def test_only_impacted_tests_run_then_all_of_them_once(own_shop: Shop) -> None:
    """First the must-pass test on the base, then the impacted ones on base and patch, then everything on both."""
    assert isinstance(own_shop.solve(MENDS), Accepted)
    selected = [re.findall(r"tests/test_\w+\.py::\w+", line) for line in ran(own_shop)]
    assert [len(tests) for tests in selected] == [1, 3, 3, 0, 0]
    assert all("test_tax.py" not in line for line in ran(own_shop))
    assert "3 of 4 tests reach the changed part." in " ".join(own_shop.said)


def test_without_the_full_run_it_is_owed(a_shop: Shop) -> None:
    """And said so."""
    runner = a_shop.runner()
    end, whole = a_shop.solve(MENDS, runner=runner, full=False), a_shop.solve(MENDS, runner=runner)
    assert isinstance(end, Accepted)
    assert isinstance(whole, Accepted)
    assert any("a run of every test is still owed" in sentence for sentence in end.owed)
    assert not any("every test is still owed" in sentence for sentence in whole.owed)


def test_the_same_patch_is_not_run_again(a_shop: Shop) -> None:
    """Its verdict stands, its record comes a second time, and that ends the loop."""
    runner = a_shop.runner(logs=a_shop.folder / "again")
    end = a_shop.solve(BREAKS, BREAKS, BREAKS, runner=runner)
    assert isinstance(end, Exhausted)
    assert (end.attempts, "same record came twice" in end.sentence) == (2, True)
    logs = [log.name for log in (a_shop.folder / "again").glob("0*.log")]
    assert [name for name in logs if "attempt-2" in name] == []


def test_two_patches_that_fail_alike_end_the_loop_too(own_shop: Shop) -> None:
    """The record is the same, whatever the log is called and whatever the patch."""
    other = edit("shop/pricing.py", SUM, f"{SUM} - 30 - 6")
    end = own_shop.solve(BREAKS, other, MENDS)
    assert isinstance(end, Exhausted)
    assert end.attempts == 2


FLAKY = """\
import os
import pathlib

from shop.pricing import total


def test_flaky():
    counter = pathlib.Path(os.environ["COUNTER"])
    number = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(number + 1))
    assert number % 2 == 1 + total([])
"""


def test_a_flaky_failure_rejects_nothing(own_shop: Shop) -> None:
    """A test that fails every other time, as trunk has seen, does not burn the right patch."""
    counter = {"COUNTER": str(own_shop.folder / "counter")}
    own_shop.repository.commit({"tests/test_flaky.py": FLAKY})
    own_shop.told_by_trunk("trunk-2", variables=counter)
    own_shop.told_by_trunk("trunk-2-rerun", variables=counter, kind="rerun", rerun_of="trunk-2")
    end = own_shop.solve(MENDS, runner=own_shop.runner(variables=QUICK | counter), full=False)
    assert isinstance(end, Accepted)
    assert end.attempts == 1
    assert any("test_flaky.py" in line for line in ran(own_shop))
    findings = {test["name"]: test["finding"] for test in end.judged.answer["tests"]}
    assert findings["tests.test_flaky::test_flaky"] == "flaky"
    assert any("Rerun 1" in sentence for sentence in own_shop.said)


def test_a_test_that_the_daemon_does_not_know_runs_when_it_is_listed(own_shop: Shop) -> None:
    """A new test is always in, whatever it reaches."""
    own_shop.repository.commit({"tests/test_new.py": "def test_new():\n    pass\n"})
    listing = "python -m pytest --collect-only -q -p no:cacheprovider"
    assert isinstance(own_shop.solve(MENDS, runner=own_shop.runner(collect=listing), full=False), Accepted)
    assert all("tests/test_new.py::test_new" in line for line in ran(own_shop))


def test_a_base_that_the_daemon_never_saw_is_run_here(own_shop: Shop) -> None:
    """A test that fails on it already is not the patch's doing."""
    broken = FILES["tests/test_tax.py"].replace("== 120", "== 121")
    own_shop.repository.commit({"tests/test_tax.py": broken})
    end = own_shop.solve(MENDS)
    assert isinstance(end, Accepted)
    findings = {test["name"]: test["finding"] for test in end.judged.answer["tests"]}
    assert findings["tests.test_tax::test_tax_is_added"] == "pre-existing"


def test_a_changed_environment_is_named_and_the_patch_is_not_blamed(a_shop: Shop) -> None:
    """Nothing is run in it."""
    runner = a_shop.runner(logs=a_shop.folder / "changed")

    def meanwhile(prompt: str, folder: Path) -> None:
        assert runner.ready is not None
        before = runner.ready.pinned.environment
        before = before._replace(distributions=(*before.distributions, "zzz==1.0"))
        runner.ready = replace(runner.ready, pinned=runner.ready.pinned._replace(environment=before))
        MENDS(prompt, folder)

    end = a_shop.solve(meanwhile, runner=runner)
    assert isinstance(end, Inconclusive)
    assert "The environment changed" in end.sentence
    assert "zzz==1.0" in end.sentence
    assert len(ran(a_shop, "changed")) == 1


def test_a_patch_may_change_a_lock_file_but_nothing_is_installed_for_it(a_shop: Shop) -> None:
    """That it ran in the environment as it was is said."""

    def locks(prompt: str, folder: Path) -> None:
        MENDS(prompt, folder)
        (folder / "requirements.txt").write_text("requests\n", encoding="utf-8")

    end = a_shop.solve(locks)
    assert isinstance(end, Accepted)
    assert any("requirements.txt" in sentence for sentence in end.owed)


def test_a_command_without_places_runs_everything_and_says_so(a_shop: Shop) -> None:
    """Its report is found by a glob, and one of yesterday that lay there is none."""
    runner = a_shop.runner(COMMAND.replace("{tests}", "").replace("{report}", "out/junit.xml"), reports=("out/*.xml",))
    a_shop.said.clear()
    assert isinstance(a_shop.solve(BREAKS, MENDS, runner=runner), Accepted)
    assert sum("running every test" in sentence for sentence in a_shop.said) == 3  # the accepted patch once more


CASE = "<testcase classname='tests.test_pricing' name='test_a_discount_is_taken_off'/>"
OLD = f"<testsuites><testsuite name='pytest'>{CASE}</testsuite></testsuites>"


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        ("true", {}, "ended with 0 and wrote no report"),
        ("exit 7", {}, "ended with 7 and wrote no report"),
        ("sleep 60", {"timeout_s": 0.2}, "did not end within 0.2 s"),
        (COMMAND.replace("{tests}", "tests/test_tax.py"), {}, "canary"),
        (COMMAND, {"variables": {"PYTEST_ADDOPTS": "--no-such-option"}}, "ended with 4"),
        (COMMAND, {"collect": "echo && exit 3"}, "listed 0 tests and ended with 3"),
        (COMMAND, {"python": "/no/such/python"}, "/no/such/python"),
    ],
)
def test_a_command_that_does_not_work_on_the_base_is_the_users_to_mend(
    own_shop: Shop, command: str, more: dict[str, Any], said: str
) -> None:
    """No agent is asked; yesterday's green report in the tree is none of this run."""
    own_shop.repository.commit({"junit.xml": OLD})
    with pytest.raises(ClientConfigurationError, match=re.escape(said)):
        own_shop.solve(MENDS, runner=own_shop.runner(command, **more))
    assert own_shop.agent.prompts == []


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ({"scope": "report", "lane": "trunk"}, "belongs to the trunk lane"),
        ({"scope": "report", "lane": "review", "change": TICKET}, "belongs to the review lane"),
        ({"scope": "read", "lane": None}, "may not report"),
        ({"scope": "report", "lane": "agent", "change": "SHOP-8"}, "speaks for the change 'SHOP-8'"),
    ],
)
def test_a_token_that_is_not_the_tickets_is_refused_before_anything_is_run(
    a_shop: Shop, bound: dict[str, Any], said: str
) -> None:
    """Whatever an agent writes must not be filed as trunk's; how to make the right token is said."""
    stated = {"change": None, "label": "", "lifetime": None, "bearer": OWNER} | bound
    target = Target(a_shop.url, PROJECT, decisions.create_token(a_shop.world.app, PROJECT, **stated))
    runner = a_shop.runner(target=target, logs=a_shop.folder / "refused")
    with pytest.raises(ClientConfigurationError, match=re.escape(said)) as refused:
        a_shop.solve(MENDS, runner=runner)
    assert f"--scope report --lane agent --change {TICKET}" in str(refused.value)
    assert (a_shop.agent.prompts, ran(a_shop, "refused")) == ([], [])


def test_without_a_token_the_lane_is_the_daemons(sqlite_files: SqliteFiles, tmp_path: Path) -> None:
    """`serve` on this machine takes reports on trunk's lane unless it is told another."""
    clock = FrozenClock(START)
    database = sqlite_files.create(tmp_path / "quarantine.db", migrated=True)
    app = build_app(DaemonSettings.model_validate({"database": database}), clock=clock)
    World(app, clock).created()
    ticket = Ticket(TICKET, "")
    with hosted(app, open_lane=Lane.TRUNK) as url, pytest.raises(ClientConfigurationError, match="without a token"):
        require_agent(Target(url, PROJECT), ticket)
    with hosted(app, open_lane=Lane.AGENT) as url:
        require_agent(Target(url, PROJECT), ticket)
    app.engine.dispose()


def test_a_variant_that_trunk_never_ran_is_told_at_the_start(a_shop: Shop) -> None:
    """With the nearest one it did run, before the agent is asked; the right one needs no word."""
    for job, times in (("integration", 1), ("unit", 0)):
        a_shop.said.clear()
        a_shop.solve("", runner=a_shop.runner(job=job), max_attempts=1)
        told = [sentence for sentence in a_shop.said if "Trunk has never run the variant job=integration" in sentence]
        assert len(told) == times
        assert all("nearest it has run is job=unit, os=" in sentence and "--job" in sentence for sentence in told)
        assert [a_shop.said.index(sentence) for sentence in told] == [0] * times


def test_a_must_pass_test_that_the_base_has_not_is_the_users_to_mend(a_shop: Shop) -> None:
    """Whether the runner stops at its name or never hears of it."""
    ticket = Ticket(TICKET, "", (MUST_PASS, "tests/test_pricing.py::test_nope"))
    for command in (COMMAND, COMMAND.replace("{tests}", "")):
        agent, runner = ScriptedAgent([MENDS]), a_shop.runner(command)
        with a_shop.workspace() as workspace, pytest.raises(ClientConfigurationError) as refused:
            solve(ticket, workspace, agent, runner)
        assert "There is no such test on the base: tests/test_pricing.py::test_nope." in str(refused.value)
        assert agent.prompts == []


def test_the_agent_is_told_which_tests_fail_on_the_base(a_shop: Shop) -> None:
    """A test that must pass and does already is not said to fail."""
    passing = "tests/test_pricing.py::test_prices_are_added"
    agent = ScriptedAgent([""])
    with a_shop.workspace() as workspace:
        solve(Ticket(TICKET, "", (passing, MUST_PASS)), workspace, agent, a_shop.runner(), max_attempts=1)
    assert f"These tests fail now and must pass; nothing else may break:\n- {MUST_PASS}\n\n" in agent.prompts[0]
    assert f"These tests pass now and must still pass afterwards:\n- {passing}\n\n" in agent.prompts[0]


def test_without_the_daemon_there_is_no_verdict(a_shop: Shop) -> None:
    """Silence is no green: the loop breaks off."""
    gone = Target("http://127.0.0.1:9", PROJECT, "qt_x")
    with pytest.raises(DaemonLost, match="no answer"):
        a_shop.solve(MENDS, runner=a_shop.runner(target=gone))


def test_the_tests_see_no_token_and_the_agent_no_later_history(a_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither can report, and neither can look the answer up."""
    monkeypatch.setenv("QUARANTINE_TOKEN", "qt_secret")
    looks = [
        "import os, subprocess",
        "assert 'QUARANTINE_TOKEN' not in os.environ",
        "assert len(subprocess.check_output(['git', 'log', '--all', '--format=%h']).split()) == 1",
    ]
    mends = edit("shop/pricing.py", f"    {SUM}", "\n".join(f"    {line}" for line in [*looks, MENDED]))
    end = a_shop.solve(mends, max_attempts=1)
    assert end.last is not None
    assert end.last.answer["verdict"] == "accept", end.last.record


def test_the_harness_of_the_page_works(own_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty lines at most, on the same project: rejected, told why, accepted."""
    text = PAGE.read_text(encoding="utf-8").split("<!-- own harness -->")[1].split("<!-- end of own harness -->")[0]
    code = "\n".join(line.removeprefix("    ") for line in text.strip("\n").splitlines())
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 30
    target = own_shop.target()
    monkeypatch.setenv("QUARANTINE_URL", target.url)
    monkeypatch.setenv("QUARANTINE_PROJECT", PROJECT)
    monkeypatch.setenv("QUARANTINE_TOKEN", target.token or "")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page is ours
    root = own_shop.repository.path
    BREAKS("", root)
    verdict, record = names["judged"](root, TICKET, 1, [MUST_PASS])
    assert (verdict, "assert 324 == 360" in record) == ("reject", True)
    own_shop.repository.git("checkout", "--quiet", ".")
    MENDS("", root)
    assert names["judged"](root, TICKET, 2, [MUST_PASS])[0] == "accept"
    with reading(own_shop.world.app.engine) as connection:
        project = projects.by_slug(connection, PROJECT).id
        assert list(builds.variants(connection, project)) == histories.trunk_variants(connection, project)


def test_the_page_names_job_and_interpreter_as_trunk_reports_them() -> None:
    """On the command line, from Python and in the harness; else nothing is known of flaky tests there."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:4]
    assert [part.splitlines()[0] for part in parts] == [
        "On the command line", "From Python", "Your own harness in 30 lines"
    ]  # fmt: skip
    code = ["--job unit --python ", 'job="unit", python=sys.executable', '"python": sys.executable']
    assert [word in part for word, part in zip(code, parts, strict=True)] == [True] * 3
