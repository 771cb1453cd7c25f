"""Buttons pressed in Slack: believed when signed, fresh and new; heeded by who pressed them; said in the thread."""

import json
from typing import Any

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from quarantine.domain.notice import Action
from quarantine.services import decisions
from quarantine.services.deliver import deliver
from quarantine.services.escalate import escalate
from quarantine.services.people import People, ProjectPeople
from quarantine.slack.fake import SIGNING_SECRET, FakeSlack
from quarantine.store import answers, audit, projects
from quarantine.store.engine import reading, writing
from quarantine.store.tables import STANDING
from tests.channels import HERE, connect
from tests.web.site import Site
from tests.world import OWNER

ADMIN, MEMBER, STRANGER = "U0EVE", "U0BOB", "U0MAL"


@pytest.fixture
def client(site: Site, slack: FakeSlack) -> TestClient:
    """Return a caller of a server whose channel has just been told of one test."""
    world = site.world
    connect(world, slack)
    world.app.people = People(
        projects={world.project: ProjectPeople(channel=HERE)},
        address="https://q.example",
        admins=frozenset({ADMIN}),
        members=frozenset({MEMBER}),
        signing_secret=SIGNING_SECRET,
    )
    world.send("first", {"t1": "P", "t2": "P"})
    decisions.set_mode(world.app, world.project, "enforce", bearer=OWNER)
    decisions.quarantine(world.app, world.project, "t1", bearer=OWNER, reason="x", days=30)
    with writing(world.app.engine) as connection:
        connection.execute(STANDING.update().values(expires_at=None))
    world.wait(days=31)
    escalate(world.app, world.project)
    deliver(world.app, by="one")
    return site.client()


def press(client: TestClient, slack: FakeSlack, action: Action, *, user: str = MEMBER) -> Response:
    """Press a button of the first message as Slack tells it."""
    ts = slack.messages[HERE][0]["ts"]
    body, headers = slack.press(HERE, ts, f"quarantine:{action.value}", user=user)
    return client.post("/slack/actions", content=body, headers=headers)


def fill(
    client: TestClient, slack: FakeSlack, *, reason: str = "new host on Monday", days: str = "5", user: str = MEMBER
) -> Response:
    """Fill in the dialogue that was opened last."""
    view = slack.views[-1]
    state = {"reason": {"reason": {"value": reason}}, "days": {"days": {"value": days}}}
    payload = {
        "type": "view_submission",
        "user": {"id": user, "username": user.lower()},
        "view": {"callback_id": view["callback_id"], "private_metadata": view["private_metadata"],
                 "state": {"values": state}},
    }  # fmt: skip
    body, headers = slack.signed(payload)
    return client.post("/slack/actions", content=body, headers=headers)


def kept(site: Site) -> list[tuple[str, str, str]]:
    """Return (kind, by, reason) of every answer."""
    with reading(site.world.app.engine) as connection:
        project = projects.by_slug(connection, site.world.project)
        rows = [row for found in answers.of_tests(connection, project.id, range(5)).values() for row in found]
    return [(row["kind"], row["by"], row["reason"]) for row in rows]


def test_an_acknowledgement_is_kept_and_said_in_the_thread(site: Site, slack: FakeSlack, client: TestClient) -> None:
    """One press; everybody who reads the thread sees who has seen it."""
    assert press(client, slack, Action.ACKNOWLEDGE).status_code == 200
    assert kept(site) == [("acknowledge", "slack u0bob (U0BOB)", "")]
    deliver(site.world.app, by="one")
    first, reply = slack.messages[HERE]
    assert reply["thread_ts"] == first["ts"]
    assert reply["text"] == "Seen by slack u0bob (U0BOB)."
    with reading(site.world.app.engine) as connection:
        project = projects.by_slug(connection, site.world.project)
        assert len(audit.of_action(connection, project.id, "acknowledge")) == 1


@pytest.mark.parametrize(("action", "kind"), [(Action.SNOOZE, "snooze"), (Action.OWN, "own")])
def test_what_needs_a_reason_asks_for_it(
    site: Site, slack: FakeSlack, client: TestClient, action: Action, kind: str
) -> None:
    """A dialogue opens, and what is filled in is kept."""
    assert press(client, slack, action).json() == {}
    assert kept(site) == []
    assert fill(client, slack).json() == {}
    assert kept(site) == [(kind, "slack u0bob (U0BOB)", "new host on Monday")]


@pytest.mark.parametrize(
    ("filled", "said"),
    [
        ({"reason": " "}, "reason"),
        ({"days": "99"}, "at most 14 days"),
        ({"days": "x"}, "how long"),
        ({"days": ""}, "how long"),
    ],
)
def test_what_breaks_a_rule_is_said_in_the_dialogue(
    site: Site, slack: FakeSlack, client: TestClient, filled: dict[str, str], said: str
) -> None:
    """Whoever filled it in sees why, and can mend it."""
    press(client, slack, Action.SNOOZE)
    answer = fill(client, slack, **filled)
    assert answer.status_code == 200
    assert answer.json()["response_action"] == "errors"
    assert said in answer.json()["errors"]["reason"]
    assert kept(site) == []


