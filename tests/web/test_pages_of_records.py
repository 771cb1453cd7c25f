"""The pages of what a project keeps: quarantined tests, builds, incidents, reports, and the policy."""

import re
from dataclasses import fields
from datetime import UTC, date, datetime
from typing import Any

import pytest

from quarantine.domain.outcome import Lane, Status
from quarantine.policy.criteria import Policy
from quarantine.services import decisions
from quarantine.services.overview import sizes
from quarantine.services.quarantined_list import PAGE, Wanted, quarantined_list
from quarantine.web.charts import age_bar, size_figure
from quarantine.web.list_views import wanted_of
from quarantine.web.paging import page_of, pager, query
from quarantine.web.policy_words import CHAPTERS, policy_view
from quarantine.web.project_views import needs
from tests.web.crowd import crowd
from tests.web.site import Page, Site
from tests.world import OWNER, PROJECT, junit

HOME = f"/projects/{PROJECT}"
LISTS = [f"{HOME}/{name}" for name in ("quarantined", "builds", "incidents", "reports", "policy")]


def names(site: Site, **wanted: Any) -> list[str]:
    """Return the bare names of the list in order."""
    found = quarantined_list(site.world.app, PROJECT, Wanted(**wanted))
    return [row["name"].rpartition("::")[2] for row in found["rows"]]


@pytest.mark.parametrize("path", LISTS)
def test_lists_without_a_row_say_so(site: Site, path: str) -> None:
    """A new project has every page, and none of them is a table of nothing."""
    page = site.page(path)
    page.check_inert()
    page.check_readable()
    assert "table" not in page.tags()


@pytest.mark.parametrize("path", [*LISTS, f"{HOME}/builds/1", f"{HOME}/quarantined?standing=held&sort=exit&older=1"])
def test_lists_can_be_read_without_seeing_them(judged: Site, path: str) -> None:
    """Nothing on them runs or comes from elsewhere, and every drawing has its words."""
    page = judged.page(path)
    page.check_inert()
    page.check_readable()


def test_the_list_shows_each_row_with_its_figures(judged: Site) -> None:
    """Name, variant, age, rate, last failure, and the same progress towards the exit as the test's own page."""
    page = judged.page(f"{HOME}/quarantined")
    [variant] = judged.world.explain("t_flaky")["variants"]
    needed, streak = variant["exit"]["result"], variant["exit"]["inputs"]["streak"]
    assert "Would have been quarantined 1" in page.text
    assert "tests.test_ledger::t_flaky in the variant job=unit" in page.text
    assert f"{streak['clean_trials']} of {needed['trials_needed']} clean trials" in page.text
    assert f"{streak['clean_days']} of {needed['days_needed']} clean days" in page.text
    assert re.search(r"[\d.]+ % of trunk trials last .+ ago", page.text)
    assert "Would have been held 1" in judged.page(f"{HOME}/quarantined?standing=held").text
    assert "Broken 1" in judged.page(f"{HOME}/quarantined?standing=broken").text


@pytest.mark.parametrize("name", ["t_flaky", "t_held"])
def test_the_list_assesses_an_exit_as_the_page_of_the_test_does(judged: Site, name: str) -> None:
    """What it is told of many tests at once is what is told of one."""
    [variant] = judged.world.explain(name)["variants"]
    found = quarantined_list(judged.world.app, PROJECT, Wanted(status=Status(variant["status"])))
    [row] = [row for row in found["rows"] if row["name"].endswith(name)]
    assert row["exit"]["lacking"] == variant["exit"]["lacking"]
    assert row["exit"]["days_needed"] == variant["exit"]["result"]["days_needed"]
    assert row["last_failed_build"] == variant["failures"][-1]["build_seq"]


def test_the_list_is_sorted_filtered_and_paged(site: Site) -> None:
    """Each order is the reverse of itself the other way round; filters take away; pages neither lose nor repeat."""
    crowd(site.world, tests=260, quarantined=230)
    whole = [name for page in (1, 2, 3) for name in names(site, page=page)]
    assert len(whole) == len(set(whole)) == 231
    for sort in ("age", "name"):
        forth = [name for page in (1, 2, 3) for name in names(site, sort=sort, page=page)]
        back = [name for page in (1, 2, 3) for name in names(site, sort=sort, page=page, reverse=True)]
        assert forth == back[::-1]
    for sort in ("rate", "failed", "exit"):
        assert len(names(site, sort=sort)) == PAGE
    alike = names(site, cause=f"s1:{7:032x}")
    assert alike == ["test_case[7]"]
    assert names(site, older=9_000) == []
    text = site.page(f"{HOME}/quarantined?older=9000").text
    assert "No test is like that. Show all 231" in text
    assert "There is no page" not in text
    assert names(site, page=4) == []
    page = site.page(f"{HOME}/quarantined")
    assert "1 to 100 of 231 rows" in page.text
    assert f"{HOME}/quarantined?page=2" in page.attributes("href")
    last = site.page(f"{HOME}/quarantined?page=3&sort=name")
    assert "201 to 231 of 231 rows" in last.text
    assert f"{HOME}/quarantined?sort=name&page=2" in last.attributes("href")
    assert "There is no page 9; the last one is 3." in site.page(f"{HOME}/quarantined?page=9").text


