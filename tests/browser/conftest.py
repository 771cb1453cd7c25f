"""The browser, the shop and the server that every test of this folder shares."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from quarantine.domain.outcome import Lane
from tests.browser.chromium import MISSING, chromium, is_required
from tests.browser.looking import Looker, browsing
from tests.browser.shop import Shop
from tests.cli.hosting import hosted
from tests.databases import SqliteFiles


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a running browser; without one on this machine skip, or fail where it is required.

    It ends with the module: while it runs, this thread can run no event loop, and other tests want to.
    """
    executable = chromium()
    if executable is None:
        (pytest.fail if is_required() else pytest.skip)(MISSING)
    with browsing(executable) as running:
        yield running


@pytest.fixture(scope="session")
def shop(sqlite_files: SqliteFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """Return the product with the shop in it."""
    shop = Shop.played(sqlite_files, tmp_path_factory.mktemp("shop") / "quarantine.db")
    yield shop
    shop.app.engine.dispose()


@pytest.fixture(scope="session")
def home(shop: Shop) -> Iterator[str]:
    """Return the address of a server that nobody needs a token for."""
    with hosted(shop.app, open_lane=Lane.TRUNK) as address:
        yield address


@pytest.fixture
def looker(browser: Browser, home: str) -> Iterator[Looker]:
    """Return a fresh tab."""
    looker = Looker.of(browser, home)
    yield looker
    looker.close()


@pytest.fixture
def fresh(browser: Browser, sqlite_files: SqliteFiles, tmp_path: Path) -> Iterator[Looker]:
    """Return a tab on a server that has just been installed."""
    shop = Shop.empty(sqlite_files, tmp_path / "fresh.db")
    with hosted(shop.app) as address:
        looker = Looker.of(browser, address)
        yield looker
        looker.close()
    shop.app.engine.dispose()
