"""What the chart of a weekly report shows, in numbers and in words, before anybody draws it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

__all__ = ["MOST_WEEKS", "SizeChart", "SizeWeek"]

MOST_WEEKS = 27


@dataclass(frozen=True, slots=True)
class SizeWeek:
    """One week.

    Attributes:
        label: what the week is called on the axis, such as `5 Jan`.
        size: quarantined tests at its end.
        entered, left: tests that entered and left quarantine within it.
    """

    label: str
    size: int
    entered: int
    left: int


@dataclass(frozen=True, slots=True)
class SizeChart:
    """How the quarantine grew and shrank, week by week, the oldest first.

    Raises ValueError for no week, for more than `MOST_WEEKS` and for a number below nothing.
    """

    title: str
    weeks: tuple[SizeWeek, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.weeks) <= MOST_WEEKS:
            raise ValueError(f"a chart shows 1 to {MOST_WEEKS} weeks, not {len(self.weeks)}")
        if any(min(week.size, week.entered, week.left) < 0 for week in self.weeks):
            raise ValueError("a chart counts tests, so no number is below 0")

    @property
    def alternative(self) -> str:
        """The chart in words: how it began, what was most, how it stands, and what the last week brought."""
        first, last = self.weeks[0], self.weeks[-1]
        most = max(self.weeks, key=lambda week: week.size)
        moved = f"{last.entered:,} entered and {last.left:,} left"
        if len(self.weeks) == 1:
            return f"{self.title}. {last.label}: {_tests(last.size)}; {moved}."
        return (
            f"{self.title}. {first.label} to {last.label}: {_tests(first.size)} at first, at most {most.size:,} "
            f"({most.label}), {last.size:,} now; in the last week {moved}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes back."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the chart that `to_json` wrote."""
        return cls(values["title"], tuple(SizeWeek(**week) for week in values["weeks"]))


def _tests(count: int) -> str:
    return f"{count:,} {'test' if count == 1 else 'tests'}"
