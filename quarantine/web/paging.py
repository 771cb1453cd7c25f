"""Pages of lists: which one is asked for, and the addresses of the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

_LONGEST = 6


def page_of(params: Mapping[str, str]) -> int:
    """Return the page asked for; 1 for anything that is no page."""
    text = params.get("page", "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) <= _LONGEST else 1


def query(**params: str | int | None) -> str:
    """Return a query string with its question mark, what is empty left out; empty when nothing is left."""
    stated = {name: str(value) for name, value in params.items() if value not in (None, "")}
    return f"?{urlencode(stated, errors='replace')}" if stated else ""


@dataclass(frozen=True, slots=True)
class Pager:
    """Where a page stands among all of them.

    Attributes:
        number, last: this page and the last one, from 1.
        first_row, last_row: the rows on it, from 1; both 0 on a page without rows.
        total: rows in all.
        before, after: query strings of the neighbours; None where there is none.
    """

    number: int
    last: int
    first_row: int
    last_row: int
    total: int
    before: str | None
    after: str | None


def pager(number: int, size: int, total: int, **params: str | int | None) -> Pager:
    """Return the pager of page `number` of a list of `total` rows; `params` go into every address."""
    last = max(1, -(-total // size))
    first_row = (number - 1) * size + 1
    is_inside = first_row <= total
    before = min(number - 1, last)
    return Pager(
        number=number,
        last=last,
        first_row=first_row if is_inside else 0,
        last_row=min(number * size, total) if is_inside else 0,
        total=total,
        before=query(**params, page=before if before > 1 else None) if number > 1 else None,
        after=query(**params, page=number + 1) if number < last else None,
    )
