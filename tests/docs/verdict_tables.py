"""The tables of docs/verdict.md, worked out by the policy itself: `python -m tests.docs.verdict_tables` writes them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from quarantine.domain.outcome import Status
from quarantine.domain.verdict import Verdict
from quarantine.policy.criteria import Policy
from quarantine.policy.findings import TestFacts, Tries, find
from quarantine.policy.verdict import Judgement, RunFacts, RunFault, judge

PAGE = Path(__file__).parents[2] / "docs" / "verdict.md"
POLICY = Policy()
_MARK = "<!-- {} -->\n"

HEADS: Mapping[str, dict[str, Any]] = {
    "failed 3 of 3 runs": {"head": Tries(3)},
    "failed once, reruns to come": {"head": Tries(1)},
    "failed once, no rerun possible": {"head": Tries(1), "can_rerun": False},
    "failed, then passed twice": {"head": Tries(1, 2, 2)},
    "failed, then passed 10 times": {"head": Tries(1, 10, 10)},
    "passed once": {"head": Tries(0, 1, 1)},
    "passed 14 times": {"head": Tries(0, 14, 14)},
    "skipped": {"is_skipped": True},
    "in no report, though expected": {"is_present": False, "is_expected": True},
}
BASES: Mapping[str, dict[str, Any]] = {
    "passes": {"base": Tries(0, 1, 1), "on_base": True},
    "fails in the same way": {"base": Tries(1), "on_base": True, "same_signature": True},
    "fails in another way": {"base": Tries(1), "on_base": True},
    "fails and passes": {"base": Tries(1, 1, 1), "on_base": True, "same_signature": True},
    "does not have it": {"on_base": False},
    "was not run": {},
}
STANDINGS: Mapping[str, dict[str, Any]] = {
    "A gating test": {},
    "A quarantined test, three failures in a row explained by its flaking": {
        "standing": Status.QUARANTINED,
        "is_excusable": True,
        "rate": 0.2,
        "alarm_reruns": 3,
    },
    "A quarantined test, one failure in a row explained by its flaking": {
        "standing": Status.QUARANTINED,
        "is_excusable": True,
        "rate": 0.02,
        "alarm_reruns": 1,
    },
    "A must-pass test that does not flake": {"must_pass": True},
    "A must-pass test that is quarantined and fails 20 % of the time": {
        "must_pass": True,
        "standing": Status.QUARANTINED,
        "is_excusable": True,
        "rate": 0.2,
    },
}

TESTS: Mapping[str, list[TestFacts]] = {
    "none failed": [],
    "all failures excused": [
        TestFacts(name="excused", head=Tries(1), standing=Status.QUARANTINED, is_excusable=True, base=Tries(0, 1, 1))
    ],
    "one undecided": [TestFacts(name="undecided", head=Tries(1, 2, 2), base=Tries(0, 1, 1))],
    "one rejects": [TestFacts(name="broken", head=Tries(3), base=Tries(0, 1, 1))],
}
BESIDES: Mapping[str, dict[str, Any]] = {
    "a test that turned skipped": {
        "tests": [TestFacts(name="skipped", is_skipped=True, base=Tries(0, 1, 1), on_base=True)]
    },
    "a test that vanished": {"tests": [TestFacts(name="gone", is_present=False, base=Tries(0, 1, 1), on_base=True)]},
    "an expected test that is missing, the base not run": {
        "tests": [TestFacts(name="missing", is_present=False, is_expected=True)]
    },
    "an expected test that is missing, on the base too": {
        "tests": [TestFacts(name="unknown", is_present=False, is_expected=True, on_base=False)]
    },
    "a must-pass test that is missing": {"tests": [TestFacts(name="must", is_present=False, must_pass=True)]},
    "a shrunken suite, the base not run": {"shrunken": (20, 10)},
    "a run event, not on the base": {
        "faults": [RunFault(kind="collection-error", where="tests/test_x.py", base=Tries(0, 1, 1))]
    },
    "a run event, on the base too": {
        "faults": [RunFault(kind="collection-error", where="tests/test_x.py", base=Tries(1))]
    },
}
"""What else can be there in a run, each by itself."""
NOTHING_RAN = "no gating test ran"
EXITS: Mapping[str, int | None] = {"0": 0, "1": 1, "139": 139, "not said": None}
REPORTS = ("whole", "truncated", "unreadable", "none")
SINGLE: Mapping[str, dict[str, Any]] = {
    "no report": {"reports": "none", "gating_ran": 0},
    "a report that breaks off": {"reports": "truncated"},
    "stopped by the time-out": {"timed_out": True},
    "killed by a signal": {"exit_code": 139},
    "a run event": {"faults": [RunFault(kind="collection-error", where="tests/test_x.py")]},
    "an exit code that nothing explains": {"exit_code": 4, "exit_head": Tries(1)},
}
WHERE: Mapping[str, dict[str, Any]] = {
    "3 of 3 runs, and the base is fine": {"head": Tries(3), "base": Tries(0, 1, 1), "can_rerun": True},
    "3 of 3 runs, and on the base too": {"head": Tries(3), "base": Tries(1), "can_rerun": True},
    "once, then 10 runs without it": {"head": Tries(1, 10, 10), "base": Tries(0, 1, 1), "can_rerun": True},
    "once, no rerun possible": {"head": Tries(1), "base": Tries(), "can_rerun": False},
}


def table(corner: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], *, corners: int = 1) -> str:
    """Return a table in Markdown; `corners` says how many columns the corner and the rows' names are."""
    head = f"| {corner} | {' | '.join(columns)} |\n|{'---|' * (corners + len(columns))}\n"
    return head + "".join(f"| {name} | {' | '.join(cells)} |\n" for name, cells in rows)


