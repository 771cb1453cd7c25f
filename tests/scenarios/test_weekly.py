"""Weekly reports on the whole product: made once, told once, the same for ever, and right however late they come."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from quarantine.bootstrap import build_app
from quarantine.config import Settings
from quarantine.daemon import people as daemon
from quarantine.domain.notice import Notice
from quarantine.domain.outcome import Lane
from quarantine.errors import BadInput, NotFound
from quarantine.services import decisions, reaching, weekly, weekly_text
from quarantine.services.people import People, ProjectPeople
from quarantine.services.weekly_issue import issue_due
from quarantine.store import projects, raised
from quarantine.store.engine import reading, writing
from quarantine.store.people_tables import OUTBOX, THREAD
from tests.channels import HERE
from tests.world import CLASSNAME, OWNER, World, sender

SUITE = {f"t{number}": "P" for number in range(30)}
OWNERS = {"path": "CODEOWNERS", "text": "/tests/test_ledger.py @acme/mail\n"}
KINDS = ("week", "begin", "end", "size", "compared", "weeks", "ages", "owners", "moved", "saved", "trunk_builds")
"""What is that of the week's end however late the report is made."""


@pytest.fixture
def ledger(world: World) -> World:
    """Return an enforcing project whose channel hears of it; it is Monday of the week 2026-W02."""
    world.app.people = People(projects={world.project: ProjectPeople(channel=HERE)}, address="https://q.example")
    world.send("first", SUITE, owners=OWNERS)
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    return world


def by_hand(world: World, *names: str, days: float = 30) -> None:
    for name in names:
        decisions.quarantine(world.app, world.project, name, bearer=OWNER, reason="the sandbox is down", days=days)


def release(world: World, *names: str) -> None:
    for name in names:
        decisions.release(world.app, world.project, name, bearer=OWNER, reason="it was mended")


def rows(world: World, table: Any) -> list[dict[str, Any]]:
    with reading(world.app.engine) as connection:
        return [dict(row) for row in connection.execute(table.select()).mappings()]


def notices(world: World) -> list[Notice]:
    found = sorted((row for row in rows(world, THREAD) if row["kind"] == "weekly"), key=lambda row: row["opened_at"])
    return [Notice.from_json(row["content"]["notice"]) for row in found]


def to_monday(world: World, *, hour: int = 9, minute: int = 0) -> None:
    """Go on to the next Monday, 09:00 UTC or at another time."""
    now = world.clock()
    world.clock.advance(timedelta(days=7 - now.weekday(), hours=hour - now.hour, minutes=minute - now.minute))


def test_a_week_is_told_once_when_it_is_due(ledger: World) -> None:
    """Not on Sunday, not before nine, once on Monday, and not again."""
    by_hand(ledger, "t1", "t2")
    to_monday(ledger, hour=8, minute=59)
    assert issue_due(ledger.app, ledger.project) == []
    ledger.wait(minutes=1)
    assert [issue_due(ledger.app, ledger.project) for _ in range(3)] == [["2026-W02"], [], []]
    [notice] = notices(ledger)
    assert notice.title == "ledger: 2 tests in quarantine, week 2026-W02"
    assert notice.lead == "The first week: 2 tests in quarantine, 2 in, 0 out."
    assert notice.path == "/projects/ledger/weekly/2026-W02"
    assert notice.chart is not None
    assert [week.size for week in notice.chart.weeks] == [2]
    assert [row["form"] for row in rows(ledger, OUTBOX)] == ["post"]


def test_several_daemons_issue_a_week_once(ledger: World) -> None:
    """Started at the same instant on one database, one of them tells and all show the same."""
    by_hand(ledger, "t1")
    to_monday(ledger)
    engine = ledger.app.engine.url.render_as_string(hide_password=False)
    apps = [build_app(Settings.model_validate({"database": engine}), clock=ledger.clock) for _ in range(4)]
    start = threading.Barrier(len(apps))

    def tick(number: int) -> list[str]:
        apps[number].people = ledger.app.people
        start.wait()
        return issue_due(apps[number], ledger.project)

    with ThreadPoolExecutor(len(apps)) as threads:
        issued = [week for weeks in threads.map(tick, range(len(apps))) for week in weeks]
    assert issued == ["2026-W02"]
    assert len(notices(ledger)) == len(rows(ledger, OUTBOX)) == 1
    shown = {json.dumps(weekly.report_of(app, ledger.project), sort_keys=True) for app in apps}
    assert len(shown) == 1
    for app in apps:
        app.engine.dispose()