def test_the_overview_of_a_crowd_stays_short(site: Site) -> None:
    """A page of 230 quarantined tests names a few of them and leads to the others."""
    crowd(site.world, tests=260, quarantined=230)
    page = site.page(HOME)
    assert len(page.html) < 60_000
    assert "All 231, sorted and filtered as you like" in page.text


def test_owners_are_shown_and_filtered_by(judged: Site) -> None:
    """Whoever names the owners of tests gets them on the rows, and a filter for each and for nobody."""

    def owners(_connection: object, _project: object, tests: Any) -> dict[int, str]:
        return dict.fromkeys(tests, "@shop/cart")

    app = judged.world.app
    found = quarantined_list(app, PROJECT, Wanted(), owners=owners)
    assert [row["owner"] for row in found["rows"]] == ["@shop/cart"]
    assert found["owners"] == ["@shop/cart"]
    assert quarantined_list(app, PROJECT, Wanted(owner=""), owners=owners)["rows"] == []
    assert quarantined_list(app, PROJECT, Wanted(owner=""))["total"] == 1


def test_what_cannot_be_meant_is_as_if_it_were_not_said() -> None:
    """A hand-written address never breaks the list."""
    assert wanted_of({"standing": "gating", "sort": "x", "older": "-3", "page": "0", "order": "up"}) == Wanted()
    assert [wanted_of({"older": "9" * digits}).older for digits in (400, 9_000)] == [100_000, 100_000]
    assert wanted_of({"cause": "a\0b", "owner": "-"}) == Wanted(cause="ab", owner="")
    assert [page_of({"page": text}) for text in ("7", "", "x", "-1", "\u0663", "9" * 99)] == [7, 1, 1, 1, 1, 1]


def test_the_overview_says_what_needs_a_person(judged: Site) -> None:
    """Broken, held and old ones, each with where to look; nothing when there is nothing."""
    page = judged.page(HOME)
    needs = page.text[page.text.index("What needs a person now") :]
    assert needs.index("1 broken on trunk") < needs.index("1 would have been held")
    assert "30 days or longer" not in needs
    judged.world.wait(days=40)
    text = judged.page(HOME).text
    assert "1 for 30 days or longer The oldest, tests.test_ledger::t_flaky, for" in text
    decisions.create_project(judged.world.app, "calm", bearer=OWNER)


def test_a_possible_regression_comes_first() -> None:
    """It leads to the verdict that raised it, and names its tests."""
    alarm = {"number": 7, "tests": ["a::t1", "a::t2"], "at": "2026-01-05T09:00:00+00:00"}
    told = {
        "mode": "enforce",
        "counts": {"broken": 2, "held": 0},
        "needs": {"alarms": [alarm], "troubles": [], "old": 0, "renames": []},
    }
    first, second = needs(told)
    assert (first["count"], first["title"], first["at"]) == (2, "possible regressions", "/verdicts/7")
    assert first["sentence"].startswith("a::t1 and a::t2 failed more often in a row")
    assert (second["count"], second["at"]) == (2, "/quarantined?standing=broken")


def test_a_calm_project_needs_nobody(site: Site) -> None:
    """It says so, rather than showing an empty list."""
    for number in range(3):
        site.world.send(f"b{number}", {"t1": "P", "t2": "P"}, variant={"os": "linux"})
        site.world.wait(hours=8)
    assert "What needs a person now Nothing." in site.page(HOME).text


def test_the_size_counts_tests_at_the_end_of_each_day() -> None:
    """A test quarantined in two variants is one; a move of the day itself counts at its end."""

    def at(day: int, variant: str, test: int, to: str) -> dict[str, Any]:
        return {"at": datetime(2026, 1, day, 12, tzinfo=UTC), "variant_hash": variant, "test": test, "to_status": to}

    moves = [at(2, "a", 1, "quarantined"), at(3, "b", 1, "quarantined"), at(3, "a", 2, "quarantined"),
             at(4, "a", 1, "gating"), at(5, "b", 1, "gating")]  # fmt: skip
    found = sizes({("a", 2), ("a", 9)}, moves, date(2026, 1, 1), date(2026, 1, 6))
    assert [count for _, count in found] == [1, 2, 3, 3, 2, 2]
    assert [day.day for day, _ in found] == [1, 2, 3, 4, 5, 6]


