"""Every page in a real browser: in light, in dark, and 360 pixels wide."""

import pytest

from tests.browser.addresses import LOST, addresses
from tests.browser.looking import LOOKS, Looker
from tests.browser.shop import PROJECT, Shop
from tests.cli.hosting import hosted

pytestmark = pytest.mark.xdist_group("browser")


def check(looker: Looker) -> None:
    """Check the page that is open in every look, then walk through it with the keyboard."""
    for look in LOOKS:
        looker.look(look)
        assert looker.too_wide() == [], look
        if look == "light":
            assert looker.barriers() == []
        if look == "dark":
            assert looker.barriers("color-contrast") == []
    looker.look("light")
    assert looker.walk() == []
    assert looker.noise == []
    assert looker.strays == []


def test_every_page_holds_up(looker: Looker, shop: Shop, subtests: pytest.Subtests) -> None:
    """No noise, nothing from elsewhere, nothing too wide, no barrier, and every control can be reached and seen."""
    for name, path in addresses(shop).items():
        with subtests.test(name):
            looker.open(path)
            check(looker)


def test_pages_of_errors_hold_up(looker: Looker, subtests: pytest.Subtests) -> None:
    """What is not there is told as calmly as what is."""
    for name, path in LOST.items():
        with subtests.test(name):
            looker.open(path, status=404)
            check(looker)


def test_the_form_to_sign_in_holds_up(looker: Looker, shop: Shop) -> None:
    """Whoever has no token is asked for one, on a page that is as good as the others."""
    with hosted(shop.app, open_lane=None) as address:
        looker.home = address
        looker.open(f"/projects/{PROJECT}")
        assert looker.page.url.startswith(f"{address}/sign-in?next=")
        check(looker)


def test_a_daemon_just_installed_holds_up(fresh: Looker) -> None:
    """The first page anybody sees, with the commands that come next and the address of this very server."""
    fresh.open("/")
    check(fresh)
    assert f"export QUARANTINE_URL={fresh.home}" in fresh.page.inner_text("main")
