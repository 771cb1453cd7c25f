"""From a weekly report to what its page prints."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from quarantine.domain.outcome import Mode
from quarantine.pictures import svg_of
from quarantine.policy.weekly import Page
from quarantine.services import weekly_notice, weekly_text
from quarantine.web import figures

_WEEKS_LINKED = 26
_LEADS: Mapping[Page, tuple[str, str]] = {
    Page.PROJECT: ("", "To the overview"),
    Page.QUARANTINED: ("/quarantined", "To the quarantined tests"),
    Page.OLD: ("/quarantined?older=30", "To the oldest of them"),
    Page.HELD: ("/quarantined?standing=held", "To the tests that are held"),
    Page.POLICY: ("/policy", "To the policy"),
}
_OUTLOOKS = (
    ("due", "with the evidence to leave", "The next trunk build lets them gate."),
    ("on_its_way", "on their way out", "If they do not fail again, on the date that is given."),
    ("too_slow", "that will not leave at the present pace", "They run too seldom: repeat the suite at night, say."),
    ("failing", "to be mended first", "They go on failing, so no streak will be long enough."),
)


def weekly_view(told: Mapping[str, Any], kept: Sequence[str]) -> dict[str, Any]:
    """Return what weekly.html prints, from `weekly.report_of` and the weeks that have a report."""
    most = max((one["tests"] for one in told["ages"]["bins"]), default=0)
    return {
        "project": told["project"],
        "told": told,
        "now": told["made_at"],
        "observes": told["mode"] == Mode.OBSERVE,
        "named": weekly_text.week_named(told),
        "chart": svg_of(weekly_notice.chart_of(told), ground="page"),
        "lead": _lead(told["advice"]),
        "bins": [one | {"width": figures.share_width(one["tests"], most)} for one in told["ages"]["bins"]],
        "owners": [one | {"width": figures.share_width(one["tests"], told["size"]["tests"])} for one in told["owners"]],
        "saved": _sentence(weekly_text.saved_of(told["saved"])),
        "became": _sentence(weekly_text.became_of(told["regressions"])),
        "outlooks": [
            {"name": name, "note": note, "count": told["exits"]["counts"][key], "rows": told["exits"][key]}
            for key, name, note in _OUTLOOKS
            if told["exits"]["counts"][key]
        ],
        "other_weeks": [week for week in kept if week != told["week"]][:_WEEKS_LINKED],
    }


def _lead(advice: Mapping[str, Any]) -> tuple[str, str]:
    """Return the path below the project's page that the advice leads to, and what the link says."""
    page = Page(advice["page"])
    if page is Page.TEST:
        return f"/tests/{quote(advice['key'], safe='')}", "To its page"
    if page is Page.CAUSE:
        return f"/quarantined?{urlencode({'cause': advice['key']})}", "To the tests that share it"
    return _LEADS[page]


def _sentence(phrase: str) -> str:
    return f"{phrase[:1].upper()}{phrase[1:]}."
