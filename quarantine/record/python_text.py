"""Python's own tracebacks: chained exceptions, exception groups, unittest, and `pytest --tb=native`."""

import re
from collections.abc import Iterator, Sequence

from quarantine.record.anatomy import Frame, Raised

FILE = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>[0-9]+)(?:, in (?P<function>.*))?$')
TRACEBACK = "Traceback (most recent call last):"
RELATIONS = {
    "The above exception was the direct cause of the following exception:": "caused by",
    "During handling of the above exception, another exception occurred:": "raised while handling",
}
GROUP_BAR = re.compile(r"^\s*(?:\|\s{0,1})+|^\s*\+ (?=Exception Group)")
GROUP_RULE = re.compile(r"^\s*\+[-+]+(?: (?P<number>[0-9]+|\.\.\.) -+)?\s*$")
CARETS = re.compile(r"^[\s~^]*$")
REPEATED = re.compile(r"^\s*\[Previous line repeated [0-9]+ more times?\]$")


def is_python(lines: Sequence[str]) -> bool:
    """Whether the lines hold a traceback as Python itself writes it."""
    return any(FILE.match(line) or line.endswith(TRACEBACK) for line in map(_without_bar, lines))


def read_python(lines: Sequence[str]) -> tuple[Raised, ...]:
    """Return the chain: the exception that was reported, what it was caused by, what a group of exceptions holds."""
    chain: list[Raised] = []
    for number, block in _group_blocks(lines):
        parts = chained([_without_bar(line) for line in block] if number or _has_bars(block) else block)
        links = [_raised(part)._replace(relation=relation) for relation, part in parts]
        if number:
            links[0] = links[0]._replace(relation=f"sub-exception {number}")
        chain += [link for link in links if link.headline or link.frames]
    return tuple(chain)


def chained(lines: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return the parts of a chain of exceptions, the reported one first, each with its relation to the one before."""
    parts: list[tuple[str, list[str]]] = []
    part: list[str] = []
    for line in lines:
        relation = RELATIONS.get(line.strip())
        if relation is None:
            part.append(line)
        else:
            parts.append((relation, part))
            part = []
    return [("", part), *reversed(parts)]


def _group_blocks(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the text of a group of exceptions, then that of each exception in it with its number."""
    number, block = "", list[str]()
    for line in lines:
        rule = GROUP_RULE.match(line)
        if rule is None:
            block.append(line)
            continue
        if any(map(str.strip, block)):
            yield number, block
        number, block = rule["number"] or "", []
    if any(map(str.strip, block)):
        yield number, block


def _has_bars(block: Sequence[str]) -> bool:
    return any(line.lstrip().startswith(("| ", "+ Exception Group")) for line in block)


def _without_bar(line: str) -> str:
    return GROUP_BAR.sub("", line)


def _raised(lines: Sequence[str]) -> Raised:
    before: list[str] = []
    after: list[str] = []
    frames: list[Frame] = []
    for line in lines:
        place = FILE.match(line)
        if place and not after:
            frames.append(Frame(place["path"], int(place["line"]), place["function"] or ""))
        elif not frames:
            before.append(line)
        elif after or (line.strip() and not line[:1].isspace()):
            after.append(line)
        elif not frames[-1].code and not CARETS.match(line) and not REPEATED.match(line):
            frames[-1] = frames[-1]._replace(code=line.strip())
    said = [line for line in [*after, *([] if after else before)] if not line.endswith(TRACEBACK)]
    return from_lines(said, frames)


def from_lines(said: Sequence[str], frames: Sequence[Frame]) -> Raised:
    """Return what was raised with the first line that is not blank as its headline and the rest as details."""
    first = next((index for index, line in enumerate(said) if line.strip()), len(said))
    headline = said[first].strip() if first < len(said) else ""
    return Raised(headline, without_margin(said[first + 1 :]), tuple(frames))


def without_margin(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the lines without blank ones at the ends, and without what all of them are indented by."""
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    margin = min((len(line) - len(line.lstrip()) for line in kept if line), default=0)
    return tuple([line[margin:] for line in kept])
