"""What a record says of each group beyond its id and its cause: details, frames, further ids, captured output."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quarantine.record.anatomy import Frame, Output, Raised
from quarantine.record.fitting import cost, head_and_tail
from quarantine.record.grouping import Case, Group
from quarantine.record.literals import narrowed
from quarantine.record.noise import calm
from quarantine.record.plain import quoted_id
from quarantine.record.python_text import FILE

DETAIL_WIDTH = 400
FRAME_WIDTH = 240
CAUSE_WIDTH = 120
OUTPUT_WIDTH = 240
MOST_LINKS = 4
SHORTEST_REPEAT = 12
CALLERS = "called from, innermost last"
HIDDEN = re.compile(
    r"^\s*(?:Use -v+ to get (?:more|the full) diff|Diff is [0-9]+ characters long\. Set self\.maxDiff.*"
    r"|use 'pytest --fixtures.*)$"
)


class Section(NamedTuple):
    """One headed piece of a group.

    Attributes:
        heading: a line of the record's own.
        lines: quoted lines, in order; may be empty, when the heading says it all.
        unit: what a line stands for, in the count of those left out.
        end_first: whether the last lines tell most.
    """

    heading: str
    lines: tuple[str, ...]
    unit: str = "lines"
    end_first: bool = False

    @property
    def demand(self) -> int:
        """Tokens of the whole of it."""
        return cost([self.heading, *self.lines])

    def within(self, room: int) -> list[str]:
        """Return what fits into `room` tokens; nothing when not even one line does."""
        left = room - cost([self.heading])
        if left < 0:
            return []
        kept = head_and_tail(self.lines, left, self._gap, end_first=self.end_first)
        return [self.heading, *kept] if kept or not self.lines else []

    def _gap(self, count: int) -> str:
        return f"[... {count:,} {self.unit if count > 1 else self.unit.removesuffix('s')} left out ...]"


class Stages(NamedTuple):
    """The sections of one group, in the order in which room is given to them and in which they are shown."""

    details: list[Section]
    frames: list[Section]
    ids: list[Section]
    outputs: list[Section]


def quoted_line(text: str) -> str:
    """Return a line of a report as the record quotes it."""
    return f"| {text}" if text else "|"


class Sections:
    """Makes the sections of each group in turn, and says nothing twice."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._told: set[str] = set()
        self._shown: dict[tuple[str, ...], int] = {}

    def of(self, number: int, group: Group) -> Stages:
        """Return what there is to say of the group with this number, its first case speaking for all."""
        case = group[0]
        self._told |= {text.strip() for text in _told_by(case) if len(text.strip()) >= SHORTEST_REPEAT}
        links = case.anatomy.chain
        linked = list(links) if len(links) <= MOST_LINKS else [*links[: MOST_LINKS // 2], *links[-MOST_LINKS // 2 :]]
        details = [self._once(number, _heading(link, linked, links), _detail_lines(link)) for link in linked]
        frames = [self._once(number, CALLERS, _frame_lines(case))]
        outputs = [self._output(number, output) for output in case.anatomy.outputs]
        return Stages(_filled(details), _filled(frames), _filled([_ids(number, group)]), _filled(outputs))

    def _once(self, number: int, what: str, lines: Sequence[str]) -> Section | None:
        """Return a section, which refers to an earlier one when it would say the same."""
        quoted = tuple([quoted_line(line) for line in lines])
        if not quoted:
            return None
        earlier = self._shown.setdefault(quoted, number)
        if earlier != number and len(quoted) > 1:
            return Section(f"[{number}] {what}: as in [{earlier}]", ())
        is_frames = what == CALLERS
        return Section(f"[{number}] {what}:", quoted, "frames" if is_frames else "lines", end_first=is_frames)

    def _output(self, number: int, output: Output) -> Section | None:
        lines = [calm(line.rstrip(), self._root) for line in output.lines if line.strip()]
        fresh = list(dict.fromkeys([line for line in lines if not self._is_told(line)]))
        repeats = len(lines) - len(fresh)
        heading = (
            f"[{number}] {output.title}, {repeats:,} repeated lines left out"
            if repeats
            else f"[{number}] {output.title}"
        )
        quoted = tuple([quoted_line(line) for line in narrowed(fresh, OUTPUT_WIDTH)])
        self._told |= {line.strip() for line in fresh if len(line.strip()) >= SHORTEST_REPEAT}
        return Section(f"{heading}:", quoted, end_first=True) if quoted else None

    def _is_told(self, line: str) -> bool:
        file = FILE.match(line)
        return line.strip() in self._told or (file is not None and f"{file['path']}:{file['line']}" in self._told)


def _filled(sections: Sequence[Section | None]) -> list[Section]:
    return [section for section in sections if section is not None]


def _heading(link: Raised, linked: Sequence[Raised], links: Sequence[Raised]) -> str:
    what = link.relation or "says"
    left_out = len(links) - len(linked)
    return f"{what} (with {left_out} more exceptions between, left out)" if left_out and link is linked[-2] else what


def _told_by(case: Case) -> Iterator[str]:
    for link in case.anatomy.chain:
        yield link.headline
        yield from link.details
    for frame in case.frames:
        yield frame.place
        yield frame.code


def _detail_lines(link: Raised) -> list[str]:
    """Return what was said beyond what the index has, which is the headline and the place of the first of a chain."""
    opening = [link.headline, *[frame_line(frame) for frame in link.frames[-1:]]] if link.relation else []
    details = [line for line in link.details if not HIDDEN.match(line)]
    return narrowed([*opening, *details], DETAIL_WIDTH)


def _frame_lines(case: Case) -> list[str]:
    """Return the frames that neither the index nor the details show."""
    shown = {link.frames[-1] for link in case.anatomy.chain if link.frames}
    return [frame_line(frame) for frame in case.frames if frame not in shown]


def place_of(case: Case) -> str:
    """Return where it failed, with the statement as written; empty when no frame lies in the repository."""
    frames = case.anatomy.chain[0].frames
    return frame_line(frames[-1]) if frames else ""


def frame_line(frame: Frame) -> str:
    """Return a frame on one line: path, line, function, statement."""
    function = f" in {frame.function}" if frame.function else ""
    code = f": {frame.code}" if frame.code else ""
    return narrowed([f"{frame.place}{function}{code}"], FRAME_WIDTH)[0]


def _ids(number: int, group: Group) -> Section | None:
    """Return the ids after the first, each with its own cause where that differs from the first one's."""
    first, *others = group
    lines = tuple([f"- {quoted_id(case.name)}{_own_cause(case, first)}" for case in others])
    return Section(f"[{number}] also:", lines, "more tests") if lines else None


def _own_cause(case: Case, first: Case) -> str:
    return f" | {narrowed([case.cause], CAUSE_WIDTH)[0]}" if case.cause != first.cause else ""
