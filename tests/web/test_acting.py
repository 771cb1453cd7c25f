"""What an admin does from the page of a test: offered as it stands, done in their name, said once, or refused."""

import json
import re
import threading
from datetime import timedelta

import pytest

from quarantine.policy.escalation import Ladder
from quarantine.services import decisions
from quarantine.services.deliver import deliver
from quarantine.services.news import tell
from quarantine.services.overview import overview
from quarantine.services.people import People, ProjectPeople
from quarantine.slack.fake import FakeSlack
from quarantine.web.sealing import FORM_LIVES
from tests.channels import HERE, connect
from tests.web.acting import (
    HOME,
    Actor,
    alerts,
    answered,
    audited,
    doubts,
    offered,
    raise_doubt,
    status_of,
    wrong,
)
from tests.web.site import Page, Site
from tests.world import OWNER, PROJECT


@pytest.fixture
def enforced(judged: Site) -> Site:
    """Return the project that has decided much, enforcing for a day."""
    decisions.set_mode(judged.world.app, PROJECT, "enforce", bearer=OWNER)
    judged.world.wait(days=1)
    return judged


@pytest.fixture
def admin(enforced: Site) -> Actor:
    """Return an admin of it, signed in."""
    return Actor.of(enforced)


def in_days(site: Site, days: int) -> str:
    """Return a date so many days off, as a date field sends it."""
    return (site.world.clock.now + timedelta(days=days)).date().isoformat()


def test_the_forms_are_those_that_are_possible(enforced: Site, admin: Actor) -> None:
    """A quarantined test is answered for and released, a held one released, a healthy one taken out."""
    assert offered(admin.page("t_flaky")) == ["release", "own", "snooze", "acknowledge"]
    assert offered(admin.page("t_held")) == ["release"]
    assert offered(admin.page("t1")) == ["enter"]
    assert offered(admin.page("t_broken")) == []
    raise_doubt(enforced, "t_flaky")
    assert offered(admin.page("t_flaky"))[0] == "regression"


def test_while_observing_nobody_is_told_so_nothing_is_answered(judged: Site) -> None:
    """Nothing is out of the gating set, so what can be done is a release, and the page says what it changes."""
    page = Actor.of(judged).page("t_flaky")
    assert offered(page) == ["release"]
    assert "It gates already, because the project observes" in page.text


def test_a_release_is_done_audited_and_said_once(enforced: Site, admin: Actor) -> None:
    """The test gates at once, the audit names the token and the reason, and the page says it on its first look only."""
    client = enforced.client(token=enforced.token("read"))
    at = f"/v1{HOME}/gating/{enforced.world.explain('t_flaky')['test']}"
    assert client.get(at).json()["gating"] is False
    page = admin.done("t_flaky", "release", reason="a new host")
    assert "tests.test_ledger::t_flaky gates again. Its evidence begins anew." in page.text
    assert status_of(enforced, "t_flaky") == "gating"
    [(who, detail)] = audited(enforced, "release")
    assert who.endswith("(the admin token)")
    assert detail["reason"] == "a new host"
    assert "Its evidence begins anew." not in admin.page("t_flaky").text
    assert admin.client.get(at).json()["gating"] is True


def test_a_quarantine_by_hand_ends_on_its_date(enforced: Site, admin: Actor) -> None:
    """It is out until the hour of now on that date."""
    page = admin.done("t1", "enter", until=in_days(enforced, 9), reason="the host is mended on Monday")
    assert f"t1 is quarantined until {in_days(enforced, 9)}" in page.text
    assert status_of(enforced, "t1") == "quarantined"
    [(_, detail)] = audited(enforced, "quarantine")
    assert (detail["days"], detail["reason"]) == (9, "the host is mended on Monday")


def test_escalations_are_answered_as_in_slack(enforced: Site, admin: Actor) -> None:
    """Seen it, snoozed and owned: each kept with its reason, by whoever is signed in."""
    assert "stays on the list" in admin.done("t_flaky", "acknowledge", reason="").text
    assert (
        f"until {in_days(enforced, 14)}"
        in admin.done("t_flaky", "snooze", until=in_days(enforced, 14), reason="new host").text
    )
    assert (
        f"is yours until {in_days(enforced, 30)}"
        in admin.done("t_flaky", "own", until=in_days(enforced, 30), reason="I mend it").text
    )
    assert answered(enforced) == [("acknowledge", ""), ("snooze", "new host"), ("own", "I mend it")]
    assert [len(audited(enforced, action)) for action in ("acknowledge", "snooze", "own")] == [1, 1, 1]


