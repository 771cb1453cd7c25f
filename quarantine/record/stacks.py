"""Stack traces and assertion messages of tools outside Python, and of anything that is not understood."""

import re
from collections.abc import Sequence

from quarantine.record import stack_lines
from quarantine.record.anatomy import Frame, Raised
from quarantine.record.python_text import from_lines, without_margin

LONGEST_PATTERN_LINE = 1_500
BACKTRACE = re.compile(r"^\s*stack backtrace:", re.IGNORECASE)
RUST_FUNCTION = re.compile(r"^\s+[0-9]+: (?P<function>\S.*)$")
GO_FUNCTION = re.compile(r"^(?P<function>[\w./*()-]{1,300}?)\([^()]{0,300}\)$")

TELLING = re.compile(
    r"error|exception|fail|assert|expect|panic|actual|received|should|must|undefined|not |cannot|unable|timed? ?out",
    re.IGNORECASE,
)
"""A line that speaks of what went wrong."""

HEADLINE = re.compile(
    r"error|exception|fail|assert|panic|cannot|unable|timed? ?out|\bexpected\b.+\b(?:but|to|got|found|not)\b",
    re.IGNORECASE,
)
"""A line that may say it for all the others; what only labels one side of a comparison may not."""

HEADLINE_WITHIN = 4
LABEL = re.compile(
    r"^\W*(?:failed|failure|error|message|assertion failed|test suite failed to run)\W*$|:$", re.IGNORECASE
)


def read_stack(lines: Sequence[str]) -> tuple[Raised, ...]:
    """Return the chain: what was reported first, then each cause. Without any frame, all lines are what was said."""
    scan = _Scan()
    for line, following in zip(lines, [*lines[1:], ""], strict=False):
        scan.read(line, following)
    return scan.chain()


class _Scan:
    """Lines told apart: where a stack passes, what was said, what says nothing."""

    def __init__(self) -> None:
        self._links: list[Raised] = []
        self._said: list[str] = []
        self._printed: list[str] = []
        self._frames: list[Frame] = []
        self._relation = ""
        self._function = ""
        self._in_backtrace = False

    def read(self, line: str, following: str) -> None:
        cause = stack_lines.CAUSE.match(line)
        if cause:
            self._close()
            self._relation = "suppressed" if "Suppressed" in line else "caused by"
            self._said = [cause["said"]]
        elif len(line) > LONGEST_PATTERN_LINE or not (self._is_frame(line) or self._is_silent(line, following)):
            self._said.append(line)

    def _is_silent(self, line: str, following: str) -> bool:
        self._in_backtrace = self._in_backtrace or BACKTRACE.match(line) is not None
        if stack_lines.NOTHING.match(line) or stack_lines.NO_PLACE.match(line):
            return line.strip() != ""
        function = RUST_FUNCTION.match(line) if self._in_backtrace else GO_FUNCTION.match(line)
        if function and (self._in_backtrace or stack_lines.GO_STACK.match(following)):
            self._function = function["function"].strip()
            return True
        return False

    def _is_frame(self, line: str) -> bool:
        code = stack_lines.POINTED.match(line)
        if code or stack_lines.AROUND.match(line):
            self._said += [f"> {code['code'].strip()}"] if code else []
            return True
        match = next(filter(None, (pattern.match(line) for pattern in stack_lines.PATTERNS)), None)
        if match is None:
            return False
        if match.re is stack_lines.RUST_PANIC:  # what stands before it was printed, and is not what went wrong
            self._printed += [text for text in self._said if text.strip()]
            self._said = []
        self._frames.append(_frame(match, self._function))
        self._function = ""
        said = match.groupdict().get("said") or ""
        self._said.append("" if said == "Failure" else said)  # GoogleTest's word for any
        return True

    def _close(self) -> None:
        said = [line for line in self._said if line.strip()] if len(self._said) < HEADLINE_WITHIN else self._said
        if any(map(str.strip, said)) or self._frames:
            link = _headed(without_margin([*said, *self._printed]), tuple(reversed(self._frames)))
            self._links.append(link._replace(relation=self._relation))
        self._said, self._printed, self._frames = [], [], []

    def chain(self) -> tuple[Raised, ...]:
        self._close()
        return tuple(self._links)


def _frame(match: re.Match[str], function: str) -> Frame:
    groups = match.groupdict()
    line = int(groups["line"]) if groups["line"] else None
    owner, name, path = groups.get("owner") or "", (groups.get("function") or function).strip(), groups["path"].strip()
    if owner:
        package, _, simple = owner.rpartition(".")
        return Frame("/".join([*package.split("."), path]).lstrip("/"), line, f"{simple}.{name}", owner=owner)
    return Frame(path, line, name)


def _headed(said: Sequence[str], frames: tuple[Frame, ...]) -> Raised:
    """Return what was raised, headed by the first telling line; a bare label is joined with what follows it."""
    lines = _squeezed(said)
    filled = [index for index, line in enumerate(lines) if line.strip()]
    telling = [index for index in filled[:HEADLINE_WITHIN] if HEADLINE.search(lines[index])]
    at = (telling or filled or [0])[0]
    after = [index for index in filled if index > at]
    if after and LABEL.search(lines[at].strip()):
        lines[at] = f"{lines[at].strip()} {lines[after[0]].strip()}"
        del lines[at + 1 : after[0] + 1]
    raised = from_lines(lines[at:], frames)
    return raised._replace(details=(*[line for line in lines[:at] if line.strip()], *raised.details))


def _squeezed(lines: Sequence[str]) -> list[str]:
    """Return the lines with runs of blank ones as one."""
    return [line for index, line in enumerate(lines) if line.strip() or (index and lines[index - 1].strip())]
