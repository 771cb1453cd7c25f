"""`quarantine alias`: a renamed test goes on under its new name, on a person's word; over HTTP and on the database."""

from collections.abc import Iterator

import pytest

from quarantine.services.explain import explain
from tests.cli.conftest import SUITE, Daemon
from tests.cli.hosting import hosted
from tests.cli.shell import Shell
from tests.world import CLASSNAME, PROJECT, World

OLD, NEW = f"{CLASSNAME}::t_flaky", f"{CLASSNAME}::t_flaky_total"
CLEANED_UP = ("--reason", "cleaned up")


@pytest.fixture
def renamed(judged: Daemon) -> Daemon:
    """Return a daemon whose trunk has just run the quarantined test by another name."""
    world = World(judged.app, judged.app.clock)  # type: ignore[arg-type]  # it is never moved
    suite = {"t_flaky_total" if name == "t_flaky" else name: tries for name, tries in SUITE.items()}
    world.send("renamed", suite)
    return judged


@pytest.fixture(params=["http", "database"])
def where(request: pytest.FixtureRequest, renamed: Daemon) -> Iterator[tuple[str, ...]]:
    """Return the words that name the project, over HTTP with an admin's token and in the database."""
    if request.param == "database":
        yield renamed.on_database
        return
    admin = renamed.token("admin")
    with hosted(renamed.app, open_lane=None) as url:
        yield ("--url", url, "--project", PROJECT, "--token", admin)


def test_it_is_proposed_done_and_undone(renamed: Daemon, shell: Shell, where: tuple[str, ...]) -> None:
    """The proposal is a command to copy; what it says is what happens, and can be taken back."""
    told = shell.run("alias", "--proposed", *where).out.splitlines()
    assert told[:2] == [
        f"{OLD}  (quarantined)",
        f"  looks like {NEW}: a like name stands in the same place (build 43)",
    ]
    words = told[2].strip().split()
    assert words[:2] == ["quarantine", "alias"]
    done = shell.run("alias", words[2], words[3], *where, *CLEANED_UP).out
    assert done.startswith(f"{OLD} goes by {NEW} now. It is quarantined, so {NEW} would not gate where it is.")
    found = explain(renamed.app, PROJECT, OLD)
    assert (found["name"], found["formerly"]) == (NEW, [OLD])
    assert f"formerly {OLD}" in shell.run("explain", NEW, *where).out.splitlines()
    assert shell.run("alias", "--proposed", *where).out == "No test looks renamed.\n"
    assert "one test already" in shell.refused("alias", OLD, NEW, *where, *CLEANED_UP)
    told_json = shell.run("alias", OLD, NEW, "--undo", *where, "--reason", "two tests", "--json").json
    assert told_json["sentence"].startswith(f"{NEW} is a test of its own again, and gates.")
    assert explain(renamed.app, PROJECT, NEW)["formerly"] == []


def test_it_is_dismissed(shell: Shell, where: tuple[str, ...]) -> None:
    """Said once it is not shown again; what is not proposed cannot be dismissed."""
    said = shell.run("alias", OLD, NEW, "--dismiss", *where, "--reason", "two tests").out
    assert said == f"{OLD} and {NEW} stay two tests. It is not proposed again.\n"
    assert shell.run("alias", "--proposed", "--json", *where).json["proposed"] == []
    assert "Nobody proposes" in shell.refused("alias", OLD, NEW, "--dismiss", *where, "--reason", "two tests")


def test_nobody_but_an_admin_joins_names(renamed: Daemon, shell: Shell) -> None:
    """An agent's token, a reader's, or none at all."""
    assert "admin" in shell.refused("alias", OLD, NEW, *renamed.over_http, *CLEANED_UP)
    tokens = [renamed.token("report", lane=lane) for lane in ("agent", "review", "trunk")]
    with hosted(renamed.app, open_lane=None) as url:
        at = ("--url", url, "--project", PROJECT, "--token")
        for token in (*tokens, renamed.token("read")):
            for how in ((), ("--undo",), ("--dismiss",)):
                assert "Ask an admin for one" in shell.refused("alias", OLD, NEW, *how, *CLEANED_UP, *at, token)
    assert explain(renamed.app, PROJECT, NEW)["formerly"] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Name both"),
        (("a",), "Name both"),
        (("a", "b"), "--reason"),
        (("a", "b", "--reason", "x", "--undo", "--dismiss"), "Either"),
        (("a", "b", "--proposed"), "only shows"),
        (("--proposed", "--undo"), "only shows"),
    ],
)
def test_wrong_usage_says_what_is_missing(shell: Shell, words: tuple[str, ...], said: str) -> None:
    """Exit code 2, and no database is asked."""
    assert said in shell.run("alias", *words, "--project", PROJECT, code=2).err
