"""A daemon that is killed in the middle of a stream of uploads: what it has acknowledged is there, and only once."""

import http.client
import json
import re
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.store import builds, projects
from quarantine.store.engine import reading
from tests.commands import QUARANTINE
from tests.scenarios.stored import check_columns, check_numbers
from tests.world import PROJECT, START, World, commit, junit, tree

CLIENTS = 3
ACKNOWLEDGED_BEFORE_KILL = 11
NAMES = [f"t{number}" for number in range(8)]
BOUNDARY = "a-boundary"


def build_number(upload: int) -> int:
    """Return the build an upload is of; every fifth is a second part of the build before."""
    return upload - 1 if upload % 5 == 4 else upload


def report(upload: int) -> bytes:
    """Return the JUnit document of an upload."""
    tests = {name: "F" if (upload * 7 + place) % 11 == 0 else "P" for place, name in enumerate(NAMES)}
    return junit(tests | {f"new-{upload}": "P"})


def body(upload: int) -> bytes:
    """Return the multipart body of an upload."""
    build = build_number(upload)
    part = {"schema": 1, "build": f"b{build}", "job": "unit", "tree": tree(build), "commit": commit(build)}
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; name="
    said = f'{head}"build"\r\n\r\n{json.dumps(part)}\r\n{head}"report"; filename="{upload}.xml"\r\n\r\n'
    return said.encode() + report(upload) + f"\r\n--{BOUNDARY}--\r\n".encode()


@dataclass
class Stream:
    """Clients that upload one build after the other, and what was acknowledged to them.

    Attributes:
        sent: numbers of the uploads that were begun.
        acknowledged: answers with status 202 by upload number.
    """

    port: int = 0
    numbers: Iterator[int] = field(default_factory=count)
    sent: set[int] = field(default_factory=set)
    acknowledged: dict[int, dict[str, Any]] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def post(self, number: int) -> dict[str, Any] | None:
        """Send one upload; return the answer, None when the daemon went away."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        try:
            connection.request("POST", f"/v1/projects/{PROJECT}/reports", body(number), headers)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        assert answer.status == 202, said
        told: dict[str, Any] = json.loads(said)
        return told

    def flow(self) -> None:
        """Upload until the daemon is gone."""
        while True:
            with self.changed:
                number = next(self.numbers)
                self.sent.add(number)
            told = self.post(number)
            if told is None:
                return
            with self.changed:
                self.acknowledged[number] = told
                self.changed.notify_all()

    def flow_until_killed(self, daemon: subprocess.Popen[str], acknowledged: int) -> None:
        """Let the clients upload, and kill the daemon in their midst after so many more answers."""
        wanted = len(self.acknowledged) + acknowledged
        clients = [threading.Thread(target=self.flow) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.acknowledged) >= wanted, timeout=60)
        daemon.kill()
        for client in clients:
            client.join()


@contextmanager
def serving(database: str, stream: Stream) -> Iterator[subprocess.Popen[str]]:
    """Run the daemon on a free port until it is killed or the block ends."""
    command = [*QUARANTINE, "serve", "--port", "0", "--database", database]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as daemon:
        assert daemon.stdout is not None
        line = daemon.stdout.readline()
        found = re.search(r"listens on http://127\.0\.0\.1:(\d+)", line)
        assert found, line
        stream.port = int(found[1])
        try:
            yield daemon
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait(timeout=30)


def test_what_was_acknowledged_survives_kill_nine(sqlite_url: str, tmp_path: Path) -> None:
    """Killed twice amid uploads, the daemon has every acknowledged one, once; sending all again changes none of it."""
    app = build_app(Settings.model_validate({"database": sqlite_url}), clock=FrozenClock(START))
    world, stream = World(app, FrozenClock(START)).created(), Stream()
    with serving(sqlite_url, stream) as daemon:
        stream.flow_until_killed(daemon, ACKNOWLEDGED_BEFORE_KILL)
    check_stored(world, stream, tmp_path / "quarantine.db")
    with serving(sqlite_url, stream) as daemon:
        before = everything(world)
        for number, told in sorted(stream.acknowledged.items()):
            again = {"new": False, "new_tests": 0, "run_events": 0} | counts(world, told["build"])
            assert stream.post(number) == told | again
        assert everything(world) == before
        for number in sorted(stream.sent - stream.acknowledged.keys()):
            stream.acknowledged[number] = stream.post(number) or {}
        check_stored(world, stream, tmp_path / "quarantine.db")
        stream.flow_until_killed(daemon, ACKNOWLEDGED_BEFORE_KILL)
    check_stored(world, stream, tmp_path / "quarantine.db")
    app.engine.dispose()


def counts(world: World, seq: int) -> dict[str, int]:
    """Return what the daemon counts in a build by now: a later upload may have added to it."""
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        row = builds.get(connection, project.id, [seq])[seq]
    return {name: row[name] for name in builds.COUNTS}


def everything(world: World) -> list[Any]:
    """Return what the project's page and the tests' pages show."""
    return [world.summary(), *(world.explain(name) for name in NAMES)]


def check_stored(world: World, stream: Stream, file: Path) -> None:
    """Every acknowledged upload is stored, none twice, and what is counted follows from what is stored."""
    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    with reading(world.app.engine) as connection:
        project = projects.by_slug(connection, world.project)
        check_numbers(connection, project)
        check_columns(connection, project)
        rows = builds.latest(connection, project.id, 10_000)
        reports = {row["build"]: builds.known_reports(connection, project.id, row["seq"]) for row in rows}
    assert len(reports) == len(rows)
    stored = [
        number
        for number in stream.sent
        if sha256(report(number)).hexdigest() in reports.get(f"b{build_number(number)}", ())
    ]
    assert set(stream.acknowledged) <= set(stored)
    assert sum(map(len, reports.values())) == len(stored) == project.uploads
    assert world.disagreements([*NAMES, *(f"new-{number}" for number in sorted(stream.acknowledged))]) == []
    [variant] = world.explain("t0")["variants"]
    assert variant["trials"] == len(reports)
