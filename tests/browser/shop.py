"""A shop whose tests have lived through everything that pages tell of, and the paths of those pages."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quarantine.clock import FrozenClock
from quarantine.domain.outcome import Lane
from quarantine.errors import BadReport
from quarantine.policy.criteria import Policy
from quarantine.services import decisions
from quarantine.services.app import App
from quarantine.store.engine import open_engine
from tests.databases import SqliteFiles
from tests.web.loops import play_loops
from tests.world import OWNER, START, World, junit

PROJECT = "shop"
HOSTILE = "test_<script>alert(1)</script>\u202e[" + "x" * 90 + "]"
POLICY = Policy(never_quarantine=("*test_login*",))
_DAYS = 46
_CART = {f"test_{what}": "P" for what in ("total", "discount", "currency", "empty", "rounding", "stock")}
_QUEUE = {f"test_{what}": "P" for what in ("retry", "publish", "consume", "order", "dead_letter")}
_SIGHT = {f"test_{what}": "P" for what in ("login", "logout", "search", "clock")} | {HOSTILE: "P"}
_WIDE = {f"test_case_{number:02}": "P" for number in range(24)}
_TOGETHER = "ConnectionResetError: [Errno 104] Connection reset by peer"


def _reports(**failing: str) -> list[bytes]:
    """Return the whole suite's reports, in which the tests in `failing` (by bare name) failed with these words."""
    rooms = {"shop.test_cart": _CART, "shop.test_queue": _QUEUE, "shop.test_sight": _SIGHT, "shop.test_wide": _WIDE}
    found = []
    for room, tests in rooms.items():
        said = next((words for name, words in failing.items() if name in tests), "boom")
        found.append(junit({name: "F" if name in failing else tries for name, tries in tests.items()},
                           said=said, classname=room))  # fmt: skip
    return found


def _flakes(day: int) -> dict[str, str]:
    """Return what flakes in the second build of a day."""
    failing: dict[str, str] = {}
    if day % 2:
        failing |= {"test_retry": _TOGETHER, "test_publish": _TOGETHER}
    if day % 3 == 1 and day > 14:
        failing |= {HOSTILE: f"assert {day} == 3600  # <b>clock</b>"}
    if day % 3 == 2:
        failing |= {"test_login": "TimeoutError: no button after 30 s"}
    return failing


def play(world: World) -> None:
    """Live through seven weeks: flakes of common cause, a held and a broken test, a storm, bad reports, loops."""
    decisions.create_project(world.app, "atlas", bearer=OWNER)
    play_loops(world)
    for day in range(_DAYS):
        broken = {"test_currency": "assert '12,50' == '12.50'"} if day >= _DAYS - 3 else {}
        for half in range(2):
            flaky = _flakes(day) if half else {}
            world.send(f"main-{day}.{half}", *_reports(**flaky, **broken), runner=f"host-{day % 3}")
            for number in (1, 2) if flaky or broken else ():
                world.wait(minutes=5)
                world.rerun(f"main-{day}.{half}", *_reports(**broken), number=number)
            world.wait(hours=11)
        world.wait(hours=2)
    for number in range(3):
        down = dict.fromkeys(list(_WIDE)[:12], "Connection refused by db-1:5432")
        world.send(f"pr-{number}", *_reports(**down), lane=Lane.REVIEW, change=f"pr-{number}")
        world.wait(minutes=9)
    cut = junit(_CART, classname="shop.test_cart")
    world.send("cut", cut[: len(cut) // 2], exit_code=139, complete=False)
    with suppress(BadReport):
        world.send("none", b"<coverage line-rate='1'/>")
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    world.ask("fix-1", *_reports(test_retry=_TOGETHER, test_total="assert 1 == 2"), change="T-9", exit_code=1,
              question={"ticket": "T-9", "attempt": 1})  # fmt: skip


def live(world: World, day: int, **fields: Any) -> None:
    """Live through one more day of two builds, with what flakes."""
    for half in range(2):
        flaky = _flakes(day) if half else {}
        world.send(f"later-{day}.{half}", *_reports(**flaky), runner=f"host-{day % 3}", **fields)
        if flaky:
            world.wait(minutes=5)
            world.rerun(f"later-{day}.{half}", *_reports())
        world.wait(hours=11)
    world.wait(hours=2)


@dataclass(frozen=True, slots=True)
class Shop:
    """The product with the shop in it."""

    app: App
    clock: FrozenClock

    @classmethod
    def empty(cls, files: SqliteFiles, path: Path) -> "Shop":
        """Return the product on a new database in `path`, just installed."""
        files.create(path, migrated=True)
        clock = FrozenClock(START)
        return cls(App(open_engine(f"sqlite:///{path}"), clock, POLICY), clock)

    @classmethod
    def played(cls, files: SqliteFiles, path: Path) -> "Shop":
        """Return the product on a new database in `path`, after seven weeks."""
        shop = cls.empty(files, path)
        play(World(shop.app, shop.clock, PROJECT).created())
        return shop
