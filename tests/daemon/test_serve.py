"""`quarantine serve` as the process it is: what it says, what it takes in, and how it ends."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from quarantine.bootstrap import build_app
from quarantine.config import Settings
from quarantine.services import decisions
from tests.cli.shell import Shell
from tests.commands import QUARANTINE
from tests.world import OWNER, PROJECT, junit

PATIENCE_S = 60.0


@pytest.fixture
def database(sqlite_url: str) -> str:
    """Return the URL of a database with a project and no token."""
    app = build_app(Settings.model_validate({"database": sqlite_url}))
    decisions.create_project(app, PROJECT, bearer=OWNER)
    app.engine.dispose()
    return sqlite_url


def command(*options: str, database: str) -> list[str]:
    """Return the words that start a daemon on a free port."""
    return [*QUARANTINE, "serve", "--database", database, "--port", "0", *options]


@contextmanager
def serving(folder: Path, *options: str, database: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Yield a running daemon, its address, and what it then said about tokens."""
    with subprocess.Popen(
        command(*options, database=database),
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            if not first.startswith("quarantine listens on http://127.0.0.1:"):
                raise AssertionError(f"it said {first!r}, and {process.communicate(timeout=PATIENCE_S)}")
            url = first.split()[-1]
            assert json.load(urlopen(f"{url}/healthz", timeout=PATIENCE_S)) == {"status": "ok"}  # noqa: S310 - loopback
            yield process, url, process.stdout.readline()
        finally:
            process.kill()


def test_it_takes_a_spool_in_and_ends_cleanly(database: str, tmp_path: Path) -> None:
    """Without tokens it says who may do what; an entry put into the folder is stored; SIGTERM ends it with code 0."""
    spool = tmp_path / "spool"
    options = ("--spool", str(spool), "--spool-project", PROJECT, "--spool-lane", "review")
    with serving(tmp_path, *options, database=database) as (process, url, about_tokens):
        draft = tmp_path / "draft"
        draft.mkdir()
        (draft / "build.json").write_text('{"schema": 1, "build": "b1"}')
        (draft / "r.xml").write_bytes(junit({"t1": "P", "t2": "F"}))
        draft.rename(spool / "b1")
        while not (spool / "done" / "b1").exists():
            assert process.poll() is None
            with urlopen(f"{url}/healthz", timeout=PATIENCE_S) as answer:  # noqa: S310 - loopback
                assert answer.status == 200
        summary = json.load(urlopen(f"{url}/v1/projects/{PROJECT}/summary", timeout=PATIENCE_S))  # noqa: S310 - loopback
        process.send_signal(signal.SIGTERM)
        said, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    [build] = summary["latest_builds"]
    assert (build["build"], build["lane"], build["passed"], build["failed"]) == ("b1", "review", 1, 1)
    assert about_tokens == (
        "No token exists: everyone on this machine may read, and reports count as the trunk lane. "
        "Nobody is admin over HTTP.\n"
    )
    assert (said, complaints) == ("", "")


def test_its_port_is_its_own_until_ctrl_c(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second daemon on the port is told so in one line; SIGINT ends the first without a traceback."""
    with serving(tmp_path, "--loopback-lane", "agent", database=database) as (process, url, about_tokens):
        port = url.rpartition(":")[2]
        shell = Shell(tmp_path, monkeypatch, capsys)
        refusal = shell.refused("serve", "--database", database, "--port", port)
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=PATIENCE_S)
    assert refusal == (
        f"Cannot listen on 127.0.0.1 port {port}: Address already in use. Stop what uses it, or choose another --port."
    )
    assert process.returncode == 0
    assert "reports count as the agent lane" in about_tokens
    assert (said, complaints) == ("", "")


def test_it_does_not_start_where_others_could_write_to_it(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beyond loopback without a token, with a spool whose project or folder cannot be used: one line."""
    shell = Shell(tmp_path, monkeypatch, capsys)
    (tmp_path / "file").touch()
    at = ("serve", "--database", database, "--port", "0")
    assert "no token exists yet. Make one first: quarantine token create" in shell.refused(*at, "--host", "192.0.2.7")
    wrong = shell.run(*at, "--spool", "s", code=2)
    assert "--spool needs --spool-project" in wrong.err
    folder = shell.refused(*at, "--spool", "file/s", "--spool-project", PROJECT)
    assert folder.startswith("The spool file/s cannot be used: Not a directory.")
    nobodys = shell.refused(*at, "--spool", "s", "--spool-project", "nowhere")
    assert nobodys == (
        "There is no project 'nowhere' here. Create it with `quarantine project create`, or check the name."
    )
    assert not (tmp_path / "s").exists()