def test_missed_weeks_are_made_good_and_the_last_is_told(ledger: World) -> None:
    """After three weeks without a daemon one message comes, which names the weeks before it."""
    by_hand(ledger, "t1")
    for _ in range(3):
        to_monday(ledger)
    assert issue_due(ledger.app, ledger.project) == ["2026-W04"]  # the first report ever is of the last week
    for _ in range(4):
        to_monday(ledger)
    assert issue_due(ledger.app, ledger.project) == ["2026-W05", "2026-W06", "2026-W07", "2026-W08"]
    assert len(notices(ledger)) == 2
    assert notices(ledger)[-1].small[1].startswith("No daemon ran when 2026-W05, 2026-W06 and 2026-W07 fell due")
    assert weekly.listed_weeks(ledger.app, ledger.project) == [f"2026-W{n:02}" for n in (8, 7, 6, 5, 4)]


def test_a_past_week_is_the_same_whatever_happens_later(ledger: World) -> None:
    """Told, asked for again after releases, entries and another policy of names; and its Markdown too."""
    by_hand(ledger, "t1", "t2", "t3")
    to_monday(ledger)
    issue_due(ledger.app, ledger.project)
    first = weekly.report_of(ledger.app, ledger.project, "2026-W02")
    release(ledger, "t1", "t2")
    by_hand(ledger, "t9")
    to_monday(ledger)
    ledger.send("later", SUITE | {"t3": "F"})
    assert weekly.report_of(ledger.app, ledger.project, "2026-W02") == first
    assert weekly.report_of(ledger.app, ledger.project, weekly.LAST) == first
    assert weekly_text.markdown(weekly.report_of(ledger.app, ledger.project, "2026-W02")) == weekly_text.markdown(first)


def test_a_week_made_late_tells_what_one_made_in_time_tells(ledger: World) -> None:
    """Sizes, ages, owners, what moved and what was saved do not depend on when they are read."""
    in_time: dict[str, dict[str, Any]] = {}
    for number in range(6):
        by_hand(ledger, f"t{number}", f"t{number + 10}")
        ledger.wait(days=2, hours=number)
        ledger.send(f"build-{number}", SUITE)
        if number % 2:
            release(ledger, f"t{number - 1}")
        to_monday(ledger)
        with reading(ledger.app.engine) as connection:
            project, now = projects.by_slug(connection, ledger.project), ledger.clock()
            period = ledger.app.people.of(ledger.project).weekly.period_of(now)
            in_time[period.key] = weekly.gathered(ledger.app, connection, project, period, now)
    ledger.wait(days=20)
    release(ledger, "t15")
    assert len(in_time) == 6
    for week, made in in_time.items():
        late = weekly.report_of(ledger.app, ledger.project, week)
        assert {kind: late[kind] for kind in KINDS} == {kind: made[kind] for kind in KINDS}
        assert late["made_at"] > made["made_at"]
        assert late["headline"] == made["headline"]


def test_a_week_asked_for_before_it_is_due_is_still_told(ledger: World) -> None:
    """Whoever looks on Monday at eight does not take the message away from the others."""
    by_hand(ledger, "t1")
    to_monday(ledger, hour=8)
    seen = weekly.report_of(ledger.app, ledger.project, "2026-W02")
    ledger.wait(hours=1)
    assert issue_due(ledger.app, ledger.project) == ["2026-W02"]
    assert len(notices(ledger)) == 1
    assert weekly.report_of(ledger.app, ledger.project) == seen


def test_the_running_week_is_never_kept(ledger: World) -> None:
    """Before the first report it is what `last` shows; its sizes move with what happens."""
    by_hand(ledger, "t1")
    ledger.wait(days=1)
    first = weekly.report_of(ledger.app, ledger.project)
    assert (first["week"], first["is_over"], first["size"]["tests"]) == ("2026-W02", False, 1)
    by_hand(ledger, "t2")
    ledger.wait(hours=1)
    assert weekly.report_of(ledger.app, ledger.project, weekly.RUNNING)["size"]["tests"] == 2
    assert weekly.listed_weeks(ledger.app, ledger.project) == []


