"""What a test case with children came to, read by junitparser from a standard library element.

junitparser takes lxml when it is installed and the standard library otherwise; an element made here reads the same
either way, because nothing is ever parsed, appended or printed by the library. Precedence inside one case: a
`<skipped>` that comes before everything else and gives a reason wins (Catch2 and node:test write it first and mean
"tolerated"), then error, failure, skipped: a bare `<skipped/>` excuses nothing.
"""

from xml.etree.ElementTree import Element

from junitparser.junitparser import Error, Failure, FinalResult, Skipped
from junitparser.junitparser import Result as Entry
from junitparser.xunit2 import FlakyError, FlakyFailure, InterimResult, RerunError, TestCase

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Result
from quarantine.junit.documents import Limits
from quarantine.junit.quantities import duration_s
from quarantine.junit.texts import CAPTURED, clip, first_line, joined

OUTPUT_TAGS = frozenset({"system-out", "system-err"})
FINAL_TAGS = frozenset({"failure", "error", "skipped"})
INTERIM_TAGS = frozenset({"flakyFailure", "flakyError", "rerunFailure", "rerunError"})
RESULT_TAGS = FINAL_TAGS | INTERIM_TAGS
TEXT_TAGS = RESULT_TAGS | OUTPUT_TAGS

STATUS_OUTCOMES = {
    **dict.fromkeys(("notrun", "disabled", "suppressed", "skipped", "ignored"), Outcome.SKIPPED),
    **dict.fromkeys(("fail", "failed", "failure"), Outcome.FAILED),
    **dict.fromkeys(("error", "errored"), Outcome.ERRORED),
}
"""What a case's `status` or `result` attribute says; words that are not here say nothing."""

LONGEST_KIND = 200
LONGEST_NOTE = 100
SHORT_MESSAGE = 200
OUTPUT_CHARS = 2_000


class TextBudget:
    """Characters of text that a document may still have kept; messages are cut short when they are used up."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.left = limits.text_chars

    def message(self, text: str) -> str:
        """Return `text` within the bound of a message."""
        limit = self._limits.message_chars if self.left > 0 else SHORT_MESSAGE
        kept = text if len(text) <= limit else clip(text, limit, 0)
        self.left -= len(kept)
        return kept

    def detail(self, text: str) -> str:
        """Return `text` with head and tail kept; empty when the budget is used up."""
        head, tail = self._limits.head_chars, self._limits.tail_chars
        is_clipped = len(text) <= head + tail + LONGEST_NOTE  # a text that was cut while it arrived holds its own note
        kept = "" if self.left <= 0 else text if is_clipped else clip(text, head, tail)
        self.left -= len(kept)
        return kept

    def output(self, text: str) -> str:
        """Return what a failed case printed, its head and tail kept in a fraction of what a detail may have."""
        kept = (
            "" if self.left <= 0 else text if len(text) <= 2 * OUTPUT_CHARS else clip(text, OUTPUT_CHARS, OUTPUT_CHARS)
        )
        self.left -= len(kept)
        return kept

    @property
    def is_spent(self) -> bool:
        """Whether some text was left out for want of budget."""
        return self.left <= 0


def status_outcome(attributes: dict[str, str]) -> Outcome | None:
    """Return the outcome that `result` or `status` spells, None when neither says anything."""
    for attribute in ("result", "status"):
        value = attributes.get(attribute)
        if value is not None and value.lower() in STATUS_OUTCOMES:
            return STATUS_OUTCOMES[value.lower()]
    return None


def read_case(element: Element, surplus: int, budget: TextBudget) -> tuple[Result, ...]:
    """Return the tries that one case records, the first try first; `surplus` results of it were only counted.

    `flakyFailure` and `flakyError` are failed tries before a pass, also where a policy then adds a failure;
    `rerunFailure` and `rerunError` are failed tries besides the case's own failure.
    """
    finals: list[FinalResult] = []
    interims: list[InterimResult] = []
    for entry in TestCase.fromelem(element):  # type: ignore[no-untyped-call]  # the library ships no types
        if isinstance(entry, FinalResult):
            finals.append(entry)
        elif isinstance(entry, InterimResult):
            interims.append(entry)
    last = _last_try(element, finals, surplus, budget)
    if not interims or last.outcome is Outcome.SKIPPED:
        return (last,)
    tries = tuple([_interim(entry, budget) for entry in interims])
    if any(isinstance(entry, FlakyFailure | FlakyError) for entry in interims):
        return (*tries, Result(Outcome.PASSED, last.duration_s))
    return (last, *tries) if finals else tries


def _last_try(element: Element, finals: list[FinalResult], surplus: int, budget: TextBudget) -> Result:
    """Return what the case's own attributes and final results come to."""
    duration = duration_s(element.get("time"))
    stated = status_outcome(element.attrib) if "status" in element.attrib else None
    if not finals:
        return Result(stated or Outcome.PASSED, duration)
    deciding = _deciding(finals)
    if stated is Outcome.SKIPPED or isinstance(deciding, Skipped):
        return _result(Outcome.SKIPPED, duration, deciding, deciding.text or "", budget)
    text = (deciding.text or "") if len(finals) == 1 else _joined_texts(finals, type(deciding), surplus)
    outcome = Outcome.ERRORED if isinstance(deciding, Error) else Outcome.FAILED
    if not text.strip():
        return _result(outcome, duration, deciding, _output(element), budget)
    result = _result(outcome, duration, deciding, text, budget)
    return result._replace(detail=joined([result.detail, budget.output(_captured(element))]))


def _joined_texts(finals: list[FinalResult], kind: type[FinalResult], surplus: int) -> str:
    """Return the texts of all results of the deciding kind, and how many more there were."""
    texts = [entry.text or entry.message or "" for entry in finals if type(entry) is kind]
    return joined([*texts, f"[... and {surplus} more results in this case ...]" if surplus else ""])


def _deciding(finals: list[FinalResult]) -> FinalResult:
    """Return the final result that decides the outcome of a case with at least one."""
    first = finals[0]
    if len(finals) == 1 or (isinstance(first, Skipped) and (first.message or first.type or first.text)):
        return first
    return min(finals, key=_precedence)


def _precedence(entry: FinalResult) -> int:
    return (Error, Failure, Skipped).index(type(entry))


def _output(element: Element) -> str:
    """Return what the case printed: the only evidence some tools (ctest, Bazel, Meson) give of a failure."""
    return joined([child.text or "" for child in element if child.tag in OUTPUT_TAGS])


def _captured(element: Element) -> str:
    """Return what a case printed beside its failure's own text, led by a line that says so, as pytest writes it."""
    printed = _output(element)
    if not printed.strip() or CAPTURED.match(printed.lstrip()):
        return printed.strip()
    return f"---- Captured output ----\n{printed.strip()}"


def _interim(entry: InterimResult, budget: TextBudget) -> Result:
    outcome = Outcome.ERRORED if isinstance(entry, FlakyError | RerunError) else Outcome.FAILED
    duration = duration_s(entry._elem.get("time"))  # noqa: SLF001 - the library has no accessor for it
    return _result(outcome, duration, entry, joined([entry.stack_trace or "", entry.text or ""]), budget)


def _result(outcome: Outcome, duration: float | None, entry: Entry, detail: str, budget: TextBudget) -> Result:
    message = budget.message(entry.message or first_line(detail))
    shown = "" if outcome is Outcome.SKIPPED else budget.detail(detail)
    return Result(outcome, duration, (entry.type or "")[:LONGEST_KIND], message, shown)
