"""The verbs that only read: for people, and as JSON that says the same whether a daemon or the database is asked."""

import subprocess
import sys

import pytest

from quarantine.clock import FrozenClock, system_clock
from quarantine.services import decisions
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.shell import Shell
from tests.world import CLASSNAME, OWNER, PROJECT, World

FLAKY, BROKEN = f"{CLASSNAME}::t_flaky", f"{CLASSNAME}::t_broken"
HOSTILE = "t \x9b31mred\u202e"


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("explain", FLAKY),
        ("explain", FLAKY, "--recompute"),
        ("explain", BROKEN),
        ("explain", "t1"),
        ("reruns", "list"),
    ],
    ids=" ".join,
)
def test_a_daemon_and_the_database_say_the_same(judged: Daemon, shell: Shell, words: tuple[str, ...]) -> None:
    """The JSON of one and the other is equal, and so is the text; a database named on the line is meant, not a URL."""
    asked = shell.run(*words, *judged.over_http, "--json")
    read = shell.run(*words, *judged.on_database, "--json")
    assert asked.json == read.json
    assert asked.json
    assert asked.err == read.err == ""
    over_http = shell.run(*words, *judged.over_http).out
    assert over_http == shell.run(*words, *judged.on_database).out
    away = shell.run(*words, *judged.on_database, QUARANTINE_URL="http://127.0.0.1:9")
    assert away.out == over_http


def test_the_list_names_each_with_its_reason(judged: Daemon, shell: Shell) -> None:
    """What would have been quarantined while the project observes, what is once it enforces, and what is broken."""
    observing = shell.run("list", *judged.on_database).out
    assert "Would have been quarantined (this project only observes; everything gates):" in observing
    assert f"  {FLAKY}\n    since 2026-01-" in observing
    assert f"Broken on trunk: they gate:\n  {BROKEN}\n" in observing
    decisions.set_mode(judged.app, PROJECT, "enforce", bearer=OWNER)
    enforcing = shell.run("list", *judged.on_database).out
    assert f"Quarantined: they run and are reported, and do not gate:\n  {FLAKY}\n" in enforcing
    assert "Would have been" not in enforcing
    rows = {row["name"]: row for row in shell.run("list", *judged.on_database, "--json").json["standing"]}
    assert {name: (row["status"], row["gating"]) for name, row in rows.items()} == {
        FLAKY: ("quarantined", False),
        BROKEN: ("broken", True),
    }


def test_nothing_to_list_is_said(daemon: Daemon, shell: Shell) -> None:
    """An empty list is a sentence, and no silence."""
    assert shell.run("list", *daemon.over_http).out == (
        f"Every test of {PROJECT} gates. Nothing is quarantined, held or broken.\n"
    )
    assert shell.run("list", *daemon.over_http, "--json").json["standing"] == []


def test_an_explanation_begins_with_one_sentence(judged: Daemon, shell: Shell) -> None:
    """Then its numbers, the heads with what confirmed them, and the transitions; recomputed, it says that it agrees."""
    told = shell.run("explain", FLAKY, *judged.over_http, "--recompute").out
    lines = told.splitlines()
    assert lines[0] == FLAKY
    assert lines[1].endswith("gating (observe)")
    assert lines[3:5][0] == "In job=unit:"
    assert lines[4].startswith("  Gates, because the project observes; would have been quarantined since 2026-01-")
    assert "  entry: m=" in told
    assert "passed in build" in told
    assert "  transitions:\n" in told
    assert "Recomputed from the stored outcomes: the same heads, the same decisions." in told
    assert "DISAGREES" not in told


def test_what_contradicts_itself_is_exit_code_1(judged: Daemon, shell: Shell) -> None:
    """Somebody who wrote into the database is found out when the evidence is derived again."""
    with judged.app.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE head SET trial = trial + 1 WHERE number = 2")
    told = shell.run("explain", FLAKY, *judged.over_http, "--recompute", code=1)
    assert "DISAGREES" in told.out
    assert shell.run("explain", FLAKY, *judged.on_database, "--recompute", "--json", code=1).json["variants"]
    assert shell.run("explain", FLAKY, *judged.over_http).code == 0


