"""Taking reach maps and manifests in. Only trunk may say what tests reach, else an agent could say: nothing."""

import hashlib
import json
import zlib
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, NotAllowed
from quarantine.reach.columns import PARTS, Column
from quarantine.reach.instability import unstable_ids
from quarantine.reach.json_lines import read_json_lines
from quarantine.reach.reach_map import ReachMap
from quarantine.services.access import Bearer
from quarantine.services.app import App
from quarantine.services.reach_index import ordinals_by_name
from quarantine.store import audit, projects, reaches, roster
from quarantine.store.engine import writing

_SHOWN = 5


def require_trunk(bearer: Bearer) -> None:
    """Raise NotAllowed unless the bearer reports on trunk."""
    if bearer.reporting_lane() is not Lane.TRUNK:
        raise NotAllowed("Only a trunk token may say what tests reach.", mend="Upload the map from the trunk pipeline.")


def add_reach(app: App, slug: str, bearer: Bearer, lines: Iterable[bytes], *, tree: str | None) -> dict[str, Any]:
    """Store a reach map that comes as JSON lines, and return what it holds and whom it speaks of.

    Two maps of the identical tree show which names are another case in each process: those are marked, named, and
    never quarantined.

    Raises:
        NotFound: there is no such project.
        NotAllowed: the bearer does not report on trunk.
        BadReach: a line is malformed, with its number.
    """
    require_trunk(bearer)
    recorded = read_json_lines(lines)
    reach = recorded.reach
    with app.lock, writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug, lock=True), app.clock()
        unstable = _mark_unstable(connection, project.id, reach, tree)
        number = reaches.add(connection, project.id, recorded, tree=tree, now=now)
        found = ordinals_by_name(connection, project.id, reach.tests)
        unknown = [name for name, ordinals in zip(reach.tests, found, strict=True) if not ordinals]
        detail = {"number": number, "tests": len(reach.tests), "tree": tree}
        audit.record(connection, project.id, at=now, actor=bearer.actor, action="reach", detail=detail)
    return {
        "map": number,
        "tests": len(reach.tests),
        "columns": len(reach.columns),
        "matched": len(reach.tests) - len(unknown),
        "unknown": unknown[:_SHOWN],
        "unstable": unstable,
    }


def _mark_unstable(connection: Connection, project_id: int, reach: ReachMap, tree: str | None) -> list[str]:
    before = reaches.latest_of_tree(connection, project_id, tree) if tree else None
    if before is None:
        return []
    names = unstable_ids(before, reach)
    found = ordinals_by_name(connection, project_id, names)
    roster.mark_unstable(connection, project_id, {ordinal for ordinals in found for ordinal in ordinals})
    return names


def add_manifest(app: App, slug: str, bearer: Bearer, manifest: str, lines: bytes) -> dict[str, Any]:
    """Store the part hashes of a trunk commit: one JSON array `[path, part, hash]` a line, named by their SHA-256.

    Raises NotFound, NotAllowed as `add_reach`, and BadInput when the content is not what its name says.
    """
    require_trunk(bearer)
    parts = _parts(manifest, lines)
    with writing(app.engine) as connection:
        project, now = projects.by_slug(connection, slug), app.clock()
        body = zlib.compress(lines, level=6)
        reaches.add_manifest(connection, project.id, manifest, body, parts=len(parts), now=now)
    return {"manifest": manifest, "parts": len(parts)}


def _parts(manifest: str, lines: bytes) -> dict[Column, str]:
    if hashlib.sha256(lines).hexdigest() != manifest:
        raise BadInput(
            "The manifest's content is not what its name says.", mend="Its name is the SHA-256 of its bytes."
        )
    return parse_manifest(lines)


def parse_manifest(lines: bytes) -> dict[Column, str]:
    """Return the hash of every (path, part); raises BadInput naming the line that is malformed."""
    parts: dict[Column, str] = {}
    for number, line in enumerate(lines.splitlines(), start=1):
        try:
            path, part, found = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            path = part = found = None
        if not (isinstance(path, str) and part in PARTS and isinstance(found, str)):
            raise BadInput(
                f"Line {number} of the manifest is no [path, part, hash].", mend="Send it again from the client."
            )
        parts[path, part] = found
    return parts
