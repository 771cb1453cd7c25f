"""Whether what comes in can ever lead to a decision: what is missing is said before anybody waits for it in vain."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import BuildKind, Lane
from quarantine.policy.wording import plural
from quarantine.services.naming import SOUND_BUILDS
from quarantine.services.reruns import LOOKED_BACK
from quarantine.store import builds, heads, roster
from quarantine.store.projects import Project

LOOKED_AT = 200
"""How many of the newest builds are looked at."""
_ENOUGH = 10
_PATIENCE = timedelta(days=2)
"""A rerun that nobody made for so long is not on its way."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that makes the incoming reports less useful than they could be.

    Attributes:
        code: stable kebab-case word.
        sentence: what was seen and what follows from it.
        mend: what to do.
    """

    code: str
    sentence: str
    mend: str


def doubts(connection: Connection, project: Project) -> list[Doubt]:
    """Return what is missing, the most serious first; empty when all is well or too little has come in to say."""
    recent = builds.latest(connection, project.id, LOOKED_AT)
    if not recent:
        return []
    found = [check(recent) for check in (_only_red, _no_trunk, _no_tree, _never_rerun, _no_variant)]
    if project.reserve is None:
        found.append(
            Doubt(
                "no-full-build",
                "No complete trunk build has come in, so there is no evidence budget to decide with.",
                "Send at least one whole trunk run with `complete` true.",
            )
        )
    found += [_never_made(connection, project, recent), _colliding(connection, project)]
    return [doubt for doubt in found if doubt is not None]


def _only_red(recent: list[dict[str, Any]]) -> Doubt | None:
    runs = [build for build in recent if build["kind"] == BuildKind.RUN and build["failed"] is not None]
    if len(runs) < _ENOUGH or any(build["failed"] == 0 and build["run_events"] == 0 for build in runs):
        return None
    return Doubt(
        "only-red",
        f"All of the last {len(runs)} builds had failures. If only red builds are uploaded, rates cannot be told.",
        "Upload the reports of every build, also when the tests step succeeded.",
    )


def _no_trunk(recent: list[dict[str, Any]]) -> Doubt | None:
    if len(recent) < _ENOUGH or any(build["lane"] == Lane.TRUNK for build in recent):
        return None
    return Doubt(
        "no-trunk",
        f"None of the last {len(recent)} builds is from trunk. Only trunk can show that a test is flaky or mended.",
        "Let the trunk pipeline report with a token of the trunk lane.",
    )


def _no_tree(recent: list[dict[str, Any]]) -> Doubt | None:
    without = sum(build["tree"] is None for build in recent)
    if not without:
        return None
    return Doubt(
        "no-tree",
        f"{without} of the last {len(recent)} builds do not say which tree ran, so no rerun can confirm a failure.",
        "Send reports with `quarantine report`, which computes it, or fill `tree` in the build part.",
    )


def _never_rerun(recent: list[dict[str, Any]]) -> Doubt | None:
    trees = [build["tree"] for build in recent if build["tree"] is not None]
    retried = any(build["flaky"] for build in recent)
    failed = any(build["failed"] for build in recent)
    if len(trees) < _ENOUGH or len(set(trees)) < len(trees) or retried or not failed:
        return None
    return Doubt(
        "never-rerun",
        "No tree ever ran twice. A failure counts only once its own tree has passed.",
        "Run `quarantine reruns run` from a schedule, or let CI rerun failed jobs.",
    )


def _never_made(connection: Connection, project: Project, recent: list[dict[str, Any]]) -> Doubt | None:
    """Return the doubt about trunk trees that wait for a rerun longer than any schedule does, where others had one.

    Most often their commit alone does not give the tree, and whoever makes reruns refuses them each time.
    """
    newest = recent[0]["received_at"]
    waiting = heads.pending(connection, project.id, newest - LOOKED_BACK)
    trees = {
        row["tree"]
        for row in waiting
        if row["lane"] == Lane.TRUNK and row["tree"] and not row["reruns_failed"]
        if row["arrived_at"] < newest - _PATIENCE
    }
    if not trees or _never_rerun(recent) is not None:
        return None
    return Doubt(
        "reruns-not-made",
        f"{plural(len(trees), 'tree')} of trunk that failed did not run again within {_PATIENCE.days} days, so nothing "
        "can be told of those failures.",
        "Run `quarantine reruns run` where the suite runs: it says of each tree why it cannot be made again, such as "
        "files that are in no commit.",
    )


def _no_variant(recent: list[dict[str, Any]]) -> Doubt | None:
    without = sum(not build["job"] for build in recent)
    if not without:
        return None
    return Doubt(
        "no-job",
        f"{without} of the last {len(recent)} builds do not name their job; different jobs then share one history.",
        "Fill `job` in the build part, and `variant` where one job runs in several ways.",
    )


def _colliding(connection: Connection, project: Project) -> Doubt | None:
    shared = len(roster.not_unique(connection, project.id))
    if not shared:
        return None
    return Doubt(
        "ids-collide",
        f"{shared} test ids stood for several tests each. Such an id is shown, and not quarantined before "
        f"{SOUND_BUILDS} trunk builds in a row have told of it once.",
        "Give the tests distinct names, or set `stream` where modules use the same ones.",
    )
