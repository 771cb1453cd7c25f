"""Takes a picture of every page of the shop: `python -m tests.browser.pictures FOLDER [NAME ...]`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.browser.addresses import LOST, addresses
from tests.browser.chromium import chromium
from tests.browser.looking import LOOKS, Looker, browsing
from tests.browser.shop import Shop
from tests.cli.hosting import hosted
from tests.databases import SqliteFiles


def main(folder: Path, names: list[str]) -> None:
    """Write `NAME.LOOK.png` for each page, or for those that are named."""
    executable = chromium()
    if executable is None:
        sys.exit("There is no chromium on this machine; on Debian, apt-get install chromium brings it.")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch:
        shop = Shop.played(SqliteFiles.make(Path(scratch)), Path(scratch) / "shop.db")
        with hosted(shop.app) as home, browsing(executable) as browser:
            looker = Looker.of(browser, home)
            for name, path in (addresses(shop) | LOST).items():
                if not names or name in names:
                    looker.page.goto(f"{home}{path}")
                    for look in LOOKS:
                        looker.look(look)
                        looker.page.screenshot(path=folder / f"{name}.{look}.png", full_page=True)
            looker.close()
        shop.app.engine.dispose()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
