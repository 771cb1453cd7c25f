"""Makes the pictures that README.md shows: `python -m tests.browser.readme [FOLDER]`, `docs/pictures` unless named.

The shop lives through another five weeks, enforcing, with owners and a Slack that the product itself plays.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from quarantine.domain.outcome import Lane
from quarantine.services.deliver import deliver
from quarantine.services.escalate import escalate
from quarantine.services.people import People, ProjectPeople
from quarantine.services.weekly_issue import issue_due
from quarantine.slack.fake import FakeSlack, serving
from tests.browser.chromium import chromium
from tests.browser.looking import Looker, browsing
from tests.browser.shop import PROJECT, Shop, live
from tests.channels import HERE, connect
from tests.cli.hosting import hosted
from tests.databases import SqliteFiles
from tests.world import World

DAYS = 35
OWNERS = {"path": "CODEOWNERS", "text": "* @acme/shop\n/shop/test_queue.py @acme/mail\n"}
PAGES = {"overview": "", "test": "/tests/test_retry", "weekly": "/weekly"}
HEIGHT = 1_250


def main(folder: Path) -> None:
    """Write `overview.png`, `test.png`, `weekly.png` and `escalation.png`."""
    executable = chromium()
    if executable is None:
        sys.exit("There is no chromium on this machine; on Debian, apt-get install chromium brings it.")
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as scratch, browsing(executable) as browser:
        shop = Shop.played(SqliteFiles.make(Path(scratch)), Path(scratch) / "shop.db")
        slack = FakeSlack(clock=shop.clock)
        with serving(slack):
            tell(World(shop.app, shop.clock, PROJECT), slack)
            with hosted(shop.app, open_lane=Lane.TRUNK) as home:
                looker = Looker.of(browser, home)
                looker.page.set_viewport_size({"width": 1_280, "height": HEIGHT})
                for name, path in PAGES.items():
                    looker.page.goto(f"{home}/projects/{PROJECT}{path}")
                    looker.page.screenshot(path=folder / f"{name}.png")
                looker.page.goto(slack.address)
                message = looker.page.locator("article").filter(has_text="of the last 90 days").first
                message.screenshot(path=folder / "escalation.png")
                looker.close()
        shop.app.engine.dispose()


def tell(world: World, slack: FakeSlack) -> None:
    """Live on, and let the owners and the lead hear of it."""
    connect(world, slack)
    people = ProjectPeople(channel=HERE, owners={"@acme/mail": "S0MAIL"})
    world.app.people = People(projects={PROJECT: people}, address="https://quarantine.example.org")
    for day in range(DAYS):
        live(world, day, owners=OWNERS)
        issue_due(world.app, PROJECT)
    escalate(world.app, PROJECT)
    deliver(world.app, by="the pictures")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else Path("docs/pictures"))
