"""From what the services tell to what the templates print: words, rows and drawings."""

from collections.abc import Mapping
from typing import Any

from quarantine.domain.outcome import Mode, Status
from quarantine.policy.wording import percent, plural
from quarantine.web import figures
from quarantine.web.wording import move_name, standing_name

HEADS_SHOWN = 40


def moved(move: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Return a transition by the name it was decided under, which may be another than the project's mode gives now."""
    earlier = mode == Mode.ENFORCE and move["mode"] == Mode.OBSERVE
    return {**move, "move_name": move_name(move["from"], move["to"], move["mode"]), "while_observing": earlier}


def test_view(found: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return what test.html prints, from `company.in_company` at the instant `now`."""
    mode = found["mode"]
    variants = sorted(found["variants"], key=lambda variant: variant["status"] == Status.GATING)
    return {
        "project": found["project"],
        "found": found,
        "now": now,
        "observes": mode == Mode.OBSERVE,
        "stands_out": found["would_gate"] != found["gating"],
        "left_out_in": sum(variant["status"] == Status.QUARANTINED for variant in variants),
        "variants": [_variant(variant, mode) for variant in variants],
        "bare_name": found["raw"]["name"],
        "place": found["name"].removesuffix(found["raw"]["name"]).removesuffix("::"),
    }


def _variant(variant: Mapping[str, Any], mode: str) -> dict[str, Any]:
    cells = figures.strip_cells(variant["strip"], variant["builds"], variant["marks"])
    heads = [_head(head, variant) for head in variant["heads"]]
    return {
        **variant,
        "standing_name": standing_name(variant["status"], mode),
        "lanes": [
            (lane, row, figures.strip_words(row), figures.strip_counts(row)) for lane, row in figures.by_lane(cells)
        ],
        "has_marks": sorted({cell.mark for cell in cells} - {""}),
        "strip_words": figures.strip_words(cells),
        "entry_figures": _entry_figures(variant["entry"]),
        "progress": _progress(variant),
        "lacking": _lacking(variant, mode),
        "heads": heads[::-1][:HEADS_SHOWN],
        "heads_left_out": max(0, len(heads) - HEADS_SHOWN),
        "failing": _failing(variant),
        "transitions": [moved(move, mode) for move in variant["transitions"]],
        "company": _company(variant["company"]),
    }


def _company(company: Mapping[str, Any]) -> dict[str, Any]:
    rows = [{**row, "width": figures.share_width(row["builds"], company["of"])} for row in company["tests"]]
    return {**company, "tests": rows}


def _build(variant: Mapping[str, Any], seq: int | str) -> dict[str, Any]:
    """Return the build; one that is known by its number only has that for a name."""
    known: dict[str, Any] | None = variant["builds"].get(str(seq))
    return known or {"build": f"no. {seq}", "job": "", "lane": "", "received_at": None}


def _head(head: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    by = head["confirmed_by"]
    return {
        **head,
        "build_seq": head["build"],
        "build": _build(variant, head["build"]),
        "confirming": "the same build" if by == head["build"] else by and _build(variant, by)["build"],
        "counts_as": _counts_as(head, variant["entry"]),
    }


def _counts_as(head: Mapping[str, Any], entry: Mapping[str, Any] | None) -> str:
    """Return what a head is for the entry rule: an onset of the window, or why it is none."""
    if head["incident"]:
        return "storm"
    if not head["confirmed_at"]:
        return "pending"
    if entry is None or head["number"] in entry["result"]["onsets"]:
        return "onset"
    window = entry["result"]["window"]
    return "before the window" if window and head["number"] <= window["m"] else "confirmed, not counted"


def _entry_figures(entry: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the drawings of the nearest window; None below two onsets, where there is no window."""
    if entry is None or entry["result"]["window"] is None:
        return None
    result, p0 = entry["result"], entry["inputs"]["p0"]
    window = result["window"]
    return {
        "interval": figures.interval_figure(result["interval"], result["rate"], p0),
        "strength": figures.strength_figure(window["p_value"], window["limit"]),
        "window": window,
        "result": result,
        "p0": p0,
    }


def _progress(variant: Mapping[str, Any]) -> list[figures.Progress]:
    """Return how far a test has come on its way out of quarantine, of being held, or of being broken."""
    if variant["exit"]:
        streak, result = variant["exit"]["inputs"]["streak"], variant["exit"]["result"]
        return [
            figures.Progress("clean trunk trials in a row", streak["clean_trials"], result["trials_needed"]),
            figures.Progress("clean days in a row", streak["clean_days"], result["days_needed"]),
        ]
    if variant["status"] == Status.BROKEN and variant["entry"]:
        needed = variant["entry"]["policy"]["broken_passes"]
        return [figures.Progress("trunk passes in a row", variant["pass_streak"], needed)]
    return []


def _lacking(variant: Mapping[str, Any], mode: str) -> tuple[str, list[str]]:
    """Return what another standing would take, as a heading and phrases."""
    status, observes = variant["status"], mode == Mode.OBSERVE
    if variant["exit"]:
        result = variant["exit"]["result"]
        again = "would have gated again" if observes else "gates again"
        heading = (
            f"It {again} once it has shown that it fails in less than {percent(result['rate'])} of its trials. Lacking:"
        )
        return heading, variant["exit"]["lacking"]
    if status == Status.BROKEN and variant["entry"]:
        more = max(0, variant["entry"]["policy"]["broken_passes"] - variant["pass_streak"])
        return "It stops being broken by passing. Lacking:", [f"{plural(more, 'passed trunk trial')} in a row"]
    if variant["entry"] and variant["heads"]:
        return "To be quarantined it lacks:", variant["entry"]["lacking"]
    return "", []


def _failing(variant: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the failed trials and the commits that a broken standing rests on; None when it does not stand so."""
    if variant["status"] != Status.BROKEN:
        return None
    broke: Mapping[str, Any] = next(
        (move["evidence"] for move in variant["transitions"] if move["to"] == Status.BROKEN), {}
    )
    trials = [
        {**trial, "build": _build(variant, trial["build"])} for trial in broke.get("inputs", {}).get("failing", ())
    ]
    return {"trials": trials, "range": broke.get("range") or {"last_passing": None, "first_failing": None}}
