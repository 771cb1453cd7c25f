"""The record's text: the index of groups first, then what room is left for, most telling first.

Every line begins with what it is. `Exit code`, `- ` and `[` begin lines of the record's own; whatever a report said
stands after `| `, so that no report can write a line of the record.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from quarantine.errors import BadInput
from quarantine.record.fitting import cost, head_and_tail, shared_out
from quarantine.record.grouping import ALIKE, Case, Group, groups_of
from quarantine.record.literals import narrowed
from quarantine.record.noise import calm
from quarantine.record.plain import one_line, quoted, quoted_id
from quarantine.record.sections import Sections, Stages, place_of, quoted_line
from quarantine.record.tokens import estimate_tokens
from quarantine.record.values import Event, Failed, Record

LEGEND = "Lines after | are quoted from the reports; [... ...] counts what is left out."
AMPLE_TOKENS = 200
"""A budget below it is for ids and causes first."""
INDEXES = ((0, 240, 0.6), (0, 100, 0.75), (1, 100, 0.75), (2, 100, 0.75), (3, 100, 0.9))
"""Level of grouping, width of a cause in characters and share of the room that the index may take, the best first."""
LEAST_ENTRY = 8
"""Tokens below which no id and cause can be told."""

PLACES_SHARE = 0.8
FACTS_SHARE = 1 / 3
FACT_WIDTH = 400
NARROWEST = 60
STAGE_SHARES = (0.55, 0.6, 0.4, 1.0)
"""Of what is left, for details, frames, ids and output in turn; what they leave is shared out again in that order."""
LEAST_SECTION = 24
"""Tokens below which a section says too little to be begun."""


def failure_record(
    failures: Sequence[Failed],
    events: Sequence[Event] = (),
    *,
    exit_code: int | None,
    root: str = "",
    log: str = "",
    budget_tokens: int = 1000,
    facts: Sequence[str] = (),
) -> Record:
    """Return the record of a run that was rejected.

    The order of failures, events and facts does not matter.

    Args:
        failures: those that are the reader's business, and no others.
        events: what made the run red and is no test.
        exit_code: of the runner; None when it is not known.
        root: absolute path that paths in the tested tree begin with; may be empty.
        log: path of the whole log, where the reader can open it; may be empty.
        budget_tokens: bound of the text by `estimate_tokens`.
        facts: sentences of the verdict that are no test's failure, such as "test x was not run".

    Raises:
        BadInput: when the budget is negative.
    """
    if budget_tokens < 0:
        raise BadInput(
            f"A failure record of {budget_tokens} tokens is asked for.",
            mend="Ask for 50 or more; 1000 is a good start.",
        )
    root = root.rstrip("/\\")
    tries = _common_tries(failures)
    single = [replace(failure, tries="") if tries else failure for failure in failures]
    sources: list[Failed | Event] = [*single, *events]
    cases = [Case(source, root) for source in sources]
    lines = _Draft(budget_tokens)
    lines.head(_opening(len(failures), len(events), exit_code, tries if budget_tokens >= AMPLE_TOKENS else ""))
    where = f"Whole log: {quoted(log, log)}"
    if budget_tokens >= AMPLE_TOKENS:
        lines.head(*([where] if log else []), LEGEND)
    told = sorted({one_line(fact) for fact in facts} - {""})
    index = lines.index(cases, min(cost(told), int(lines.left * FACTS_SHARE)))
    lines.facts(told)
    if log and budget_tokens < AMPLE_TOKENS:
        lines.head(where)
    named = index.shown + lines.sections(index, root)
    text = "\n".join(lines.lines)
    return Record(
        text=text,
        tokens=estimate_tokens(text),
        failures=len(failures),
        left_out=len(failures) - named,
        key=_key(cases, exit_code, told),
    )


def _opening(failures: int, events: int, exit_code: int | None, tries: str) -> str:
    code = "unknown" if exit_code is None else str(exit_code)
    counts = [_count(failures, "failure") + tries] if failures or not events else []
    counts += [_count(events, "run event")] if events else []
    return f"Exit code {code}. {' and '.join(counts)}."


def _common_tries(failures: Sequence[Failed]) -> str:
    """Return what is true of every failure's tries, to be said once; empty when they differ."""
    said = {failure.tries for failure in failures}
    tries = one_line(said.pop()) if len(said) == 1 else ""
    each = "each: " if len(failures) > 1 else ""
    return f" ({each}{tries})" if tries else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}" if number else f"No {what}s"


def _key(cases: Sequence[Case], exit_code: int | None, facts: Sequence[str]) -> str:
    said = [str(exit_code), *map(calm, facts), *sorted([case.essence for case in cases])]
    digest = blake2b(digest_size=8)
    for text in said:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(f"{len(content)}:".encode() + content)
    return digest.hexdigest()


class _Index(NamedTuple):
    """The groups that are named, and how many failures that names."""

    groups: list[Group]
    shown: int