def test_a_test_nobody_knows_is_exit_code_2(judged: Daemon, shell: Shell) -> None:
    """With the nearest names, the same from a daemon as from the database."""
    over_http = shell.refused("explain", "t_flakey", *judged.over_http)
    assert over_http == shell.refused("explain", "t_flakey", *judged.on_database)
    assert over_http.startswith(f"No test of {PROJECT} goes by 't_flakey'.")


def test_names_cannot_act_on_the_terminal(daemon: Daemon, shell: Shell) -> None:
    """Control sequences and direction marks in a test's name, in what it said or in what was typed are not obeyed."""
    world = World(daemon.app, FrozenClock(system_clock()))
    world.send("b1", {HOSTILE: "P"}, command="make \x1b[2J")
    world.send("b2", {HOSTILE: "F"}, said=HOSTILE, command="make \x1b[2J")
    told = shell.run("explain", f"{CLASSNAME}::{HOSTILE}", *daemon.over_http)
    listed = shell.run("reruns", "list", *daemon.over_http)
    unknown = shell.refused("explain", f"un\x1b[2Jknown{HOSTILE}", *daemon.over_http)
    assert told.out.startswith(f"{CLASSNAME}::t red<U+202E>\n")
    assert "  make \n" in listed.out
    assert unknown.startswith(f"No test of {PROJECT} goes by 'unknownt ")
    assert not {"\x1b", "\x9b", "\u202e"} & set(told.out + listed.out + unknown)


def test_the_reruns_wanted_are_listed(daemon: Daemon, shell: Shell) -> None:
    """With tree, commit, why and the command to run; over HTTP and from the database alike."""
    world = World(daemon.app, FrozenClock(system_clock()))
    world.send("green", {"t1": "P"}, command="make test")
    assert "No rerun is wanted now.\n0 of 200 reruns" in shell.run("reruns", "list", *daemon.over_http).out
    world.send("red", {"t1": "F"}, command="make test")
    told = shell.run("reruns", "list", *daemon.over_http, "--json").json
    assert told == shell.run("reruns", "list", *daemon.on_database, "--json").json
    [wanted] = told["reruns"]
    assert (wanted["command"], wanted["lane"], wanted["rerun_of"]) == ("make test", "trunk", "red")
    text = shell.run("reruns", "list", *daemon.over_http).out
    assert text == shell.run("reruns", "list", *daemon.on_database).out
    assert text.startswith(f"tree {wanted['tree'][:12]}  commit {wanted['commit'][:12]}  trunk  due ")
    assert wanted["why"] in text
    assert "  make test\n" in text


def test_a_reading_verb_needs_a_token_where_there_is_one(judged: Daemon, shell: Shell) -> None:
    """Without it, or with a wrong one: exit code 2 and the mend. The database itself needs none."""
    token = judged.token("read")
    with hosted(judged.app, open_lane=None) as url:
        at = ("--url", url, "--project", PROJECT)
        assert shell.refused("list", *at).startswith(
            "This server needs a token. Set QUARANTINE_TOKEN, or give --token."
        )
        wrong = shell.refused("list", *at, "--token", "qt_wrong")
        assert wrong == "The token is unknown, expired or revoked. Ask an admin for a new one."
        right = shell.run("list", *at, QUARANTINE_TOKEN=token).out
    assert right == shell.run("list", *judged.on_database).out


def test_a_reading_verb_that_asks_a_daemon_loads_no_store(daemon: Daemon) -> None:
    """What SQL needs takes a second to load, and over HTTP it is the daemon that needs it."""
    for words in (("list",), ("reruns", "list"), ("attempts",)):
        code = (
            "import sys\nfrom quarantine.cli import main\n"
            f"sys.argv = {['quarantine', *words, *daemon.over_http]!r}\n"
            "try:\n    main()\nfinally:\n    assert not {'sqlalchemy', 'numpy'} & sys.modules.keys()\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