def needing_a_person(site: Site) -> list[tuple[int, list[str]]]:
    """Return the verdicts whose possible regressions the overview shows, with their tests."""
    alarms = overview(site.world.app, PROJECT)["needs"]["alarms"]
    return [(alarm["number"], alarm["tests"]) for alarm in alarms]


@pytest.mark.parametrize("was", ["regression", "flake"])
def test_a_possible_regression_is_answered(enforced: Site, admin: Actor, was: str) -> None:
    """Of two the one that is named is closed, with who said so and why; the other stays open."""
    first, second = raise_doubt(enforced, "t_flaky"), raise_doubt(enforced, "t_flaky", change="T-2")
    assert needing_a_person(enforced) == [
        (second, ["tests.test_ledger::t_flaky"]),
        (first, ["tests.test_ledger::t_flaky"]),
    ]
    page = admin.done("t_flaky", "regression", raised=str(second), was=was, reason="I read the trace")
    assert f"was a {was}." in page.text
    assert [state for state, _, _ in doubts(enforced)] == ["open", was]
    assert [verdict for verdict, _ in needing_a_person(enforced)] == [first]
    [(who, detail)] = audited(enforced, "answer-regression")
    assert doubts(enforced)[1][1:] == (who, "I read the trace")
    assert (detail["raised"], detail["was"]) == (second, was)
    assert (
        "Somebody answered it"
        in admin.refused("t_flaky", "regression", status=409, raised=str(second), was=was, reason="again").text
    )
    assert status_of(enforced, "t_flaky") == "quarantined"
    assert first == 1


@pytest.mark.parametrize(
    ("answer", "said", "sentence", "fields"),
    [
        ("release", {"reason": ""}, "It needs a reason.", {"reason"}),
        ("release", {"reason": " \n "}, "It needs a reason.", {"reason"}),
        ("release", {}, "It needs a reason.", {"reason"}),
        ("release", {"reason": "x" * 2_001}, "The reason is longer than 2,000 characters.", {"reason"}),
        ("snooze", {"reason": "x", "until": "soon"}, "'soon' is no date.", {"until"}),
        ("snooze", {"reason": "x", "until": ""}, "It needs a date.", {"until"}),
        ("snooze", {"reason": "x", "until": 15}, "at most 14 days", {"until"}),
        ("snooze", {"reason": "x", "until": 0}, "is no date to come", {"until"}),
        ("snooze", {"reason": "x", "until": -3}, "is no date to come", {"until"}),
        ("snooze", {"reason": "x", "until": "0001-01-01"}, "is no date to come", {"until"}),
        ("snooze", {"reason": "x", "until": "9999-12-31"}, "at most 14 days", {"until"}),
        ("own", {"reason": "x", "until": 31}, "at most 30 days", {"until"}),
        ("regression", {"reason": "x", "raised": "1"}, "what it was", {"was"}),
        ("regression", {"reason": "x", "was": "flake"}, "which one", {"raised"}),
        ("regression", {"reason": "x", "was": "passed", "raised": "1"}, "what it was", {"was"}),
        ("regression", {"reason": "", "was": "flake", "raised": "1"}, "It needs a reason.", {"reason"}),
    ],
)
def test_what_breaks_a_rule_comes_back_beside_what_was_typed(  # noqa: PLR0917 - pytest passes them by name
    enforced: Site, admin: Actor, answer: str, said: dict[str, str | int], sentence: str, fields: set[str]
) -> None:
    """The form is open, says what is wrong where a screen reader finds it, keeps what was typed, and does nothing."""
    raise_doubt(enforced, "t_flaky")
    typed = {name: in_days(enforced, one) if isinstance(one, int) else one for name, one in said.items()}
    page = admin.refused("t_flaky", answer, status=422, **typed)
    [alert] = alerts(page)
    assert sentence in page.text
    assert wrong(page) == fields
    described = [one for one in page.attributes("aria-describedby") if alert["id"] in one.split()]
    assert described
    assert [one for tag, one in page.elements if tag == "details" and "open" in one]
    assert sum("autofocus" in one for _tag, one in page.elements) == 1
    assert typed.get("reason", "").strip() in page.html
    if "until" in typed:
        assert typed["until"] in page.attributes("value")
    assert answered(enforced) == []
    assert status_of(enforced, "t_flaky") == "quarantined"
    assert {state for state, _, _ in doubts(enforced)} == {"open"}


