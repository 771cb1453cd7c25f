"""From what the services tell of verdicts and attempts to what the templates print."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarantine.domain.verdict import Verdict
from quarantine.policy.wording import percent
from quarantine.web import figures
from quarantine.web.wording import finding_name, finding_note

TESTS_SHOWN = 200
FILES_SHOWN = 40
ATTEMPTS_SHOWN = 20
_HEAD = "head"


def verdict_view(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what verdict.html prints, from `verdict_listing.evidence`."""
    answer = told["answer"]
    tests, unreached = answer["tests"], answer["not_shown"]["unreached"]
    reruns = [run["side"] for run in told["runs"][1:]]
    return {
        "project": told["project"],
        "about": told,
        "answer": answer,
        "outcome": outcome_of(answer["verdict"], is_suspect=bool(answer["suspect"])),
        "head_reruns": reruns.count(_HEAD),
        "base_reruns": len(reruns) - reruns.count(_HEAD),
        "groups": _groups(answer),
        "tests_left_out": len(tests) - len(tests[:TESTS_SHOWN]) + answer["tests_left_out"],
        "unreached": unreached[:FILES_SHOWN],
        "files_left_out": len(unreached) - len(unreached[:FILES_SHOWN]),
        "gating_width": figures.share_width(answer["gating"]["passed"], answer["gating"]["of"]),
    }


def outcome_of(verdict: str, *, is_suspect: bool) -> str:
    """Return how a verdict is marked: a rejection because somebody may have tampered with the run is `suspect`."""
    return "suspect" if is_suspect and verdict == Verdict.REJECT else verdict


def _groups(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tests by finding and effect, in the order of the causes they make."""
    order = [(cause["code"], cause["effect"]) for cause in answer["causes"]]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {kind: [] for kind in order}
    for test in answer["tests"][:TESTS_SHOWN]:
        groups.setdefault((test["finding"], test["effect"]), []).append({**test, "tries": _tries(test)})
    return [
        {"at": f"{finding}-{effect}", "name": finding_name(finding), "effect": effect, "rows": rows}
        | {"note": finding_note(finding)}
        for (finding, effect), rows in groups.items()
        if rows
    ]


def _tries(test: Mapping[str, Any]) -> list[tuple[str, figures.TriesFigure]]:
    return [(side, figures.tries_figure(**test[side])) for side in (_HEAD, "base")]


def latest_view(verdicts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what project.html prints of the newest verdicts, from `verdict_listing.latest`."""
    return [{**row, "mark": outcome_of(row["outcome"], is_suspect=row["suspect"])} for row in verdicts]


def attempts_view(told: Mapping[str, Any], *, ticket: str | None) -> dict[str, Any]:
    """Return what attempts.html prints, from `verdict_listing.tickets`."""
    solved, plain = told["solved"], told["plain"]
    solved_count = sum(row["on"] for row in solved)
    return {
        "project": told["project"],
        "told": told,
        "ticket": ticket,
        "solved_count": solved_count,
        "solved_width": figures.share_width(solved_count, told["tickets"]),
        "plainly_count": sum(row["on"] for row in plain),
        "ends": [(end, count) for end, count in told["ends"].items() if count],
        "shares": figures.shares_figure([row["share"] for row in solved], [row["share"] for row in plain]),
        "height": figures.SHARES_HEIGHT,
        "grid": [(round(figures.SHARES_HEIGHT * (1 - share)), percent(share)) for share in (1, 0.5, 0)],
        "share_rows": list(zip(solved, plain, strict=True))[: figures.MOST_ATTEMPTS],
        "tickets": [_ticket(row) for row in told["newest"]],
        "tickets_left_out": told["tickets"] - len(told["newest"]),
    }


def _ticket(row: Mapping[str, Any]) -> dict[str, Any]:
    first = max(1, row["attempts"] - ATTEMPTS_SHOWN + 1)
    numbers = range(first, row["attempts"] + 1)
    marks = [(number, [_mark(one) for one in row["verdicts"].get(number, ())]) for number in numbers]
    return {**row, "marks": marks, "attempts_left_out": first - 1}


def _mark(verdict: Mapping[str, Any]) -> dict[str, Any]:
    kind = outcome_of(verdict["outcome"], is_suspect=verdict["suspect"])
    return {"number": verdict["number"], "kind": kind, "is_final": verdict["final"]}
