"""The gating snapshots this process serves from memory, checked against the database about once a second."""

import time
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from quarantine.errors import NotFound
from quarantine.services.app import App
from quarantine.services.gating import Snapshot, take_snapshot, version

CHECKED_S = 1.0
"""How long another replica's decision may stay unseen here. This replica's own are seen at once."""


@dataclass(slots=True)
class Snapshots:
    """One snapshot a project."""

    app: App
    _held: dict[str, tuple[float, Snapshot]] = field(default_factory=dict)
    _changes: int = 0

    async def current(self, slug: str) -> Snapshot:
        """Return the project's snapshot; raises NotFound."""
        fresh = self.held(slug)
        if fresh is not None:
            return fresh
        held = self._held.get(slug)
        return await run_in_threadpool(self._renew, slug, held[1] if held else None, self._changes)

    def held(self, slug: str) -> Snapshot | None:
        """Return the snapshot in memory; None when it has to be looked for or checked."""
        held = self._held.get(slug)
        return held[1] if held is not None and time.monotonic() < held[0] else None

    def _renew(self, slug: str, held: Snapshot | None, changes: int) -> Snapshot:
        """Look into the database; what was read before a change here became known is not kept."""
        if held is None or version(self.app, slug) != held.version:
            try:
                held = take_snapshot(self.app, slug)
            except NotFound:
                self._held.pop(slug, None)
                raise
        if self._changes == changes:
            self._held[slug] = (time.monotonic() + CHECKED_S, held)
        return held

    def forget(self, slug: str) -> None:
        """Look again at the next request, because something here changed."""
        self._changes += 1
        self._held.pop(slug, None)
