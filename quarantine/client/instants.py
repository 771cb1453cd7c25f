"""The client's two clocks. It stands apart from `quarantine.clock`, which belongs to the daemon."""

import time
from collections.abc import Callable

Seconds = Callable[[], float]
"""Returns seconds since some fixed instant."""

monotonic_s: Seconds = time.monotonic
"""Seconds that never run backwards; their zero means nothing."""


def wall_s() -> float:
    """Return seconds since 1970-01-01 UTC as the machine believes them."""
    return time.time()  # noqa: TID251 - the one place of the client that reads the wall clock


def iso_instant(seconds: float) -> str:
    """Return an instant, in seconds since 1970-01-01 UTC, as ISO 8601 with whole seconds and `+00:00`."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))
