"""What goes wrong is one line that names the place and the mend: never a traceback, never a password."""

import os
import socket
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from quarantine.cli.group import VERBS
from tests.cli.conftest import Daemon
from tests.cli.shell import Shell
from tests.commands import QUARANTINE
from tests.world import PROJECT

READING = (("list",), ("explain", "t1"), ("reruns", "list"))
ON_DATABASE = (
    *READING,
    ("enforce",),
    ("observe",),
    ("release", "t1", "--reason", "x"),
    ("token", "list"),
    ("token", "revoke", "abc"),
    ("token", "create", "--scope", "read"),
)
SECRET = "geheim"


@pytest.mark.parametrize("words", ON_DATABASE, ids=" ".join)
def test_a_database_that_was_never_upgraded_says_so(shell: Shell, words: tuple[str, ...]) -> None:
    """One line with the command that mends it."""
    (shell.folder / "quarantine.db").touch()
    refusal = shell.refused(*words, "--project", PROJECT)
    assert refusal.startswith("The database is at revision none, this version needs ")
    assert refusal.endswith("Run `quarantine db upgrade` first.")


EITHER = ("list", "explain", "reruns", "enforce", "observe", "release")


@pytest.mark.parametrize("words", [*ON_DATABASE, ("project", "list"), ("db", "check")], ids=" ".join)
def test_asking_where_there_is_no_database_makes_none(shell: Shell, words: tuple[str, ...]) -> None:
    """One line that names every way there is, and no empty file is left behind."""
    project = () if words[0] in ("project", "db") else ("--project", PROJECT)
    refusal = shell.refused(*words, *project)
    if words[0] in EITHER:
        assert refusal == (
            "No daemon is named, and there is no database quarantine.db. Name a daemon with --url or QUARANTINE_URL, "
            "or a database with --database."
        )
    else:
        assert refusal == (
            "There is no database quarantine.db. Name another with --database, or make this one: `quarantine db "
            "upgrade`."
        )
    named = shell.refused(*words, *project, "--database", "sqlite:///other.db")
    assert named.startswith("There is no database other.db.")
    assert list(shell.folder.iterdir()) == []


def test_db_upgrade_mends_it(shell: Shell) -> None:
    """Created at the newest revision, once; `db check` then agrees, as it did not before."""
    (shell.folder / "quarantine.db").touch()
    assert "Run `quarantine db upgrade` first." in shell.refused("db", "check")
    assert shell.run("db", "upgrade").out.startswith("sqlite:///quarantine.db is now at revision ")
    assert shell.run("db", "upgrade").out.startswith("sqlite:///quarantine.db was already at revision ")
    assert shell.run("db", "check").out == "The database is at the newest revision.\n"
    assert shell.run("project", "create", "ledger", "--database", "sqlite:///quarantine.db").code == 0


def test_the_database_is_the_one_that_is_named(shell: Shell) -> None:
    """The option wins over the environment, which wins over the file, which wins over the default."""
    (shell.folder / "quarantine.toml").write_text('database = "sqlite:///of-the-file.db"\n')
    (shell.folder / "other.toml").write_text('database = "sqlite:///of-the-other.db"\n')
    shell.run("db", "upgrade")
    shell.run("db", "upgrade", "--config", "other.toml")
    shell.run("db", "upgrade", QUARANTINE_DATABASE="sqlite:///of-the-environment.db")
    shell.run("db", "upgrade", "--database", "sqlite:///of-the-line.db", QUARANTINE_DATABASE="sqlite:///nowhere.db")
    assert sorted(path.name for path in shell.folder.glob("*.db")) == [
        "of-the-environment.db",
        "of-the-file.db",
        "of-the-line.db",
        "of-the-other.db",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('databse = "sqlite:///q.db"', "quarantine.toml has a key 'databse' that does not exist. Known keys: database"),
        ('[[spool]]\ndirectory = "s"\nproject = "p"\nlane = "trunk"\nspeed = 1', "'spool.0.speed' that does not exist"),
        ('[[spool]]\ndirectory = "s"\nproject = "p"\nlane = "main"', "spool.0.lane"),
        ("port = 99999", "port"),
        ("[policy]\np00 = 0.1", "p00"),
        ("[policy]\nexit_ratio = 2", "exit_ratio"),
        ("database = ", "is no TOML"),
        ('database = "mysql://u@h/d"', "neither SQLite nor PostgreSQL"),
        ('database = "nonsense"', "'nonsense' is no database URL"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(shell: Shell, content: str, said: str) -> None:
    """An unknown key, a value out of range, an incoherent policy, a file that is no TOML: refused by name."""
    (shell.folder / "quarantine.toml").write_text(content + "\n")
    assert said in shell.refused("project", "list")


def test_a_configuration_file_that_is_not_there_is_named(shell: Shell) -> None:
    """One that was named must be there; the default need not be."""
    refusal = shell.refused("project", "list", "--config", "absent.toml")
    assert refusal == "absent.toml cannot be read: No such file or directory. Check --config."


def test_a_file_that_is_no_database_is_said(shell: Shell) -> None:
    """Such as the configuration file given for the database."""
    (shell.folder / "README").write_text("words, and no database at all\n" * 100)
    for words in (("list", "--project", PROJECT), ("db", "upgrade"), ("project", "create", "ledger")):
        said = shell.refused(*words, "--database", "sqlite:///README")
        assert said == "The database file is no SQLite database. Check its path."


def test_a_damaged_database_is_said(shell: Shell, judged: Daemon) -> None:
    """A file that begins as a database and goes on as noise: one line, for whoever reads and for the daemon."""
    path = shell.folder / "damaged.db"
    content = bytearray(Path(judged.database.removeprefix("sqlite:///")).read_bytes())
    content[4096:] = bytes(byte ^ 0xA5 for byte in content[4096:])
    path.write_bytes(content)
    for words in ((*words, "--project", PROJECT) for words in READING):
        said = shell.refused(*words, "--database", f"sqlite:///{path}")
        assert said.startswith("The database cannot be used: ")
        assert "malformed" in said
    assert "malformed" in shell.refused("serve", "--port", "0", "--database", f"sqlite:///{path}")


def test_bytes_that_are_no_text_are_said(shell: Shell, judged: Daemon) -> None:
    """As a test's name or a project's: one line with the word, read from the database or from the daemon."""
    odd = os.fsdecode(b"t\xff")
    for where in (judged.over_http, judged.on_database):
        assert shell.refused("explain", odd, *where).startswith("'t\\udcff' holds bytes that are no UTF-8.")
    asked = ("--url", judged.url, "--project", odd)
    for words in (("list", *asked), ("is-gating", "t1", *asked)):
        assert shell.refused(*words).startswith("'t\\udcff' is not the name of a project.")


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("--help",)], ids=" ".join)
def test_a_stdout_that_takes_nothing_is_said(judged: Daemon, words: tuple[str, ...]) -> None:
    """A full disk behind stdout is one line and exit code 2, and not a word when the process ends."""
    where = judged.on_database if words[0] == "list" else ()
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*QUARANTINE, *words, *where], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "quarantine: What is read or written cannot be used: No space left on device.\n"


