"""One exchange with a server that means no good: it ends in time."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quarantine.client.gating import GatingSet
from quarantine.client.target import Target
from quarantine.client.wire import Unreachable, exchange, mend_of

DRIP_S = 0.02
DRIPS = 500
WHOLE_S = 0.3
END = b"\r\nContent-Length: 0\r\n\r\n"
BEGINNINGS = {
    "status": b"HTTP/1.1 200 ",
    "header": b"HTTP/1.1 304 Not Modified\r\nX-Slow: ",
}


@contextmanager
def dripping(beginning: bytes) -> Iterator[str]:
    """Yield the address of a server that answers one byte now and then, until nobody listens or for ten seconds."""

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            connection.settimeout(DRIP_S)
            connection.sendall(beginning)
            for _drip in range(DRIPS):
                try:
                    if connection.recv(1) == b"":
                        return
                except TimeoutError:
                    connection.sendall(b"a")
                except OSError:
                    return
            connection.sendall(END)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join()


@pytest.mark.parametrize("where", BEGINNINGS)
def test_an_answer_that_drips_is_cut_off(where: str) -> None:
    """Each byte comes in time, the answer does not; what was read before the cut is not taken for a short answer."""
    with dripping(BEGINNINGS[where]) as url, pytest.raises(Unreachable, match="too slowly"):
        exchange(Target(url, "shop"), "GET", "gating", timeout_s=5, whole_s=WHOLE_S)


def test_the_gate_does_not_wait_for_drips(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A daemon that drips is one that is away: without a snapshot the test gates, and stderr says so."""
    with dripping(BEGINNINGS["header"]) as url:
        assert GatingSet(url, "shop", cache_dir=tmp_path, timeout_s=WHOLE_S).is_gating("t1")
    assert "the answer came too slowly" in capsys.readouterr().err


def test_a_missing_token_is_mended_at_the_shell() -> None:
    """The daemon speaks of a header and of its page; whoever gave a token hears the daemon's own words."""
    told = {"detail": "This server needs a token.", "mend": "Send `Authorization: Bearer TOKEN`."}
    without, given = Target("http://127.0.0.1:9", "ledger"), Target("http://127.0.0.1:9", "ledger", "qt_x")
    assert mend_of(without, 401, told) == "Set QUARANTINE_TOKEN, or give --token."
    assert mend_of(given, 401, told) == told["mend"]
    assert mend_of(without, 403, told) == told["mend"]
    assert mend_of(without, 403, {"mend": 1}) == ""