def test_a_third_snooze_is_refused_by_the_ladder(enforced: Site, admin: Actor) -> None:
    """The page offers none any more, and a form that was open still hears the ladder's own sentence."""
    for _ in range(2):
        admin.done("t_flaky", "snooze", until=in_days(enforced, 1), reason="x")
    assert "snooze" not in offered(admin.page("t_flaky"))
    page = admin.refused("t_flaky", "snooze", status=422, until=in_days(enforced, 1), reason="once more")
    assert "It was snoozed 2 times already, which is all there is." in page.text
    assert "You had typed: once more" in page.text


def test_a_responsibility_can_be_taken_over_and_not_be_lengthened(enforced: Site, admin: Actor) -> None:
    """The form says whose it is and until when, and offers no later date."""
    admin.done("t_flaky", "own", until=in_days(enforced, 9), reason="")
    page = admin.page("t_flaky")
    assert f"(the admin token) is responsible until {in_days(enforced, 9)}; you take it over." in page.text
    assert in_days(enforced, 9) in page.attributes("max")
    assert (
        "and not be lengthened"
        in admin.refused("t_flaky", "own", status=422, until=in_days(enforced, 10), reason="").text
    )


def test_what_is_not_possible_hears_the_services_own_sentence(admin: Actor) -> None:
    """A form for another state than the test's is refused by whoever does the thing, not by the page."""
    assert (
        "t1 is not quarantined. See `quarantine explain`" in admin.refused("t1", "release", status=409, reason="x").text
    )
    assert (
        "is not quarantined, so there is nothing to answer"
        in admin.refused("t1", "acknowledge", status=409, reason="").text
    )
    assert "This test always gates" in admin.refused("t_held", "enter", status=422, reason="x", until="2026-02-01").text


def test_a_form_sent_twice_counts_once(enforced: Site, admin: Actor) -> None:
    """A double click snoozes once, and leads to the page all the same; the form of another answer still counts."""
    form = admin.form("t_flaky")["form"]
    said = {"form": form, "until": in_days(enforced, 3), "reason": "x"}
    admin.done("t_flaky", "snooze", **said)
    admin.refused("t_flaky", "snooze", status=409, **said)
    assert [kind for kind, _ in answered(enforced)] == ["snooze"]