def test_a_release_is_an_admins(site: Site, slack: FakeSlack, client: TestClient) -> None:
    """A member's press opens nothing; an admin's does, and the test gates once the reason is given."""
    assert press(client, slack, Action.RELEASE).status_code == 403
    assert slack.views == []
    assert press(client, slack, Action.RELEASE, user=ADMIN).status_code == 200
    assert fill(client, slack).status_code == 403  # a member cannot fill in an admin's dialogue either
    assert fill(client, slack, user=ADMIN).json() == {}
    assert site.world.explain("t1")["gating"]


@pytest.mark.parametrize("action", Action)
def test_a_stranger_answers_nothing(site: Site, slack: FakeSlack, client: TestClient, action: Action) -> None:
    """Who is named nowhere in the settings may press, and nothing comes of it."""
    assert press(client, slack, action, user=STRANGER).status_code == 403
    assert kept(site) == []


def test_a_request_that_is_sent_again_is_refused(site: Site, slack: FakeSlack, client: TestClient) -> None:
    """The same signed bytes count once, for an answer and for a dialogue."""
    ts = slack.messages[HERE][0]["ts"]
    for action in (Action.ACKNOWLEDGE, Action.SNOOZE):
        body, headers = slack.press(HERE, ts, f"quarantine:{action.value}", user=MEMBER)
        assert client.post("/slack/actions", content=body, headers=headers).status_code == 200
        assert client.post("/slack/actions", content=body, headers=headers).status_code == 409
    assert len(kept(site)) == 1
    assert len(slack.views) == 1


def lies(slack: FakeSlack) -> dict[str, tuple[bytes, dict[str, str]]]:
    """Return requests that Slack did not send."""
    ts = slack.messages[HERE][0]["ts"]
    body, headers = slack.press(HERE, ts, "quarantine:acknowledge", user=ADMIN)
    stamp = int(headers["X-Slack-Request-Timestamp"])
    return {
        "another body": (body + b" ", headers),
        "another signature": (body, headers | {"X-Slack-Signature": "v0=" + "0" * 64}),
        "no signature": (body, {"Content-Type": headers["Content-Type"]}),
        "an old stamp": (body, headers | {"X-Slack-Request-Timestamp": str(stamp - 301)}),
        "a stamp to come": (body, headers | {"X-Slack-Request-Timestamp": str(stamp + 301)}),
        "a stamp that is none": (body, headers | {"X-Slack-Request-Timestamp": "now"}),
    }


def test_what_slack_did_not_sign_is_not_believed(site: Site, slack: FakeSlack, client: TestClient) -> None:
    """Neither an altered body nor an old or a foreign signature does anything."""
    for name, (body, headers) in lies(slack).items():
        answer = client.post("/slack/actions", content=body, headers=headers)
        assert (name, answer.status_code) == (name, 403)
    assert kept(site) == []


def test_an_old_request_is_refused(site: Site, slack: FakeSlack, client: TestClient) -> None:
    """A request that was signed six minutes ago is no longer one."""
    body, headers = slack.press(HERE, slack.messages[HERE][0]["ts"], "quarantine:acknowledge", user=MEMBER)
    site.world.wait(minutes=6)
    assert client.post("/slack/actions", content=body, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"type": "block_actions"},
        {"type": "shortcut", "user": {"id": MEMBER}},
        {"type": "block_actions", "user": {"id": MEMBER}, "actions": []},
        {
            "type": "block_actions",
            "user": {"id": MEMBER},
            "actions": [{"action_id": "quarantine:explode", "value": "ledger v1:x"}],
        },
        {
            "type": "block_actions",
            "user": {"id": MEMBER},
            "actions": [{"action_id": "quarantine:acknowledge", "value": ""}],
        },
        {
            "type": "block_actions",
            "user": {"id": MEMBER},
            "actions": [{"action_id": "quarantine:acknowledge", "value": "a b c"}],
        },
        {
            "type": "view_submission",
            "user": {"id": MEMBER},
            "view": {"callback_id": "quarantine:own", "state": {"values": {}}},
        },
    ],
)
def test_a_signed_request_that_makes_no_sense_is_refused(
    slack: FakeSlack, client: TestClient, payload: dict[str, Any]
) -> None:
    """The answer is an error with a sentence, never a crash."""
    body, headers = slack.signed(payload)
    answer = client.post("/slack/actions", content=body, headers=headers)
    assert answer.status_code == 422
    assert json.loads(answer.text)["detail"]


def test_another_project_is_not_found(slack: FakeSlack, client: TestClient) -> None:
    """A button that names a project that is not here does nothing."""
    payload = {
        "type": "block_actions", "user": {"id": MEMBER},
        "actions": [{"action_id": "quarantine:acknowledge", "value": f"nowhere v1:{'0' * 32}"}],
    }  # fmt: skip
    body, headers = slack.signed(payload)
    assert client.post("/slack/actions", content=body, headers=headers).status_code == 404


def test_without_a_signing_secret_nothing_is_believed(site: Site, slack: FakeSlack, client: TestClient) -> None:
    """A server that knows no app refuses, and says what to set."""
    site.world.app.people = People(projects=site.world.app.people.projects)
    answer = press(client, slack, Action.ACKNOWLEDGE)
    assert answer.status_code == 403
    assert "QUARANTINE_SLACK_SIGNING_SECRET" in answer.text
