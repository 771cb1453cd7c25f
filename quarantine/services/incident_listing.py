"""What pages show of incidents: a page of them, and one with its builds and tests."""

from typing import Any

from quarantine.errors import NotFound
from quarantine.services import listing, naming
from quarantine.services.app import App
from quarantine.store import builds, listings, projects, roster
from quarantine.store.engine import reading

PAGE = 50
TESTS_SHOWN = 200
BUILDS_SHOWN = 100
_SIGNATURES_SHOWN = 5


def page_of(app: App, slug: str, *, page: int) -> dict[str, Any]:
    """Return one page of the incidents, the newest first; raises NotFound without the project."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = listings.incidents(connection, project.id, offset=(page - 1) * PAGE, limit=PAGE)
        return {
            **listing.head(project),
            "now": app.clock().isoformat(),
            "total": listings.count_incidents(connection, project.id),
            "rows": [listing.incident_row(row) for row in rows],
        }


def one(app: App, slug: str, incident: str) -> dict[str, Any]:
    """Return an incident with its builds, what they said, and its tests; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        row = None if "\0" in incident else listings.incident(connection, project.id, incident)
        if row is None:
            raise NotFound(f"{slug} has no incident {incident!r}.", mend="They are listed on the page of incidents.")
        struck = builds.get(connection, project.id, row["builds"][:BUILDS_SHOWN])
        tests = roster.rows(connection, project.id, sorted(set(row["tests"]))[:TESTS_SHOWN])
        named = [{"test": naming.id_of(test), "name": naming.display_of(test)} for test in tests.values()]
        return {
            **listing.head(project),
            "now": app.clock().isoformat(),
            "incident": listing.incident_row(row),
            "struck": [listing.build_row(struck[seq]) for seq in sorted(struck)],
            "builds_left_out": len(row["builds"]) - len(struck),
            "said": listings.signatures_in(connection, project.id, sorted(struck), _SIGNATURES_SHOWN),
            "named": sorted(named, key=lambda test: test["name"]),
            "tests_left_out": len(set(row["tests"])) - len(tests),
        }