def test_weeks_outside_of_a_projects_time_are_refused(ledger: World) -> None:
    """Before it was there, in the future, and what no week is called."""
    for week in ("2025-W40", "2026-W30"):
        with pytest.raises(NotFound, match=week):
            weekly.report_of(ledger.app, ledger.project, week)
    for week in ("2026-W54", "w2", "2026-02", "../x", "2026-W2"):
        with pytest.raises(BadInput, match="There is no week"):
            weekly.report_of(ledger.app, ledger.project, week)


def test_a_project_without_a_channel_has_its_reports_all_the_same(world: World) -> None:
    """Nobody is told, every daemon makes them, and a new project has none for the week before it was there."""
    world.send("first", SUITE)
    daemon.issue_weeks(world.app)
    assert weekly.listed_weeks(world.app, world.project) == []
    to_monday(world)
    daemon.issue_weeks(world.app)
    daemon.issue_weeks(world.app)
    assert weekly.listed_weeks(world.app, world.project) == ["2026-W02"]
    assert rows(world, OUTBOX) == []
    told = weekly.report_of(world.app, world.project)
    assert told["headline"] == "The first week: 0 tests would be in quarantine, 0 in, 0 out."
    assert told["advice"]["sentence"] == "Nothing needs a person this week."
    json.dumps(told, allow_nan=False)


def test_a_week_without_a_trunk_build_says_so(ledger: World) -> None:
    """Agents' builds prove nothing about trunk; the advice is to find out why none came."""
    by_hand(ledger, "t1")
    to_monday(ledger)
    ledger.wait(days=2)
    ledger.send("theirs", SUITE, lane=Lane.AGENT, change="ticket-1")
    to_monday(ledger)
    told = weekly.report_of(ledger.app, ledger.project, "2026-W03")
    assert told["headline"] == "No trunk build came in this week, so nothing was learned: 1 test in quarantine."
    assert told["advice"]["sentence"].startswith("Find out why no trunk build has come in since 2026-01-05")


def test_what_is_guarded_raised_saved_and_owned(ledger: World) -> None:
    """Everything there is to tell of a week in which much happened."""
    by_hand(ledger, "t1", "t2")
    columns = [["src/alone.py", "body"]]
    lines = [
        json.dumps({"test": f"tests/test_ledger.py::{name}", "columns": columns}).encode() for name in ("t1", "t2")
    ]
    lines += [
        json.dumps({"test": "tests/test_ledger.py::t3", "columns": [["src/shared.py", "body"]]}).encode(),
    ]
    reaching.add_reach(ledger.app, ledger.project, sender(), lines, tree=None)
    asked = ledger.ask("fix-1", SUITE | {"t1": "F"}, question={"runner_s": 90}, exit_code=1)
    asked = ledger.answer(asked, "fix-1", {"t1": "P"})
    assert (asked["verdict"], asked["final"]) == ("accept", True)
    with writing(ledger.app.engine) as connection:
        project = projects.by_slug(connection, ledger.project)
        raised.note(
            connection, project.id, test=1, variant_hash="x", verdict=1, build_seq=2, change="ticket-1",
            at=ledger.clock(), sentence="It failed 4 of 4 times.",
        )  # fmt: skip
    to_monday(ledger)
    told = weekly.report_of(ledger.app, ledger.project, "2026-W02")
    assert told["strength"]["lost_files"] == ["src/alone.py"]
    assert (told["strength"]["lost"], told["strength"]["files"]) == (1, 2)
    assert told["regressions"]["became"] == {"open": 1, "regression": 0, "flake": 0, "passed": 0}
    assert told["advice"]["sentence"].startswith("Answer 1 possible regression")
    assert told["owners"] == [{"owner": "@acme/mail", "tests": 2, "oldest_days": told["ages"]["oldest_days"]}]
    assert [one["name"] for one in told["moved"]["entered"]] == [f"{CLASSNAME}::t2", f"{CLASSNAME}::t1"]
    assert {one["reason"] for one in told["moved"]["entered"]} == {"the sandbox is down"}
    assert {name: told["saved"][name] for name in ("verdicts", "rejections", "failures", "attempts", "minutes")} == {
        "verdicts": 1,
        "rejections": 1,
        "failures": 1,
        "attempts": 1,
        "minutes": 1.5,
    }
    text = weekly_text.markdown(told, address="https://q.example")
    for word in ("src/alone.py", "@acme/mail".replace("@", r"\@"), "Possible regressions", "not answered yet"):
        assert word in text


