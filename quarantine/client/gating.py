"""Whether a test gates, asked inside a test run: one set look-up, and a question to the daemon now and then.

When the daemon cannot be reached, the last snapshot serves until it is as old as its maximum age, counted from the
moment the daemon last confirmed it; after that every test gates. Trouble with the network is said once on stderr and
never raised.
"""

from __future__ import annotations

import json
import sys
import threading
from time import monotonic

from quarantine.client.errors import ClientConfigurationError
from quarantine.client.instants import Seconds, wall_s
from quarantine.client.snapshot import Snapshot, SnapshotCache, read_answer, variant_hash
from quarantine.client.target import Target

__all__ = ["GatingSet", "is_gating"]

TYPE_CHECKING = False  # as in the package: importing `typing` is a good part of what a question costs
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import Any

NO_NAMES: frozenset[str] = frozenset()
MAX_WAIT_S = 600.0
"""Longest pause between two questions to a daemon that does not answer, in seconds."""
FIRST_WAIT_S = 15.0
"""Pause after the first failed question, in seconds; it doubles with each further one."""
DEFAULT_TIMEOUT_S = 5.0

_OK, _NOT_MODIFIED, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND = 200, 304, 401, 403, 404


class _Standing:
    """What look-ups read: replaced as a whole, never changed, so that reading it needs no lock."""

    __slots__ = ("by_variant", "due", "expires", "never", "snapshot")

    def __init__(self, snapshot: Snapshot | None, due: float, expires: float) -> None:
        self.snapshot = snapshot
        self.due = due  # on the monotonic clock: until then it is used without asking
        self.expires = expires  # on the monotonic clock: until then it may be used while another thread asks
        self.never = snapshot.never if snapshot else NO_NAMES
        self.by_variant = snapshot.by_variant if snapshot else {}


