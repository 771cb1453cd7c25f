"""From `overview.overview` to what the page of a project prints."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from quarantine.domain.outcome import Mode, Status
from quarantine.policy.wording import listed, named, plural
from quarantine.services.overview import SHOWN
from quarantine.web import charts, figures
from quarantine.web.views import moved
from quarantine.web.wording import standing_name, standing_note

_BROKEN = "Failing run after run, reruns too: no flake, and somebody's to mend."
_HELD = "The evidence for quarantine is there, but a rule or the cap says no: mend them, or change the rule."
_OLD = "mend it, delete it, or answer for it."
_GROUPS = (Status.QUARANTINED, Status.HELD, Status.BROKEN)


def project_view(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what project.html prints."""
    mode, counts = told["mode"], told["counts"]
    left_out = counts["tests"] - counts["would_gate"]
    return {
        "project": told["project"],
        "summary": told,
        "counts": counts,
        "build_count": told["builds"],
        "observes": mode == Mode.OBSERVE,
        "left_out": left_out,
        "partly": counts["quarantined"] - left_out,
        "gate_width": figures.share_width(counts["tests"] - left_out, counts["tests"]),
        "left_out_width": figures.share_width(left_out, counts["tests"]),
        "groups": [_group(status, mode, told) for status in _GROUPS],
        "needs": needs(told),
        "renamed_besides": renamed_besides(told),
        "size": charts.size_figure(told["size"]),
        "size_height": charts.SIZE_HEIGHT,
        "transitions": [moved(move, mode) for move in told["transitions"]],
    }


def _group(status: Status, mode: str, told: Mapping[str, Any]) -> dict[str, Any]:
    pairs = told["pairs"][status.value]
    return {
        "status": status.value,
        "name": standing_name(status, mode),
        "note": standing_note(status, mode),
        "rows": [_stands(row) for row in told["standing"] if row["status"] == status],
        "pairs": pairs,
        "left_out": max(0, pairs - SHOWN),
    }


def _stands(row: Mapping[str, Any]) -> dict[str, Any]:
    evidence = row["evidence"]
    drawn = evidence and figures.interval_figure(evidence["interval"], evidence["rate"], evidence["p0"])
    return {**row, "interval_figure": drawn}


def needs(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what a person should look at now, the most pressing first: kind, count, sentence, and where it leads.

    `at` is a path below the project's own.
    """
    counts, since = told["counts"], told["needs"]
    found: list[dict[str, Any]] = [
        {
            "kind": "broken",
            "count": len(alarm["tests"]),
            "title": "possible regression" if len(alarm["tests"]) == 1 else "possible regressions",
            "sentence": f"{named(alarm['tests'])} failed more often in a row than known flaking explains.",
            "at": f"/verdicts/{alarm['number']}",
            "label": f"verdict {alarm['number']}",
        }
        for alarm in since["alarms"]
    ]
    found += [
        {
            "kind": "trouble",
            "count": 1,
            "title": f"trouble with the daemon: {trouble['title']}",
            "sentence": f"{trouble['sentence']} {trouble['mend']}",
            "at": "/reports",
            "label": "see the reports",
        }
        for trouble in since["troubles"]
    ]
    if counts["broken"]:
        found.append(_need("broken", counts["broken"], "broken on trunk", _BROKEN))
    if counts["held"]:
        title = "would have been held" if told["mode"] == Mode.OBSERVE else "held, still gating"
        found.append(_need("held", counts["held"], title, _HELD))
    if since["old"]:
        oldest = f"The oldest, {since['oldest']['name']}, for {plural(since['oldest']['days'], 'day')}"
        old = _need("quarantined", since["old"], f"for {since['old_days']} days or longer", f"{oldest}: {_OLD}")
        found.append(old | {"at": f"/quarantined?older={since['old_days']}"})
    if since["renames"]:
        found.append(_renamed(since))
    return found


def _renamed(since: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of tests that look renamed and have something to lose by it."""
    pairs = [f"{one['former_name']} looks like {one['present_name']} ({one['at_stake']})" for one in since["renames"]]
    count = len(since["renames"]) + since["renames_left_out"]
    return {
        "kind": "held",
        "count": count,
        "title": "looks renamed" if count == 1 else "look renamed",
        "sentence": f"Say so with `quarantine alias`, or what they stand for begins anew: {listed(pairs)}.",
        "at": f"/tests/{quote(since['renames'][0]['former'], safe='')}",
        "label": "see what it stands for",
    }


def renamed_besides(told: Mapping[str, Any]) -> str:
    """Return a sentence about the tests that look renamed and have nothing to lose; empty when there are none."""
    count = told["needs"]["other_renames"]
    verb = "looks" if count == 1 else "look"
    others = "other test" if told["needs"]["renames"] else "test"
    return f"{plural(count, others)} that never failed right after a pass {verb} renamed too." if count else ""


def _need(status: str, count: int, title: str, sentence: str) -> dict[str, Any]:
    at = f"/quarantined?standing={status}"
    return {"kind": status, "count": count, "title": title, "sentence": sentence, "at": at, "label": "see which"}
