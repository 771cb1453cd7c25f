"""The one place that reads the time. Everything else is handed a clock, or the instant itself."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

__all__ = ["Clock", "FrozenClock", "system_clock"]

Clock = Callable[[], datetime]
"""Returns the present instant, aware and in UTC."""


def system_clock() -> datetime:
    """Return the machine's present instant, aware and in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the one place


class FrozenClock:
    """A clock that stands still until it is moved; the demo and the scenario tests run on one."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the instant the clock stands at."""
        return self.now

    def advance(self, by: timedelta) -> None:
        """Move the clock forward by `by`; raises ValueError when `by` is negative."""
        if by < timedelta(0):
            raise ValueError(f"a clock does not run backwards: {by}")
        self.now += by
