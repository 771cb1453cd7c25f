"""The page of a verdict, the page of the attempts at tickets, and what the project's page says of both."""

import re
from typing import Any

import pytest

from quarantine.domain.outcome import Lane
from quarantine.domain.verdict import Finding
from quarantine.services import attempts, decisions, verdict_listing
from quarantine.web.headers import HEADERS
from quarantine.web.verdict_views import TESTS_SHOWN
from quarantine.web.wording import finding_name, finding_note
from tests.scenarios.asking import BASE, ask, suite
from tests.web.loops import end
from tests.web.site import ELSEWHERE, Page, Site, problem
from tests.world import CLASSNAME, OWNER, PROJECT, tree

HOME = f"/projects/{PROJECT}"
VERDICTS = [f"{HOME}/verdicts/{number}" for number in range(1, 8)]
EVERY = [*VERDICTS, f"{HOME}/attempts", f"{HOME}/attempts?ticket=T-2", f"{HOME}/attempts?ticket=nope", HOME]


def answer(site: Site, number: int) -> dict[str, Any]:
    """Return the verdict as the API tells it."""
    told: dict[str, Any] = site.open().get(f"/v1{HOME}/verdicts/{number}").json()
    return told


def test_a_rejection_shows_what_it_rests_on(asked: Site) -> None:
    """Verdict and sentence on top, then what it is about, the causes, each test with its tries, the record."""
    page, told = asked.page(f"{HOME}/verdicts/1"), answer(asked, 1)
    parts = ["Reject final", told["sentence"], "What it is about", "Why", "Tests 2", "What this does not show"]
    parts += ["The failure record", "The runs it rests on", "Its key"]
    places = [page.text.index(part) for part in parts]
    assert places == sorted(places)
    for said in ("build T-1-1 in job unit", "ticket T-1, attempt 1", "lane agent", f"tree {tree('T-1-1')[:12]}"):
        assert said in page.text
    assert "reruns 2 of the head, 0 of the base" in page.text
    assert "test runs 1 min 1 s, reruns included" in page.text
    assert "8,000 tokens, cost 0.50" in page.text
    [cause] = told["causes"]
    assert f"rejects {cause['sentence']} explained" in page.text
    assert page.text.count("head failed 3 of 3") == page.text.count("base passed 1 of 1") == 2
    for test in told["tests"]:
        assert test["sentence"] in page.text
        assert test["evidence"] in page.attributes("href")
    assert told["key"] in page.text
    for sentence in told["not_shown"]["sentences"]:
        assert sentence in page.text


def test_the_record_stands_as_the_agent_saw_it(asked: Site) -> None:
    """Line by line, with its size in tokens."""
    page, record = asked.page(f"{HOME}/verdicts/1"), answer(asked, 1)["record"]
    [shown] = re.findall(r'<pre class="record"[^>]*>(.*?)</pre>', page.html, re.DOTALL)
    assert shown.replace("&#39;", "'").replace("&gt;", ">").replace("&#34;", '"') == record["text"]
    assert f"As the agent saw it: {record['tokens']} tokens, 2 failures." in page.text


def test_each_kind_of_verdict_says_which_it_is(asked: Site) -> None:
    """Accepted in spite of a flake, suspect, not final with what is wanted, and one that nothing was run for."""
    text = asked.page(f"{HOME}/verdicts/2").text
    assert "Accept final Accepted: 20 gating tests ran" in text
    assert "What the green does not show" in text
    assert "Flaky 1 excused" in text
    assert "head failed 1 of 2 base failed 1 of 2" in text
    assert "There is none: nothing that failed is the business of whoever wrote the change." in text
    assert "reruns 1 of the head, 1 of the base" in text
    text = asked.page(f"{HOME}/verdicts/5").text
    assert "Reject suspect final Rejected: The canary" in text
    assert "absent" in text[text.index("The runs it rests on") :]
    text, told = asked.page(f"{HOME}/verdicts/6").text, answer(asked, 6)
    assert "Inconclusive not final" in text
    assert f"This is not final. {told['wanted']['why']}" in text
    text = asked.page(f"{HOME}/verdicts/7").text
    assert "killed or crashed (exit code 139)" in text
    assert "No test needs a word of its own: each simply passed, or none ran." in text


def test_tests_stand_in_groups_in_the_order_of_the_causes(asked: Site) -> None:
    """Each finding with its effect is a group of its own, and a page with several leads to each."""
    page, told = asked.page(f"{HOME}/verdicts/6"), answer(asked, 6)
    kinds = [f"{cause['code']}-{cause['effect']}" for cause in told["causes"]]
    assert len(kinds) == 2
    assert [address[1:] for address in page.attributes("href") if address[1:] in kinds] == kinds
    assert [name for name in page.attributes("id") if name in kinds] == kinds


def test_a_name_no_test_goes_by_has_no_link(site: Site) -> None:
    """A must-pass test that nobody knows is shown as it was asked for."""
    site.world.send(BASE, suite())
    verdict = ask(site.world, "head", suite(), question={"must_pass": ["tests/test_new.py::t_new"]})
    text = site.page(verdict["evidence"]).text
    assert "tests/test_new.py::t_new no test goes by this name" in text
    assert "Must-pass 1 rejects" in text


