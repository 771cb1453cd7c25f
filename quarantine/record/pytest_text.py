"""pytest's tracebacks, in its long, short and line styles, of tests, fixtures and modules it could not collect."""

import re
from collections.abc import Sequence

from quarantine.record.anatomy import Frame, Raised
from quarantine.record.python_text import CARETS, FILE, chained, without_margin

ERROR = re.compile(r"^\s*E(?: |$)(?P<text>.*)$")
POINTED = re.compile(r"^>\s+(?P<code>\S.*)$|^>$")
PLACE = re.compile(
    r"^(?P<path>(?:[A-Za-z]:)?(?:[^\s:<][^:]*\.\w+|<[^>]+>)):(?P<line>[0-9]+)"
    r"(?::(?: in (?P<function>.+)|\s*(?P<kind>[\w.]+)?))?\s*$"
)
DEFINED = re.compile(r"^\s*(?:async )?def (?P<function>\w+)")
RULE = re.compile(r"^\s*(?:_ ){5,}_?\s*$")
STATEMENT_LINES = 12


def is_pytest(lines: Sequence[str]) -> bool:
    """Whether the lines look like a traceback as pytest writes it."""
    return any(line.startswith(("E   ", "E\n")) or RULE.match(line) or _is_single_error(line) for line in lines)


def _is_single_error(line: str) -> bool:
    return re.match(r"^\s+E\s+\w*(?:Error|Exception|assert)\b", line) is not None


def read_pytest(lines: Sequence[str]) -> tuple[Raised, ...]:
    """Return the chain, the exception that was reported first."""
    flat = [*lines[:1], *_dedented(lines[1:])]
    chain: list[Raised] = []
    for relation, part in chained(flat):
        first, *later = [_Part(lines).raised() for lines in _finished(part)]
        chain += [
            first._replace(relation=relation),
            *[link._replace(relation="then") for link in later if link.headline],
        ]
    return tuple(chain)


def _finished(lines: Sequence[str]) -> list[list[str]]:
    """Return the lines cut behind each place that ends an exception: a report may join a test's and its fixture's."""
    parts: list[list[str]] = [[]]
    has_error = False
    for line in lines:
        parts[-1].append(line)
        has_error = has_error or ERROR.match(line) is not None
        place = PLACE.match(line)
        if place and place["kind"] and has_error:
            parts.append([])
            has_error = False
    return parts if len(parts) == 1 or any(map(str.strip, parts[-1])) else parts[:-1]


def _dedented(lines: Sequence[str]) -> Sequence[str]:
    """Undo the indentation that a writer of XML gave the whole text."""
    is_indented = any(RULE.match(line) and line[:1].isspace() for line in lines)
    return without_margin(lines) if is_indented else lines


class _Part:
    """One exception of a chain, read line by line.

    In the long style code comes first, `>` marks the statement, and the place follows; in the short style the place
    comes first and its statement follows. A traceback has either kind of entry, and often both.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._errors: list[str] = []
        self._hints: list[str] = []
        self._frames: list[Frame] = []
        self._statement: list[str] = []
        self._function = ""
        self._kind = ""
        self._state = ""
        self._has_places = any(PLACE.match(line) for line in lines)
        for line in lines:
            self._read(line)

    def _read(self, line: str) -> None:
        error, place, pointed = ERROR.match(line), PLACE.match(line), POINTED.match(line)
        if error:
            self._state = "error"
            self._errors.append(error["text"])
            self._read_file(error["text"])
        elif place:
            self._read_place(place)
        elif pointed:
            self._read_pointed(pointed["code"] or "")
        elif not line.strip() or RULE.match(line):
            self._state = "error" if self._state == "error" and not self._has_places else ""
        else:
            self._read_code(line)

    def _read_file(self, text: str) -> None:
        file = FILE.match(text)
        if file:
            self._frames.append(Frame(file["path"], int(file["line"]), file["function"] or ""))

    def _read_place(self, place: re.Match[str]) -> None:
        function, code = place["function"], ""
        if function is None:
            function, code = self._function, " ".join(self._statement)
            self._kind = place["kind"] or self._kind
        self._state = "" if place["function"] is None else "short"
        self._frames.append(Frame(place["path"], int(place["line"]), function, code))
        self._statement, self._function = [], ""

    def _read_pointed(self, code: str) -> None:
        if self._state == "error" and not self._statement:
            self._hints.append(code)  # what a missing fixture is told about after its error
            return
        self._state = "statement"
        self._statement = [code]
        self._see_definition(code)

    def _read_code(self, line: str) -> None:
        if self._state == "error" and not self._has_places and line[:1].isspace():
            self._errors.append(line)
        elif CARETS.match(line):
            return
        elif self._state == "statement" and len(self._statement) < STATEMENT_LINES:
            self._statement.append(line.strip())
        elif self._state == "short" and line[:1].isspace():
            last = self._frames[-1]
            self._frames[-1] = last._replace(code=f"{last.code} {line.strip()}".strip())
        else:
            self._see_definition(line)

    def _see_definition(self, line: str) -> None:
        defined = DEFINED.match(line)
        if defined and not self._function:
            self._function = defined["function"]

    def raised(self) -> Raised:
        """Return what was read; the headline is the first error line that is not indented more than another."""
        errors = without_margin(self._errors)
        first = next((index for index, line in enumerate(errors) if line and not line[0].isspace()), 0)
        if not errors:
            return Raised(self._kind, (), tuple(self._frames))
        details = without_margin([*errors[:first], *errors[first + 1 :], *self._hints])
        return Raised(errors[first].strip(), details, tuple(self._frames))
