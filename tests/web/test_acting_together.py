"""Several tests of the list at once: each as on its own page, with what became of each said."""

import pytest

from quarantine.services import decisions
from tests.web.acting import HOME, OURS, Actor, alerts, answered, audited, hidden, offered, status_of, wrong
from tests.web.site import Page, Site
from tests.web.test_acting import in_days
from tests.world import OWNER, PROJECT

LIST = f"{HOME}/quarantined"


@pytest.fixture
def enforced(judged: Site) -> Site:
    """Return an enforcing project with three quarantined tests."""
    decisions.set_mode(judged.world.app, PROJECT, "enforce", bearer=OWNER)
    for name in ("t1", "t2"):
        decisions.quarantine(judged.world.app, PROJECT, name, bearer=OWNER, reason="x", days=20)
    judged.world.wait(days=1)
    return judged


def send(who: Actor, site: Site, *names: str, query: str = "", **said: str | list[str]) -> tuple[int, Page]:
    """Tick these tests and send the form; return the status and the page one sees."""
    form = hidden(Page.of(who.client.get(f"{LIST}{query}")))["form"]
    tests = [site.world.explain(name)["test"] for name in names]
    answer = who.client.post(f"{LIST}{query}", data={"form": form, "test": tests, **said}, headers=OURS)
    if answer.status_code == 303:
        assert answer.headers["location"] == f"{LIST}{query}"
        return 303, Page.of(who.client.get(answer.headers["location"]))
    return answer.status_code, Page.of(answer, status=answer.status_code)


def test_several_are_released_with_one_reason(enforced: Site) -> None:
    """The ticked ones and no other, each audited, and the page that was looked at says so."""
    who = Actor.of(enforced)
    status, page = send(who, enforced, "t1", "t2", query="?sort=name", answer="release", reason="the host is new")
    assert status == 303
    assert "Let it gate again: done for 2 tests." in page.text
    assert "t1 gates again" in page.text
    assert "t2 gates again" in page.text
    assert [status_of(enforced, name) for name in ("t1", "t2", "t_flaky")] == ["gating", "gating", "quarantined"]
    assert [detail["reason"] for _, detail in audited(enforced, "release")] == ["the host is new"] * 2


def test_several_are_answered_for(enforced: Site) -> None:
    """Seen, snoozed and owned, each test by the rules of its own."""
    who = Actor.of(enforced)
    assert send(who, enforced, "t1", "t2", answer="acknowledge")[0] == 303
    assert send(who, enforced, "t1", "t2", answer="snooze", until=in_days(enforced, 3), reason="x")[0] == 303
    assert send(who, enforced, "t1", answer="own", until=in_days(enforced, 3))[0] == 303
    assert sorted(kind for kind, _ in answered(enforced)) == ["acknowledge"] * 2 + ["own"] + ["snooze"] * 2


def test_what_is_refused_is_said_of_each_and_stays_ticked(enforced: Site) -> None:
    """One that was snoozed twice is named with its reason; what was done is said too, and what was typed is kept."""
    who = Actor.of(enforced)
    for _ in range(2):
        who.done("t1", "snooze", until=in_days(enforced, 1), reason="x")
    until = in_days(enforced, 2)
    status, page = send(who, enforced, "t1", "t2", answer="snooze", until=until, reason="both")
    assert status == 422
    assert len(alerts(page)) == 1
    assert "Done for 1, refused for 1." in page.text
    assert "t1: It was snoozed 2 times already" in page.text
    assert f"Nobody is told about tests.test_ledger::t2 until {until}" in page.text
    ticked = [one["value"] for _tag, one in page.elements if one.get("name") == "test" and "checked" in one]
    assert ticked == [enforced.world.explain("t1")["test"]]
    assert "both" in page.text
    page.check_readable()
    page.check_inert()


@pytest.mark.parametrize(
    ("names", "said", "sentence", "fields"),
    [
        ([], {"answer": "release", "reason": "x"}, "No test is chosen.", set[str]()),
        (["t1"], {"reason": "x"}, "It needs to be said what to do.", {"answer"}),
        (["t1"], {"answer": "enter", "reason": "x"}, "It needs to be said what to do.", {"answer"}),
        (["t1"], {"answer": "release"}, "It needs a reason.", {"reason"}),
        (["t1"], {"answer": "snooze", "reason": "x"}, "It needs a date.", {"until"}),
    ],
)
def test_what_is_missing_is_asked_for(
    enforced: Site, names: list[str], said: dict[str, str], sentence: str, fields: set[str]
) -> None:
    """Nothing is done for any of them."""
    status, page = send(Actor.of(enforced), enforced, *names, **said)
    assert status == 422
    assert sentence in page.text
    assert wrong(page) == fields
    assert answered(enforced) == []
    assert status_of(enforced, "t1") == "quarantined"
    assert sum("autofocus" in one for _tag, one in page.elements) == 1


def test_the_list_asks_what_its_standing_allows(enforced: Site) -> None:
    """Held tests can be released, broken ones nothing; while observing nothing is to be answered."""
    who = Actor.of(enforced)

    def answers(query: str = "") -> list[str]:
        page = Page.of(who.client.get(f"{LIST}{query}"))
        page.check_readable()
        return [str(one["value"]) for tag, one in page.elements if tag == "input" and one.get("name") == "answer"]

    assert answers() == ["acknowledge", "snooze", "own", "release"]
    assert answers("?standing=held") == ["release"]
    assert answers("?standing=broken") == []
    decisions.set_mode(enforced.world.app, PROJECT, "observe", bearer=OWNER)
    assert answers() == ["release"]


def test_lies_are_refused_here_as_well(enforced: Site) -> None:
    """No seal, that of another page, of another sign-in, from another site, twice, and by who may only read."""
    who, other = Actor.of(enforced), Actor.of(enforced)
    reader = Actor.of(enforced, enforced.token("read"))
    form = hidden(Page.of(who.client.get(LIST)))["form"]
    test = enforced.world.explain("t1")["test"]
    said = {"answer": "release", "reason": "x", "test": [test, test]}
    for lie in ("", who.form("t_flaky")["form"], hidden(Page.of(other.client.get(LIST)))["form"]):
        assert who.client.post(LIST, data={"form": lie, **said}, headers=OURS).status_code == 403
    assert (
        who.client.post(LIST, data={"form": form, **said}, headers={"origin": "https://x.example"}).status_code == 403
    )
    assert reader.client.post(LIST, data={"form": form, **said}, headers=OURS).status_code == 403
    assert offered(Page.of(reader.client.get(LIST))) == []
    assert status_of(enforced, "t1") == "quarantined"
    assert who.client.post(LIST, data={"form": form, **said}, headers=OURS).status_code == 303
    again = who.client.post(LIST, data={"form": form, **said}, headers=OURS)
    assert "counts once" in Page.of(who.client.get(again.headers["location"])).text
    assert len(audited(enforced, "release")) == 1
    form = hidden(Page.of(who.client.get(LIST)))["form"]
    hostile = {"form": form, "answer": "release", "reason": "x", "test": ["<script>alert(1)</script>\u202e", "t2"]}
    page = Page.of(who.client.post(LIST, data=hostile, headers=OURS), status=404)
    page.check_inert()
    assert "<script>alert(1)</script><U+202E>" in page.text
    assert status_of(enforced, "t2") == "gating"
