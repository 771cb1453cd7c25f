"""The verbs by which people decide: projects, tokens, the mode, a release; with a token or on the database."""

import pytest

from quarantine.services import gating
from quarantine.services.explain import explain
from quarantine.store import audit, projects
from quarantine.store.engine import reading
from tests.cli.conftest import Daemon
from tests.cli.hosting import hosted
from tests.cli.shell import Shell
from tests.world import CLASSNAME, PROJECT

FLAKY = f"{CLASSNAME}::t_flaky"


def gates(daemon: Daemon) -> bool:
    """Return whether the flaky test gates."""
    return gating.take_snapshot(daemon.app, PROJECT).is_gating(FLAKY)


def last_action(daemon: Daemon) -> tuple[str, str]:
    """Return who did what, as the audit has it."""
    with reading(daemon.app.engine) as connection:
        row = audit.latest(connection, projects.by_slug(connection, PROJECT).id)[0]
    return row["actor"], row["action"]


def test_a_new_project_observes_and_is_listed(shell: Shell) -> None:
    """Creating the first one makes the database too; a name that is taken or cannot be one is refused."""
    assert shell.run("project", "create", "ledger").out.startswith("Project ledger is there, observing.")
    assert (shell.folder / "quarantine.db").exists()
    assert shell.run("project", "create", "shop").code == 0
    assert shell.run("project", "list").out.splitlines() == [
        "ledger  observe  0 tests, 0 builds",
        "shop  observe  0 tests, 0 builds",
    ]
    told = shell.run("project", "list", "--json").json
    assert [(one["project"], one["mode"], one["tests"]) for one in told] == [
        ("ledger", "observe", 0),
        ("shop", "observe", 0),
    ]
    assert "ledger" in shell.refused("project", "create", "ledger")
    assert "'No Name' cannot name a project." in shell.refused("project", "create", "No Name")


def test_no_project_is_said(shell: Shell) -> None:
    """With the command that makes one."""
    shell.run("db", "upgrade")
    assert shell.run("project", "list").out == "There is no project yet. Create one: quarantine project create NAME\n"
    assert shell.run("project", "list", "--json").json == []
    assert "'nowhere'" in shell.refused("list", "--project", "nowhere")
    assert "'nowhere'" in shell.refused("token", "create", "--project", "nowhere", "--scope", "read")