def test_exits_are_predicted_and_suspects_named(world: World) -> None:
    """Two tests that flake and are quarantined fail still; one that flakes a little is a suspect."""
    for number in range(24):
        failing = {"t1": "F", "t2": "F"} if number % 3 == 1 else {}
        failing |= {"t5": "F"} if number in (2, 8) else {}
        world.send(f"b{number}", SUITE | failing)
        if failing:
            world.rerun(f"b{number}", SUITE)
        world.wait(hours=9)
    told = weekly.report_of(world.app, world.project)
    assert told["exits"]["counts"] == {"due": 0, "on_its_way": 0, "too_slow": 0, "failing": 2}
    assert [one["name"] for one in told["suspects"]] == [f"{CLASSNAME}::t5"]
    assert told["suspects"][0]["onsets"] == 2
    assert told["causes"][0]["tests"] == 2
    for number in range(60):
        world.wait(hours=9)
        world.send(f"clean{number}", SUITE)
    told = weekly.report_of(world.app, world.project, weekly.RUNNING)
    assert told["exits"]["counts"]["on_its_way"] == 2
    [first, _] = told["exits"]["on_its_way"]
    assert datetime.fromisoformat(first["date"]) > datetime.fromisoformat(told["made_at"]).replace(tzinfo=None)


def test_text_from_reports_stays_text(ledger: World) -> None:
    """A name that would be Markdown, a table, a mention or a heading is shown as it is."""
    name = "t[`x`|<b>@here](http://evil.example) **bold** # head"
    ledger.send("odd", SUITE | {name: "P"})
    by_hand(ledger, f"{CLASSNAME}::{name}")
    ledger.wait(hours=1)
    report = weekly.report_of(ledger.app, ledger.project)
    text = weekly_text.markdown(report)
    [line] = [line for line in text.splitlines() if "evil.example" in line and line.startswith("- in")]
    assert f"``{CLASSNAME}::{name.replace('|', '¦')}``" in line
    assert sum(line.startswith("#") for line in text.splitlines()) == sum(
        line.startswith(("# ledger", "## ")) for line in text.splitlines()
    )
    hostile = report | {"headline": "**x**\n# y <script> \x1b[31m", "advice": {"sentence": "[a](b)", "page": "project"}}
    said = weekly_text.markdown(hostile)
    assert r"\*\*x\*\* \# y \<script\>" in said
    assert r"\[a\](b)" in said
    assert "\x1b" not in said


def test_the_lead_is_written_to(ledger: World) -> None:
    """One letter a person and week, with the whole report in plain text and the message in HTML, escaped."""
    people = ProjectPeople(channel=None, mail=("lead@example.org", "second@example.org"))
    ledger.app.people = People(projects={ledger.project: people}, address="https://q.example")
    by_hand(ledger, "t1")
    name = "t[<script>alert(1)</script>]"
    ledger.send("odd", SUITE | {name: "P"})
    by_hand(ledger, f"{CLASSNAME}::{name}")
    to_monday(ledger)
    assert [issue_due(ledger.app, ledger.project) for _ in range(2)] == [["2026-W02"], []]
    found = rows(ledger, OUTBOX)
    assert sorted(row["channel"] for row in found) == ["mail:lead@example.org", "mail:second@example.org"]
    content = found[0]["content"]
    assert content["subject"] == "ledger: 2 tests in quarantine, week 2026-W02"
    assert content["text"].startswith("# ledger: quarantine in week 2026-W02")
    assert "<script>" not in content["html"]
    assert "&lt;script&gt;" in content["html"]
    assert 'src="cid:chart@quarantine"' in content["html"]
    assert "https://q.example/projects/ledger/weekly/2026-W02" in content["html"]
    assert content["chart"]["weeks"][-1]["size"] == 2
