"""The gating set as clients ask for it: which names do not gate, in one snapshot."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Mode, Status
from quarantine.services.app import App
from quarantine.services.naming import bare_names, ids_of, spellings_of
from quarantine.store import histories, projects, roster, standings
from quarantine.store.engine import reading

MAX_AGE_S = 24 * 3600
REFRESH_S = 60
VARIANT_DAYS = 30
"""Days that trunk may leave a test out of one variant while it runs it in another; then that variant keeps the test
gating no longer. Whoever asks for that variant is answered for it all the same."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a test does not gate.

    Attributes:
        everywhere: whether it gates in no variant that trunk still runs it in: then it is out of the set as a whole.
        variants: the hashes of the variants it is quarantined in, sorted.
    """

    everywhere: bool
    variants: tuple[str, ...]


Scopes = dict[str, Scope]
"""Spelling to where the test does not gate. Whoever is not in it gates everywhere."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The gating set at one moment. Everything that is not in `scopes` gates.

    Attributes:
        id: names the content; the same content has the same id.
        version: the project's counter of changes to the gating set.
        variants: the hashes of the variants trunk has run, sorted. In any other nothing was seen, so every test gates.
        answers: what is said about one test, as JSON, by whether it gates.
    """

    project: str
    id: str
    version: int
    mode: Mode
    taken_at: datetime
    scopes: Scopes
    variants: tuple[str, ...]
    answers: dict[bool, bytes]

    def to_json(self) -> dict[str, Any]:
        """Return the wire form, schema 1.

        `not_gating` has null for who is out everywhere, else the variants; `quarantined_in` the variants of the former.
        """
        return {
            "schema": 1,
            "project": self.project,
            "snapshot": self.id,
            "mode": self.mode.value,
            "taken_at": self.taken_at.isoformat(),
            "max_age_s": MAX_AGE_S,
            "refresh_s": REFRESH_S,
            "not_gating": {
                name: None if scope.everywhere else list(scope.variants) for name, scope in self.scopes.items()
            },
            "quarantined_in": {name: list(scope.variants) for name, scope in self.scopes.items() if scope.everywhere},
            "variants": list(self.variants),
        }

    def is_gating(self, name: str, variant: str | None = None) -> bool:
        """Return whether the test gates; without a variant it gates if it gates in any. Unknown tests gate.

        So does a test in a variant nobody has seen it in: there is no evidence about it there.
        """
        if name not in self.scopes:
            return True
        scope = self.scopes[name]
        return not scope.everywhere if variant is None else variant not in scope.variants


def take_snapshot(app: App, slug: str) -> Snapshot:
    """Return the project's gating set now; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        scopes = _scopes(connection, project.id) if project.mode is Mode.ENFORCE else {}
        variants = tuple(histories.trunk_variants(connection, project.id))
    shown = {name: [scope.everywhere, scope.variants] for name, scope in scopes.items()}
    content = json.dumps([project.slug, project.mode, shown, variants], sort_keys=True)
    snapshot = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Snapshot(
        project.slug,
        snapshot,
        project.gating_version,
        project.mode,
        app.clock(),
        scopes,
        variants,
        {gates: _answer(gates, snapshot, project.mode) for gates in (True, False)},
    )


def _answer(gates: bool, snapshot: str, mode: Mode) -> bytes:  # noqa: FBT001 - the key of the table
    return json.dumps({"gating": gates, "snapshot": snapshot, "mode": mode.value}).encode()


def version(app: App, slug: str) -> int | None:
    """Return the counter of changes to the gating set, to tell whether a snapshot is still current."""
    with reading(app.engine) as connection:
        return projects.gating_version(connection, slug)


def _scopes(connection: Connection, project_id: int) -> Scopes:
    scopes = quarantined_in(connection, project_id)
    return _spelled(connection, project_id, scopes) if scopes else {}


def quarantined_in(connection: Connection, project_id: int) -> dict[int, Scope]:
    """Return, by ordinal, where each quarantined test does not gate. A test gates if it gates in any living variant."""
    quarantined: dict[int, set[str]] = defaultdict(set)
    for row in standings.with_status(connection, project_id, Status.QUARANTINED):
        quarantined[row["test"]].add(row["variant_hash"])
    if not quarantined:
        return {}
    days = histories.last_trunk_days(connection, project_id, quarantined)
    return {
        test: Scope(living(days[test]) <= variants, tuple(sorted(variants))) for test, variants in quarantined.items()
    }


def living(last_days: Mapping[str, int]) -> set[str]:
    """Return the variants that trunk still runs a test in, of the last day it ran in each.

    Counted back from its newest trunk day and not from today: a project that rests for a while forgets nothing, and
    the answer is a function of what is stored.
    """
    newest = max(last_days.values(), default=0)
    return {variant for variant, day in last_days.items() if day >= newest - VARIANT_DAYS}


def _spelled(connection: Connection, project_id: int, scopes: Mapping[int, Scope]) -> Scopes:
    """Return every unambiguous spelling; one that another test of trunk shares gates unless both agree."""
    rows = roster.rows(connection, project_id, scopes)
    wanted = frozenset(spelling for row in rows.values() for spelling in spellings_of(row))
    bare = {name for spelling in wanted for name in bare_names(spelling)}
    sharing = {row["ordinal"]: spellings_of(row) & wanted for row in roster.named(connection, project_id, bare)}
    claims: dict[str, set[int]] = defaultdict(set)
    for test, variants in histories.variants_on_trunk(connection, project_id, sharing).items():
        for spelling in sharing[test] if variants else ():
            claims[spelling].add(test)
    spelled: Scopes = {each: scope for test, scope in scopes.items() for each in ids_of(rows[test])}
    for spelling, tests in claims.items():
        if tests <= scopes.keys() and len({scopes[test] for test in tests}) == 1:
            spelled[spelling] = scopes[min(tests)]
    return spelled
