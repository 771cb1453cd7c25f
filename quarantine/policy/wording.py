"""How numbers are written in the sentences people read."""

from collections.abc import Sequence

__all__ = ["days_of", "listed", "lowered", "named", "percent", "plural"]


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: `1 onset`, `1,200 onsets`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """Return a share as percent with three significant digits: `0.1 %`, `12.5 %`."""
    return f"{100 * share:.3g} %"


def days_of(days: float | None) -> str:
    """Return a number of days as people say it: `12 days`, `under a day`; `none` for None."""
    if days is None:
        return "none"
    return "under a day" if days < 1 else plural(int(days), "day")


def listed(parts: Sequence[str]) -> str:
    """Return the parts as prose: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def named(names: Sequence[str], most: int = 3) -> str:
    """Return the first of the names as prose, and how many others there are: `a, b, c and 4 others`."""
    more = len(names) - most
    return listed([*names[:most], plural(more, "other")] if more > 0 else names)


def lowered(sentence: str) -> str:
    """Return the sentence as it reads after a colon."""
    return sentence[:1].lower() + sentence[1:]
