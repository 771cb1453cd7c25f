"""`quarantine weekly`: the report of a week as Markdown, one HTML file or JSON, from a daemon or the database."""

import re

import pytest

from quarantine.services import decisions
from tests.cli.conftest import Daemon
from tests.cli.shell import Shell
from tests.world import CLASSNAME, OWNER, World

MADE = re.compile(r"made \d{4}-\d\d-\d\d \d\d:\d\d")


@pytest.fixture
def played(daemon: Daemon) -> Daemon:
    """Return a daemon with a test that a person quarantined, with a name that would be markup."""
    world = World(daemon.app, daemon.app.clock)  # type: ignore[arg-type]  # only told the time, never moved
    world.send("first", {"t1[<script>alert(1)</script>]": "P", "t2": "P"})
    name = f"{CLASSNAME}::t1[<script>alert(1)</script>]"
    decisions.quarantine(world.app, world.project, name, bearer=OWNER, reason="the sandbox is down", days=9)
    return daemon


def test_a_daemon_and_the_database_say_the_same(played: Daemon, shell: Shell) -> None:
    """As Markdown and as JSON, but for the minute it was made."""
    over_http, on_database = (
        shell.run("weekly", "--week", "running", *where) for where in (played.over_http, played.on_database)
    )
    assert MADE.sub("", over_http.out) == MADE.sub("", on_database.out)
    assert over_http.out.startswith(f"# {played.over_http[-1]}: quarantine in week ")
    assert "1 in, 0 out" in over_http.out
    told = [shell.run("weekly", "--json", *where).json for where in (played.over_http, played.on_database)]
    assert told[0]["size"] == told[1]["size"]
    assert told[0]["size"]["tests"] == 1
    assert shell.run("weekly", "--format", "json", *played.over_http).json["week"] == told[0]["week"]


def test_html_is_one_file_that_needs_nothing_else(played: Daemon, shell: Shell) -> None:
    """Its sheet is in it, its links lead to the daemon, and a name stays text."""
    told = shell.run("weekly", "--format", "html", *played.over_http).out
    assert "<style>" in told
    assert "<link" not in told
    assert "<script>alert" not in told
    assert f'href="{played.url}/projects/' in told
    assert not re.search(r'(src|href)="/', told)


def test_a_week_there_is_not_is_said(played: Daemon, shell: Shell) -> None:
    """With what can be asked for instead; wrong usage exits 2."""
    for where in (played.over_http, played.on_database):
        lost = shell.refused("weekly", "--week", "2019-W01", *where)
        assert "has no report of 2019-W01" in lost
        assert "running" in lost
        assert "There is no week 'last week'" in shell.refused("weekly", "--week", "last week", *where)