def test_the_drawing_of_the_size_says_what_it_shows() -> None:
    """Bars fill the width, none is higher than the grid, and the words have first, most and last."""
    drawn = size_figure([{"day": f"2026-01-{day:02}", "tests": count} for day, count in ((1, 0), (2, 7), (3, 4))])
    assert drawn.alternative == "1 Jan to 3 Jan: 0 at first, at most 7 on 2 Jan, 4 now"
    assert drawn.change == "4 more than on 1 Jan"
    assert [bar.height + bar.y for bar in drawn.bars] == [112, 112, 112]
    assert drawn.bars[-1].x + drawn.bars[-1].width == pytest.approx(100, abs=0.01)
    assert [label for _, label in drawn.grid] == ["10", "5", "0"]
    assert size_figure([{"day": "2026-01-01", "tests": 0}]).change == "counted from today on"


def test_ages_share_a_scale() -> None:
    """The oldest fills its bar, and the mark stands where 30 days end."""
    assert age_bar(300, 300, 30).width == 100
    assert age_bar(45, 45, 30).width == 50
    assert (age_bar(29, 29, 30).is_old, age_bar(30, 30, 30).is_old) == (False, True)


def test_pagers_lead_to_their_neighbours() -> None:
    """The first page has no page in its address, and a page beyond the last leads back to it."""
    assert pager(2, 100, 250, sort="name").before == "?sort=name"
    assert pager(2, 100, 250).before == ""
    assert pager(3, 100, 250).after is None
    assert pager(9, 100, 250).before == "?page=3"
    assert (pager(1, 100, 0).first_row, pager(1, 100, 0).last) == (0, 1)
    assert query(owner="a&b", page=None) == "?owner=a%26b"


def test_a_build_says_why_each_test_failed(judged: Site) -> None:
    """An onset names the rerun that passed, a failure after a failure is no head, a rerun is told as one."""
    [variant] = judged.world.explain("t_flaky")["variants"]
    onset = variant["heads"][0]["build"]
    page = judged.page(f"{HOME}/builds/{onset}")
    assert "onset Head 1: it had passed before, and build 1.1-rerun-1 passed on the identical tree." in page.text
    assert "Trunk run no." in page.text
    assert "report-1.xml read whole" in page.text
    broken = judged.world.explain("t_broken")["variants"][0]["failures"]
    runs = [failure["build_seq"] for failure in broken if failure["trial"] is not None]
    assert "already failing Its last trial on trunk before" in judged.page(f"{HOME}/builds/{runs[-1]}").text
    rerun = next(failure["build_seq"] for failure in broken if failure["trial"] is None)
    assert "rerun A rerun: it can confirm" in judged.page(f"{HOME}/builds/{rerun}").text


def test_a_build_leads_to_the_verdict_on_it(asked: Site) -> None:
    """Verdict and finding stand beside the failure."""
    rows = asked.world.summary()["latest_builds"]
    build = next(row["seq"] for row in rows if row["build"] == "T-2-3")
    page = asked.page(f"{HOME}/builds/{build}")
    assert f"{HOME}/verdicts/4" in page.attributes("href")
    assert "rejects verdict 4: " in page.text
    assert f"{HOME}/builds/{build}" in asked.page(f"{HOME}/verdicts/4").attributes("href")


