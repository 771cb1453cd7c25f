"""A disk that is full: the upload is turned away whole, and taken in once there is room again."""

import random
from collections.abc import Callable

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from quarantine.bootstrap import build_app
from quarantine.clock import FrozenClock
from quarantine.config import Settings
from quarantine.domain.outcome import Lane
from quarantine.errors import Busy
from quarantine.services.app import App
from quarantine.web.application import create_web
from tests.scenarios.stored import rows
from tests.world import World, junit

NAMES = [f"t{number}" for number in range(40)]


def large(seed: int) -> bytes:
    """Return a report that no compression makes small."""
    chance = random.Random(seed)  # noqa: S311 - the same bytes for the same seed
    return junit(dict.fromkeys(NAMES, "F"), said=chance.randbytes(4_000).hex())


@pytest.fixture
def full(app: App) -> Callable[[int | None], None]:
    """Return a function that lets the database grow by so many pages and no more; None takes the limit away."""
    room: list[int | None] = [None]

    def limit(connection: object, *_others: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]  # type: ignore[attr-defined]  # it is sqlite3's
        most = 1 << 30 if room[0] is None else pages + room[0]
        connection.execute(f"PRAGMA max_page_count = {most}")  # type: ignore[attr-defined]  # the same

    event.listen(app.engine, "checkout", limit)
    return lambda pages: room.__setitem__(0, pages)


@pytest.fixture
def app(sqlite_url: str, clock: FrozenClock) -> App:
    """Return the product on SQLite, whose file can be kept from growing."""
    return build_app(Settings.model_validate({"database": sqlite_url}), clock=clock)


@pytest.mark.parametrize("pages", [0, 1, 5, 20])
def test_a_full_disk_turns_an_upload_away_whole(world: World, full: Callable[[int | None], None], pages: int) -> None:
    """At whichever page the disk is full, nothing of the upload is stored; later the very same upload is taken in."""
    world.send(1, dict.fromkeys(NAMES, "P"))
    before = rows(world)
    full(pages)
    with pytest.raises(Busy, match=r"full.*Nothing of it was stored"):
        world.send(2, large(2), {"new": "P"})
    assert rows(world) == before
    full(None)
    receipt = world.send(2, large(2), {"new": "P"})
    assert (receipt.new, receipt.build_seq, receipt.new_tests) == (True, 2, 1)
    assert world.disagreements([*NAMES, "new"]) == []
    world.app.engine.dispose()


def test_the_client_is_told_to_come_again(world: World, full: Callable[[int | None], None]) -> None:
    """Over HTTP a full disk is 503 with Retry-After, reading goes on, and the repeated upload is 202."""
    web = create_web(world.app, open_lane=Lane.TRUNK)
    client = TestClient(web, base_url="http://127.0.0.1", client=("127.0.0.1", 50_000))
    build = b'{"schema": 1, "build": "b2"}'
    parts = {"build": (None, build), "report": ("r.xml", large(3))}
    address = f"/v1/projects/{world.project}"
    full(2)
    answer = client.post(f"{address}/reports", files=parts)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    assert int(answer.headers["Retry-After"]) > 0
    assert client.get(f"{address}/gating").status_code == 200
    assert client.get(f"{address}/summary").json()["builds"] == 0
    full(None)
    assert client.post(f"{address}/reports", files=parts).status_code == 202
    assert client.get(f"{address}/summary").json()["builds"] == 1
    world.app.engine.dispose()
