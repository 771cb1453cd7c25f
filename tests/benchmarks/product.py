"""The real application, called in-process over ASGI so that no client's work is counted."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy import insert, update
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.domain.identity import variant_hash, variant_keys
from quarantine.domain.outcome import Lane
from quarantine.services import decisions
from quarantine.services.access import of_shell
from quarantine.store import outcomes
from quarantine.store.engine import writing
from quarantine.store.tables import BUILD, OUTCOMES, PROJECT
from quarantine.web.application import create_web
from quarantine.web.auth import Gatekeeper

OWNER = of_shell("bench")
SLUG = "bench"
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_BOUNDARY = b"----quarantine-bench"
_CHUNK = 64 * 1024
JOB = "unit"


class Product:
    """One project on a fresh SQLite file, with a trunk token."""

    def __init__(self, folder: Path) -> None:
        self.clock = FrozenClock(START)
        self.app = build_app(
            Settings.model_validate({"database": f"sqlite:///{folder / 'bench.db'}"}), clock=self.clock, migrate=True
        )
        decisions.create_project(self.app, SLUG, bearer=OWNER)
        self.token = self.created_token("trunk")
        self.web = create_web(self.app)
        self.gatekeeper = Gatekeeper(self.app)
        self.web.router.routes.insert(0, Route("/v1/projects/{project}/empty", self._empty))
        self.loop = asyncio.new_event_loop()
        self._builds = 0

    def created_token(self, lane: str, change: str | None = None) -> str:
        """Return a new token that reports on this lane."""
        return decisions.create_token(
            self.app, SLUG, scope="report", lane=lane, change=change, label="", lifetime=None, bearer=OWNER
        )

    def created_reader(self) -> str:
        """Return a new token that reads."""
        return decisions.create_token(
            self.app, SLUG, scope="read", lane=None, change=None, label="", lifetime=None, bearer=OWNER
        )

    async def _empty(self, request: Request) -> Response:
        await self.gatekeeper.bearer(request, request.path_params["project"])
        return Response(b"{}", media_type="application/json")

    def call(
        self, method: str, path: str, body: bytes = b"", content_type: str = "", *, token: str | None = None
    ) -> int:
        """Make one request, with the trunk token unless another is given, and return the status."""
        return self.loop.run_until_complete(self._call(method, path, body, content_type, token or self.token))

    async def _call(self, method: str, path: str, body: bytes, content_type: str, token: str) -> int:
        headers = [(b"host", b"bench"), (b"authorization", f"Bearer {token}".encode())]
        if content_type:
            headers += [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
        scope: dict[str, Any] = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "headers": headers,
            "client": ("10.0.0.1", 1), "server": ("bench", 80),
        }  # fmt: skip
        pieces = [body[start : start + _CHUNK] for start in range(0, len(body), _CHUNK)] or [b""]
        left = iter(enumerate(pieces, start=1))
        status = 0

        async def receive() -> dict[str, Any]:
            number, piece = next(left)
            return {"type": "http.request", "body": piece, "more_body": number < len(pieces)}

        async def send(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)

        await self.web(scope, receive, send)
        return status

    def upload(self, report: bytes) -> None:
        """Send one report as a trunk build of its own, two hours after the last."""
        self.prepared(report)()

    def prepared(
        self,
        report: bytes,
        *,
        token: str | None = None,
        part: Mapping[str, Any] | None = None,
        question: Mapping[str, Any] | None = None,
    ) -> Callable[[], None]:
        """Return a call that sends one report as `upload` does, on trunk unless the token says otherwise.

        `part` holds further fields of the build part. With a question the verdict on the run is asked for as well.
        """
        self._builds += 1
        self.clock.advance(timedelta(hours=2))
        number = self._builds
        stated = {
            "schema": 1,
            "build": f"bench-{number}",
            "job": JOB,
            "tree": f"{number:064x}",
            "commit": f"{number:040x}",
        } | dict(part or {})
        body = _multipart(report, build=stated, **({} if question is None else {"question": question}))
        resource = "reports" if question is None else "verdicts"
        kind = f"multipart/form-data; boundary={_BOUNDARY.decode()}"

        def send() -> None:
            status = self.call("POST", f"/v1/projects/{SLUG}/{resource}", body, kind, token=token)
            if status not in (200, 202):
                raise RuntimeError(f"the upload was answered with {status}")

        return send

    def send_reach(self, lines: bytes) -> None:
        """Send a reach map."""
        status = self.call("POST", f"/v1/projects/{SLUG}/reach", lines, "application/x-ndjson")
        if status != 201:
            raise RuntimeError(f"the reach map was answered with {status}")

    def seed(self, builds: int, tests: int) -> None:
        """Write so many older trunk builds in bulk: their rows and outcome columns, without the raw documents."""
        codes = np.zeros(tests, np.uint8)
        codes[:] = outcomes.PASSED | outcomes.PASSED << 4
        packed, counted = outcomes.pack(codes), outcomes.pack_mask(np.ones(tests, np.bool_))
        variant = variant_hash(variant_keys({"job": JOB}))
        with writing(self.app.engine) as connection:
            project_id, first = connection.execute(PROJECT.select()).mappings().one()["id"], self._builds + 1
            for start in range(first, first + builds, 5_000):
                numbers = range(start, min(start + 5_000, first + builds))
                connection.execute(insert(BUILD), [_build_row(project_id, number) for number in numbers])
                rows = [
                    _outcomes_row(project_id, number, variant) | {"codes": packed, "counted": counted}
                    for number in numbers
                ]
                connection.execute(insert(OUTCOMES), rows)
            self._builds += builds
            connection.execute(update(PROJECT).values(builds=self._builds, uploads=self._builds))


def _build_row(project_id: int, number: int) -> dict[str, Any]:
    return {
        "project_id": project_id, "seq": number, "key": f"seed{number:028x}", "build": f"seed-{number}", "attempt": 1,
        "job": JOB, "kind": "run", "lane": Lane.TRUNK.value, "commit": f"{number:040x}", "tree": f"{number:064x}",
        "complete": True, "runner": "", "command": "", "setting": "0" * 16, "stream": "", "received_at": START,
        "passed": 5_000, "failed": 0, "skipped": 0, "flaky": 0, "run_events": 0,
    }  # fmt: skip


def _outcomes_row(project_id: int, number: int, variant: str) -> dict[str, Any]:
    return {
        "project_id": project_id, "arrival": number, "variant_hash": variant, "build_seq": number,
        "tree": f"{number:064x}", "setting": "0" * 16, "lane": Lane.TRUNK.value, "is_run": True, "received_at": START,
    }  # fmt: skip


def _multipart(report: bytes, **parts: Mapping[str, Any]) -> bytes:
    fields = [
        b"--" + _BOUNDARY + f'\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode()
        + json.dumps(dict(value)).encode() + b"\r\n"
        for name, value in parts.items()
    ]  # fmt: skip
    return b"".join(
        [
            *fields,
            b"--" + _BOUNDARY + b'\r\nContent-Disposition: form-data; name="report"; filename="junit.xml"\r\n',
            b"Content-Type: application/xml\r\n\r\n" + report + b"\r\n--" + _BOUNDARY + b"--\r\n",
        ]
    )


@contextmanager
def product() -> Iterator[Product]:
    """Yield a product on a fresh file, which is gone afterwards."""
    with TemporaryDirectory(prefix="quarantine-bench-") as folder:
        made = Product(Path(folder))
        yield made
        made.app.engine.dispose()
        made.loop.close()