def test_a_verdict_of_a_great_many_tests_has_a_page_of_bounded_length(site: Site) -> None:
    """The first are shown, the others counted."""
    many = {f"t{number}": "F" for number in range(TESTS_SHOWN + 30)}
    verdict = ask(site.world, "head", many, question={"can_rerun": False})
    page = site.page(verdict["evidence"])
    assert f"Tests {TESTS_SHOWN + 30}" in page.text
    assert page.text.count("failed 1 of 1 base") == TESTS_SHOWN
    assert "30 more are not listed here" in page.text


@pytest.mark.parametrize("number", ["8", "999999999", "9" * 40, "0", "-1", "x", "1.0", "%D9%A3", "1%00"])
def test_a_verdict_that_is_not_there_is_a_page_that_says_so(asked: Site, number: str) -> None:
    """A person gets the page, a program the problem document."""
    page = asked.page(f"{HOME}/verdicts/{number}", status=404)
    assert "ledger has no verdict" in page.text
    page.check_readable()
    problem(asked.open().get(f"{HOME}/verdicts/{number}"), 404, "not-found")


@pytest.mark.parametrize("path", EVERY)
def test_nothing_runs_and_everything_can_be_read_without_seeing_it(asked: Site, path: str) -> None:
    """As on every page: no script, no style, no foreign address; headings, names for drawings, unique ids."""
    response = asked.open(browser=True).get(path)
    page = Page.of(response)
    page.check_inert()
    page.check_readable()
    for name, value in HEADERS.items():
        assert response.headers[name] == value
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", [VERDICTS[0], f"{HOME}/attempts"])
def test_who_may_read_a_project_may_read_these_pages(asked: Site, path: str) -> None:
    """Without a token a browser signs in and comes back; a token of another project is turned away."""
    decisions.create_project(asked.world.app, "atlas", bearer=OWNER)
    sent = asked.client(browser=True, caller=ELSEWHERE).get(f"{path}?x=1")
    assert (sent.status_code, sent.headers["location"]) == (
        303, f"/sign-in?next={path.replace('/', '%2F')}%3Fx%3D1"
    )  # fmt: skip
    assert asked.client(browser=True, token=asked.token("read")).get(path).status_code == 200
    foreign = asked.client(browser=True, token=asked.token("read", project="atlas"))
    assert Page.of(foreign.get(path), status=403).tags() >= {"h1", "main"}
    assert asked.client().get(path).status_code == 401


@pytest.mark.parametrize("path", [*VERDICTS, f"{HOME}/attempts", f"{HOME}/attempts?ticket=T-1", HOME])
def test_every_link_leads_somewhere(asked: Site, path: str) -> None:
    """To the test, the ticket, the verdict, the JSON and back; behind a prefix too."""
    client = asked.open(browser=True)
    links = {address for address in asked.page(path).attributes("href") if not address.startswith("#")}
    assert len(links) > 4
    for address in links:
        assert client.get(address).status_code == 200, address
    prefixed = Page.of(asked.open(browser=True, root_path="/flaky").get(f"/flaky{path}"))
    assert all(address.startswith(("/flaky/", "#")) for address in prefixed.attributes("href"))


def test_the_attempts_are_what_the_api_says(asked: Site) -> None:
    """Tickets solved and how they ended, the shares as drawing and as table, the cost, and what was prevented."""
    page, told = asked.page(f"{HOME}/attempts"), attempts.summary(asked.world.app, PROJECT)
    assert "1 of 4 tickets solved" in page.text
    assert "1 accepted 1 exhausted 1 suspect 1 unfinished" in page.text
    assert "1 rejection prevented by quarantine, reruns and the comparison with the base." in page.text
    rows = zip(told["solved"], told["plain"], strict=True)
    shown = [f"{ours['attempt']} {ours['on']} {100 * ours['share']:.3g} % {plain['on']} {100 * plain['share']:.3g} %"
             for ours, plain in rows]  # fmt: skip
    assert len(shown) == 3
    assert " ".join(shown) in page.text
    assert len(re.findall(r'<rect class="(?:ours|plain)"', page.html)) == 6
    assert "attempt 2, with flaky gating: 25 %; attempt 2, without flaky gating: 25 %" in page.html
    cost = page.text[page.text.index("What it cost") : page.text.index("Tickets 4")]
    assert f"tokens of the agents {told['tokens']:,}" in cost
    assert "cost of the agents 2.50" in cost
    assert f"test runs, reruns included {told['runner_s'] // 60:.0f} min {told['runner_s'] % 60:.0f} s" in cost
    assert told["wasted_by_flakes"] == 2
    assert "attempts wasted by flakes, or saved from it 2" in page.text


