"""Numbers as reports write them: what cannot be believed is None, never an exception and never NaN."""

import math
import re

DAY_S = 86_400.0
LONGEST_LINE = 1_000_000_000

THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]*|[0-9]{1,3}(?:,[0-9]{3}){2,}")
THOUSANDS_AND_DECIMAL_COMMA = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]*")
DECIMAL_COMMA = re.compile(r"[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})")
NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?|\.[0-9]+")


def duration_s(text: str | None) -> float | None:
    """Return a duration in seconds, finite and from 0 to one day, or None when the text gives none to believe.

    `1,234.5` is read as thousands and `0,03` as a decimal comma. A lone comma before exactly three digits (`0,039`)
    could be either, so it is unknown; so are NaN, infinities, negative numbers and units. More than a day is unknown
    as well: some tools write nanoseconds into this attribute.
    """
    if not text:
        return None
    value = number(text.strip())
    return value if value is not None and value <= DAY_S else None


def number(text: str) -> float | None:
    """Return the finite, non-negative number that `text` spells in one way only, else None."""
    if "," in text:
        text = _without_commas(text)
    if not NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def _without_commas(text: str) -> str:
    if THOUSANDS.fullmatch(text):
        return text.replace(",", "")
    if THOUSANDS_AND_DECIMAL_COMMA.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    return text.replace(",", ".") if DECIMAL_COMMA.fullmatch(text) else text


def count(text: str | None) -> int | None:
    """Return a count such as `tests="12"`, or None when it is no plain number below a billion."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > len(str(LONGEST_LINE)):
        return None
    return int(text)


def line_number(text: str | None) -> int | None:
    """Return a line from 1 to a billion, or None."""
    line = count(text)
    return line if line is not None and 1 <= line <= LONGEST_LINE else None
