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

    async def current(self, slug: str) -> Snapshot:
        """Return the project's snapshot; raises NotFound."""
        held = self._held.get(slug)
        return self.held(slug) or await run_in_threadpool(self._renew, slug, held[1] if held else None)

    def held(self, slug: str) -> Snapshot | None:
        """Return the snapshot in memory; None when it has to be looked for or checked."""
        held = self._held.get(slug)
        return held[1] if held is not None and time.monotonic() < held[0] else None

    def _renew(self, slug: str, held: Snapshot | None) -> Snapshot:
        if held is None or version(self.app, slug) != held.version:
            try:
                held = take_snapshot(self.app, slug)
            except NotFound:
                self._held.pop(slug, None)
                raise
        self._held[slug] = (time.monotonic() + CHECKED_S, held)
        return held

    def forget(self, slug: str) -> None:
        """Look again at the next request, because something here changed."""
        self._held.pop(slug, None)
