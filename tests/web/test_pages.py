"""The pages, as a browser without scripts gets them."""

import re
from datetime import UTC, datetime

import pytest

from quarantine.clock import FrozenClock
from quarantine.services import decisions
from quarantine.services.app import App
from quarantine.web.headers import HEADERS
from tests.web.site import ADDRESS, Page, Site
from tests.world import OWNER, PROJECT, World

HOME = f"/projects/{PROJECT}"
EVERY = ("/", HOME, f"{HOME}/tests/t_flaky", f"{HOME}/tests/t_broken", f"{HOME}/tests/t_held", f"{HOME}/tests/t1")
LOST = (f"{HOME}/tests/nope", "/projects/nope", "/nope", "/static/nope.css")


def enforce(site: Site) -> None:
    """Let the project act on its decisions."""
    decisions.set_mode(site.world.app, PROJECT, "enforce", bearer=OWNER)


def test_a_fresh_installation_says_what_to_do_next(app: App, clock: FrozenClock) -> None:
    """Without a project the first page gives the commands in order, with the address this server goes by."""
    text = Site(World(app, clock)).page("/").text
    commands = [
        "quarantine project create NAME",
        "quarantine token create --project NAME --scope report --lane trunk",
        f"export QUARANTINE_URL={ADDRESS}",
        "quarantine report junit.xml",
    ]
    places = [text.index(command) for command in commands]
    assert places == sorted(places)


def test_a_new_project_asks_for_its_first_report(site: Site) -> None:
    """A project without builds shows no gate of nothing, but how to send the first report."""
    text = site.page(HOME).text
    assert "No report has come in yet." in text
    assert "ledger is ready and observes: everything will be computed and shown" in text
    assert "export QUARANTINE_PROJECT=ledger" in text
    assert "tests gate" not in text


def test_a_project_whose_only_report_was_refused_shows_it(site: Site) -> None:
    """What could not be read is named with its reason, also before anything was readable."""
    answer = site.open().post(
        f"/v1{HOME}/reports",
        files=[("build", (None, '{"schema": 1, "build": "b"}')), ("report", ("cov.xml", b"<coverage line-rate='1'/>"))],
    )
    assert answer.status_code == 422
    text = site.page(HOME).text
    assert "No report has come in yet." in text
    assert "cov.xml" in text
    assert "It looks like a coverage report" in text


def test_the_list_says_how_each_project_stands(judged: Site) -> None:
    """Each project is there with its mode and its gate, and a link."""
    decisions.create_project(judged.world.app, "atlas", bearer=OWNER)
    page = judged.page("/")
    assert "ledger observing 13 of 13 tests gate" in page.text
    assert "1 would have been quarantined, 1 would have been held, 1 broken" in page.text
    assert "atlas observing No report has come in yet." in page.text
    assert HOME in page.attributes("href")
    enforce(judged)
    page = judged.page("/")
    assert "ledger enforcing 12 of 13 tests gate" in page.text
    assert "1 quarantined, 1 held, 1 broken" in page.text


def test_an_observing_project_says_what_would_have_been(judged: Site) -> None:
    """In observe mode every test gates, each decision is in the conditional, and the way to enforce is given."""
    text = judged.page(HOME).text
    assert "13 of 13 tests gate" in text
    assert "Observing. Nothing has left the gating set. Had ledger enforced, 12 of 13 tests would have gated." in text
    assert "quarantine enforce --project ledger" in text
    assert "Would have been quarantined 1" in text
    assert "Would have been held 1" in text
    said = re.findall(r"(.{16})\bquarantined\b", text)
    assert len(said) >= 3
    assert {before.lower() for before in said} == {"would have been "}


def test_an_enforcing_project_says_what_is(judged: Site) -> None:
    """In enforce mode the quarantined test is out of the gate; its old transition still says it was only observed."""
    enforce(judged)
    text = judged.page(HOME).text
    assert "12 of 13 tests gate" in text
    assert "Enforcing. 1 quarantined test is out of the gating set. It goes on running and being reported." in text
    assert "Quarantined 1 Out of the gating set" in text
    assert "t_flaky would have been quarantined" in text
    assert "by policy, while observing" in text


def test_a_project_shows_each_standing_with_its_evidence(judged: Site) -> None:
    """The quarantined test comes with variant, age, numbers and sentence; so do the held and the broken one."""
    page = judged.page(HOME)
    [row] = [row for row in judged.world.summary()["standing"] if row["status"] == "quarantined"]
    card = page.text[page.text.index("Would have been quarantined 1") : page.text.index("Would have been held 1")]
    assert "tests.test_ledger::t_flaky" in card
    assert "job=unit" in card
    assert re.search(r"\d+ (days|hours) since \d+ Jan 2026", card)
    assert f"{row['evidence']['seen']} onsets in {row['evidence']['n']} trials" in card
    assert row["reason"] in card
    assert f"{HOME}/tests/{row['test']}" in page.attributes("href")
    assert "Held, still gating: the policy never quarantines '*t_held*'." in page.text
    assert "it is broken, not flaky." in page.text