def test_a_token_is_shown_once_and_works_until_it_is_revoked(daemon: Daemon, shell: Shell) -> None:
    """Created, listed without its secret, revoked; each step by the same database."""
    on_database = daemon.on_database
    made = shell.run("token", "create", *on_database, "--scope", "report", "--lane", "agent", "--label", "loop")
    secret = made.out.strip()
    assert secret.startswith("qt_")
    [listed] = shell.run("token", "list", *on_database, "--json").json
    assert (listed["scope"], listed["lane"], listed["label"], listed["revoked_at"]) == ("report", "agent", "loop", None)
    text = shell.run("token", "list", *on_database).out
    assert text == f"{listed['id']}  report  agent   until revoked  loop\n"
    assert secret not in text
    with hosted(daemon.app, open_lane=None) as url:
        at = ("list", "--url", url, "--project", PROJECT, "--token", secret)
        assert "Nothing is quarantined" in shell.run(*at).out
    revoked = shell.run("token", "revoke", listed["id"], *on_database)
    assert revoked.out == f"Token {listed['id']} no longer works.\n"
    with hosted(daemon.app, open_lane=None) as url:
        at = ("list", "--url", url, "--project", PROJECT, "--token", secret)
        assert "unknown, expired or revoked" in shell.refused(*at)
    assert "revoked" in shell.run("token", "list", *on_database).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--scope", "report"), "A report token needs a lane"),
        (("--scope", "read", "--lane", "trunk"), "only a report token has one"),
        (("--scope", "report", "--lane", "trunk", "--change", "7"), "Only a review or agent token speaks for a change"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(
    daemon: Daemon, shell: Shell, words: tuple[str, ...], said: str
) -> None:
    """The sentence says what belongs together."""
    assert said in shell.refused("token", "create", *daemon.on_database, *words)
    assert shell.run("token", "list", *daemon.on_database).out == "There is no token for this project.\n"
    assert "There is no token 'abc'" in shell.refused("token", "revoke", "abc", *daemon.on_database)


def test_wrong_words_for_a_token_are_wrong_usage(daemon: Daemon, shell: Shell) -> None:
    """A scope, a lane or a number of days that there is not."""
    for words in (("--scope", "root"), ("--scope", "report", "--lane", "main"), ("--scope", "read", "--days", "0")):
        assert shell.run("token", "create", *daemon.on_database, *words, code=2).out == ""


def test_the_mode_is_switched_on_the_database(judged: Daemon, shell: Shell) -> None:
    """By whoever owns it; the sentence says what it does to the gating set, and to whom it is credited."""
    assert shell.run("enforce", *judged.on_database).out == (
        "ledger now is in enforce mode: 1 quarantined test left the gating set; they go on running and being "
        "reported.\n"
    )
    assert not gates(judged)
    actor, action = last_action(judged)
    assert actor.startswith("shell of ")
    assert action == "set-mode"
    assert "already was in enforce mode" in shell.run("enforce", *judged.on_database).out
    assert shell.run("observe", *judged.on_database).out == (
        "ledger now is in observe mode: every test gates; 1 quarantined test would have been left out.\n"
    )
    assert gates(judged)


def test_the_mode_is_switched_over_http_by_an_admin_only(judged: Daemon, shell: Shell) -> None:
    """Neither a report token nor nobody at all on this machine may; the daemon's own gating set follows at once."""
    assert "needs a token with the admin scope" in shell.refused("enforce", *judged.over_http)
    report, admin = judged.token("report", lane="trunk"), judged.token("admin")
    with hosted(judged.app, open_lane=None) as url:
        at = ("--url", url, "--project", PROJECT)
        refused = shell.refused("enforce", *at, "--token", report)
        assert "needs a token with the admin scope" in refused
        assert "`quarantine token create --project PROJECT --scope admin`" in refused
        assert gates(judged)
        assert shell.run("is-gating", FLAKY, *at, "--token", report).out == "gating\n"
        told = shell.run("enforce", *at, "--token", admin).out
        assert told.startswith("ledger now is in enforce mode: 1 quarantined test left the gating set")
        assert shell.run("is-gating", FLAKY, *at, "--token", report, code=1).out == "not gating\n"
        assert shell.run("observe", *at, QUARANTINE_TOKEN=admin).out.startswith("ledger now is in observe mode")
    assert last_action(judged)[0].startswith("token ")


@pytest.mark.parametrize("way", ["http", "database"])
def test_a_release_needs_a_reason_and_keeps_it(judged: Daemon, shell: Shell, way: str) -> None:
    """The test gates again, its evidence begins anew, the reason stands with the transition; twice is refused."""
    admin = judged.token("admin")
    with hosted(judged.app, open_lane=None) as url:
        where = judged.on_database if way == "database" else ("--url", url, "--project", PROJECT, "--token", admin)
        assert "--reason" in shell.run("release", FLAKY, *where, code=2).err
        assert "needs a reason" in shell.refused("release", FLAKY, *where, "--reason", "  ")
        said = shell.run("release", FLAKY, *where, "--reason", "clock injected").out
        assert said == f"{FLAKY} gates again. Its evidence begins anew.\n"
        again = shell.refused("release", FLAKY, *where, "--reason", "again")
        assert again == f"{FLAKY} is not quarantined. See `quarantine explain` for where it stands."
        assert "goes by 'nobody'" in shell.refused("release", "nobody", *where, "--reason", "x")
    [variant] = explain(judged.app, PROJECT, FLAKY)["variants"]
    assert (variant["status"], variant["heads"], variant["transitions"][0]["reason"]) == (
        "gating",
        [],
        "clock injected",
    )


def test_nobody_but_an_admin_releases(judged: Daemon, shell: Shell) -> None:
    """An agent's token, a reader's, or none at all: refused with whom to ask."""
    assert "admin" in shell.refused("release", FLAKY, *judged.over_http, "--reason", "please")
    agent = judged.token("report", lane="agent")
    with hosted(judged.app, open_lane=None) as url:
        words = ("release", FLAKY, "--url", url, "--project", PROJECT, "--reason", "please", "--token")
        for token in (agent, judged.token("read")):
            assert "Ask an admin for one" in shell.refused(*words, token)
    assert explain(judged.app, PROJECT, FLAKY)["variants"][0]["status"] == "quarantined"
