"""What changes from run to run, taken out of text that is going to be read, hashed or compared.

Four strengths. `tidy` is for comparisons and code, where a time or a number may be the very thing that is wrong: the
root of the tested tree, temporary folders and object addresses go. `settled` is for what else an exception says: times,
durations, UUIDs, process ids and ports go as well, but for those in quotation marks. `calm` is for captured output and
for the record's key: the same within quotation marks, and long hexadecimal words. `shape` is for telling failures of
one kind from those of another: literals and numbers go as well.
"""

import re
from collections.abc import Iterable

BEFORE_PATH = r"(?<![\w.~/\\-])"
TEMPORARY = re.compile(
    BEFORE_PATH + r"(?:/private)?(?:/tmp|/var/tmp|/var/folders/[\w+-]+/[\w+-]+/T|/dev/shm|/run/user/[0-9]+)"
    r"(?:/pytest-of-[\w.-]+/pytest-[0-9]+|/tmp[\w-]{6,}|/[\w.-]*?-?(?=[\w-]*[0-9])[\w-]{8,16}(?=/))?(?=[/\s'\"<>(),;:\]]|$)"
)
WINDOWS_TEMPORARY = re.compile(
    r"[A-Za-z]:\\(?:[^\s'\"<>\\]{1,60}\\){0,6}Temp(?=[\\\s'\"]|$)(?:\\tmp[\w-]{6,})?", re.IGNORECASE
)
ADDRESS = re.compile(
    r"\b0x[0-9a-fA-F]{9,16}\b|\b(?<=at )0x[0-9a-fA-F]+\b|(?<=[\w\]>;]@)[0-9a-f]{5,16}\b|(?<= )\+0x[0-9a-f]+\b"
)

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)
DATE = r"[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}"
CLOCK = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?"
ZONE = r"(?:\s?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})\b)?"
TIME = re.compile(rf"\b{DATE}(?:[T_ ]{CLOCK}{ZONE})?(?![\w-])|\b{CLOCK}{ZONE}")
DURATION = re.compile(
    r"(?<![\w.])[0-9]+(?:[.,][0-9]+)?(?:e-?[0-9]+)?\s?(?:ns|[µu]s|ms|s|m|secs?|seconds?|millis(?:econds)?|mins?|minutes?)\b"
)
PROCESS = re.compile(
    r"\b((?:pid|ppid|tid|process|thread)(?:[ _-]?id)?[ =:#'\"]{1,3}|(?:Process|Thread|Worker)-)[0-9]+\b", re.IGNORECASE
)
PORT = re.compile(
    r"\b((?:localhost|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|::1\]?):|port[ =:'\"]{1,3})[0-9]{2,5}\b", re.IGNORECASE
)
HEXADECIMAL = re.compile(r"\b(?:0x[0-9a-f]+|(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,})\b", re.IGNORECASE)

LITERAL = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`[^`\n]*`")
NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?[0-9]+(?:[.,_][0-9]+)*(?:e[-+]?[0-9]+)?", re.IGNORECASE)
LONGEST_SHAPE = 400
COMPARISON = re.compile(
    r"[=!<>]=|\bassert|\bexpect|\bactual\b|\breceived\b|\bgot\b|\bbut was\b|\bdiffer|^\s*[-+] |^\s*(?:left|right): ",
    re.IGNORECASE,
)

TIDY = ((TEMPORARY, "<tmp>"), (WINDOWS_TEMPORARY, "<tmp>"), (ADDRESS, "<address>"))
TIDY_CUES = ("tmp", "/var/", "shm", "/run/", "Temp", "temp", "TEMP", "0x", "@")
"""Without any of these in it, a text is tidy: most are."""

SETTLED = (
    (UUID, "<uuid>"),
    (TIME, "<time>"),
    (DURATION, "<duration>"),
    (PROCESS, r"\1<pid>"),
    (PORT, r"\1<port>"),
)
CALM = (*SETTLED, (HEXADECIMAL, "<hex>"))
SHAPE = ((LITERAL, "<text>"), (NUMBER, "<n>"))


def tidy(text: str, root: str = "") -> str:
    """Return `text` without `root`, temporary folders and object addresses. Lines keep their number and order."""
    if root and root in text:
        text = re.sub(rf"{BEFORE_PATH}(?:/private)?{re.escape(root)}(?:[/\\]|(?![\w.-]))", "", text)
    return _replaced(text, TIDY) if any(cue in text for cue in TIDY_CUES) else text


def is_comparison(lines: Iterable[str]) -> bool:
    """Whether any of the lines sets what was expected beside what there was."""
    return any(COMPARISON.search(line) for line in lines)


def settled(text: str, root: str = "") -> str:
    """Return `tidy(text, root)` without times, durations, UUIDs, process ids and ports outside quotation marks."""
    pieces: list[str] = []
    end = 0
    tidied = tidy(text, root)
    for literal in LITERAL.finditer(tidied):
        pieces += [_replaced(tidied[end : literal.start()], SETTLED), literal[0]]
        end = literal.end()
    return "".join([*pieces, _replaced(tidied[end:], SETTLED)])


def calm(text: str, root: str = "") -> str:
    """Return `tidy(text, root)` without times, durations, UUIDs, process ids, ports and long hexadecimal words."""
    return _replaced(tidy(text, root), CALM)


def shape(text: str) -> str:
    """Return what is left of the head of a calm `text` without literals and numbers."""
    return _replaced(calm(text[:LONGEST_SHAPE]), SHAPE)


def _replaced(text: str, steps: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, placeholder in steps:
        text = pattern.sub(placeholder, text)
    return text
