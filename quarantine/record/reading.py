"""The text of a failure in, what it is made of out: which tool wrote it is seen from the text alone."""

import re
from collections.abc import Sequence
from itertools import groupby

from quarantine.record.anatomy import Anatomy, Output, Raised
from quarantine.record.plain import one_line, plain
from quarantine.record.pytest_text import is_pytest, read_pytest
from quarantine.record.python_text import is_python, read_python
from quarantine.record.stacks import HEADLINE, read_stack

SECTION = re.compile(r"^-{3,} ?Captured (?P<title>[A-Za-z ]{2,40}?) ?-{3,}$|^(?P<stream>Stdout|Stderr):$")
PHASE = re.compile(r"^failed on (?P<phase>setup|teardown) with \"")
EXCEPTION = re.compile(r"(?:^|[\w.\\$])(?:Error|Exception|Failure|Failed|Warning|Timeout)$")
BLANKS = re.compile(r"\s+(?:E\s+)?")
SAME_CHARS = 80
SILENT = frozenset(
    {
        "",
        "failed",
        "failure",
        "error",
        "none",
        "test failure",
        "test failed",
        "collection failure",
        "build error",
        "runtime error",
    }
)
NOTHING_SAID = "(the report gives no message)"


def read(kind: str, message: str, detail: str) -> Anatomy:
    """Return what the failure is made of. One copy: a message that stands in the detail too is taken from there."""
    body, outputs = _sections(plain(detail).split("\n"))
    if is_pytest(body):
        chain = read_pytest(body)
    elif is_python(body):
        chain = read_python(body)
    else:
        chain = read_stack(body)
    first, *rest = chain or (Raised(""),)
    return Anatomy((_headed(first, one_line(kind), _own_message(message), body), *rest), outputs)


def phase(message: str) -> str:
    """Return `setup` or `teardown` when the message says that a fixture failed and not the test; else nothing."""
    match = PHASE.match(message)
    return match["phase"] if match else ""


def _own_message(message: str) -> str:
    return PHASE.sub("", plain(message)).strip().removesuffix('"')


def _headed(first: Raised, kind: str, message: str, body: Sequence[str]) -> Raised:
    """Return what was reported with a headline in any case, and with what only the message says."""
    says_more = message.lower().rstrip(".!:") not in SILENT and not _is_within(message, body)
    lines = [line.rstrip() for line in message.split("\n")] if says_more else []
    if first.headline.lower().rstrip(".!:") in SILENT:
        head = lines.pop(0) if lines else first.headline or message.partition("\n")[0] or kind or NOTHING_SAID
        first = first._replace(headline=head.strip())
    elif lines and HEADLINE.search(lines[0]) and not HEADLINE.search(first.headline):
        head = lines.pop(0).strip()
        less = () if first.headline in head else (first.headline,)
        first = first._replace(headline=head, details=(*less, *first.details))
    if EXCEPTION.search(kind) and re.split(r"[.\\$]", kind)[-1] not in first.headline:
        first = first._replace(headline=f"{kind}: {first.headline}")
    return first._replace(details=_once([*first.details, *[line for line in lines if line.strip()]], first.headline))


def _once(details: Sequence[str], headline: str) -> tuple[str, ...]:
    """Return the details without the paragraphs that repeat an earlier one or the headline."""
    said = {headline.strip()}
    kept: list[str] = []
    for is_blank, group in groupby(details, lambda line: not line.strip()):
        paragraph = list(group)
        text = "\n".join(paragraph).strip()
        if is_blank:
            kept += [""] if kept and kept[-1] else []
        elif text not in said:
            said.add(text)
            kept += paragraph
    return tuple(kept[:-1] if kept and not kept[-1] else kept)


def _is_within(message: str, body: Sequence[str]) -> bool:
    """Whether the message's first line stands in the body, whatever blanks and line ends became on the way."""
    first = next((line.strip() for line in message.split("\n") if line.strip()), "")
    text = "\n".join(body)
    return first in text or BLANKS.sub("", first)[:SAME_CHARS] in BLANKS.sub("", text)


def _sections(lines: Sequence[str]) -> tuple[list[str], tuple[Output, ...]]:
    """Return the failure's own lines, and what was captured."""
    body: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for line in lines:
        match = SECTION.match(line)
        if match:
            title = (match["title"] or match["stream"]).lower()
            sections.append((f"captured {title}", []))
        else:
            (sections[-1][1] if sections else body).append(line)
    return body, tuple([Output(title, tuple(kept)) for title, kept in sections if any(map(str.strip, kept))])
