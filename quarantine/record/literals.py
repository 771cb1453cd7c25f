"""Long lines cut in the middle, so that what differs between expected and actual stays in sight."""

import re
from collections.abc import Sequence

OPERATOR = re.compile(
    r" (?:==|!=|<=|>=|<|>|is not|is|not in|in) |; got | but was:? ?| to equal |\. Actual:? | instead of "
)
LABEL = re.compile(
    r"^\s*(?:[-+<>] ?|\+{2,3} |-{2,3} |(?:expected|actual|received|left|right|got|but was|found)\b[^\w'\"<\[{(]{0,6})",
    re.IGNORECASE,
)
BEFORE_LITERAL = re.compile(r"assert (?:not )?|: ?")
LONGEST_LEAD = 200
HINT = re.compile(r"^\s*\? [\s~^+-]*$")
BEFORE_SHARE = 3
NOTE_CHARS = 18
SAME_SIDES_WIDTH = 120


def narrowed(lines: Sequence[str], width: int) -> list[str]:
    """Return the lines, those longer than `width` characters cut around the first difference.

    What a line differs from is the other side of its comparison, or the next line that says the other half of an
    expected-and-actual pair. A line that differs from nothing keeps its head and tail. Marks that point at columns of
    a line that was cut (`? ^`) go.
    """
    narrow: list[str] = []
    for index, line in enumerate(lines):
        if len(line) > width:
            narrow.append(_narrowed(line, _partner(lines, index), width))
        elif not (HINT.match(line) and index and max(map(len, lines[max(index - 2, 0) : index])) > width):
            narrow.append(line)
    return narrow


def _partner(lines: Sequence[str], index: int) -> str:
    """Return the nearest other labelled long line; empty when there is none."""
    near = [index + 1, index - 1, index + 2, index - 2]
    own = LABEL.match(lines[index])
    for other in near if own else ():
        if 0 <= other < len(lines):
            label = LABEL.match(lines[other])
            if label and own and label[0].strip() != own[0].strip():
                return lines[other]
    return ""


def _narrowed(line: str, partner: str, width: int) -> str:
    if partner:
        skipped = _label_length(line)
        at = skipped + _shared(line[skipped:], partner[_label_length(partner) :])
        return around(line, at, width)
    operator = _operator(line)
    if operator is None:
        return head_and_end(line, width)
    left, right = line[: operator.start()], line[operator.end() :]
    start, shared = _alignment(left, right)
    if left[start:] == right:
        return head_and_end(line, min(width, SAME_SIDES_WIDTH))
    half = (width - len(operator[0])) // 2
    return around(left, start + shared, half) + operator[0] + around(right, shared, half)


def _alignment(left: str, right: str) -> tuple[int, int]:
    """Return where in `left` the text begins that is compared with `right`, and how many characters they share."""
    starts = [0, *[match.end() for match in BEFORE_LITERAL.finditer(left[:LONGEST_LEAD])]]
    return max([(start, _shared(left[start:], right)) for start in starts], key=lambda found: found[1])


def _label_length(line: str) -> int:
    label = LABEL.match(line)
    return label.end() if label else 0


def _operator(line: str) -> re.Match[str] | None:
    """Return the comparison nearest to the middle of the line."""
    return min(OPERATOR.finditer(line), key=lambda match: abs(match.start() - len(line) / 2), default=None)


def _shared(left: str, right: str) -> int:
    """Return how many characters both begin with."""
    pairs = enumerate(zip(left, right, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(left), len(right)))


def around(text: str, at: int, width: int) -> str:
    """Return `text` in about `width` characters: its head, and what surrounds the character `at`."""
    if len(text) <= width + NOTE_CHARS:
        return text
    room = max(width - NOTE_CHARS, 12)
    head = room // BEFORE_SHARE
    window = room - head
    start = min(max(at - window // BEFORE_SHARE, head), len(text) - window)
    end = start + window
    return "".join([text[:head], _note(start - head), text[start:end], _note(len(text) - end)])


def head_and_end(text: str, width: int) -> str:
    """Return `text` in about `width` characters: two thirds of them its head, the others its end."""
    if len(text) <= width + NOTE_CHARS:
        return text
    room = max(width - NOTE_CHARS, 12)
    end = room // 3
    return text[: room - end] + _note(len(text) - room) + text[-end:]


def _note(count: int) -> str:
    return f"[...{count:,} chars...]" if count > 0 else ""
