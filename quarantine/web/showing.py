"""Text, numbers and instants as pages show them. Text from reports is hostile until it has been through here."""

import re
from datetime import datetime
from typing import Any
from urllib.parse import quote

from markupsafe import Markup, escape

from quarantine.junit.texts import plain_text
from quarantine.policy.wording import days_of, percent

LONGEST = 2_000
"""Characters of any one text on a page, unless a template asks for fewer."""

_SHORT_S, _SMALL = 10, 0.1
_UNSEEN = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that take no room: they would make two different names look alike. Joiners that scripts need stay."""


def shown(text: str, limit: int = LONGEST) -> str:
    """Return `text` without terminal sequences, with what cannot be seen spelt out, in at most `limit` characters.

    Control characters become U+FFFD (tab and newline stay); direction marks, characters without width and lone
    surrogates become `<U+202E>`. Not escaped for HTML: the template's autoescape does that.
    """
    plain = plain_text(text[: 4 * limit])
    plain = _UNSEEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", plain)
    if len(plain) <= limit and len(text) <= 4 * limit:
        return plain
    return f"{plain[: limit - 1]}\N{HORIZONTAL ELLIPSIS}"


def finalized(value: Any) -> Any:
    """Return what a template prints for `value`: text passes through `shown`, markup of our own and numbers do not."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def line(text: str, limit: int = 300) -> str:
    """Return `text` as one line of at most `limit` characters."""
    return shown(" ".join(text[: 4 * limit].split()), limit)


def name(text: str, limit: int = 300) -> Markup:
    """Return a test's name as one line, escaped, with places to break it where its parts end."""
    return Markup(re.sub(r"(::|[/.])(?=\w)", r"\g<0><wbr>", str(escape(line(text, limit)))))  # noqa: S704 - escaped here


def build(text: str, limit: int = 20) -> Markup:
    """Return the name of a build or a change, escaped; of a long one both ends, the whole of it on pointing at it."""
    whole = line(text)
    if len(whole) <= limit:
        return Markup("<bdi>{}</bdi>").format(whole)
    tail = (limit - 1) * 2 // 5
    short = f"{whole[: limit - 1 - tail]}\N{HORIZONTAL ELLIPSIS}{whole[-tail:]}"
    return Markup('<bdi title="{}">{}</bdi>').format(whole, short)


def coded(text: str, limit: int = 1_600) -> Markup:
    """Return a sentence as one line, escaped, in which what stands between backticks is code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(line(text, limit)))))  # noqa: S704 - escaped here


def prose(text: str, limit: int = 1_600) -> Markup:
    """Return a sentence as one line, escaped, in which no number is torn from its unit or from its exponent."""
    whole = re.sub(r"(?<=\d) (?=%|h\b)", "\N{NO-BREAK SPACE}", line(text, limit))
    return Markup(re.sub(r"\b[\d.]+e-\d+", r'<span class="whole">\g<0></span>', str(escape(whole))))  # noqa: S704 - escaped here


def share(value: float) -> str:
    """Return a share as percent, as the sentences write it, not to be torn apart."""
    return percent(value).replace(" ", "\N{NO-BREAK SPACE}")


def number(value: int) -> str:
    """Return a count with thousands apart: `1,200`."""
    return f"{value:,}"


def chance(value: float) -> str:
    """Return a p-value or a level with two significant digits, as the sentences write it."""
    return f"{value:.2g}"


def path_part(text: str) -> str:
    """Return `text` quoted as one segment of a path."""
    return quote(text, safe=":", errors="replace")


def moment(instant: str) -> Markup:
    """Return an instant (ISO 8601, UTC) as a `time` element that reads `9 Jan 2026, 21:45`."""
    at = datetime.fromisoformat(instant)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), f"{at.day} {at:%b %Y, %H:%M}")


def day(instant: str) -> Markup:
    """Return an instant as a `time` element that reads `9 Jan 2026`."""
    at = datetime.fromisoformat(instant)
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), f"{at.day} {at:%b %Y}")


def age(since: str, now: str) -> str:
    """Return how long ago `since` was: `12 minutes`, `5 hours`, `30 days`."""
    seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(since)).total_seconds()
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        count = int(seconds // size)
        if count >= (2 if unit == "day" else 1):
            return f"{count:,} {unit}" if count == 1 else f"{count:,} {unit}s"
    return "less than a minute"


def verbatim(text: str, limit: int = 24_000) -> Markup:
    """Return a text of several lines, escaped, in at most `limit` characters."""
    return escape(shown(text, limit))


def span(seconds: float) -> str:
    """Return a length of time: `0.4 s`, `42 s`, `12 min 5 s`, `3 h 20 min`."""
    if seconds < _SHORT_S:
        return f"{seconds:.2g}\N{NO-BREAK SPACE}s"
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    parts = ((hours, "h"), (minutes, "min"), (0 if hours else whole % 60, "s"))
    return " ".join(f"{count:,}\N{NO-BREAK SPACE}{unit}" for count, unit in parts if count)


def amount(value: float) -> str:
    """Return an amount of whatever currency: two decimals, or two digits where those would tell next to nothing."""
    return f"{value:,.2f}" if value >= _SMALL or value == 0 else f"{value:.2g}"


FILTERS = {
    "shown": shown,
    "verbatim": verbatim,
    "span": span,
    "amount": amount,
    "line": line,
    "name": name,
    "build": build,
    "coded": coded,
    "number": number,
    "prose": prose,
    "percent": share,
    "chance": chance,
    "path_part": path_part,
    "moment": moment,
    "day": day,
    "age": age,
    "days": days_of,
}
