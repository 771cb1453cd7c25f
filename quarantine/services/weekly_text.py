"""A weekly report as Markdown: for a terminal, a page of a wiki, or the plain part of a letter.

Names and messages come from reports, so they stand in code spans or have every mark of Markdown escaped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from quarantine.policy.wording import days_of, plural

__all__ = ["became_of", "markdown", "saved_of", "size_of", "week_named"]

_OUTLOOKS = {
    "due": "have the evidence: the next trunk build lets them gate",
    "on_its_way": "will have it if they do not fail again",
    "too_slow": "will not at the present pace: they run too seldom on trunk",
    "failing": "go on failing and have to be mended first",
}
_BECAME = {
    "open": "not answered yet",
    "regression": "a regression",
    "flake": "a flake after all",
    "passed": "mended within the change",
}


def markdown(report: Mapping[str, Any], *, address: str = "") -> str:
    """Return the report as Markdown.

    Args:
        report: as `weekly.report_of` returns it.
        address: where people reach the server; without one there are no links.
    """
    lines = [
        f"# {_words(report['project'])}: quarantine in week {report['week']}",
        "",
        f"**{_words(report['headline'])}**",
        "",
        f"The one thing to do: {_words(report['advice']['sentence'])}",
        "",
        f"_{week_named(report)}_",
    ]
    for title, body in _sections(report):
        if body:
            lines += ["", f"## {title}", "", *body]
    if address:
        lines += ["", f"[The whole report]({address}/projects/{report['project']}/weekly/{report['week']})"]
    return "\n".join(lines) + "\n"


def week_named(report: Mapping[str, Any]) -> str:
    """Return which days the report is of, and of what instant that is which has no past."""
    zone = ZoneInfo(report["zone"])
    begin, end, made = (datetime.fromisoformat(report[name]) for name in ("begin", "end", "made_at"))
    until = "so far" if not report["is_over"] else f"until {end.astimezone(zone):%Y-%m-%d %H:%M}"
    return f"From {begin.astimezone(zone):%Y-%m-%d} {until} ({zone}); made {made.astimezone(zone):%Y-%m-%d %H:%M}."


def _sections(report: Mapping[str, Any]) -> Iterable[tuple[str, list[str]]]:
    yield "Size", _size(report)
    yield "Age", _ages(report)
    yield "Whose they are", _owners(report["owners"])
    yield "What fails alike", [f"- {plural(one['tests'], 'test')}: {_code(one['message'])}" for one in report["causes"]]
    yield "In and out", _moved(report["moved"])
    yield "What nobody guards meanwhile", _strength(report["strength"])
    yield "What it saved", _saved(report["saved"])
    yield "Possible regressions", _regressions(report["regressions"])
    yield "When they can leave", _exits(report["exits"])
    yield "Suspects close to entry", [_suspect(one) for one in report["suspects"]]


def size_of(report: Mapping[str, Any]) -> str:
    """Return how large the quarantine is, what share of the suite, and what went in and out."""
    size = report["size"]
    share = "" if size["share"] is None else f", {100 * size['share']:.2g} % of {plural(size['suite'], 'test')}"
    moved = f"{size['entered']:,} in, {size['left']:,} out, net {size['net']:+,}"
    return f"{plural(size['tests'], 'test')} out{share}; {moved}"


def _size(report: Mapping[str, Any]) -> list[str]:
    compared = report["compared"]
    said = f"{size_of(report)}."
    if compared:
        said += (
            f" In the {plural(compared['weeks'], 'week')} before: {compared['tests']:.3g} out on average, "
            f"{compared['entered']:.3g} in and {compared['left']:.3g} out a week."
        )
    rows = [[one["week"], one["tests"], one["entered"], one["left"]] for one in report["weeks"]]
    return [said, "", *_table(["week", "tests", "in", "out"], rows)]


def _ages(report: Mapping[str, Any]) -> list[str]:
    ages, compared = report["ages"], report["compared"]
    if ages["median_days"] is None:
        return []
    before = (
        f" ({days_of(compared['median_days'])} in the weeks before)"
        if compared and compared["median_days"] is not None
        else ""
    )
    rows = [[one["label"], one["tests"]] for one in ages["bins"]]
    oldest = [f"- {_code(one['name'])} {days_of(one['days'])}{_owned(one)}" for one in ages["oldest"][:5]]
    said = f"Half of them have been out for {days_of(ages['median_days'])} or more{before}. The oldest:"
    return [said, "", *oldest, "", *_table(["age", "tests"], rows)]


def _owners(owners: Sequence[Mapping[str, Any]]) -> list[str]:
    return _table(
        ["owner", "tests", "oldest"],
        [[_words(one["owner"] or "nobody"), one["tests"], days_of(one["oldest_days"])] for one in owners],
    )


def _moved(moved: Mapping[str, Any]) -> list[str]:
    return [
        f"- {what}: {_code(one['name'])}{_owned(one)}. {_words(one['reason'])}".rstrip()
        for what, several in (("in", moved["entered"]), ("out", moved["left"]))
        for one in several
    ]


def _strength(strength: Mapping[str, Any] | None) -> list[str]:
    if strength is None:
        return ["Unknown: no reach map was uploaded."]
    said = f"{plural(strength['lost'], 'file')} of {strength['files']:,} {_reached(strength['lost'])}."
    if strength["lost_functions"]:
        said += f" In all {plural(strength['lost_functions'], 'function')} {_reached(strength['lost_functions'])}."
    files = [f"- {_code(path)}" for path in strength["lost_files"]]
    return [said, *([""] if files else []), *files]


def _reached(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} reached by no test that gates"


def saved_of(saved: Mapping[str, Any]) -> str:
    """Return what the verdicts of the week saved, without a full stop."""
    if not saved["verdicts"]:
        return "no verdict was asked for, so nothing is known to have been saved"
    return (
        f"{plural(saved['rejections'], 'rejection')} prevented in {plural(saved['verdicts'], 'verdict')}: "
        f"{plural(saved['failures'], 'failure')} excused, {plural(saved['attempts'], 'attempt')} of a loop and "
        f"{saved['minutes']:,.0f} minutes of test runs saved at least"
    )


def _saved(saved: Mapping[str, Any]) -> list[str]:
    said = saved_of(saved)
    return [f"{said[:1].upper()}{said[1:]}."]


def became_of(found: Mapping[str, Any]) -> str:
    """Return how many possible regressions were raised and what became of them, without a full stop."""
    became = ", ".join(f"{count:,} {_BECAME[state]}" for state, count in found["became"].items() if count)
    return f"{found['raised']:,} raised: {became}" if found["raised"] else "none raised"


def _regressions(found: Mapping[str, Any]) -> list[str]:
    said = became_of(found)
    open_ones = [f"- {_code(one['name'])}{_owned(one)}, since {one['at'][:10]}" for one in found["open"]]
    whole = f"{said[:1].upper()}{said[1:]}."
    return [whole, "", f"Open in all: {found['open_in_all']:,}.", "", *open_ones] if open_ones else [whole]


def _exits(exits: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for outlook, what in _OUTLOOKS.items():
        if exits["counts"][outlook]:
            lines += [f"- {plural(exits['counts'][outlook], 'test')} {what}"]
            lines += [_exit(one) for one in exits[outlook]]
    return lines


def _exit(one: Mapping[str, Any]) -> str:
    when = f" about {one['date']}." if one["date"] else ""
    return f"  - {_code(one['name'])}{_owned(one)}{when} {_words(one['sentence'])}"


def _suspect(one: Mapping[str, Any]) -> str:
    lacking = f"; lacking {_words(', '.join(one['lacking']))}" if one["lacking"] else ""
    return f"- {_code(one['name'])}{_owned(one)}: {plural(one['onsets'], 'onset')}, p {one['p_value']:.2g}{lacking}"


def _owned(one: Mapping[str, Any]) -> str:
    return f" ({_words(one['owner'])})" if one["owner"] else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *body] if body else []


def _line(text: str) -> str:
    """Return a text in one line, without what no terminal or page should print."""
    return "".join(char if char.isprintable() else " " for char in " ".join(text.split()))


def _words(text: str) -> str:
    """Return words that Markdown shows as they are."""
    return re.sub(r"([\\`*_{}\[\]<>|#!&~@])", r"\\\1", _line(text))


def _code(text: str) -> str:
    """Return a code span that shows a text as it is, also within a table."""
    line = _line(text).replace("|", "¦")
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    inside = f" {line} " if line.startswith("`") or line.endswith("`") else line
    return f"{fence}{inside}{fence}" if line else "(nothing)"