def test_a_build_that_crashed_shows_what_it_left(site: Site) -> None:
    """Without a readable report it has run events, and says that nothing could be read."""
    whole = junit({"t1": "P", "t2": "P"})
    site.world.send("cut", whole[: len(whole) * 2 // 3], exit_code=139)
    site.world.send("gone", exit_code=137)
    text = site.page(f"{HOME}/builds/1").text
    assert "truncated-report" in text
    assert "read in part" in text
    text = site.page(f"{HOME}/builds/2").text
    assert "no-report" in text
    assert "No report of it could be read." in text


def test_builds_are_listed_by_lane_and_page(site: Site) -> None:
    """The newest first; a lane shows its own; a page beyond the last says so."""
    for number in range(3):
        site.world.send(f"b{number}", {"t1": "P"})
    site.world.send("pr", {"t1": "P"}, lane=Lane.REVIEW, change="pr-1")
    text = site.page(f"{HOME}/builds").text
    assert text.index("pr unit review pr-1") < text.index("b2 unit trunk") < text.index("b0 unit trunk")
    assert "b2" not in site.page(f"{HOME}/builds?lane=review").text
    assert "No build has come in on the lane agent yet." in site.page(f"{HOME}/builds?lane=agent").text
    assert "Builds 4" in site.page(f"{HOME}/builds?lane=nonsense").text
    assert "There is no page 7; the last one is 1." in site.page(f"{HOME}/builds?page=7").text


def test_an_incident_shows_its_builds_and_tests(site: Site) -> None:
    """The list leads to it, and it to each build and each test."""
    site.storm()
    [incident] = site.world.summary()["incidents"]
    listed = site.page(f"{HOME}/incidents")
    [address] = [href for href in listed.attributes("href") if "/incidents/" in href]
    page = site.page(address)
    assert incident["sentence"] in page.text
    assert "A storm over 12 tests in 3 builds" in page.text
    assert len([href for href in page.attributes("href") if "/tests/" in href]) == 12
    struck = next(href for href in page.attributes("href") if "/builds/" in href)
    assert f"In a storm: {incident['sentence']}" in site.page(struck).text
    assert "storm One of many failures" in site.page(struck).text


def test_reports_are_listed_with_what_was_wrong(site: Site) -> None:
    """Those read in part with their problems, and those refused with the reason."""
    whole = junit({"t1": "P", "t2": "P"})
    site.world.send("b1", whole)
    site.world.send("cut", whole[: len(whole) * 2 // 3], exit_code=1)
    site.open().post(
        f"/v1{HOME}/reports",
        files=[("build", (None, '{"schema": 1, "build": "b"}')), ("report", ("cov.xml", b"<coverage line-rate='1'/>"))],
    )
    text = site.page(f"{HOME}/reports").text
    assert "Reports 2" in text
    assert "Refused 1" in text
    assert "It looks like a coverage report" in text
    assert "in part cut" in text


@pytest.mark.parametrize(
    "path", ["builds/0", "builds/x", f"builds/{'9' * 40}", "incidents/nope", "builds/%00", "builds/-1"]
)
def test_what_is_not_there_is_told(judged: Site, path: str) -> None:
    """A wrong number is a page that says where to look, not a crash."""
    text = judged.page(f"{HOME}/{path}", status=404).text
    assert "listed on the page of" in text or "nothing at this address" in text


def test_every_knob_of_the_policy_is_put_in_words(judged: Site) -> None:
    """Each once, with its value; one that is not the default says what that would be."""
    told = [key for chapter in CHAPTERS for key in chapter.knobs]
    assert sorted(told) == sorted(field.name for field in fields(Policy))
    page = judged.page(f"{HOME}/policy")
    assert judged.world.app.policy.version in page.text
    assert "These tests always gate: *t_held*. default none" in page.text
    strict = policy_view(Policy(broken_failures=9, alarms_per_week=2.5))
    said = " ".join(knob["sentence"] for chapter in strict["chapters"] for knob in chapter["knobs"])
    assert "broken after 9 failed trunk trials in a row" in said
    assert "2.5 times a week" in said


def test_a_test_shows_its_company_and_its_failures_folded(judged: Site) -> None:
    """Tests that fail in the same builds, failures by signature with build links, and marks of onsets in the strip."""
    page = judged.page(f"{HOME}/tests/t_flaky")
    failures = judged.world.explain("t_flaky")["variants"][0]["failures"]
    company = page.text[page.text.index("What fails with it") : page.text.index("Failures by signature")]
    assert f"tests.test_ledger::t_held {len(failures)} of {len(failures)} builds" in company
    assert "A dot below is an onset." in page.text
    assert any(f"/builds/{failures[-1]['build_seq']}" in href for href in page.attributes("href"))


def test_a_flake_is_dated_to_its_first_onset(judged: Site) -> None:
    """The page names the build and the commit of the first onset that counts, and what trunk ran before it."""
    page = judged.page(f"{HOME}/tests/t_flaky")
    [variant] = judged.world.explain("t_flaky")["variants"]
    began = variant["builds"][variant["heads"][variant["entry"]["result"]["onsets"][0] - 1]["build"]]
    text = page.text[page.text.index("Where it began") :]
    assert f"in {began['build']}, commit {began['commit'][:12]}; trunk had run " in text
    assert "Where it began" not in judged.page(f"{HOME}/tests/t1").text


def test_what_people_did_about_a_test_is_told(judged: Site) -> None:
    """A release stands there with who and why."""
    decisions.release(judged.world.app, PROJECT, "t_flaky", bearer=OWNER, reason="mended in <b>abc</b>")
    text = judged.page(f"{HOME}/tests/t_flaky").text
    assert "What people did release" in text
    assert "mended in <b>abc</b>" in text
    assert "What people did" not in judged.page(f"{HOME}/tests/t_held").text


def test_lists_need_a_token_as_other_pages_do(judged: Site) -> None:
    """Whoever has none is sent to sign in; a token of the project opens them."""
    for path in LISTS:
        assert judged.client(browser=True).get(path).headers["location"].startswith("/sign-in?next=")
    client = judged.client(browser=True, token=judged.token())
    assert all(Page.of(client.get(path)) for path in LISTS)
