"""Messages that a person has to mend something for: which, why, and sending them again."""

from typing import Any

from quarantine.services.app import App
from quarantine.store import outbox, projects, threads
from quarantine.store.engine import reading, writing


def of(app: App, slug: str) -> list[dict[str, Any]]:
    """Return the parked messages of a project, the newest first; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = outbox.every_parked(connection, project.id)
        told = {row["thread"]: threads.get(connection, project.id, row["thread"]) for row in rows}
    return [
        {
            "channel": row["channel"],
            "title": row["content"].get("title")
            or row["content"].get("subject")
            or (told[row["thread"]] or {"content": {}})["content"]["notice"]["title"],
            "code": row["error_code"],
            "mend": row["error"],
            "since": row["created_at"].isoformat(),
        }
        for row in rows
    ]


def send_again(app: App, slug: str) -> int:
    """Let every parked message of a project be sent again; return how many. Raises NotFound."""
    with writing(app.engine) as connection:
        return outbox.release_parked(connection, projects.by_slug(connection, slug).id, None, app.clock())