def test_a_project_shows_what_came_in(judged: Site) -> None:
    """The newest builds are there with their counts, marked where they are reruns."""
    text = judged.page(HOME).text
    latest = text[text.index("Latest builds") :]
    assert "11.1-rerun-2 rerun unit trunk 12 1 0 0" in latest


def test_a_project_shows_its_doubts_with_their_mends(site: Site) -> None:
    """What the reports lack is said with what to do about it, before any decision."""
    site.world.send("b1", {"t1": "P"}, job="", tree=None, complete=False)
    text = site.page(HOME).text
    assert "What stands in the way of a decision" in text
    for doubt in site.world.summary()["doubts"]:
        assert doubt["sentence"] in text
        assert doubt["mend"].replace("`", "") in text
    assert "<code>quarantine report</code>" in site.page(HOME).html
    assert {doubt["code"] for doubt in site.world.summary()["doubts"]} >= {"no-tree", "no-job", "no-full-build"}


def test_storms_are_shown_as_incidents(site: Site) -> None:
    """Builds that failed for one outside cause are one incident with its sentence, and are marked."""
    site.storm()
    [incident] = site.world.summary()["incidents"]
    text = site.page(HOME).text
    assert incident["sentence"] in text
    assert "12 tests in 3 builds" in text
    assert "pr2 storm" in text


def test_a_test_that_gates_in_one_of_two_variants_gates(site: Site) -> None:
    """Quarantined in one variant only, it counts as gating, and both pages say in how many variants it does not."""
    enforce(site)
    for number in range(24):
        for system in ("linux", "windows"):
            fails = {"t1": "F"} if number % 3 == 1 and system == "linux" else {}
            site.world.send(f"{number}{system}", {"t1": "P", "t2": "P"} | fails, variant={"os": system})
            if fails:
                site.world.rerun(f"{number}{system}", {"t1": "P", "t2": "P"}, variant={"os": system})
        site.world.wait(hours=9)
    text = site.page(HOME).text
    assert "2 of 2 tests gate" in text
    assert "1 test is quarantined in some variants and gates in the others." in text
    text = site.page(f"{HOME}/tests/t1").text
    assert "Gates. In 1 of its 2 variants it is quarantined and does not." in text


def test_a_quarantined_test_shows_what_it_rests_on(judged: Site) -> None:
    """Sentence, strip, window, heads with what confirmed them, progress, transitions, failures, names and JSON."""
    page = judged.page(f"{HOME}/tests/t_flaky")
    found = judged.world.explain("t_flaky")
    [variant] = found["variants"]
    result = variant["entry"]["result"]
    assert "Gates because ledger observes. It would not have gated otherwise." in page.text
    assert variant["sentence"] in page.text
    assert len(re.findall(r'<svg class="cell ', page.html)) == len(variant["strip"])
    window = result["window"]
    for word, key in (("from head m", "m"), ("onsets k", "k"), ("charge l", "l"), ("trials n", "n")):
        assert f"{word} {window[key]}" in page.text
    assert f"p = {window['p_value']:.2g} at most the limit {window['limit']:.2g}." in page.text
    assert "Pearson 95 % interval" in page.text
    head = variant["heads"][-1]
    assert f"{head['number']} onset {head['index']}" in page.text
    assert f"host-1 trunk {head['tree'][:12]} 11.1-rerun-1 {head['signature'][:8]}" in page.text
    assert head["signature"] in page.attributes("title")
    needed = variant["exit"]["result"]
    assert f"of {needed['trials_needed']} " in page.text
    assert f"of {needed['days_needed']} " in page.text
    assert all(phrase in page.text for phrase in variant["exit"]["lacking"])
    assert variant["transitions"][0]["reason"] in page.text
    assert "assert 11 == <1>" in page.text
    assert found["test"] in page.text
    assert f"/v1{HOME}/tests/{found['test']}?recompute=1" in page.attributes("href")


def test_a_test_is_found_by_its_id_and_by_a_raw_name(judged: Site) -> None:
    """The page of a test answers to each spelling the API answers to."""
    test = judged.world.explain("t_flaky")["test"]
    for name in (test, "t_flaky", "tests/test_ledger.py::t_flaky", "tests.test_ledger.t_flaky"):
        assert test in judged.page(f"{HOME}/tests/{name}").text


def test_enforced_the_page_of_a_quarantined_test_says_so(judged: Site) -> None:
    """It does not gate, and nothing on the page is in the conditional but the transition that was only observed."""
    enforce(judged)
    text = judged.page(f"{HOME}/tests/t_flaky").text
    assert "Does not gate. It goes on running and being reported." in text
    assert text.count("would have been") == 1


