"""A project to run pytest in, in processes of their own, and a small daemon that they talk to over HTTP."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from quarantine.domain.spelling import spellings
from quarantine.junit import Document, counts, read_together

REFUSES = "http://127.0.0.1:9"
SNAPSHOT = "snapshot-of-the-small-daemon"


class SmallDaemon:
    """Answers which tests do not gate, and takes reports.

    Attributes:
        not_gating: as in the answer: names, each with the variants or None for all of them.
        variants: hashes of those that trunk has run; None for an answer that does not say.
        uploads: the build parts and reports that came in.
        questions: how often it was asked which tests do not gate.
        plan: how often each test is tried again, by the report's spelling; others `plan_others` times. None answers as
            a daemon does that is too old to plan.
        plans: what it was asked about further tries.
        plan_sentence: what it says of its plans.
        plan_wait_s: how long it takes over them.
    """

    def __init__(self) -> None:
        self.not_gating: dict[str, list[str] | None] = {}
        self.variants: list[str] | None = None
        self.mode = "enforce"
        self.uploads: list[tuple[dict[str, Any], bytes]] = []
        self.questions = 0
        self.plan: dict[str, int] | None = {}
        self.plan_others = 1_000
        self.plan_sentence = ""
        self.plan_wait_s = 0.0
        self.plans: list[dict[str, Any]] = []
        daemon = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                daemon.questions += 1
                self._answer(200, daemon.gating())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.endswith("/reruns/plan"):
                    self._answer(*daemon.planned(json.loads(body)))
                    return
                daemon.take(self.headers["Content-Type"], body)
                self._answer(200, {"build": 1, "reports": []})

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def _answer(self, status: int, value: object) -> None:
                text = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def gating(self) -> dict[str, Any]:
        """Return the answer to the question which tests do not gate."""
        told = {"schema": 1, "project": "shop", "snapshot": SNAPSHOT, "mode": self.mode, "not_gating": self.not_gating}
        known = {} if self.variants is None else {"variants": self.variants}
        return told | known | {"max_age_s": 3600, "refresh_s": 60}

    def planned(self, asked: dict[str, Any]) -> tuple[int, object]:
        """Return status and answer to the question how often failing tests are tried again."""
        self.plans.append(asked)
        if self.plan is None:
            return 404, {"code": "not-found", "detail": "There is nothing at this address."}
        time.sleep(self.plan_wait_s)
        tests = [{"name": name, "most": self.plan.get(name, self.plan_others)} for name in asked["failing"]]
        return 200, {"schema": 1, "tests": tests, "sentence": self.plan_sentence}

    def take(self, kind: str, body: bytes) -> None:
        """Keep an upload."""
        message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        parts = {part.get_param("name", header="content-disposition"): part for part in message.iter_parts()}
        build, report = (parts[name].get_payload(decode=True) for name in ("build", "report"))
        assert isinstance(build, bytes)
        assert isinstance(report, bytes)
        self.uploads.append((json.loads(build), report))


class Ran:
    """What a run of pytest came to.

    Attributes:
        status: its exit status.
        lines: what it printed.
        report: the JUnit file it wrote, when it was told to.
    """

    def __init__(self, done: subprocess.CompletedProcess[str], report: Path) -> None:
        self.status = done.returncode
        self.lines = done.stdout.splitlines()
        self.text = done.stdout + done.stderr
        self.report = report

    @property
    def told(self) -> list[str]:
        """The lines of ours: remarks, and the one it ended with."""
        return [line for line in self.lines if line.startswith("quarantine: ")]

    @property
    def summary(self) -> str:
        """The one line of ours."""
        [line] = self.told
        return line

    def counts(self) -> dict[str, int]:
        """What our own reader makes of the report."""
        with self.report.open("rb") as stream:
            upload = read_together([Document("junit.xml", stream)])
        return {name: number for name, number in counts(upload.runs, upload.events)._asdict().items() if number}

    def spellings(self) -> set[str]:
        """Every way in which the daemon would know the tests in the report."""
        with self.report.open("rb") as stream:
            upload = read_together([Document("junit.xml", stream)])
        return {spelling for run in upload.runs for spelling in spellings(run.test, run.origin.file)}

    def tries(self) -> dict[str, list[str]]:
        """Every try of every test in the report, as our own reader sees it."""
        with self.report.open("rb") as stream:
            upload = read_together([Document("junit.xml", stream)])
        return {run.name: [one.outcome.value for one in run.results] for run in upload.runs}


class Project:
    """A folder with tests in it."""

    def __init__(self, root: Path, home: Path, url: str) -> None:
        self.root = root
        self.home = home
        self.url = url
        root.mkdir()

    def write(self, **files: str) -> "Project":
        """Write files; `__` in a keyword stands for `/`."""
        for name, text in files.items():
            path = self.root / f"{name.replace('__', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def pytest(self, *words: str, variables: Mapping[str, str] | None = None, within: str = "") -> Ran:
        """Run pytest in it, with a JUnit file beside it, strict about warnings and without any cache."""
        report = self.home / "junit.xml"
        report.unlink(missing_ok=True)
        known = {"PATH", "SYSTEMROOT", "TMPDIR"}
        environment = {name: value for name, value in os.environ.items() if name in known} | {
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home),
            "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:anyio",  # half of what a start costs
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(self.root),
            "QUARANTINE_URL": self.url,
            "QUARANTINE_PROJECT": "shop",
            "COLUMNS": "200",
        }
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-W", "error", "--junitxml", str(report)]
        done = subprocess.run(
            [*command, *words],
            cwd=self.root / within,
            env=environment | dict(variables or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(done, report)
