"""From what the services tell of builds, incidents and reports to what their pages print."""

from collections.abc import Mapping, Sequence
from typing import Any

from quarantine.domain.outcome import Lane
from quarantine.services import build_listing, incident_listing, report_listing
from quarantine.web.paging import pager, query
from quarantine.web.verdict_views import outcome_of

_WHY_NAMES = {
    "storm": "storm",
    "rerun": "rerun",
    "onset": "onset",
    "pending": "pending head",
    "already-failing": "already failing",
    "follows": "failed before",
    "uncounted": "not counted",
}
_UNITS = (("MB", 1_000_000), ("kB", 1_000))


def builds_view(told: Mapping[str, Any], *, page: int, lane: Lane | None) -> dict[str, Any]:
    """Return what builds.html prints, from `build_listing.page_of`."""
    lanes = [("every lane", "", lane is None), *((one.value, query(lane=one.value), one is lane) for one in Lane)]
    return {
        "project": told["project"],
        "told": told,
        "now": told["now"],
        "lane": lane.value if lane else None,
        "lanes": lanes,
        "pager": pager(page, build_listing.PAGE, told["total"], lane=lane.value if lane else None),
    }


def build_view(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what build.html prints, from `build_listing.one`."""
    build = told["build"]
    return {
        "project": told["project"],
        "told": told,
        "now": told["now"],
        "build": build,
        "total": sum(build[name] for name in ("passed", "failed", "skipped", "flaky")),
        "is_red": bool(build["failed"] or build["run_events"] or build["exit_code"]),
        "verdicts": [
            {**verdict, "mark": outcome_of(verdict["outcome"], is_suspect=verdict["suspect"])}
            for verdict in told["verdicts"]
        ],
        "reports": [_report(report) for report in told["reports"]],
        "failures": [{**failure, "why_name": _WHY_NAMES[failure["why"]]} for failure in told["failures"]],
        "failure_count": len(told["failures"]) + told["failures_left_out"],
    }


def incidents_view(told: Mapping[str, Any], *, page: int) -> dict[str, Any]:
    """Return what incidents.html prints, from `incident_listing.page_of`."""
    return {
        "project": told["project"],
        "told": told,
        "now": told["now"],
        "pager": pager(page, incident_listing.PAGE, told["total"]),
    }


def reports_view(told: Mapping[str, Any], *, page: int) -> dict[str, Any]:
    """Return what reports.html prints, from `report_listing.page_of`."""
    return {
        "project": told["project"],
        "told": told,
        "now": told["now"],
        "rows": [_report(row) for row in told["rows"]],
        "refused": [row | {"size": _size(row["size_bytes"])} for row in told["refused"]],
        "refused_left_out": told["refused_count"] - len(told["refused"]) if page == 1 else 0,
        "pager": pager(page, report_listing.PAGE, told["total"]),
    }


def _report(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "size": _size(row["size_bytes"]), "problems": _problems(row["problems"])}


def _problems(problems: Sequence[Sequence[str]]) -> list[str]:
    """Return the problems' sentences, each once."""
    return list(dict.fromkeys(message for _code, message in problems))


def _size(size_bytes: int) -> str:
    for unit, size in _UNITS:
        if size_bytes >= size:
            return f"{size_bytes / size:.3g} {unit}"
    return f"{size_bytes:,} bytes"
