"""Many names at once: the tests that a client's list of names means, remembered from one question to the next.

A loop sends the same list with each attempt, so a name that was resolved stays resolved until the project has a new
test, trunk has run one for the first time, or one was renamed: then it may stand for another one.

A test that trunk runs comes before one that only another lane has told of, also where the name is the whole of the
latter and no more than the last part of the former: else an agent could report a test of the bare name that is asked
for, and leave out the real one.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.identity import ID_PREFIX
from quarantine.services.naming import bare_names, bare_names_of, ids_of, spellings_of
from quarantine.store import histories, roster
from quarantine.store.projects import Project

Tests = tuple[int, ...]
"""The ordinals a name stands for: none, one, or several that share the spelling."""


@dataclass(slots=True)
class NameCache:
    """What names stand for, by project. Guarded by the app's lock."""

    _held: dict[int, tuple[tuple[int, int, int], dict[str, Tests]]] = field(default_factory=dict)

    def resolve(self, connection: Connection, project: Project, names: Iterable[str]) -> dict[str, Tests]:
        """Return the tests that each name stands for; the project's counters are those of this transaction."""
        project_id, counters = project.id, (project.tests, project.pairs, project.renames)
        held = self._held.get(project_id)
        if held is None or held[0] != counters:
            held = self._held[project_id] = (counters, {})
        known = held[1]
        found = {name: known.get(name) for name in names}
        new = [name for name, tests_of in found.items() if tests_of is None]
        if new:
            known.update(_resolved(connection, project_id, new))
        return {name: known[name] for name in found} if new else found  # type: ignore[return-value]  # none is None

    def forget(self, project_id: int) -> None:
        """Drop a project's names: they may be of a transaction that was rolled back."""
        self._held.pop(project_id, None)


def _resolved(connection: Connection, project_id: int, names: list[str]) -> dict[str, Tests]:
    """Look names up as `quarantine.services.naming.find` does, all of them together."""
    wanted = set(names)
    bare = {part for name in names if not name.startswith(ID_PREFIX) for part in bare_names(name)}
    exact: dict[str, list[int]] = defaultdict(list)
    loose: dict[str, list[int]] = defaultdict(list)
    for row in [*roster.named(connection, project_id, bare), *_by_id(connection, project_id, wanted)]:
        for spelling in (spellings_of(row) | ids_of(row)) & wanted:
            exact[spelling].append(row["ordinal"])
        for name in bare_names_of(row) & wanted:
            loose[name].append(row["ordinal"])
    meant = {name: (set(exact[name]), set(loose[name])) for name in names}
    shared = {test for whole, part in meant.values() if len(whole | part) > 1 for test in whole | part}
    variants = histories.variants_on_trunk(connection, project_id, shared) if shared else {}
    on_trunk = {test for test, seen in variants.items() if seen}
    return {
        name: tuple(sorted(whole & on_trunk or part & on_trunk or whole or part))
        for name, (whole, part) in meant.items()
    }


def _by_id(connection: Connection, project_id: int, names: Iterable[str]) -> list[dict[str, Any]]:
    digests = []
    for name in names:
        try:
            digests.append(bytes.fromhex(name.removeprefix(ID_PREFIX)) if name.startswith(ID_PREFIX) else b"")
        except ValueError:
            continue
    return roster.by_digests(connection, project_id, [digest for digest in digests if digest])
