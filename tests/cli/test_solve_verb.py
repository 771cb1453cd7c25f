"""`quarantine solve`: what is printed where, and the exit code of each end."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.databases import SqliteFiles
from tests.scenarios.loops import COMMAND, MENDED, MUST_PASS, SUM, TICKET, Shop, shop
from tests.world import PROJECT

AGENT = f"""\
import os, pathlib, sys

assert not any(name.startswith("QUARANTINE") for name in os.environ)
prompt = sys.stdin.read()
pathlib.Path(os.environ["AGENT_USAGE_FILE"]).write_text('{{"tokens": 1200, "cost": 0.5}}')
file = pathlib.Path("shop/pricing.py")
mended = {MENDED!r} if "EDITION" == "right" else {SUM + " - 36"!r}
file.write_text(file.read_text().replace({SUM!r}, mended))
"""


@pytest.fixture(scope="module")
def a_shop(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Return the project with its daemon."""
    folder = tmp_path_factory.mktemp("solve-verb")
    with shop(folder, sqlite_files.create(folder / "quarantine.db", migrated=True)) as made:
        yield made


def words(made: Shop, folder: Path, agent: str, *more: str) -> list[str]:
    """Return the words of a call whose agent follows this script."""
    (folder / "SHOP-7.md").write_text("Take the discount off.\n", encoding="utf-8")
    (folder / "agent.py").write_text(agent, encoding="utf-8")
    target = made.target()
    return [
        *("solve", "--url", target.url, "--project", PROJECT, "--token", target.token or "", "--job", "unit"),
        *("--ticket", "SHOP-7.md", "--agent", f"{sys.executable} {folder / 'agent.py'}", "--command", COMMAND),
        *("--must-pass", MUST_PASS, "--repository", str(made.repository.path), "--import-path", "."),
        *("--env", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1", "--logs", str(folder / "logs"), "--work", str(folder / "work")),
        *more,
    ]


def test_an_accepted_patch_is_all_that_is_printed(a_shop: Shop, shell: Shell) -> None:
    """So that it can be put in a file and applied; the story is on standard error."""
    said = shell.run(*words(a_shop, shell.folder, AGENT.replace("EDITION", "right"), "--no-full"), code=0)
    assert said.out.startswith("diff --git a/shop/pricing.py b/shop/pricing.py\n")
    assert MENDED in said.out
    assert "Accepted after 1 attempt: " in said.err
    assert "attempt: Accepted" not in said.err
    assert "Not shown: Only the impacted tests ran" in said.err
    (shell.folder / "fix.diff").write_text(said.out, encoding="utf-8")
    a_shop.repository.git("apply", "--check", str(shell.folder / "fix.diff"))


def test_a_module_at_an_import_path_that_hides_the_standard_librarys_is_refused(a_shop: Shop, shell: Shell) -> None:
    """Nothing runs; what the base itself has there may be patched."""
    hides = 'import pathlib\npathlib.Path("shop/argparse.py").write_text("x = 1\\n")\n'
    said = shell.run(*words(a_shop, shell.folder, hides, "--import-path", "shop", "--max-attempts", "1"), code=1)
    assert "shop/argparse.py" in said.err


def test_an_exhausted_loop_prints_its_record_and_no_patch(a_shop: Shop, shell: Shell) -> None:
    """Exit code 1; with --json one document that says all of it."""
    call = words(a_shop, shell.folder, AGENT, "--max-attempts", "1")
    said = shell.run(*call, code=1)
    assert said.out == ""
    assert "Exhausted after 1 attempt: " in said.err
    assert "assert 324 == 360" in said.err
    told = shell.run(*call, "--json", code=1).json
    assert (told["schema"], told["end"], told["attempts"], told["patch"]) == (1, "exhausted", 1, None)
    assert "assert 324 == 360" in told["record"]
    assert told["verdict"]["verdict"] == "reject"
    assert told["environment"]["distributions"]
    attempts = shell.run(
        "attempts", "--url", a_shop.url, "--project", PROJECT, "--token", call[6], "--ticket", TICKET, "--json"
    ).json
    assert attempts["tokens"] >= 1200


@pytest.mark.parametrize(
    ("agent", "end", "code"),
    [
        (AGENT.replace("EDITION", "right") + "os._exit(3)\n", "accepted", 0),
        ("import sys\nsys.exit(5)\n", "inconclusive", 3),
        (AGENT.replace("EDITION", "right") + "file.write_text('import os; os.getenv(\"CI\")\\n' + file.read_text())\n",
         "suspect", 4),
        ("print('All tests pass.')\n", "exhausted", 1),
    ],
)  # fmt: skip
def test_each_end_has_its_exit_code(a_shop: Shop, shell: Shell, agent: str, end: str, code: int) -> None:
    """An agent that fails twice in the same way says nothing about the ticket."""
    told = shell.run(*words(a_shop, shell.folder, agent, "--no-full", "--json"), code=code).json
    assert told["end"] == end
    assert (told["patch"] is not None) == (end == "accepted")


def test_a_call_that_has_to_be_mended_is_exit_code_2(a_shop: Shop, shell: Shell) -> None:
    """Each says what is wrong; none is taken for a verdict."""
    good = words(a_shop, shell.folder, AGENT)
    command, base = good.index("--command") + 1, ["--base", "no-such-commit"]
    assert "wrote no report" in shell.run(*good[:command], "true", *good[command + 1 :], code=2).err
    assert "no-such-commit" in shell.run(*good, *base, code=2).err
    assert "NAME=VALUE" in shell.run(*good, "--env", "NAME", code=2).err
    assert "may not see QUARANTINE_TOKEN" in shell.run(*good, "--agent-env", "QUARANTINE_TOKEN", code=2).err
    (shell.folder / "canary.toml").write_text('path = "x"\nfolder = "y"\n', encoding="utf-8")
    assert "folder" in shell.run(*good, "--canary", "canary.toml", code=2).err
    assert "ticket" in shell.run("solve", "--agent", "true", "--command", "true", code=2).err


def test_an_agent_that_does_not_work_says_so_itself(a_shop: Shop, shell: Shell) -> None:
    """No such command is the user's to mend, at once; of one that fails the last words are told and kept."""
    good = words(a_shop, shell.folder, "import sys\nsys.exit('no key for the model')\n")
    agent = good.index("--agent") + 1
    said = shell.run(*good[:agent], "no-such-agent --print", *good[agent + 1 :], code=2).err
    assert "The agent's command ended with 127: " in said
    assert "no-such-agent" in said
    assert said.count("Asking the agent") == 1
    assert "no key for the model" in shell.run(*good, code=3).err
    assert (shell.folder / "logs" / "attempt-1.agent.log").read_text(encoding="utf-8") == "no key for the model\n"


def test_a_runner_can_be_given_a_canary_of_its_own(a_shop: Shop, shell: Shell) -> None:
    """As a TOML file, with a place for the random name."""
    canary = {"path": "tests/test_z{name}.py", "content": "def test_z{name}():\n    assert 0\n", "test": "test_z{name}"}
    lines = [f"{name} = {json.dumps(value)}" for name, value in (canary | {"select": canary["path"]}).items()]
    (shell.folder / "canary.toml").write_text("\n".join([*lines, "exit_code = 1"]), encoding="utf-8")
    call = words(a_shop, shell.folder, AGENT.replace("EDITION", "right"), "--no-full", "--canary", "canary.toml")
    assert shell.run(*call, code=0).out.startswith("diff --git")
