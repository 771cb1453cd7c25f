"""A browser that is signed in, the forms it finds on a page, and what it sends of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from httpx2 import Response
from starlette.testclient import TestClient

from quarantine.services import naming
from quarantine.store import answers, audit, projects, raised
from quarantine.store.engine import reading, writing
from tests.web.site import ADDRESS, Page, Site
from tests.world import PROJECT

HOME = f"/projects/{PROJECT}"
OURS = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
"""What a browser says of a form that our own page sends."""


@dataclass(slots=True)
class Actor:
    """Somebody at a browser, signed in.

    Attributes:
        client: the browser, with its cookies.
    """

    client: TestClient

    @classmethod
    def of(cls, site: Site, token: str | None = None) -> "Actor":
        """Sign in with this token, or with a new one of an admin."""
        client = site.client(browser=True)
        assert client.post("/sign-in", data={"token": token or site.token("admin")}).status_code == 303
        return cls(client)

    def page(self, test: str, query: str = "", *, status: int = 200) -> Page:
        """Return the page of a test."""
        return Page.of(self.client.get(f"{HOME}/tests/{test}{query}"), status=status)

    def form(self, test: str) -> dict[str, str]:
        """Return what the page's forms carry along, without saying which of them is meant."""
        return {"form": hidden(self.page(test))["form"]}

    def send(self, test: str, answer: str, **said: Any) -> Response:
        """Fill a form of the test's page in and send it; `form` and `headers` take the place of what would be sent."""
        headers = said.pop("headers", OURS)
        carried = {"form": said.pop("form")} if "form" in said else self.form(test)
        return self.client.post(f"{HOME}/tests/{test}", data={**carried, "answer": answer, **said}, headers=headers)

    def done(self, test: str, answer: str, **said: Any) -> Page:
        """Send a form that is taken, and return the page that says so."""
        response = self.send(test, answer, **said)
        assert response.status_code == 303, response.text[:2_000]
        return Page.of(self.client.get(response.headers["location"]))

    def refused(self, test: str, answer: str, *, status: int, **said: Any) -> Page:
        """Send a form that is refused, and return the page it comes back on."""
        return Page.of(self.send(test, answer, **said), status=status)


def hidden(page: Page) -> dict[str, str]:
    """Return what the page's hidden fields hold."""
    inputs = [attributes for tag, attributes in page.elements if tag == "input" and attributes["type"] == "hidden"]
    return {str(one["name"]): str(one["value"]) for one in inputs}


def offered(page: Page) -> list[str]:
    """Return the names of the forms on a page."""
    named = [attributes for tag, attributes in page.elements if tag == "input" and attributes.get("name") == "answer"]
    return [str(one["value"]) for one in named]


def alerts(page: Page) -> list[Mapping[str, str | None]]:
    """Return the elements that say what is wrong."""
    return [attributes for _tag, attributes in page.elements if attributes.get("role") == "alert"]


def wrong(page: Page) -> set[str]:
    """Return the names of the fields that are marked as wrong."""
    return {str(one["name"]) for _tag, one in page.elements if one.get("aria-invalid") == "true"}


def audited(site: Site, action: str) -> list[tuple[str, Any]]:
    """Return (who, details) of every audit row of an action."""
    with reading(site.world.app.engine) as connection:
        rows = audit.of_action(connection, projects.by_slug(connection, PROJECT).id, action)
    return [(row["actor"], row["detail"]) for row in rows]


def answered(site: Site) -> list[tuple[str, str]]:
    """Return (kind, reason) of every answer that is kept."""
    with reading(site.world.app.engine) as connection:
        found = answers.of_tests(connection, projects.by_slug(connection, PROJECT).id, range(50))
    return [(row["kind"], row["reason"]) for rows in found.values() for row in rows]


def status_of(site: Site, test: str) -> str:
    """Return how a test stands in its first variant."""
    return str(site.world.explain(test)["variants"][0]["status"])


def raise_doubt(site: Site, test: str, *, change: str | None = "T-1", sentence: str = "It failed 4 of 4.") -> int:
    """Write a possible regression of a test down as a verdict does; return its number."""
    with writing(site.world.app.engine) as connection:
        project = projects.by_slug(connection, PROJECT)
        number = raised.newest_number(connection, project.id) + 1
        raised.note(
            connection,
            project.id,
            test=naming.find(connection, project, test)["ordinal"],
            variant_hash="0" * 16,
            verdict=number,
            build_seq=1,
            change=change,
            at=site.world.clock.now,
            sentence=sentence,
        )
    return number


def doubts(site: Site) -> list[tuple[str, str, str]]:
    """Return (state, who said so, why) of every possible regression."""
    with reading(site.world.app.engine) as connection:
        rows = raised.since(connection, projects.by_slug(connection, PROJECT).id, 0)
    return [(row["state"], row["closed_by"], row["closed_why"]) for row in rows]