def test_a_broken_test_shows_the_commits_and_the_reruns(judged: Site) -> None:
    """The failed trials with their reruns, the range in which it broke, and that passing ends it."""
    text = judged.page(f"{HOME}/tests/t_broken").text
    assert "It last passed at commit" in text
    assert "Broken on trunk since" in text
    assert re.search(r"10\.0 [0-9a-f]{12} [0-9a-f]{12} 2 0", text)
    assert "3 passed trunk trials in a row" in text
    assert "0 of 3" in text


def test_a_healthy_test_says_that_it_never_failed(judged: Site) -> None:
    """There is no evidence to draw, and the page says so in words."""
    text = judged.page(f"{HOME}/tests/t1").text
    assert "it never failed right after a pass" in text
    assert "Heads" not in text
    assert "Failures by signature" not in text
    assert "while observing" not in text


def test_a_failure_that_passed_on_a_retry_is_told_as_that(site: Site) -> None:
    """It is no failed trial: its tag says what it came to, and is not red; one counted trial is one."""
    site.world.send("local-" + "0123456789abcdef" * 2, {"t1": "FP", "t2": "P"})
    page = site.page(f"{HOME}/tests/t1")
    latest = page.text[page.text.index("Failures by signature 1") :]
    assert "1 time passed on a retry boom" in latest
    assert ("span", {"class": "tag is-broken"}) not in page.elements
    assert "local-" + "0123456789abcdef" * 2 in page.attributes("title")
    assert "In 1 counted trial it never failed" in site.page(f"{HOME}/tests/t2").text


@pytest.mark.parametrize("path", [*EVERY, *LOST, "/sign-in"])
def test_nothing_on_a_page_runs_or_comes_from_elsewhere(judged: Site, path: str) -> None:
    """No script, no style in the text, no handler, no foreign address: the policy of the headers costs nothing."""
    client = judged.client(browser=True) if path == "/sign-in" else judged.open(browser=True)
    response = client.get(path)
    page = Page.of(response, status=404 if path in LOST else 200)
    page.check_inert()
    for name, value in HEADERS.items():
        assert response.headers[name] == value
    assert response.headers["cache-control"] == "no-store"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("path", [*EVERY, *LOST])
def test_every_page_can_be_read_without_seeing_it(judged: Site, path: str) -> None:
    """A language, one heading of the first level, a main part, names for drawings, unique ids, headed tables."""
    judged.page(path, status=404 if path in LOST else 200).check_readable()


def test_a_page_that_is_not_there_says_what_may_have_been_meant(judged: Site) -> None:
    """A person gets a page with the mend, a program the problem document."""
    page = judged.page(f"{HOME}/tests/t_flak", status=404)
    assert "No test of ledger goes by 't_flak'." in page.text
    assert "Did you mean tests.test_ledger::t_flaky" in page.text
    assert "There is no project 'nope' here. Create it with" in judged.page("/projects/nope", status=404).text
    assert judged.open().get("/projects/nope").headers["content-type"] == "application/problem+json"
    assert judged.page("/nope", status=404).text.count("There is nothing at this address.") == 1


def test_the_style_sheet_is_kept_for_good_under_the_address_of_its_content(site: Site) -> None:
    """Under an address that holds the hash of its content it never changes; under any other it is asked for again."""
    page = site.page("/")
    [address] = [href for href in page.attributes("href") if href.startswith("/static/style.css")]
    client = site.open()
    kept = client.get(address)
    assert kept.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert kept.headers["content-type"].startswith("text/css")
    assert client.get("/static/style.css").headers["cache-control"] == "no-cache"
    assert client.get("/static/style.css?v=old").headers["cache-control"] == "no-cache"
    assert "://" not in kept.text
    assert "@import" not in kept.text


def test_a_server_behind_a_prefix_links_to_itself(judged: Site) -> None:
    """Where a proxy serves it under a path, each link of its own begins with that path."""
    client = judged.open(browser=True, root_path="/flaky")
    page = Page.of(client.get(f"/flaky{HOME}"))
    links = [address for address in page.attributes("href") if not address.startswith("#")]
    assert links
    assert all(address.startswith("/flaky/") for address in links)
    assert judged.client(browser=True, root_path="/flaky").get(f"/flaky{HOME}").headers["location"] == (
        f"/flaky/sign-in?next={HOME.replace('/', '%2F')}"
    )


def test_times_are_told_as_dates_and_as_ages(judged: Site) -> None:
    """Each instant is an element a machine can read, in UTC."""
    for value in judged.page(HOME).attributes("datetime"):
        assert datetime.fromisoformat(value).astimezone(UTC).isoformat() == value
