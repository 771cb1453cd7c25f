"""Who is told about a project, and what keeps somebody from being told: for the page of the policy."""

from typing import Any

from quarantine.services import parked_messages
from quarantine.services.app import App
from quarantine.services.ownership import owners_of
from quarantine.services.people import ProjectPeople
from quarantine.slack.sending import Webhook
from quarantine.store import outbox, owners, projects
from quarantine.store.engine import reading

SHOWN = 50


def of(app: App, slug: str) -> dict[str, Any]:
    """Return where messages go, whom no setting maps, which lines of CODEOWNERS are broken, what is parked.

    Raises NotFound.
    """
    people = app.people.of(slug)
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        text = owners.newest(connection, project.id)
        found = owners_of(connection, project, people).file
        waiting = outbox.waiting(connection, project.id)
    named = {owner.key: owner.text for rule in (found.rules if found else ()) for owner in rule.owners}
    unmapped = sorted(text for key, text in named.items() if key not in people.owners)
    faults = found.faults if found else ()
    return {
        "channel": people.channel,
        "mail": len(people.mail),
        "way": None if app.slack is None else "webhook" if isinstance(app.slack, Webhook) else "bot",
        "zone": str(people.zone),
        "ladder": _ladder(people),
        "owners_path": text.path if text else None,
        "mapped": len(named) - len(unmapped),
        "unmapped": unmapped[:SHOWN],
        "unmapped_left_out": max(0, len(unmapped) - SHOWN),
        "faults": [{"line": one.line, "message": one.message, "mend": one.mend} for one in faults[:SHOWN]],
        "faults_left_out": max(0, len(faults) - SHOWN),
        "waiting": waiting,
        "parked": parked_messages.of(app, slug),
    }


def _ladder(people: ProjectPeople) -> str:
    ladder = people.ladder
    return (
        f"The owner of a test is told once it has been out for {ladder.first_days:g} of the last "
        f"{ladder.window_days:g} days, and every {ladder.repeat_days:g} days from then on."
    )
