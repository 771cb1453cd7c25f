"""What pages show of reports: what was read, what was read in part, and what was refused and why."""

from typing import Any

from quarantine.services import listing
from quarantine.services.app import App
from quarantine.store import listings, projects
from quarantine.store.engine import reading

PAGE = 100
REFUSED_SHOWN = 50


def page_of(app: App, slug: str, *, page: int) -> dict[str, Any]:
    """Return one page of the accepted reports, those of the newest build first, and on the first one the refused.

    Raises NotFound without the project.
    """
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = listings.reports(connection, project.id, offset=(page - 1) * PAGE, limit=PAGE)
        refused = listings.refused(connection, project.id, offset=0, limit=REFUSED_SHOWN) if page == 1 else []
        shown = ("name", "status", "size_bytes", "problems", "build", "build_seq", "job", "lane")
        return {
            **listing.head(project),
            "now": app.clock().isoformat(),
            "total": listings.count_reports(connection, project.id),
            "rows": [
                {name: row[name] for name in shown} | {"received_at": row["received_at"].isoformat()} for row in rows
            ],
            "refused": [listing.refused_row(row) for row in refused],
            "refused_count": listings.count_refused(connection, project.id),
        }
