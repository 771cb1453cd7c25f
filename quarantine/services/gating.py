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
from quarantine.services.naming import bare_names, id_of, spellings_of
from quarantine.store import histories, projects, roster, standings
from quarantine.store.engine import reading

MAX_AGE_S = 24 * 3600
REFRESH_S = 60

NotGating = dict[str, list[str] | None]
"""Spelling to the variant hashes in which the test does not gate; None for every variant it was seen in."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The gating set at one moment. Everything that is not in `not_gating` gates.

    Attributes:
        id: names the content; the same content has the same id.
        version: the project's counter of changes to the gating set.
        answers: what is said about one test, as JSON, by whether it gates.
        would_have_been: what `not_gating` would be if the project enforced; the same as it when it does.
    """

    project: str
    id: str
    version: int
    mode: Mode
    taken_at: datetime
    not_gating: NotGating
    would_have_been: NotGating
    answers: dict[bool, bytes]

    def to_json(self) -> dict[str, Any]:
        """Return the wire form, schema 1."""
        return {
            "schema": 1,
            "project": self.project,
            "snapshot": self.id,
            "mode": self.mode.value,
            "taken_at": self.taken_at.isoformat(),
            "max_age_s": MAX_AGE_S,
            "refresh_s": REFRESH_S,
            "not_gating": self.not_gating,
        }

    def is_gating(self, name: str, variant: str | None = None) -> bool:
        """Return whether the test gates; without a variant it gates if it gates in any. Unknown tests gate."""
        if name not in self.not_gating:
            return True
        variants = self.not_gating[name]
        return variants is not None and (variant is None or variant not in variants)


def take_snapshot(app: App, slug: str) -> Snapshot:
    """Return the project's gating set now; raises NotFound."""
    with reading(app.engine) as connection:
        project = projects.by_slug(connection, slug)
        would_have_been = _not_gating(connection, project.id)
    not_gating = would_have_been if project.mode is Mode.ENFORCE else {}
    content = json.dumps([project.slug, project.mode, not_gating], sort_keys=True)
    snapshot = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return Snapshot(
        project.slug,
        snapshot,
        project.gating_version,
        project.mode,
        app.clock(),
        not_gating,
        would_have_been,
        {gates: _answer(gates, snapshot, project.mode) for gates in (True, False)},
    )


def _answer(gates: bool, snapshot: str, mode: Mode) -> bytes:  # noqa: FBT001 - the key of the table
    return json.dumps({"gating": gates, "snapshot": snapshot, "mode": mode.value}).encode()


def version(app: App, slug: str) -> int | None:
    """Return the counter of changes to the gating set, to tell whether a snapshot is still current."""
    with reading(app.engine) as connection:
        return projects.gating_version(connection, slug)


def _not_gating(connection: Connection, project_id: int) -> NotGating:
    scopes = quarantined_in(connection, project_id)
    return _spelled(connection, project_id, scopes) if scopes else {}


def quarantined_in(connection: Connection, project_id: int) -> dict[int, list[str] | None]:
    """Return, by ordinal, the variants each quarantined test is quarantined in; None for all that trunk ran it in.

    Only the tests with None are out of the gating set as a whole: a test gates if it gates in any variant.
    """
    quarantined: dict[int, set[str]] = defaultdict(set)
    for row in standings.with_status(connection, project_id, Status.QUARANTINED):
        quarantined[row["test"]].add(row["variant_hash"])
    if not quarantined:
        return {}
    seen = histories.variants_on_trunk(connection, project_id, quarantined)
    return {test: None if seen[test] <= variants else sorted(variants) for test, variants in quarantined.items()}


def _spelled(connection: Connection, project_id: int, scopes: Mapping[int, list[str] | None]) -> NotGating:
    """Return every unambiguous spelling; one that another test of trunk shares gates unless both agree."""
    rows = roster.rows(connection, project_id, scopes)
    wanted = frozenset(spelling for row in rows.values() for spelling in spellings_of(row))
    bare = {name for spelling in wanted for name in bare_names(spelling)}
    sharing = {row["ordinal"]: spellings_of(row) & wanted for row in roster.named(connection, project_id, bare)}
    claims: dict[str, set[int]] = defaultdict(set)
    for test, variants in histories.variants_on_trunk(connection, project_id, sharing).items():
        for spelling in sharing[test] if variants else ():
            claims[spelling].add(test)
    not_gating: NotGating = {id_of(rows[test]): scope for test, scope in scopes.items()}
    for spelling, tests in claims.items():
        if tests <= scopes.keys() and len({repr(scopes[test]) for test in tests}) == 1:
            not_gating[spelling] = scopes[min(tests)]
    return not_gating
