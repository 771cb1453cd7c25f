"""Takes a picture of every page of the shop: `python -m tests.browser.pictures FOLDER [NAME ...]`."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from quarantine.domain.outcome import Lane
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
    with TemporaryDirectory() as scratch, browsing(executable) as browser:
        files = SqliteFiles.make(Path(scratch))
        shop = Shop.played(files, Path(scratch) / "shop.db")
        fresh = Shop.empty(files, Path(scratch) / "fresh.db")
        visits = [(shop, Lane.TRUNK, addresses(shop) | LOST), (shop, None, {"sign-in": "/sign-in"})]
        for of, lane, paths in [*visits, (fresh, Lane.TRUNK, {"just-installed": "/"})]:
            with hosted(of.app, open_lane=lane) as home:
                looker = Looker.of(browser, home)
                for name, path in paths.items():
                    if not names or name in names:
                        _take(looker, path, folder / name)
                looker.close()
        shop.app.engine.dispose()
        fresh.app.engine.dispose()


def _take(looker: Looker, path: str, picture: Path) -> None:
    looker.page.goto(f"{looker.home}{path}")
    for look in LOOKS:
        looker.look(look)
        looker.page.screenshot(path=picture.with_name(f"{picture.name}.{look}.png"), full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
