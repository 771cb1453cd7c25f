"""`quarantine attempts`: for people, and as JSON that says the same whether a daemon or the database is asked."""

from tests.cli.conftest import Daemon
from tests.cli.shell import Shell
from tests.world import PROJECT, World, junit


def asked(daemon: Daemon) -> World:
    """Play two tickets: one that a plain harness would have given up, and one that nothing solved."""
    world = World(daemon.app, daemon.app.clock)  # type: ignore[arg-type]  # only told the time, never moved
    question = {"ticket": "A", "attempt": 1, "runner_s": 61.0, "tokens": 1200, "cost": 0.5, "can_rerun": True}
    verdict = world.ask("a", {"t1": "F", "t2": "P"}, change="A", question=question, exit_code=1)
    for number in range(1, 12):
        verdict = world.answer(verdict, "a", {"t1": "P", "t2": "P"}, number=number, change="A", exit_code=0)
    assert verdict["verdict"] == "accept"
    world.ask("b", junit({"t1": "F"}), change="B\x1b[31m", question={"attempt": 2}, exit_code=1)
    return world


def test_a_daemon_and_the_database_say_the_same(daemon: Daemon, shell: Shell) -> None:
    """The JSON of one and the other is equal, and so is the text."""
    asked(daemon)
    for words in (("attempts",), ("attempts", "--ticket", "A"), ("attempts", "--ticket", "none at all")):
        over_http = shell.run(*words, *daemon.over_http, "--json")
        assert over_http.json == shell.run(*words, *daemon.on_database, "--json").json
        assert over_http.json["project"] == PROJECT
        assert shell.run(*words, *daemon.over_http).out == shell.run(*words, *daemon.on_database).out


def test_the_figures_are_told(daemon: Daemon, shell: Shell) -> None:
    """The shares by attempt beside those of a plain harness, what was prevented, and each ticket in a line."""
    asked(daemon)
    told = shell.run("attempts", *daemon.on_database).out
    assert told.splitlines() == [
        "2 tickets: 2 unfinished.",
        "attempt  solved by then  plain",
        "      1             50%     0%",
        "      2             50%     0%",
        "1 rejection prevented (1 failure excused); 1 attempt that flakes cost, or would have cost without quarantine.",
        "61 s of test runs, 1,200 tokens, cost 0.50.",
        "",
        "A: unfinished, 1 attempt, solved on attempt 1 (plain: never). 61 s of test runs, 1,200 tokens, cost 0.50.",
        "B: unfinished, 2 attempts, not solved. 0 s of test runs.",
    ]


def test_nothing_attempted_is_said(daemon: Daemon, shell: Shell) -> None:
    """An empty list is a sentence, and no silence."""
    assert shell.run("attempts", *daemon.over_http).out == "No loop on a ticket has asked for a verdict yet.\n"
    alone = shell.run("attempts", "--ticket", "A", *daemon.over_http).out
    assert alone == "No loop on this ticket has asked for a verdict yet.\n"