class _Draft:
    """Lines within a budget: what does not fit is never added."""

    def __init__(self, budget: int) -> None:
        self.lines: list[str] = []
        self.left = budget + 1  # the last line has no line feed

    def _add(self, lines: Sequence[str]) -> bool:
        needed = cost(lines)
        if needed > self.left:
            return False
        self.lines += lines
        self.left -= needed
        return True

    def head(self, *lines: str) -> None:
        """Add each of the lines that fits."""
        for line in lines:
            self._add([line])

    def index(self, cases: Sequence[Case], kept_for_facts: int) -> _Index:
        """Name every group and its cause, as finely as there is room for; then say where each failed."""
        room = self.left - kept_for_facts
        groups, named_at = groups_of(cases, 0), 0
        for level, width, share in INDEXES:
            coarser = groups_of(cases, level)
            if len(coarser) < len(groups):
                groups, named_at = coarser, level
            if len(groups) * LEAST_ENTRY > room:
                continue
            entries = _entries(groups, named_at, width)
            if sum(map(cost, entries)) <= room * share:
                break
        else:
            some = _entries(groups[: room // LEAST_ENTRY + 1], named_at, NARROWEST)
            groups, entries = self._part_of_index(groups, some, room)
            room = 0
        self._add_places(groups, entries, room)
        return _Index(groups, sum([not group[0].is_event for group in groups]))

    def _part_of_index(
        self, groups: list[Group], entries: list[list[str]], room: int
    ) -> tuple[list[Group], list[list[str]]]:
        """Return the groups that fit, the first ones first, and their entries; the last one counts the others."""
        left_out = sum(map(len, groups))
        for number, (group, entry) in enumerate(zip(groups, entries, strict=False)):
            rest = [] if number + 1 == len(groups) else [_not_named(left_out - len(group))]
            if cost([*entry, *rest]) > room and (number or cost([*entry[:1], *rest]) > room):
                return groups[:number], [*entries[:number], [_not_named(left_out)]]
            if cost([*entry, *rest]) > room:
                return groups[:1], [[*entry[:1], *rest]]
            room -= cost(entry)
            left_out -= len(group)
        return groups, entries

    def _add_places(self, groups: Sequence[Group], entries: list[list[str]], room: int) -> None:
        """Add the entries, each with its place as long as there is room for places."""
        spare = int((room - sum(map(cost, entries))) * PLACES_SHARE)
        for group, entry in zip(groups, entries, strict=False):
            place = place_of(group[0])
            line = quoted_line(f"at {place}")
            if place and cost([line]) <= spare:
                entry.append(line)
                spare -= cost([line])
        for entry in entries:
            self._add(entry)

    def facts(self, facts: Sequence[str]) -> None:
        """Add the facts that fit, or how many there are."""
        lines = [f"- {line}" for line in narrowed(facts, FACT_WIDTH)]
        shown = head_and_tail(lines, self.left, _facts_left_out, end_first=False)
        self._add(shown or [_facts_left_out(len(facts))] if facts else [])

    def sections(self, index: _Index, root: str) -> int:
        """Say more of the groups, each kind of section in turn; return how many more failures that names."""
        making = Sections(root)
        stages = [making.of(number, group) for number, group in enumerate(index.groups, start=1)]
        allowed = _allowances(stages, self.left)
        named = 0
        carried = 0
        for group, stage, rooms in zip(index.groups, stages, allowed, strict=True):
            for sections, shares in zip(stage, rooms, strict=True):
                for section, share in zip(sections, shares, strict=True):
                    shown = section.within(share + carried)
                    carried += share - cost(shown)
                    self._add(shown)
                    named += sum([line.startswith("- ") for line in shown]) if not group[0].is_event else 0
        return named


def _entries(groups: Sequence[Group], level: int, width: int) -> list[list[str]]:
    """Return the lines that name each group and its cause; a cause that was told before is referred to."""
    told: dict[str, int] = {}
    entries: list[list[str]] = []
    for number, group in enumerate(groups, start=1):
        case = group[0]
        earlier = told.setdefault(case.cause, number)
        cause = (
            quoted_line(narrowed([case.cause], width)[0]) if earlier == number else f"(says the same as [{earlier}])"
        )
        entries.append([_named(number, group, level), cause])
    return entries


def _named(number: int, group: Group, level: int) -> str:
    case = group[0]
    more = f" and {len(group) - 1:,} more {ALIKE[level]}" if len(group) > 1 else ""
    tries = case.tries if all(other.tries == case.tries for other in group) else ""
    labels = "; ".join(filter(None, [one_line(case.label), one_line(tries)]))
    return f"[{number}] {quoted_id(case.name)}{more}{f' ({labels})' if labels else ''}"


def _not_named(failures: int) -> str:
    return f"[... {failures:,} more left out ...]"


def _facts_left_out(count: int) -> str:
    return f"[... {count:,} fact{'s' if count > 1 else ''} left out ...]"


def _allowances(stages: Sequence[Stages], room: int) -> list[list[list[int]]]:
    """Return the room of each section of each stage of each group."""
    allowed = [[[0] * len(sections) for sections in stage] for stage in stages]
    left = room
    for shares in (STAGE_SHARES, (1.0,) * len(STAGE_SHARES)):
        for number, share in enumerate(shares):
            places = [(at, n) for at, stage in enumerate(stages) for n in range(len(stage[number]))]
            places = places[: max(int(left * share) // LEAST_SECTION, 1)]
            wanted = [stages[at][number][n].demand - allowed[at][number][n] for at, n in places]
            for (at, n), more in zip(places, shared_out(wanted, int(left * share)), strict=True):
                allowed[at][number][n] += more
                left -= more
    return allowed
