"""What pages show of verdicts: one with everything it rests on, the newest of a project, and those of each ticket."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from quarantine.errors import NotFound
from quarantine.services import attempts
from quarantine.services.app import App
from quarantine.store import builds, projects, verdicts
from quarantine.store.engine import reading

LATEST = 6
TICKETS_SHOWN = 40
_LONGEST_NUMBER = 9
_TOLD = (
    *("lane", "change", "ticket", "attempt", "patch", "base_commit", "base_tree", "environment_hash", "subset"),
    *("key", "runner_s", "tokens", "cost"),
)
_OF_BUILD = ("seq", "build", "job", "commit", "tree", "exit_code", "command", "complete", *builds.COUNTS)


def evidence(app: App, slug: str, number: str) -> dict[str, Any]:
    """Return a verdict as it stands (`answer`), what it is about (`build` among it) and the `runs` it rests on.

    The runs are those its client made, in order of arrival, the judged build first. Raises NotFound when there is no
    such project or verdict.
    """
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        row = verdicts.get(connection, project.id, int(number)) if _is_number(number) else None
        if row is None:
            raise NotFound(
                f"{slug} has no verdict {number!r}.",
                mend="The newest ones are on the project's page.",
            )
        runs = verdicts.runs_of(connection, project.id, row["number"])
        of_runs = builds.get(connection, project.id, {row["build_seq"], *(run["build_seq"] for run in runs)})
    return {
        "project": slug,
        "number": row["number"],
        "answer": row["answer"],
        "asked_at": row["asked_at"].isoformat(),
        "decided_at": row["decided_at"].isoformat(),
        "build": {name: of_runs[row["build_seq"]][name] for name in _OF_BUILD},
        "runs": [_run(run, of_runs[run["build_seq"]]) for run in runs],
        **{name: row[name] for name in _TOLD},
    }


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER


def _run(run: Mapping[str, Any], build: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: build[name] for name in _OF_BUILD} | {name: run[name] for name in ("side", "canary", "runner_s")}
    return told | {"received_at": build["received_at"].isoformat()}


def latest(app: App, slug: str) -> list[dict[str, Any]]:
    """Return the newest verdicts of a project with the names of their builds; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        rows = verdicts.newest(connection, project.id, LATEST)
        judged = builds.get(connection, project.id, {row["build_seq"] for row in rows})
    shown = ("number", "outcome", "final", "suspect", "sentence", "lane", "change", "ticket", "attempt")
    return [
        {name: row[name] for name in shown}
        | {"build": judged[row["build_seq"]]["build"], "asked_at": row["asked_at"].isoformat()}
        for row in rows
    ]


def tickets(app: App, slug: str, *, ticket: str | None = None) -> dict[str, Any]:
    """Return what the attempts came to (`services.attempts.summary`), and with it the tickets heard of last.

    `newest` are the rows of `by_ticket`, the newest first and at most `TICKETS_SHOWN`, each with `at`, when it was
    heard of, and `verdicts`: those of each attempt of its last loop that has any, by its number. Raises NotFound when
    there is no such project, or when no ticket can be called so.
    """
    if ticket is not None and "\0" in ticket:
        raise NotFound("No ticket has a NUL in its name.", mend="Follow a link on the page of all attempts.")
    summary = attempts.summary(app, slug, ticket=ticket)
    known = {row["ticket"]: row for row in summary["by_ticket"]}
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        heard = verdicts.newest_tickets(connection, project.id, ticket, TICKETS_SHOWN)
        shown = [name for name in heard if name in known]
        last = {name: set(known[name]["last_loop"]) for name in shown}
        rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in verdicts.figures_of(connection, project.id, shown):
            if str(row["number"]) in last[row["ticket"]]:
                rows[row["ticket"]].append(row)
    newest = [known[name] | {"at": heard[name].isoformat(), "verdicts": _by_attempt(rows[name])} for name in shown]
    return summary | {"newest": newest}


def _by_attempt(rows: Sequence[Mapping[str, Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return what is shown of a ticket's verdicts by attempt."""
    shown = ("number", "outcome", "final", "suspect")
    return {
        attempt.number: [{name: row[name] for name in shown} for row in attempt.verdicts]
        for attempt in attempts.attempts_of(rows)
    }
