"""Before the first request: which addresses need tokens, and a port that cannot be had."""

import socket
from contextlib import closing

import pytest

from quarantine.daemon import server
from quarantine.errors import BadConfiguration
from quarantine.services import decisions
from tests.world import OWNER, PROJECT, World

EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound to it


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        (EVERYWHERE, False),
        ("::", False),
        ("192.0.2.7", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback_is_what_no_other_machine_reaches(host: str, *, loopback: bool) -> None:
    """Addresses of this machine alone, and the name for them; any other name may be anything."""
    assert server.is_loopback(host) is loopback


def test_beyond_loopback_it_needs_a_token_first(world: World) -> None:
    """It refuses to start with a sentence and the command that mends it; once there is a token it starts."""
    assert server.needs_tokens(world.app, "127.0.0.1") is False
    with pytest.raises(BadConfiguration) as refused:
        server.needs_tokens(world.app, EVERYWHERE)
    assert str(refused.value) == (
        f"{EVERYWHERE} can be reached from other machines, and no token exists yet. "
        "Make one first: quarantine token create --project NAME --scope report --lane trunk."
    )
    decisions.create_token(
        world.app, PROJECT, scope="report", lane="trunk", change=None, label="ci", lifetime=None, bearer=OWNER
    )
    assert server.needs_tokens(world.app, EVERYWHERE) is True
    assert server.needs_tokens(world.app, "127.0.0.1") is True


def test_a_port_in_use_is_one_clear_sentence() -> None:
    """Also where the one who has it has not begun to answer; and it is free again once they are gone."""
    first = server.bind("127.0.0.1", 0)
    port = first.getsockname()[1]
    with pytest.raises(BadConfiguration) as refused:
        server.bind("127.0.0.1", port)
    first.close()
    assert str(refused.value) == (
        f"Cannot listen on 127.0.0.1 port {port}: Address already in use. Stop what uses it, or choose another --port."
    )
    server.bind("127.0.0.1", port).close()


def test_an_address_that_is_not_ours_is_one_clear_sentence() -> None:
    """So is a name that nobody knows."""
    with pytest.raises(BadConfiguration, match=r"Cannot listen on 192\.0\.2\.7 port 0: .*\. Stop what uses it"):
        server.bind("192.0.2.7", 0)


def test_callers_wait_from_the_moment_it_is_bound() -> None:
    """Whoever reads the address and calls at once is not turned away while the server gets ready."""
    with closing(server.bind("127.0.0.1", 0)) as listener:
        socket.create_connection(listener.getsockname(), timeout=5).close()
        assert server.url_of("127.0.0.1", listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert server.url_of("::1", listener).startswith("http://[::1]:")
