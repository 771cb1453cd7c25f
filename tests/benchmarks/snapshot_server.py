"""A client with a snapshot from a real, tiny server that is gone again when the client is returned."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from quarantine.client.gating import GatingSet


def served(names: frozenset[str]) -> GatingSet:
    """Return a gating set in which these names do not gate, fresh for an hour."""
    answer = {
        "schema": 1, "project": "bench", "snapshot": "s1", "mode": "enforce", "taken_at": "2026-01-05T09:00:00+00:00",
        "max_age_s": 86_400, "refresh_s": 3_600, "not_gating": dict.fromkeys(names),
    }  # fmt: skip
    body = json.dumps(answer).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("ETag", '"s1"')
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    gating_set = GatingSet(f"http://127.0.0.1:{server.server_port}", "bench")
    if gating_set.is_gating(min(names)):
        raise RuntimeError("the client did not take the snapshot")
    server.shutdown()
    server.server_close()
    return gating_set
