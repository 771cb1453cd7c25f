"""Projects: found by slug, locked while a build is taken in."""

import secrets
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection, RowMapping, select, update

from quarantine.domain.outcome import Mode
from quarantine.errors import Conflict, NotFound
from quarantine.store.sql import insert_if_new, storable
from quarantine.store.tables import PROJECT


@dataclass(frozen=True, slots=True)
class Project:
    """A project as the services see it; see `tables.Project` for the counters."""

    id: int
    slug: str
    created_at: datetime
    mode: Mode
    secret: bytes
    reserve: int | None
    pairs: int
    tests: int
    builds: int
    uploads: int
    gating_version: int
    renames: int
    retired: int

    @property
    def size(self) -> int:
        """How many tests were ever seen, each counted once however many names it has had."""
        return self.tests - self.retired


def _project(row: RowMapping) -> Project:
    return Project(**(dict(row) | {"mode": Mode(row["mode"])}))


def create(connection: Connection, slug: str, now: datetime) -> Project:
    """Create a project in observe mode; raises Conflict when the slug is taken."""
    row = {
        "slug": slug,
        "created_at": now,
        "mode": Mode.OBSERVE.value,
        "secret": secrets.token_bytes(32),
        "pairs": 0,
        "tests": 0,
        "builds": 0,
        "uploads": 0,
        "gating_version": 0,
        "renames": 0,
        "retired": 0,
    }
    if not insert_if_new(connection, PROJECT, row):
        raise Conflict(f"There is already a project {slug!r}.", mend="Choose another name, or use the one there is.")
    return by_slug(connection, slug)


def by_slug(connection: Connection, slug: str, *, lock: bool = False) -> Project:
    """Return the project; with `lock`, nobody else takes a build into it until the transaction ends.

    Raises NotFound when there is none.
    """
    query = select(PROJECT).where(PROJECT.c.slug == storable(slug))
    row = connection.execute(query.with_for_update() if lock else query).mappings().first()
    if row is None:
        raise NotFound(
            f"There is no project {slug!r} here.", mend="Create it with `quarantine project create`, or check the name."
        )
    return _project(row)


def every(connection: Connection) -> list[Project]:
    """Return all projects by slug."""
    return [_project(row) for row in connection.execute(select(PROJECT).order_by(PROJECT.c.slug)).mappings()]


def set_counters(
    connection: Connection, project: Project, *, pairs: int, tests: int, builds: int, uploads: int, reserve: int | None
) -> Project:
    """Store the numbers given out so far, and return the project with them."""
    changed = update(PROJECT).where(PROJECT.c.id == project.id)
    connection.execute(changed.values(pairs=pairs, tests=tests, builds=builds, uploads=uploads, reserve=reserve))
    return replace(project, pairs=pairs, tests=tests, builds=builds, uploads=uploads, reserve=reserve)


def set_mode(connection: Connection, project: Project, mode: Mode) -> None:
    """Switch between observing and enforcing; the gating set changes with it."""
    connection.execute(update(PROJECT).where(PROJECT.c.id == project.id).values(mode=mode.value))
    touch_gating(connection, project.id)


def touch_gating(connection: Connection, project_id: int) -> None:
    """Note that the gating set changed, so that snapshots are taken anew."""
    changed = update(PROJECT).where(PROJECT.c.id == project_id)
    connection.execute(changed.values(gating_version=PROJECT.c.gating_version + 1))


def note_rename(connection: Connection, project: Project, *, retired: int) -> None:
    """Note that an alias was made or ended: `retired` ordinals are further names of other tests from now on."""
    changed = update(PROJECT).where(PROJECT.c.id == project.id)
    connection.execute(changed.values(renames=PROJECT.c.renames + 1, retired=retired))
    touch_gating(connection, project.id)


def gating_version(connection: Connection, slug: str) -> int | None:
    """Return the version of the gating set; None when there is no such project."""
    return connection.execute(select(PROJECT.c.gating_version).where(PROJECT.c.slug == storable(slug))).scalar()


def slug_of(connection: Connection, project_id: int) -> str:
    """Return the slug of a project that exists."""
    return str(connection.execute(select(PROJECT.c.slug).where(PROJECT.c.id == project_id)).scalar_one())
