"""A weekly report as a message: the sentence, the one thing to do, the figures, and where to read on."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from quarantine.domain.chart import SizeChart, SizeWeek
from quarantine.domain.notice import Notice, NoticeKind, NoticeTest, Section
from quarantine.policy.wording import days_of, named, plural
from quarantine.services.weekly_text import became_of, saved_of, size_of, week_named

_TESTS, _FILES, _OWNERS = 3, 3, 4


def weekly_notice(report: Mapping[str, Any], *, missed: Sequence[str] = ()) -> Notice:
    """Return the message of a report as `weekly.report_of` returns it; `missed` are weeks that were made good."""
    project = str(report["project"])
    small = [week_named(report)]
    if missed:
        small.append(f"No daemon ran when {named(list(missed))} fell due: made good, to be read on the page.")
    return Notice(
        kind=NoticeKind.WEEKLY,
        project=project,
        title=f"{project}: {plural(report['size']['tests'], 'test')} in quarantine, week {report['week']}",
        lead=str(report["headline"]),
        sections=(
            Section(title="The one thing to do", text=(str(report["advice"]["sentence"]),)),
            Section(facts=tuple(_facts(report))),
            *_oldest(report),
        ),
        path=f"/projects/{quote(project, safe='')}/weekly/{report['week']}",
        small=tuple(small),
        chart=chart_of(report),
    )


def chart_of(report: Mapping[str, Any]) -> SizeChart:
    """Return the sizes of the weeks as a chart."""
    weeks = tuple(
        SizeWeek(label=one["week"][5:], size=one["tests"], entered=one["entered"], left=one["left"])
        for one in report["weeks"]
    )
    return SizeChart("Tests in quarantine at the end of each week", weeks)


def _facts(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    ages, strength, exits = report["ages"], report["strength"], report["exits"]["counts"]
    facts = [("size", size_of(report))]
    if ages["median_days"] is not None:
        facts.append(("age", f"median {days_of(ages['median_days'])}, oldest {days_of(ages['oldest_days'])}"))
    if report["owners"]:
        owners = [f"{one['owner'] or 'nobody'} {one['tests']:,}" for one in report["owners"]]
        facts.append(("owners", named(owners, _OWNERS)))
    if strength is not None and strength["lost"]:
        files = (
            named(strength["lost_files"], _FILES) if strength["lost"] <= _FILES else plural(strength["lost"], "file")
        )
        facts.append(("guarded by no test that gates", files))
    facts.append(("saved", saved_of(report["saved"])))
    facts.append(("possible regressions", became_of(report["regressions"])))
    expected = [(exits["due"] + exits["on_its_way"], "on their way out"), (exits["failing"], "to be mended first")]
    expected.append((exits["too_slow"], "will not leave at the present pace"))
    facts.append(("exits", ", ".join(f"{count:,} {what}" for count, what in expected if count) or "none expected"))
    if report["suspects"]:
        facts.append(("close to entry", named([one["name"] for one in report["suspects"]], _TESTS)))
    return facts


def _oldest(report: Mapping[str, Any]) -> tuple[Section, ...]:
    oldest = report["ages"]["oldest"][:_TESTS]
    if not oldest:
        return ()
    project = quote(str(report["project"]), safe="")
    tests = tuple(
        NoticeTest(
            id=one["test"],
            name=one["name"],
            path=f"/projects/{project}/tests/{one['test']}",
            state=days_of(one["days"]),
            sentence=f"Owned by {one['owner']}." if one["owner"] else "Nobody is known to own it.",
        )
        for one in oldest
    )
    return (Section(title="Out the longest", tests=tests, left_out=max(0, report["size"]["tests"] - len(tests))),)