def test_a_reader_that_went_away_is_no_traceback(judged: Daemon) -> None:
    """Such as `head`: quiet, and not exit code 0."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*QUARANTINE, "list", *judged.on_database],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{SECRET}@127.0.0.1:{{port}}/db",
        f"postgresql://user:{SECRET}@127.0.0.1:port/db",
        f"postgresql//user:{SECRET}@127.0.0.1/db",
        f"postgresql//127.0.0.1/db?password={SECRET}",
        f"mysql://user:{SECRET}@127.0.0.1/db",
    ],
)
def test_a_password_is_never_printed(shell: Shell, url: str) -> None:
    """Whatever is wrong with the database's URL, and also when nobody answers there."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # bound and not listening: whoever calls is turned away
        named = url.replace("{port}", str(nobody.getsockname()[1]))
        for words in (("list", "--project", PROJECT), ("db", "upgrade"), ("serve", "--port", "0")):
            said = shell.run(*words, "--database", named, code=None)
            assert said.code in (1, 2)
            assert SECRET not in said.out + said.err
            assert len(said.err.splitlines()) == 1


def test_a_password_is_not_in_what_an_upgrade_says(shell: Shell, postgres_url: str) -> None:
    """Of a database with a password its URL is shown without."""
    secret = postgres_url.replace("postgres:@", f"postgres:{SECRET}@")
    said = shell.run("db", "upgrade", "--database", f"{secret}{'&' if '?' in secret else '?'}password={SECRET}")
    assert "was already at revision" in said.out
    assert SECRET not in said.out + said.err


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_daemon_that_does_not_answer_is_exit_code_1(shell: Shell, words: tuple[str, ...]) -> None:
    """Nothing has to be mended at the call: the same may succeed later. The address is named."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        refusal = shell.refused(*words, "--url", url, "--project", PROJECT, code=1)
    assert refusal.startswith(f"{url} does not answer: ")
    assert refusal.endswith("Is `quarantine serve` running there?")


def test_a_project_the_daemon_does_not_know_is_exit_code_2(daemon: Daemon, shell: Shell) -> None:
    """The daemon's own sentence, whichever verb asks."""
    for words in READING:
        assert "'nowhere'" in shell.refused(*words, "--url", daemon.url, "--project", "nowhere")


def test_something_else_at_that_address_is_said(daemon: Daemon, shell: Shell) -> None:
    """A page where JSON was expected is no answer; its content is not poured over the terminal."""
    refusal = shell.refused("list", "--url", f"{daemon.url}/deeper", "--project", PROJECT)
    assert "There is nothing at this address." in refusal


def test_no_verb_ends_in_a_traceback(tmp_path: Path) -> None:
    """Seen from outside, in a process of its own, with the database missing: one line on stderr and exit code 2."""
    done = subprocess.run(
        [*QUARANTINE, "list", "--project", PROJECT, "--database", f"sqlite:///{tmp_path}/none.db"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("quarantine: There is no database ")
    assert "list" in VERBS


def test_characters_the_terminal_does_not_know_are_spelt_out(
    daemon: Daemon, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where stdout takes only Latin letters nothing fails because of a name."""
    shell.run("token", "create", *daemon.on_database, "--scope", "read", "--label", "größe \N{SNAIL}")
    printed = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(printed, encoding="latin-1"))
    shell.run("token", "list", *daemon.on_database)
    sys.stdout.flush()
    assert printed.getvalue().endswith(b"  gr\xf6\xdfe \\U0001f40c\n")
