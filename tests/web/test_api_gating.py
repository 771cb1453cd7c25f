"""The gating set and what is read beside it."""

import asyncio

import pytest

from quarantine.domain.outcome import Lane
from quarantine.services import decisions
from quarantine.services.app import App
from quarantine.services.gating import Snapshot, take_snapshot
from quarantine.web import snapshots
from quarantine.web.snapshots import Snapshots
from tests.web.site import AT, Site, part, problem, upload
from tests.world import OWNER, PROJECT, commit, tree

IDS = ("t_flaky", "tests.test_ledger::t_flaky", "tests.test_ledger.t_flaky", "tests/test_ledger.py::t_flaky")


def enforce(site: Site) -> None:
    """Let the project act on its decisions."""
    decisions.set_mode(site.world.app, PROJECT, "enforce", bearer=OWNER)


def test_an_observing_project_takes_nothing_out(judged: Site) -> None:
    """The snapshot is empty and says that the project observes, whatever has been decided."""
    told = judged.open().get(f"{AT}/gating").json()
    assert (told["schema"], told["project"], told["mode"], told["not_gating"]) == (1, PROJECT, "observe", {})
    assert (told["max_age_s"], told["refresh_s"]) == (86_400, 60)


def test_an_enforcing_project_takes_the_quarantined_out_under_every_spelling(judged: Site) -> None:
    """By id and by each raw name, in every variant it was seen in; the held and the broken one stay."""
    enforce(judged)
    told = judged.open().get(f"{AT}/gating").json()["not_gating"]
    assert set(told) >= {judged.world.explain("t_flaky")["test"], *IDS[1:]}
    assert set(told.values()) == {None}
    assert not any("t_held" in name or "t_broken" in name for name in told)