def test_two_clicks_at_once_count_once(enforced: Site, admin: Actor) -> None:
    """However close together they are; what finds the database busy says so and did nothing."""
    form, until = admin.form("t_flaky")["form"], in_days(enforced, 3)
    came: list[int] = []

    def click() -> None:
        came.append(admin.send("t_flaky", "snooze", form=form, until=until, reason="x").status_code)

    clicks = [threading.Thread(target=click) for _ in range(4)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join()
    assert [kind for kind, _ in answered(enforced)] == ["snooze"]
    assert set(came) <= {303, 409, 503}


def test_a_refused_form_can_be_sent_again(enforced: Site, admin: Actor) -> None:
    """What was refused has not been done, so a second try of the same form is no repetition."""
    form = admin.form("t_flaky")["form"]
    admin.refused("t_flaky", "snooze", status=422, form=form, until=in_days(enforced, 99), reason="x")
    admin.done("t_flaky", "snooze", form=form, until=in_days(enforced, 2), reason="x")
    assert len(answered(enforced)) == 1


def test_of_two_admins_the_second_is_told(enforced: Site, admin: Actor) -> None:
    """Whoever sends a form after somebody else has answered sees how the test stands now, and what they typed."""
    other = Actor.of(enforced)
    form = other.form("t_flaky")["form"]
    admin.done("t_flaky", "snooze", until=in_days(enforced, 2), reason="mine")
    said = {"until": in_days(enforced, 3), "reason": "theirs"}
    page = other.refused("t_flaky", "snooze", status=409, form=form, **said)
    assert "Somebody decided or answered something while the form was open." in page.text
    assert "theirs" in page.text
    assert answered(enforced) == [("snooze", "mine")]
    other.done("t_flaky", "snooze", **said)
    admin.done("t_flaky", "release", reason="mended")
    assert "is not quarantined" in other.refused("t_flaky", "release", status=409, reason="mine too").text


def test_a_form_that_was_open_too_long_comes_back_fresh(enforced: Site, admin: Actor) -> None:
    """What was typed is kept, and the form that comes back counts."""
    form = admin.form("t_flaky")["form"]
    enforced.world.wait(seconds=FORM_LIVES.total_seconds() + 2)
    page = admin.refused("t_flaky", "release", status=409, form=form, reason="a new host")
    assert "The form was open for too long." in page.text
    assert "a new host" in page.html
    assert status_of(enforced, "t_flaky") == "quarantined"


def test_a_link_opens_the_form_it_means(enforced: Site, admin: Actor) -> None:
    """And only looks: whatever the address says, nothing is done; one that means what is not possible says so."""
    page = admin.page("t_flaky", "?answer=snooze&reason=x&until=2026-01-20&form=x")
    [opened] = [one for tag, one in page.elements if tag == "details" and "open" in one]
    assert opened["name"] == "deed"
    assert "not possible" not in page.text
    assert "That is not possible as the test stands now." in admin.page("t1", "?answer=snooze").text
    assert "not possible" not in admin.page("t1", "?answer=%3Cscript%3E").text
    admin.page("t_flaky", "?answer=release&reason=x")
    assert answered(enforced) == []
    assert status_of(enforced, "t_flaky") == "quarantined"


def test_the_limits_are_those_of_the_projects_ladder(enforced: Site) -> None:
    """A ladder with shorter times offers nearer dates."""
    ladder = Ladder(snooze_days=3.0, own_days=5.0)
    enforced.world.app.people = People(projects={PROJECT: ProjectPeople(ladder=ladder)})
    page = Actor.of(enforced).page("t_flaky")
    assert {in_days(enforced, 3), in_days(enforced, 5)} <= set(page.attributes("max"))


def test_words_typed_stay_words(enforced: Site, admin: Actor) -> None:
    """A reason is text on the page it comes back on, on the page that says what was done, and in the audit."""
    hostile = "</textarea><script>alert(1)</script>\u202e <!channel> *b* {{7*7}}"
    refused = admin.refused("t_flaky", "snooze", status=422, until="x", reason=hostile)
    done = admin.done("t_flaky", "snooze", until=in_days(enforced, 2), reason=hostile)
    for page in (refused, done):
        assert "script" not in page.tags()
        assert "\u202e" not in page.html
        assert "<script>alert(1)</script>" in page.text
        page.check_inert()
        page.check_readable()
    assert answered(enforced) == [("snooze", hostile)]


def test_words_typed_on_a_page_stay_words_in_slack(enforced: Site, admin: Actor, slack: FakeSlack) -> None:
    """What a release says of its reason calls nobody and links nowhere."""
    connect(enforced.world, slack)
    enforced.world.app.people = People(projects={PROJECT: ProjectPeople(channel=HERE)}, address="https://q.example")
    tell(enforced.world.app, PROJECT)
    hostile = "<!channel> <https://evil.example|mended> *b* @here"
    admin.done("t1", "enter", until=in_days(enforced, 5), reason=hostile)
    admin.done("t1", "release", reason=hostile)
    tell(enforced.world.app, PROJECT)
    deliver(enforced.world.app, by="one")
    told = json.dumps(slack.messages[HERE])
    assert "evil.example" in told
    assert not re.search(r'"type": "(broadcast|user|usergroup|channel)"|"type": "mrkdwn"|"url": "https?://evil', told)


def test_pages_with_forms_are_readable(enforced: Site, admin: Actor) -> None:
    """Every field has a label, and every id is its own."""
    raise_doubt(enforced, "t_flaky", sentence="<b>It</b> failed 4 of 4.")
    for page in (admin.page("t_flaky"), admin.page("t1"), admin.page("t_flaky", "?answer=regression")):
        page.check_inert()
        page.check_readable()
        assert set(page.attributes("for")) <= set(page.attributes("id"))
        described = {name for one in page.attributes("aria-describedby") for name in one.split()}
        assert described <= set(page.attributes("id"))


def test_nobody_says_anything_by_a_link(enforced: Site, admin: Actor) -> None:
    """What a page says of a deed comes sealed, for this sign-in and this page; no other cookie says anything."""
    response = admin.send("t_flaky", "acknowledge", reason="")
    kept = str(admin.client.cookies.get("quarantine_said"))
    other = Actor.of(enforced)
    body, _, signature = kept.partition(".")
    for forged in (kept, "x", ".", f"{body[:-4]}AAAA.{signature}", f"{body}.{signature}x", "x.y.z"):
        other.client.cookies.set("quarantine_said", forged, path=HOME)
        assert "Noted." not in other.page("t_flaky").text
    assert "Noted." not in admin.page("t1").text
    enforced.world.wait(minutes=2)
    assert "Noted." not in Page.of(admin.client.get(response.headers["location"])).text
