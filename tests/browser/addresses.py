"""The addresses of every kind of page of the shop."""

from quarantine.services import listing
from quarantine.services.explain import explain
from quarantine.store import builds, incidents, projects
from quarantine.store.engine import reading
from tests.browser.shop import HOSTILE, PROJECT, Shop

HOME = f"/projects/{PROJECT}"
LOST = {"lost": f"{HOME}/tests/nope", "nowhere": "/nope"}


def addresses(shop: Shop) -> dict[str, str]:
    """Return the path of each page by a short name for it."""
    hostile = explain(shop.app, PROJECT, HOSTILE)["test"]
    held = next(row for row in listing.standing(shop.app, PROJECT)["standing"] if row["status"] == "held")["test"]
    with reading(shop.app.engine) as connection:
        project = projects.by_slug(connection, PROJECT)
        storm = incidents.latest(connection, project.id, 1)[0]["id"]
        latest = builds.latest(connection, project.id, 40)
    asked = next(row["seq"] for row in latest if row["build"] == "fix-1")
    struck = next(row["seq"] for row in latest if row["incident"])
    cut = next(row["seq"] for row in latest if row["build"] == "cut")
    return {
        "projects": "/",
        "new-project": "/projects/atlas",
        "project": HOME,
        "quarantined": f"{HOME}/quarantined",
        "quarantined-filtered": f"{HOME}/quarantined?sort=exit&older=30",
        "quarantined-none": f"{HOME}/quarantined?older=9000",
        "held": f"{HOME}/quarantined?standing=held",
        "builds": f"{HOME}/builds",
        "no-builds": "/projects/atlas/builds",
        "build": f"{HOME}/builds/{asked}",
        "build-in-a-storm": f"{HOME}/builds/{struck}",
        "build-cut-short": f"{HOME}/builds/{cut}",
        "incidents": f"{HOME}/incidents",
        "incident": f"{HOME}/incidents/{storm}",
        "no-incidents": "/projects/atlas/incidents",
        "reports": f"{HOME}/reports",
        "policy": f"{HOME}/policy",
        "weekly": f"{HOME}/weekly",
        "weekly-new": "/projects/atlas/weekly",
        "test": f"{HOME}/tests/test_retry",
        "test-hostile": f"{HOME}/tests/{hostile}",
        "test-held": f"{HOME}/tests/{held}",
        "test-broken": f"{HOME}/tests/test_currency",
        "test-healthy": f"{HOME}/tests/test_discount",
        "verdict": f"{HOME}/verdicts/1",
        "attempts": f"{HOME}/attempts",
    }
