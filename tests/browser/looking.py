"""What a page must be in a real browser: quiet, at home, as wide as the screen, readable and usable by everybody."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.chromium import FLAGS

Scheme = Literal["light", "dark"]
WIDE, NARROW = (1280, 900), (360, 740)
LOOKS: dict[str, tuple[Scheme, tuple[int, int]]] = {
    "light": ("light", WIDE),
    "dark": ("dark", WIDE),
    "narrow": ("light", NARROW),
    "narrow-dark": ("dark", NARROW),
}
_BAD = ("serious", "critical")
_MOST_STOPS = 600
_STOPS_IN_A_DATE = 3
"""Besides its first one: the month, the day, the year, and the button that opens a calendar."""
_STOPS = """() => {
  const told = one => one.outerHTML.slice(0, 120), log = window.stopsSeen = [];
  const group = one => {
    const all = [...one.form.querySelectorAll('[type=radio]')].filter(other => other.name === one.name);
    return all.find(other => other.checked) ?? all[0];
  };
  document.addEventListener('focusin', ({target: one}) => {
    const style = getComputedStyle(one), box = one.getBoundingClientRect();
    const isSeen = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
      && box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
    log.push({stop: one.dataset.stop ?? null, isSeen, html: told(one)});
  });
  return [...document.querySelectorAll(
    'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
    .filter(one => one.checkVisibility() && (one.type !== 'radio' || one === group(one)))
    .map((one, place) => { one.dataset.stop = place; return told(one) });
}"""


@contextmanager
def browsing(executable: Path) -> Iterator[Browser]:
    """Yield a running browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield browser
        browser.close()


def axe() -> str:
    """Return the script that checks a page for accessibility."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@dataclass(slots=True)
class Looker:
    """One tab of a browser, and what went wrong in it.

    Attributes:
        home: the address of the server; nothing may be asked of another.
        noise: what the console and the page complained of.
        strays: addresses asked for elsewhere.
    """

    page: Page
    home: str
    noise: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, browser: Browser, home: str) -> "Looker":
        """Open a tab."""
        looker = cls(browser.new_context(color_scheme="light").new_page(), home)
        looker.page.on("console", lambda said: looker.heard(said.type, said.text))
        looker.page.on("pageerror", lambda error: looker.noise.append(str(error)))
        looker.page.on("request", lambda request: looker.asked(request.url))
        return looker

    def heard(self, kind: str, text: str) -> None:
        """Note what the console says, when it complains."""
        if kind in ("error", "warning"):
            self.noise.append(f"{kind}: {text}")

    def asked(self, address: str) -> None:
        """Note an address that the page asks for, when it is not at home."""
        if not address.startswith((f"{self.home}/", "data:")):
            self.strays.append(address)

    def open(self, path: str, *, status: int = 200) -> None:
        """Go to a page; the browser itself complains of a page that is an error, which is no noise of ours."""
        answer = self.page.goto(f"{self.home}{path}", wait_until="load")
        assert answer is not None
        assert answer.status == status, path
        if status != 200:
            self.expect_refusal()

    def expect_refusal(self) -> None:
        """Take what the browser itself says of an answer that is an error for no noise of ours."""
        self.noise = [said for said in self.noise if "Failed to load resource" not in said]

    def tab_to(self, selector: str) -> None:
        """Go on with the Tab key until an element has the focus."""
        for _ in range(_MOST_STOPS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
                return
        raise AssertionError(selector)

    def send(self) -> int:
        """Press Enter on what has the focus, wait for the page that comes of it, and return its status."""
        with self.page.expect_navigation(wait_until="load") as coming:
            self.page.keyboard.press("Enter")
        return coming.value.status if coming.value is not None else 0

    def look(self, name: str) -> None:
        """See the page in one of the `LOOKS`."""
        scheme, (width, height) = LOOKS[name]
        self.page.emulate_media(color_scheme=scheme)
        self.page.set_viewport_size({"width": width, "height": height})

    def too_wide(self) -> list[str]:
        """Return the elements that make the page wider than the screen."""
        found: list[str] = self.page.evaluate(
            """() => document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
            [...document.body.querySelectorAll('*')].filter(one => !one.closest('.scroll') &&
              one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
              .map(one => one.outerHTML.slice(0, 160))"""
        )
        return found

    def barriers(self, *rules: str) -> list[str]:
        """Return what axe-core finds serious or critical, by these rules or by all it has."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(axe())
        only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
        told: list[dict[str, Any]] = self.page.evaluate(
            "options => axe.run(options).then(results => results.violations)", {"resultTypes": ["violations"], **only}
        )
        return [
            f"{rule['id']}: {node['html'][:200]} {node['failureSummary']}"
            for rule in told
            if rule["impact"] in _BAD
            for node in rule["nodes"]
        ]

    def walk(self) -> list[str]:
        """Go through the page with the Tab key; return what it never came to, and what shows no focus."""
        stops: list[str] = self.page.evaluate(_STOPS)
        inner = _STOPS_IN_A_DATE * self.page.locator("[type=date]").count()
        for _ in range(min(_MOST_STOPS, len(stops) + 1 + inner)):
            self.page.keyboard.press("Tab")
        seen: list[dict[str, Any]] = self.page.evaluate("stopsSeen")
        left = set(range(len(stops))) - {int(one["stop"]) for one in seen if one["stop"] is not None}
        return [f"not reached: {stops[place]}" for place in sorted(left)] + [
            f"no visible focus: {one['html']}" for one in seen if one["stop"] is not None and not one["isSeen"]
        ]

    def close(self) -> None:
        """Close the tab."""
        self.page.context.close()
