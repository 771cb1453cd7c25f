"""Which tests a change can touch, from the same reach maps that attribute failures: what a harness runs first.

A test without reach reaches everything, so it is always run. A change of a global or a blind file touches every test.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from quarantine.domain.build import ChangedPart
from quarantine.policy.wording import plural
from quarantine.services.app import App
from quarantine.services.naming import display_of, present_spellings_of
from quarantine.services.reach_index import ReachIndex
from quarantine.store import aliases, presence, projects, roster
from quarantine.store.engine import reading
from quarantine.store.projects import Project

__all__ = ["Impacted", "impacted_by"]

_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Impacted:
    """The tests that trunk ran on the base, by whether a change can touch them. Each list is sorted.

    Names are spelled as the runner gave them in the reach map; a test that no map has goes by its display name.

    Attributes:
        impacted: those whose reach holds a changed part; all that have a reach when every test is touched.
        unknown: those without a reach, which run whatever changed.
        untouched: the others.
        everything: whether every test has to run.
        why: a sentence: what decided it.
    """

    impacted: tuple[str, ...]
    unknown: tuple[str, ...]
    untouched: tuple[str, ...]
    everything: bool
    why: str

    @property
    def of(self) -> int:
        """How many tests there are."""
        return len(self.impacted) + len(self.unknown) + len(self.untouched)


def impacted_by(app: App, slug: str, changed: Sequence[ChangedPart], *, base_commit: str | None) -> Impacted:
    """Return which of the tests of the base a change can touch; raises NotFound without such a project.

    Args:
        app: the product.
        slug: the project.
        changed: the parts that differ from the base.
        base_commit: the trunk commit compared with; where trunk never ran it, the tests of its last commit are meant.
    """
    with app.lock, reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        index = app.reach.of(connection, project, project.tests)
        present = np.flatnonzero(presence.tests_of_trunk(connection, project.id, base_commit, tests=project.tests))
        spelled = _spelled(index, set(present.tolist())) | _renamed(connection, project, index, present.tolist())
        spelled = {ordinal: name for ordinal, name in spelled.items() if name}
        nameless = [ordinal for ordinal in present.tolist() if ordinal not in spelled]
        rows = roster.rows(connection, project.id, nameless)
    unknown = tuple(sorted({display_of(row) for row in rows.values()}))
    if index is None:
        why = "No reach map was uploaded, so nothing is known of what a test reaches: every test has to run."
        return Impacted(impacted=(), unknown=unknown, untouched=(), everything=True, why=why)
    everywhere = index.globs.of_every_test([(path, part) for path, part, _ in changed], index.reach.paths())
    untouched = index.untouched(changed, project.tests)
    free = {name for ordinal, name in spelled.items() if untouched[ordinal]}
    hit = {name for ordinal, name in spelled.items() if not untouched[ordinal]}
    return Impacted(
        impacted=tuple(sorted(hit)),
        unknown=unknown,
        untouched=tuple(sorted(free - hit)),
        everything=bool(everywhere),
        why=_why(everywhere, len(changed), len(hit), len(present)),
    )


def _spelled(index: ReachIndex | None, present: set[int]) -> dict[int, str]:
    """Return the runner's name of each of these tests that a map has; the first where it has several."""
    if index is None:
        return {}
    names = index.reach.tests
    links = zip(index.rows.tolist(), index.ordinals.tolist(), strict=True)
    return {ordinal: names[row] for row, ordinal in sorted(links, reverse=True) if ordinal in present}


def _renamed(
    connection: Connection, project: Project, index: ReachIndex | None, present: Iterable[int]
) -> dict[int, str]:
    """Return the runner's present name of each of these tests that was renamed; empty where no map has it yet."""
    if index is None or not project.retired:
        return {}
    renamed = set(aliases.carriers(connection, project.id).values()).intersection(present)
    names: dict[int, set[str]] = {ordinal: set() for ordinal in renamed}
    for row, ordinal in zip(index.rows.tolist(), index.ordinals.tolist(), strict=True):
        if ordinal in renamed:
            names[ordinal].add(index.reach.tests[row])
    rows = roster.rows(connection, project.id, renamed)
    return {test: min(names[test] & present_spellings_of(row), default="") for test, row in rows.items()}


def _why(everywhere: Iterable[tuple[str, str]], changed: int, hit: int, of: int) -> str:
    paths = sorted({path for path, _ in everywhere})
    if paths:
        shown = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        return f"Every test has to run: what depends on {shown} is not known, or is everything."
    if not of:
        return "Trunk has not reported any test yet, so nobody can say which there are."
    what = "the changed part" if changed == 1 else f"one of the {changed:,} changed parts"
    return f"{hit:,} of {plural(of, 'test')} {'reaches' if hit == 1 else 'reach'} {what}."
