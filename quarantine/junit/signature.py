"""Failure signatures: one short word for failures that read the same but for what changes from run to run.

Algorithm s1: BLAKE2b (64 bits) over the length-prefixed exception type and normalised text. The text is the message;
where the message says nothing (empty, `Failed`, `failure` ...) it is the head of the detail. Normalising, in order:
terminal sequences go; UUIDs, timestamps, temporary and absolute paths, object addresses, long hexadecimal words and
numbers become placeholders; line numbers go with what names the line; blanks become one; 2,000 characters are kept.
A change to any of this needs a new prefix, because signatures are stored.
"""

import re
from hashlib import blake2b
from itertools import takewhile

from quarantine.domain.report import Result
from quarantine.junit.texts import CAPTURED, plain_text

PREFIX = "s1:"
DIGEST_BYTES = 8
LONGEST_INPUT = 8_000
LONGEST_TEXT = 2_000
DETAIL_LINES = 12

SAYS_NOTHING = frozenset({"", "failed", "failure", "error", "test failed", "assertion failed", "none", "null"})

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
TIMESTAMP = re.compile(rf"\b{DATE}(?:[T_ ]{CLOCK})?(?:\s?(?:Z|UTC|GMT|[+-][0-9]{{2}}:?[0-9]{{2}})\b)?|\b{CLOCK}\b")
TEMPORARY = re.compile(
    r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm|run/user)/[^\s'\"<>(),;:]*"
    r"|[A-Za-z]:\\(?:[^\s'\"<>]{0,200}\\)?Temp\\[^\s'\"<>(),;]*"
    r"|\bpytest-of-\w+/pytest-[0-9]+/[^\s'\"<>(),;:]*",
    re.IGNORECASE,
)
ADDRESS = re.compile(r"\b0x[0-9a-f]+\b|@[0-9a-f]{5,16}\b", re.IGNORECASE)
LINE = re.compile(
    r"(?<=[\w)])(?::[0-9]+){1,2}(?=[\s:,)\]]|$)|,?\s*\bline [0-9]+\b|(?<=\w)\([0-9]+(?:,[0-9]+)?\)(?=:|\s|$)",
    re.IGNORECASE,
)
HEXADECIMAL = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE)
NUMBER = re.compile(r"(?<!\w)[-+]?[0-9]+(?:[.,_][0-9]+)*(?:e[-+]?[0-9]+)?", re.IGNORECASE)
DIRECTORY = re.compile(r"(?<![\w<./])(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}[/\\](?=[\w.@+-])")
BLANKS = re.compile(r"\s+")

STEPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (UUID, "<uuid>"),
    (TIMESTAMP, "<time>"),
    (TEMPORARY, "<tmp>"),
    (DIRECTORY, ""),
    (ADDRESS, "<address>"),
    (LINE, ""),
    (HEXADECIMAL, "<hex>"),
    (NUMBER, "<n>"),
    (BLANKS, " "),
)


def normalised(text: str) -> str:
    """Return `text` without what changes from run to run; see the module's docstring."""
    text = plain_text(text[:LONGEST_INPUT])
    for pattern, placeholder in STEPS:
        text = pattern.sub(placeholder, text)
    return text.strip()[:LONGEST_TEXT]


def signature(result: Result) -> str:
    """Return the signature of a failed try: `s1:` and 16 hexadecimal digits.

    It is empty for a try that did not fail, and for a failure of which the report says nothing at all: such failures
    are unknown, not alike.
    """
    if not result.outcome.is_failure:
        return ""
    message = result.message.strip()
    says_nothing = message.rstrip(".!").lower() in SAYS_NOTHING
    text = normalised(_head(result.detail) or message if says_nothing else message)
    kind = result.kind.strip()
    if not text and not kind:
        return ""
    content = f"{len(kind)}:{kind}{text}".encode("utf-8", "surrogatepass")
    return PREFIX + blake2b(content, digest_size=DIGEST_BYTES).hexdigest()


def _head(detail: str) -> str:
    """Return the first lines of a detail that are not blank; what the test printed is no part of how it failed."""
    said = takewhile(lambda line: not CAPTURED.match(line), detail[:LONGEST_INPUT].splitlines())
    lines = [line for line in said if line.strip()]
    return "\n".join(lines[:DETAIL_LINES])