def test_the_newest_ticket_comes_first_with_a_mark_for_each_verdict(asked: Site) -> None:
    """Marks lead to verdicts and say in words what they are; an attempt at which nothing was run has its place."""
    page = asked.page(f"{HOME}/attempts")
    tickets = page.text[page.text.index("Tickets 4") :]
    places = [tickets.index(name) for name in ("T-4 unfinished", "T-3 suspect", "T-2 exhausted", "T-1 accepted")]
    assert places == sorted(places)
    exhausted = tickets[places[2] : places[3]]
    assert re.search(r"attempt 1 ✗verdict 3: reject attempt 2 .no test was run attempt 3 ✗verdict 4: reject", exhausted)
    assert "Three attempts, and none of them was accepted." in exhausted
    assert "Not solved;" in exhausted
    assert "Solved on attempt 2 (a plain harness: never);" in tickets[places[3] :]
    assert "Not solved (a plain harness: on attempt 1)" in tickets[places[1] : places[2]]
    assert "?verdict 6: inconclusive, not final" in tickets
    assert [address for address in page.attributes("href") if "/verdicts/" in address] == [
        f"{HOME}/verdicts/{number}" for number in (6, 7, 5, 3, 4, 1, 2)
    ]


def test_one_ticket_has_its_own_page(asked: Site) -> None:
    """The same for one ticket, and for a ticket nobody has heard of the way back."""
    page = asked.page(f"{HOME}/attempts?ticket=T-2")
    assert "Attempts at the ticket T-2" in page.text
    assert "Solved by attempt" not in page.text
    assert "T-1" not in page.text
    page = asked.page(f"{HOME}/attempts?ticket=T-22")
    assert "T-22 is not among the tickets of ledger." in page.text
    assert f"{HOME}/attempts" in page.attributes("href")


def test_without_attempts_the_page_says_what_to_do(site: Site) -> None:
    """It names the loop that comes with the product, and the questions a harness of one's own would ask."""
    text = site.page(f"{HOME}/attempts").text
    assert "No loop has asked for a verdict yet." in text
    assert "quarantine solve --ticket FILE --agent COMMAND" in text
    assert f"POST /v1{HOME}/verdicts" in text
    assert "solved" not in text.replace("how many it solved", "")


def test_a_loop_that_only_ended_is_a_ticket_too(site: Site) -> None:
    """None of its patches could be run: there is no share to draw, and its attempts have no verdicts."""
    end(site.world, "T-9", "exhausted", 2)
    text = site.page(f"{HOME}/attempts").text
    assert "0 of 1 ticket solved" in text
    assert text.count("no test was run") == 1 + 2
    end(site.world, "T-8", "inconclusive", 0)
    site.page(f"{HOME}/attempts").check_readable()


def test_of_many_attempts_the_last_are_shown(site: Site) -> None:
    """A ticket with an attempt of an absurd number has a page of bounded length."""
    ask(site.world, "head", suite(), question={"attempt": 9_000})
    page = site.page(f"{HOME}/attempts")
    assert "8,980 earlier" in page.text
    assert "8,988 later attempts are in the JSON." in page.text
    assert len(page.html) < 30_000


def test_a_project_shows_its_newest_verdicts(asked: Site) -> None:
    """A short list below the builds, each with its answer, its sentence and its link, and the way to the attempts."""
    page = asked.page(HOME)
    latest = page.text[page.text.index("Latest verdicts") :]
    assert page.text.index("Latest builds") < page.text.index("Latest verdicts")
    numbers = [address.rpartition("/")[2] for address in page.attributes("href") if "/verdicts/" in address]
    assert numbers == ["7", "6", "5", "4", "3", "2"][: verdict_listing.LATEST]
    assert "suspect, verdict 5 T-3-1 for T-3, attempt 1" in latest
    assert "inconclusive, verdict 6 not final T-4-1" in latest
    assert answer(asked, 7)["sentence"] in latest
    assert f"{HOME}/attempts" in page.attributes("href")


def test_a_project_without_verdicts_says_how_to_ask_for_one(site: Site) -> None:
    """It has builds, and nobody has asked."""
    site.world.send("b1", suite())
    assert "Nobody has asked for one yet. quarantine gate does, after a run of the tests." in site.page(HOME).text


def test_a_persons_change_is_named_and_has_no_ticket(site: Site) -> None:
    """A verdict that no loop asked for names the change, and whoever wrote it."""
    site.world.send(BASE, suite())
    lane: dict[str, Any] = {"lane": Lane.REVIEW, "change": "PR-1"}
    verdict = ask(site.world, "head", suite(t1="F"), question={"can_rerun": False}, **lane)
    text = site.page(verdict["evidence"]).text
    assert "lane review, change PR-1" in text
    assert "ticket" not in text[: text.index("Why")]
    assert "As whoever wrote the change saw it:" in text
    assert f"{CLASSNAME}::t1" in text
    assert "of PR-1" in site.page(HOME).text


@pytest.mark.parametrize("finding", Finding)
def test_every_finding_has_a_name_and_a_meaning(finding: Finding) -> None:
    """As a heading and as a sentence about the tests that share it."""
    assert finding_name(finding)[0].isupper()
    assert re.fullmatch(r"(They|The change) .*\.", finding_note(finding))