class GatingSet:
    """The gating set of one project, kept up to date while it is used. Threads may share one.

    Args:
        url: the daemon's address.
        project: the project's name.
        token: sent as a bearer token; None sends none.
        cache_dir: folder of the copy on disk; see `SnapshotCache`.
        max_age_s: a shorter maximum age than the daemon's, in seconds; None takes the daemon's.
        timeout_s: seconds to wait for the daemon, to connect and then for its whole answer, before the last snapshot
            is used instead.
        clock: the wall clock; it tells how old the copy on disk is.

    Raises:
        ClientConfigurationError: an argument cannot be used.
    """

    def __init__(
        self,
        url: str,
        project: str,
        token: str | None = None,
        *,
        cache_dir: str | os.PathLike[str] | None = None,
        max_age_s: float | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        clock: Seconds = wall_s,
    ) -> None:
        if timeout_s <= 0 or (max_age_s is not None and max_age_s < 0):
            raise ClientConfigurationError("A time-out is above 0 seconds, and a maximum age not below.")
        self.target = Target(url, project, token)
        self.max_age_s = max_age_s
        self.timeout_s = timeout_s
        self._clock = clock
        self._cache = SnapshotCache(self.target, cache_dir)
        self._lock = threading.Lock()
        self._answer: dict[str, Any] | None = None
        self._confirmed: tuple[float, float] | None = None  # monotonic and wall seconds of the last confirmation
        self._cache_was_read = False
        self._failures = 0
        self._said: set[str] = set()
        self._standing = _Standing(None, due=float("-inf"), expires=float("-inf"))

    @classmethod
    def from_environment(cls) -> GatingSet:
        """Return the gating set that QUARANTINE_URL, QUARANTINE_PROJECT and QUARANTINE_TOKEN name.

        Raises:
            ClientConfigurationError: a variable is missing or ill-formed.
        """
        target = Target.from_environment()
        return cls(target.url, target.project, target.token)

    @property
    def snapshot(self) -> str | None:
        """The id of the snapshot in use; None while every test gates for want of one."""
        standing = self._current()
        return standing.snapshot.name if standing.snapshot else None

    def is_gating(self, test_id: str, variant: Mapping[str, str] | str | None = None) -> bool:
        """Return whether a failure of the test counts. A test the daemon does not know gates.

        Args:
            test_id: the opaque id, `classname::name`, or the pytest node id.
            variant: its key-value pairs, the CI job's name among them, or its hash. Without it, a test gates if it
                gates in any variant. In one that trunk never ran every test gates, which is said once on stderr.
        """
        standing = self._standing
        if monotonic() >= standing.due:
            standing = self._current()
        if variant is None:
            return test_id not in standing.never
        variants = standing.by_variant.get(test_id)
        if variants is None:
            return test_id not in standing.never
        key = variant if isinstance(variant, str) else variant_hash(variant)
        if key not in variants and standing.snapshot and key not in (standing.snapshot.variants or (key,)):
            self._say("unknown variant", f"has seen no trunk build in variant {key}, so every test gates in it")
        return key not in variants

    def refresh(self) -> None:
        """Ask the daemon now, due or not."""
        with self._lock:
            self._ask()

    def _current(self) -> _Standing:
        """Return a standing that may be used, asking the daemon when it is due.

        While one thread asks, the others go by a snapshot that is young enough; the first of all must wait. A lock
        that stays taken (a fork in the middle of a question) is given up: then every test gates.
        """
        standing = self._standing
        now = monotonic()
        if now < standing.due:
            return standing
        if not self._lock.acquire(timeout=0.0 if now < standing.expires else 3 * self.timeout_s):
            return standing if now < standing.expires else _Standing(None, now, now)
        try:
            if monotonic() >= self._standing.due:
                self._ask()
            return self._standing
        finally:
            self._lock.release()

    def _ask(self) -> None:
        from quarantine.client.wire import Unreachable, exchange  # noqa: PLC0415 - loads http.client only when asking

        self._read_cache()
        known = {"If-None-Match": f'"{self._answer["snapshot"]}"'} if self._answer else {}
        try:
            reply = exchange(
                self.target, "GET", "gating", headers=known, timeout_s=self.timeout_s, whole_s=self.timeout_s
            )
        except Unreachable as error:
            self._fall_back(f"cannot be reached ({error})")
            return
        if reply.status == _NOT_MODIFIED and self._answer is not None:
            self._confirm(self._answer)
        elif reply.status == _OK:
            self._take(reply.body)
        elif reply.status in (_UNAUTHORIZED, _FORBIDDEN):
            self._refuse("does not accept the token for this project; check QUARANTINE_TOKEN")
        elif reply.status == _NOT_FOUND:
            self._refuse("does not know this project; check QUARANTINE_PROJECT and QUARANTINE_URL")
        else:
            self._fall_back(f"answered with status {reply.status}")

    def _take(self, body: bytes) -> None:
        try:
            answer = json.loads(body)
            read_answer(answer, self.target.project)
        except (ValueError, RecursionError) as error:
            self._fall_back(f"gave an answer that is not a gating set ({error})")
            return
        self._confirm(answer)

    def _confirm(self, answer: dict[str, Any]) -> None:
        """The daemon has just said that this answer holds: stand on it, and keep a copy."""
        self._answer, self._confirmed, self._failures = answer, (monotonic(), self._clock()), 0
        self._stand(read_answer(answer, self.target.project).refresh_s)
        self._cache.save(answer, self._confirmed[1])

    def _read_cache(self) -> None:
        """Before the first question only: take the copy on disk as the last snapshot."""
        if self._cache_was_read:
            return
        self._cache_was_read = True
        copy = self._cache.load(self._clock())
        if copy is not None:
            answer, confirmed_s = copy
            age_s = max(0.0, self._clock() - confirmed_s)
            self._answer, self._confirmed = answer, (monotonic() - age_s, confirmed_s)

    def _fall_back(self, what: str) -> None:
        self._stand(self._wait_s())
        snapshot = self._standing.snapshot
        if snapshot is None:
            self._say("no snapshot", f"{what}, and there is no snapshot young enough: every test gates")
        else:
            self._say("old snapshot", f"{what}: going by snapshot {snapshot.name}, {self._age_s():.0f} s old")

    def _refuse(self, what: str) -> None:
        self._answer = self._confirmed = None
        self._stand(self._wait_s())
        self._say(what, f"{what}. Every test gates")

    def _stand(self, wait_s: float) -> None:
        """Stand on the last answer for `wait_s`, or until it reaches its maximum age; on nothing if it has."""
        snapshot = read_answer(self._answer, self.target.project) if self._answer else None
        left_s = self._left_s(snapshot) if snapshot else 0.0
        now = monotonic()
        if left_s <= 0:
            self._standing = _Standing(None, now + wait_s, now + wait_s)
        else:
            self._standing = _Standing(snapshot, now + min(wait_s, left_s), now + left_s)

    def _left_s(self, snapshot: Snapshot) -> float:
        limit_s = snapshot.max_age_s if self.max_age_s is None else min(snapshot.max_age_s, self.max_age_s)
        return limit_s - self._age_s()

    def _age_s(self) -> float:
        """Seconds since the daemon last confirmed the answer, by the clock that says more: a machine may sleep."""
        if self._confirmed is None:
            return float("inf")
        return max(monotonic() - self._confirmed[0], self._clock() - self._confirmed[1])

    def _wait_s(self) -> float:
        self._failures += 1
        return min(MAX_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 10))

    def _say(self, key: str, sentence: str) -> None:
        if key in self._said:
            return
        self._said.add(key)
        try:
            sys.stderr.write(f"quarantine: {self.target.url}, project {self.target.project}, {sentence}.\n")
        except (OSError, ValueError, AttributeError):  # a closed or missing stderr is no reason to fail a test
            return


_default: GatingSet | None = None
_default_lock = threading.Lock()


def is_gating(test_id: str, variant: Mapping[str, str] | str | None = None) -> bool:
    """Return whether a failure of the test counts, by the project that the environment names.

    QUARANTINE_URL, QUARANTINE_PROJECT and QUARANTINE_TOKEN are read at the first call. See `GatingSet.is_gating`.

    Raises:
        ClientConfigurationError: a variable is missing or ill-formed.
    """
    if _default is None:
        return _environment_set().is_gating(test_id, variant)
    standing = _default._standing  # noqa: SLF001 - the hot path: one look-up without a second call
    if variant is None and monotonic() < standing.due:
        return test_id not in standing.never
    return _default.is_gating(test_id, variant)


def _environment_set() -> GatingSet:
    global _default  # noqa: PLW0603 - one gating set a process, built when it is first asked
    with _default_lock:
        if _default is None:
            _default = GatingSet.from_environment()
        return _default
