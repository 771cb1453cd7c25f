"""The web application over a small project, and short words for what callers send it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from quarantine.domain.outcome import Lane
from quarantine.services import decisions
from quarantine.web.application import create_web
from tests.world import OWNER, PROJECT, Tries, World, commit, junit, tree

ADDRESS = "http://127.0.0.1:8321"
HERE = ("127.0.0.1", 50_000)
ELSEWHERE = ("203.0.113.7", 50_000)
Files = Sequence[tuple[str, tuple[str | None, str | bytes]]]
BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
AT = f"/v1/projects/{PROJECT}"


def part(build: object = "b1", **fields: Any) -> str:
    """Return a build part as it is sent."""
    values = {"schema": 1, "build": str(build), "job": "unit", "tree": tree(build), "commit": commit(build)}
    return json.dumps(values | fields)


def upload(*reports: bytes | Tries, build: str | bytes | None = None) -> dict[str, Any]:
    """Return the arguments of a request that posts these reports; the build part is that of b1 unless given."""
    bodies = [report if isinstance(report, bytes) else junit(report) for report in reports]
    files: list[tuple[str, tuple[str | None, str | bytes]]] = [("build", (None, part() if build is None else build))]
    files += [("report", (f"report-{number}.xml", body)) for number, body in enumerate(bodies, start=1)]
    return {"files": files}


def bearer(token: str) -> dict[str, str]:
    """Return the header that shows a token."""
    return {"authorization": f"Bearer {token}"}


@dataclass(slots=True)
class Site:
    """A world that is served."""

    world: World

    def token(self, scope: str = "read", *, lane: str | None = None, project: str = PROJECT, **more: Any) -> str:
        """Return a new token."""
        stated = {"change": None, "label": f"the {scope} token", "lifetime": None} | more
        return decisions.create_token(self.world.app, project, scope=scope, lane=lane, bearer=OWNER, **stated)

    def storm(self) -> None:
        """Let three changes fail in one storm."""
        suite = {f"t{number}": "P" for number in range(30)}
        for number in range(6):
            self.world.send(f"b{number}", suite)
            self.world.wait(hours=4)
        down = suite | {f"t{place}": "F" for place in range(12)}
        for number in range(3):
            self.world.send(f"pr{number}", down, lane=Lane.REVIEW, change=f"pr-{number}", said="Connection refused")
            self.world.wait(minutes=9)

    def client(
        self,
        *,
        token: str | None = None,
        open_lane: Lane | None = None,
        browser: bool = False,
        address: str = ADDRESS,
        caller: tuple[str, int] = HERE,
        **more: Any,
    ) -> TestClient:
        """Return a caller of a freshly started server; `browser` asks for pages and keeps redirects to itself."""
        headers = (bearer(token) if token else {}) | (BROWSER if browser else {})
        web = create_web(self.world.app, open_lane=open_lane)
        return TestClient(web, base_url=address, client=caller, headers=headers, follow_redirects=False, **more)

    def open(self, **more: Any) -> TestClient:
        """Return a caller on the same machine, of a server without tokens."""
        return self.client(open_lane=Lane.TRUNK, **more)

    def page(self, path: str, *, status: int = 200) -> "Page":
        """Return the page a browser on the same machine gets."""
        return Page.of(self.open(browser=True).get(path), status=status)


def problem(response: Response, status: int, code: str) -> dict[str, Any]:
    """Return the problem document of a response, checked to be one."""
    assert response.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = response.json()
    assert (response.status_code, told["status"], told["code"]) == (status, status, code), told
    assert told["title"]
    assert told["detail"].endswith((".", "?", "!")), told["detail"]
    return told


@dataclass(slots=True)
class Page(HTMLParser):
    """A page, taken apart.

    Attributes:
        text: what a reader sees, in one line.
        elements: every start tag with its attributes, in order.
    """

    html: str
    text: str
    elements: list[tuple[str, Mapping[str, str | None]]]

    @classmethod
    def of(cls, response: Response, *, status: int = 200) -> "Page":
        """Return the page of a response, checked to be one."""
        assert response.status_code == status, response.text[:2_000]
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        page = cls(response.text, "", [])
        HTMLParser.__init__(page, convert_charrefs=True)
        page.feed(response.text)
        page.close()
        page.text = " ".join(page.text.split())
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element; what opens a block parts words."""
        self.elements.append((tag, dict(attrs)))
        self.text += "" if tag in ("wbr", "b", "bdi", "span", "strong", "code", "a") else " "

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")

    def attributes(self, name: str) -> list[str]:
        """Return every value of this attribute."""
        return [value or "" for _tag, attributes in self.elements for key, value in attributes.items() if key == name]

    def tags(self) -> set[str]:
        """Return the names of the elements on the page."""
        return {tag for tag, _attributes in self.elements}

    def check_inert(self) -> None:
        """Check that nothing on the page runs or comes from elsewhere."""
        assert self.tags().isdisjoint({"script", "style", "iframe", "object", "embed", "base", "img"})
        for _tag, attributes in self.elements:
            assert not any(name.startswith("on") or name == "style" for name in attributes)
        for address in self.attributes("href") + self.attributes("action") + self.attributes("src"):
            assert address.startswith(("/", "#")), address
            assert not address.startswith("//")

    def check_readable(self) -> None:
        """Check that the page can be read without seeing it."""
        assert ("html", {"lang": "en"}) in self.elements
        assert sum(tag == "h1" for tag, _ in self.elements) == 1
        assert sum(tag == "main" for tag, _ in self.elements) == 1
        ids = self.attributes("id")
        assert len(ids) == len(set(ids))
        for tag, attributes in self.elements:
            if tag == "svg" and "cell" not in (attributes.get("class") or ""):
                assert attributes.get("aria-label") or attributes.get("aria-hidden") == "true"
            if tag == "th":
                assert attributes.get("scope") in ("col", "row")
        assert set(self.attributes("aria-labelledby")) <= set(ids)
        places = {address[1:] for address in self.attributes("href") if address.startswith("#")}
        assert places - {"held", "broken"} <= set(ids)
        assert "None" not in self.text