def tests_of(standing: str) -> str:
    """Return the table of one standing: what each pair of head and base comes to."""

    def cell(head: Mapping[str, Any], base: Mapping[str, Any]) -> str:
        facts = {**STANDINGS[standing], **base, **head, "name": "test"}
        can_rerun = facts.pop("can_rerun", True)
        found = find(TestFacts(**facts), POLICY, can_rerun=can_rerun)
        return f"{found.finding}: {found.effect}" if found else "-"

    rows = ((name, [cell(head, base) for base in BASES.values()]) for name, head in HEADS.items())
    return table("on the head it … while the base …", list(BASES), rows)


def of_run(fault: Mapping[str, Any], where: Mapping[str, Any]) -> Judgement:
    """Return the verdict on a run with one fault, seen as often as `where` says, whose tests all pass."""
    seen = {"can_rerun": where["can_rerun"], "gating_ran": 10, "exit_code": 0}
    values = {**seen, **fault}
    if "faults" in fault:
        values["faults"] = [replace(one, head=where["head"], base=where["base"]) for one in fault["faults"]]
    elif "exit_head" in fault:
        values |= {"exit_head": where["head"], "exit_base": where["base"]}
    else:
        values |= {"broken_head": where["head"], "broken_base": where["base"]}
        values |= {"gating_ran": 10} if where["head"].passed else {}
    return judge(RunFacts(**values), [], POLICY)


def singles() -> str:
    """Return the table of what can be red about a run beside its tests."""
    rows = ((name, [_told(of_run(fault, where)) for where in WHERE.values()]) for name, fault in SINGLE.items())
    return table("the run has … seen in …", list(WHERE), rows)


def combined(exit_code: int | None, reports: Any, tests: str, besides: Mapping[str, Any] | None = None) -> Judgement:
    """Return the verdict on one run that nobody can repeat.

    Args:
        exit_code: what the runner ended with.
        reports: what state they are in; without any that can be read nothing of the run is known but its end.
        tests: a column: what its gating tests did.
        besides: what else is there.
    """
    is_told = reports in ("whole", "truncated")
    ran = TESTS.get(tests, []) if is_told else []
    more = dict(besides or {})
    others = [test for test in more.pop("tests", []) if is_told or not test.is_present]
    failed = sum(test.head.failed for test in ran) + len(more.get("faults", ()))
    is_unexplained = reports == "whole" and exit_code == 1 and not failed
    run = RunFacts(
        exit_code=exit_code,
        reports=reports,
        gating_ran=10 if is_told and tests != NOTHING_RAN else 0,
        exit_head=Tries(1) if is_unexplained else Tries(),
        **(more if is_told else {}),
    )
    return judge(run, [*ran, *others], POLICY)


COLUMNS = (*TESTS, NOTHING_RAN)


def combinations() -> str:
    """Return the table of every exit code with every state of the reports and of the tests."""
    rows = (
        (f"{exit_name}, {reports}", [_told(combined(exit_code, reports, tests)) for tests in COLUMNS])
        for (exit_name, exit_code), reports in product(EXITS.items(), REPORTS)
    )
    return table("exit code, reports", COLUMNS, rows)


def besides() -> str:
    """Return the same with each thing that can be there besides; what comes to the same shares a row."""
    rows: dict[tuple[str, tuple[str, ...]], dict[str, list[str]]] = {}
    for (name, more), reports, (exit_name, exit_code) in product(BESIDES.items(), REPORTS, EXITS.items()):
        cells = tuple(_told(combined(exit_code, reports, tests, more)) for tests in COLUMNS)
        rows.setdefault((name, cells), {}).setdefault(reports, []).append(exit_name)
    lines = ((f"{name} | {_runs(exits)}", cells) for (name, cells), exits in rows.items())
    return table("there is … | reports, exit code", COLUMNS, lines, corners=2)


def _runs(exits: Mapping[str, Sequence[str]]) -> str:
    """Return reports and exit codes as words, those that share all exit codes together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for reports, names in exits.items():
        together.setdefault(tuple(names), []).append(reports)
    return "; ".join(
        f"{' or '.join(reports)}, {'any' if len(names) == len(EXITS) else ' or '.join(names)}"
        for names, reports in together.items()
    )


def _told(judgement: Judgement) -> str:
    bold = judgement.verdict is Verdict.ACCEPT
    return f"**{judgement.verdict}**" if bold else str(judgement.verdict)


def tables() -> dict[str, str]:
    """Return every table by the name its place in the page is marked with."""
    tests = "\n".join(f"**{name}.**\n\n{tests_of(name)}" for name in STANDINGS)
    return {"tests": tests, "singles": singles(), "combinations": combinations(), "besides": besides()}


def with_tables(text: str) -> str:
    """Return the page's text with each table between its marks written anew."""
    for name, content in tables().items():
        begin, end = _MARK.format(name), _MARK.format(f"end of {name}")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{content}\n{end}{rest.split(end)[1]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
