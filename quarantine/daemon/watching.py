"""Watching the daemon's own work: what keeps failing is seen by nobody but the log otherwise."""

import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from quarantine.errors import QuarantineError
from quarantine.policy import troubles
from quarantine.policy.troubles import Streak, Trouble
from quarantine.services.app import App

log = logging.getLogger("quarantine.daemon")


@dataclass(slots=True)
class Watch:
    """Runs work and remembers what has kept failing since the daemon began. Threads may share one."""

    app: App
    host: str = field(default_factory=lambda: socket.gethostname()[:40])
    _streaks: dict[tuple[str, str | None], Streak | None] = field(default_factory=dict)
    _ended: dict[str, Trouble] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, job: str, work: Callable[[], object], *, project: str | None = None) -> None:
        """Do some work; what goes wrong is logged and counted, and raised no further.

        Args:
            job: what it is called.
            work: does it.
            project: whose work it is; None for everybody's.
        """
        try:
            work()
        except Exception as error:
            if isinstance(error, QuarantineError | OSError):
                log.warning("Its work %r waits: %s", job, _said(error))
            else:
                log.exception("Its work %r failed", job)
            self._note(job, project, _said(error))
        else:
            self._note(job, project, None)

    def _note(self, job: str, project: str | None, said: str | None) -> None:
        with self._lock:
            before, now = self._streaks.get((job, project)), self.app.clock()
            if said is None and before is not None and (trouble := self._trouble(job, before, now)) is not None:
                self._ended[trouble.code] = trouble
            since = before.since if before else now
            self._streaks[job, project] = Streak(before.times + 1 if before else 1, since, said) if said else None

    def _trouble(self, job: str, streak: Streak, now: datetime) -> Trouble | None:
        return troubles.failing(job, self.host, streak, now)

    def seen(self, project: str) -> dict[str, Trouble | None]:
        """Return what can be told about the work that is this project's or everybody's, by code."""
        with self._lock:
            streaks = {job: streak for (job, whose), streak in self._streaks.items() if whose in (project, None)}
            ended = dict(self._ended)
        found: dict[str, Trouble | None] = {}
        for job, streak in streaks.items():
            code = f"job:{job}@{self.host}"
            trouble = ended.get(code) if streak is None else self._trouble(job, streak, self.app.clock())
            if streak is None or trouble is not None:
                found[code] = trouble
        return found

    def ended(self) -> frozenset[str]:
        """Return the codes of troubles that were over before everybody could be told: they are seen until `forget`."""
        with self._lock:
            return frozenset(self._ended)

    def forget(self, codes: frozenset[str]) -> None:
        """Say that everybody was told of these."""
        with self._lock:
            for code in codes:
                self._ended.pop(code, None)


def _said(error: Exception) -> str:
    """Return a sentence about an error: ours are written for people, others may quote anything."""
    if isinstance(error, QuarantineError):
        return str(error)
    what = error.strerror if isinstance(error, OSError) else None
    return f"{what}." if what else f"It failed unexpectedly ({type(error).__name__})."