def test_a_snapshot_that_the_client_has_is_not_sent_again(judged: Site) -> None:
    """304 for its own tag, weak or among others; once something is decided the tag is another one."""
    client = judged.open()
    first = client.get(f"{AT}/gating")
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "no-cache"
    for asked in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = client.get(f"{AT}/gating", headers={"if-none-match": asked})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get(f"{AT}/gating", headers={"if-none-match": '"other"'}).status_code == 200
    admin = judged.client(token=judged.token("admin"))
    assert admin.get(f"{AT}/gating").headers["etag"] == tag
    admin.post(f"{AT}/mode", json={"mode": "enforce"})
    changed = admin.get(f"{AT}/gating", headers={"if-none-match": tag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != tag


def test_a_decision_of_another_process_is_seen_soon(judged: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server looks again about once a second, and serves from memory until then."""
    assert snapshots.CHECKED_S <= 1
    monkeypatch.setattr(snapshots, "CHECKED_S", 0.0)
    client = judged.open()
    assert client.get(f"{AT}/gating").json()["mode"] == "observe"
    enforce(judged)
    assert client.get(f"{AT}/gating").json()["mode"] == "enforce"


def test_what_was_read_before_a_change_is_not_served_after_it(judged: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look into the database that a decision overtakes is answered, and not kept."""
    held = Snapshots(judged.world.app)

    def overtaken(app: App, slug: str) -> Snapshot:
        before = take_snapshot(app, slug)
        enforce(judged)
        held.forget(slug)
        return before

    monkeypatch.setattr(snapshots, "take_snapshot", overtaken)
    assert asyncio.run(held.current(PROJECT)).mode == "observe"
    assert held.held(PROJECT) is None


def test_is_gating_knows_ids_and_raw_names(judged: Site) -> None:
    """By opaque id, pytest node id, or class and name, with the snapshot it was read from; unknown tests gate."""
    enforce(judged)
    client = judged.open()
    snapshot = client.get(f"{AT}/gating").json()["snapshot"]
    for name in (judged.world.explain("t_flaky")["test"], *IDS[1:]):
        assert client.get(f"{AT}/gating/{name}").json() == {"gating": False, "snapshot": snapshot, "mode": "enforce"}
    for name in ("tests.test_ledger::t_held", "tests.test_ledger::t_broken", "tests.test_ledger::t1", "never/seen::it"):
        assert client.get(f"{AT}/gating/{name}").json()["gating"] is True


def test_is_gating_is_asked_for_one_variant_or_for_any(site: Site) -> None:
    """Without a variant a test gates if it gates in any; in one it gates if it does there."""
    enforce(site)
    for number in range(24):
        for system in ("linux", "windows"):
            fails = {"t1": "F"} if number % 3 == 1 and system == "linux" else {}
            site.world.send(f"{number}{system}", {"t1": "P", "t2": "P"} | fails, variant={"os": system})
            if fails:
                site.world.rerun(f"{number}{system}", {"t1": "P", "t2": "P"}, variant={"os": system})
        site.world.wait(hours=9)
    linux, windows = sorted(site.world.explain("t1")["variants"], key=lambda variant: str(variant["variant"]["os"]))
    address = f"{AT}/gating/tests.test_ledger::t1"
    client = site.open()
    assert client.get(address).json()["gating"] is True
    assert client.get(address, params={"variant": linux["variant_hash"]}).json()["gating"] is False
    assert client.get(address, params={"variant": windows["variant_hash"]}).json()["gating"] is True
    assert client.get(address, params={"variant": "unheard-of"}).json()["gating"] is True


def test_a_report_that_quarantines_changes_the_set_at_once(site: Site) -> None:
    """Who sent it and asks right after sees the set without the test."""
    enforce(site)
    client = site.open()
    for number in range(40):
        name = f"b{number}"
        flaky = number % 3 == 1
        site.world.send(name, {"t1": "F" if flaky else "P", "t2": "P"})
        before = client.get(f"{AT}/gating/tests.test_ledger::t1").json()["gating"]
        assert before is True
        if flaky:
            rerun = part(f"{name}-rerun", tree=tree(name), commit=commit(name), kind="rerun", rerun_of=name)
            sent = upload({"t1": "P", "t2": "P"}, build=rerun)
            told = client.post(f"{AT}/reports", **sent).json()
            if told["transitions"]:
                break
        site.world.wait(hours=9)
    assert client.get(f"{AT}/gating/tests.test_ledger::t1").json()["gating"] is False


def test_what_is_read_is_what_the_services_tell(judged: Site) -> None:
    """Summary, tests, one test and reruns are answered as JSON, the test also derived a second time."""
    client = judged.open()
    assert client.get(f"{AT}/summary").json() == judged.world.summary()
    standing = client.get(f"{AT}/tests").json()["standing"]
    assert {row["name"].rpartition("::")[2]: row["status"] for row in standing} == {
        "t_flaky": "quarantined", "t_held": "held", "t_broken": "broken",
    }  # fmt: skip
    told = client.get(f"{AT}/tests/t_flaky", params={"recompute": 1}).json()
    assert told == judged.world.explain("t_flaky")
    assert told["variants"][0]["disagreements"] == []
    assert "disagreements" not in client.get(f"{AT}/tests/t_flaky").json()["variants"][0]
    assert client.get(f"{AT}/reruns").json()["project"] == PROJECT


@pytest.mark.parametrize("resource", ["gating", "gating/t1", "summary", "tests", "tests/t1", "reruns"])
def test_a_project_that_is_not_there_is_not_found(site: Site, resource: str) -> None:
    """Every reading route says so, with what to do."""
    told = problem(site.open().get(f"/v1/projects/nope/{resource}"), 404, "not-found")
    assert told["mend"]


def test_names_that_look_like_paths_are_names(site: Site) -> None:
    """A test id with slashes, spaces, brackets or the word `release` at its end is one test."""
    names = ("a/b/c", "with space", "t[1-x]", "ends/release", "100%", "q?x=1", "hash#tag", "ünïcode")
    site.world.send("b1", dict.fromkeys(names, "P"))
    client = site.client(open_lane=Lane.TRUNK)
    for name in names:
        quoted = name.replace("%", "%25").replace("?", "%3F").replace("#", "%23")
        assert client.get(f"{AT}/tests/{quoted}").json()["raw"]["name"] == name


def test_a_name_with_line_breaks_and_slashes_is_found_in_a_path(judged: Site) -> None:
    """Whatever a test is called, percent-encoded it can be asked for."""
    client = judged.open()
    assert client.get(f"{AT}/gating/a%2Fb%0Ac%3Fd").json()["gating"] is True
    told = problem(client.get(f"{AT}/tests/a%2Fb%0Ac%3Fd"), 404, "not-found")
    assert "a/b\\nc?d" in told["detail"]
