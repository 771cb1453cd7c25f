"""The gating set as a test run sees it: what gates, what is asked, and what happens when nobody answers."""

import itertools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from quarantine.client import gating
from quarantine.client.errors import ClientConfigurationError
from quarantine.client.gating import GatingSet
from quarantine.client.snapshot import SnapshotCache, read_answer, variant_hash
from quarantine.client.target import Target
from quarantine.domain.identity import variant_hash as domain_variant_hash
from quarantine.domain.identity import variant_keys
from tests.unit.client.conftest import Answer, Clock, Request, ScriptedDaemon

LINUX = {"os": "linux", "python": "3.12"}
WINDOWS = {"os": "windows", "python": "3.12"}


def answer(snapshot: str = "s1", **changes: Any) -> dict[str, Any]:
    return {
        "schema": 1,
        "project": "shop",
        "snapshot": snapshot,
        "mode": "enforce",
        "taken_at": "2026-11-30T12:00:00+00:00",
        "max_age_s": 3600,
        "refresh_s": 60,
        "not_gating": {"tests.test_a::test_flaky": None, "tests.test_a::test_windows": [variant_hash(WINDOWS)]},
        **changes,
    }


def serve(daemon: ScriptedDaemon, content: dict[str, Any]) -> None:
    """Answer like the daemon: 304 for the snapshot it has, the whole answer otherwise."""

    def script(request: Request) -> Answer:
        tag = f'"{content["snapshot"]}"'
        if request.headers.get("if-none-match") == tag:
            return Answer(304, {"ETag": tag}, b"")
        return Answer(200, {"ETag": tag}, json.dumps(content).encode())

    daemon.script = script


def fail(daemon: ScriptedDaemon, status: int = 503, body: bytes = b"") -> None:
    daemon.script = lambda _request: Answer(status, {}, body)


@pytest.fixture
def shop(daemon: ScriptedDaemon, clock: Clock, tmp_path: Path) -> GatingSet:
    serve(daemon, answer())
    return GatingSet(daemon.url, "shop", "secret", cache_dir=tmp_path / "cache", timeout_s=2, clock=clock)


def reopened(shop: GatingSet, tmp_path: Path, clock: Clock) -> GatingSet:
    """The gating set of another process on the same machine."""
    return GatingSet(shop.target.url, "shop", cache_dir=tmp_path / "cache", timeout_s=2, clock=clock)


@pytest.mark.parametrize(
    ("test", "variant", "gates"),
    [
        ("tests.test_a::test_flaky", None, False),
        ("tests.test_a::test_flaky", LINUX, False),
        ("tests.test_a::test_flaky", "0123456789abcdef", False),
        ("tests.test_a::test_windows", None, True),
        ("tests.test_a::test_windows", LINUX, True),
        ("tests.test_a::test_windows", WINDOWS, False),
        ("tests.test_a::test_windows", variant_hash(WINDOWS), False),
        ("tests.test_a::test_unknown", None, True),
        ("tests.test_a::test_unknown", LINUX, True),
    ],
)
def test_what_gates(shop: GatingSet, test: str, variant: dict[str, str] | str | None, *, gates: bool) -> None:
    """A test gates unless it is out in every variant, or in the one asked about."""
    assert shop.is_gating(test, variant) is gates


EXACT: dict[str, Any] = {
    "quarantined_in": {"tests.test_a::test_flaky": [variant_hash(LINUX)]},
    "variants": [variant_hash(LINUX), variant_hash(WINDOWS)],
}


@pytest.mark.parametrize(
    ("variant", "gates"), [(None, False), (LINUX, False), (WINDOWS, True), ("0123456789abcdef", True)]
)
def test_where_nothing_was_seen_of_a_test_it_gates(
    shop: GatingSet, daemon: ScriptedDaemon, *, variant: dict[str, str] | str | None, gates: bool
) -> None:
    """A daemon that says in which variants it was seen to flake takes it out in those only."""
    serve(daemon, answer(**EXACT))
    assert shop.is_gating("tests.test_a::test_flaky", variant) is gates
    assert shop.is_gating("tests.test_a::test_windows", WINDOWS) is False


def test_a_variant_that_trunk_never_ran_is_said_once(
    shop: GatingSet, daemon: ScriptedDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where it matters, for a quarantined test, and for a variant that is known not at all."""
    serve(daemon, answer(**EXACT))
    odd = {"os": "linux"}
    shop.is_gating("tests.test_a::test_sound", odd)
    shop.is_gating("tests.test_a::test_flaky", WINDOWS)
    shop.is_gating("tests.test_a::test_flaky")
    assert capsys.readouterr().err == ""
    for _ in range(3):
        assert shop.is_gating("tests.test_a::test_flaky", odd)
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith(f"has seen no trunk build in variant {variant_hash(odd)}, so every test gates in it.")


def test_a_snapshot_lists_who_does_not_gate_in_a_variant() -> None:
    """What one look-up after another would say, for a whole session at once; an older daemon's too."""
    older, newer = read_answer(answer(), "shop"), read_answer(answer(**EXACT), "shop")
    both = {"tests.test_a::test_flaky", "tests.test_a::test_windows"}
    assert older.not_gating_in(variant_hash(WINDOWS)) == both
    assert newer.not_gating_in(variant_hash(WINDOWS)) == {"tests.test_a::test_windows"}
    assert newer.not_gating_in(variant_hash(LINUX)) == {"tests.test_a::test_flaky"}
    assert read_answer(answer(mode="observe", **EXACT), "shop").not_gating_in(variant_hash(LINUX)) == frozenset()


def test_observe_mode_takes_nothing_out(shop: GatingSet, daemon: ScriptedDaemon) -> None:
    """While a project only observes, every test gates whatever the list says."""
    serve(daemon, answer(mode="observe"))
    assert shop.is_gating("tests.test_a::test_flaky")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, "44136fa355b3678a"),
        ({"os": "linux", "python": "3.12"}, "2a78fe8c133af373"),
        ({"name": "Zürich \U0001f40d"}, None),
        ({"lone": "\ud800"}, None),
    ],
)
def test_variant_hash_is_the_daemons(keys: dict[str, str], expected: str | None) -> None:
    """The client and the domain name a variant alike, whatever the order of its keys."""
    backwards = dict(reversed(list(keys.items())))
    assert variant_hash(keys) == variant_hash(backwards) == domain_variant_hash(variant_keys(keys))
    if expected is not None:
        assert variant_hash(keys) == expected


def test_asks_once_until_the_refresh_is_due(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock) -> None:
    """Look-ups between two refreshes ask nobody; a refresh names the snapshot it has, with the token."""
    for _ in range(50):
        shop.is_gating("x")
    clock.now += 59
    shop.is_gating("x")
    assert len(daemon.requests) == 1
    clock.now += 2
    shop.is_gating("x")
    first, second = daemon.requests
    assert first.path == "/v1/projects/shop/gating"
    assert first.headers["authorization"] == "Bearer secret"
    assert "if-none-match" not in first.headers
    assert second.headers["if-none-match"] == '"s1"'


def test_new_snapshot_replaces_the_old(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock) -> None:
    """A test released by the daemon gates again at the next refresh."""
    assert not shop.is_gating("tests.test_a::test_flaky")
    serve(daemon, answer("s2", not_gating={}))
    clock.now += 61
    assert shop.is_gating("tests.test_a::test_flaky")
    assert shop.snapshot == "s2"


TROUBLE = {
    "503": (503, b""),
    "500": (500, b"oops"),
    "redirect": (302, b""),
    "html": (200, b"<html>Sign in</html>"),
    "empty": (200, b""),
    "other project": (200, json.dumps(answer(project="other")).encode()),
    "other schema": (200, json.dumps(answer(schema=2)).encode()),
    "no list": (200, json.dumps(answer(not_gating=["a"])).encode()),
    "odd variants": (200, json.dumps(answer(not_gating={"a": "b"})).encode()),
    "odd exact variants": (200, json.dumps(answer(quarantined_in={"a": None})).encode()),
    "odd known variants": (200, json.dumps(answer(variants="a")).encode()),
    "odd mode": (200, json.dumps(answer(mode="enforced")).encode()),
    "odd age": (200, json.dumps(answer(max_age_s="long")).encode()),
    "endless age": (200, json.dumps(answer(max_age_s=float("inf"))).encode()),
    "nested": (200, b"[" * 200_000),
    "not utf-8": (200, b"\xff\xfe{"),
}


@pytest.mark.parametrize("kind", TROUBLE)
def test_trouble_leaves_the_last_snapshot_until_its_age(
    shop: GatingSet, daemon: ScriptedDaemon, clock: Clock, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    """Through any trouble the last snapshot serves to its maximum age, then every test gates; each is said once."""
    assert not shop.is_gating("tests.test_a::test_flaky")
    fail(daemon, *TROUBLE[kind])
    for _ in range(11):
        clock.now += 300
        assert not shop.is_gating("tests.test_a::test_flaky")
    assert shop.snapshot == "s1"
    clock.now += 301
    assert shop.is_gating("tests.test_a::test_flaky")
    clock.now += 10_000
    assert shop.is_gating("tests.test_a::test_flaky")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "going by snapshot s1" in said[0]
    assert "every test gates" in said[1]


def test_age_runs_out_between_two_questions(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock) -> None:
    """A snapshot is dropped at its maximum age, not at the next question after it."""
    serve(daemon, answer(max_age_s=10))
    assert not shop.is_gating("tests.test_a::test_flaky")
    fail(daemon)
    clock.now += 9.9
    assert not shop.is_gating("tests.test_a::test_flaky")
    clock.now += 0.2
    assert shop.is_gating("tests.test_a::test_flaky")


def test_a_confirmation_renews_the_age(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock) -> None:
    """The age counts from the last time the daemon confirmed the snapshot, not from when it was taken."""
    for _ in range(100):
        clock.now += 61
        assert not shop.is_gating("tests.test_a::test_flaky")
    fail(daemon)
    clock.now += 3000
    assert not shop.is_gating("tests.test_a::test_flaky")


def test_questions_to_a_silent_daemon_grow_rare(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock) -> None:
    """A daemon that does not answer is asked less and less often, and at least every ten minutes."""
    fail(daemon)
    asked = []
    for second in range(0, 4000, 5):
        before = len(daemon.requests)
        shop.is_gating("x")
        if len(daemon.requests) > before:
            asked.append(second)
        clock.now += 5
    gaps = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert gaps == sorted(gaps)
    assert gaps[0] == 15
    assert gaps[-1] == 600


def test_a_daemon_that_never_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without any snapshot every test gates, and nothing is raised."""
    nobody = GatingSet("http://127.0.0.1:1", "shop", cache_dir=tmp_path)
    assert nobody.is_gating("tests.test_a::test_flaky")
    assert nobody.snapshot is None
    assert "every test gates" in capsys.readouterr().err


def test_a_dropped_connection_is_trouble(shop: GatingSet, daemon: ScriptedDaemon) -> None:
    """A connection closed without a word, or in the middle of the answer, is trouble like any other."""
    daemon.script = lambda _request: None
    assert shop.is_gating("tests.test_a::test_flaky")
    cut = json.dumps(answer()).encode()
    daemon.script = lambda _request: Answer(200, {"Content-Length": str(len(cut) + 10)}, cut)
    shop.refresh()
    assert shop.is_gating("tests.test_a::test_flaky")


@pytest.mark.parametrize(
    ("status", "names"), [(401, "QUARANTINE_TOKEN"), (403, "QUARANTINE_TOKEN"), (404, "QUARANTINE_PROJECT")]
)
def test_refusals(
    shop: GatingSet,
    daemon: ScriptedDaemon,
    clock: Clock,
    capsys: pytest.CaptureFixture[str],
    *,
    status: int,
    names: str,
) -> None:
    """A wrong token or project makes every test gate at once, and stderr says once which setting to look at."""
    assert not shop.is_gating("tests.test_a::test_flaky")
    fail(daemon, status)
    for _ in range(3):
        clock.now += 601
        assert shop.is_gating("tests.test_a::test_flaky")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert names in said[0]
    serve(daemon, answer())
    clock.now += 601
    assert not shop.is_gating("tests.test_a::test_flaky")


def test_the_copy_on_disk_serves_another_process(
    shop: GatingSet, daemon: ScriptedDaemon, clock: Clock, tmp_path: Path
) -> None:
    """A process that cannot reach the daemon goes by the copy an earlier one left, to the same age."""
    shop.is_gating("x")
    fail(daemon)
    clock.now += 3500
    assert not reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")
    clock.now += 101
    assert reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")


def test_the_copy_on_disk_saves_the_body(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock, tmp_path: Path) -> None:
    """A second process names the snapshot of the copy, and a 304 confirms it however old the copy was."""
    shop.is_gating("x")
    clock.now += 100_000
    assert not reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")
    assert daemon.requests[-1].headers["if-none-match"] == '"s1"'


def test_the_copy_is_private(shop: GatingSet, tmp_path: Path) -> None:
    """Only the user who wrote the copy may read or write it, and nothing else is left beside it."""
    shop.is_gating("x")
    (copy,) = (tmp_path / "cache").iterdir()
    assert copy.stat().st_mode & 0o777 == 0o600


def rewrite(**changes: Any) -> bytes:
    record = {
        "schema": 1,
        "url": "{url}",
        "project": "shop",
        "confirmed_s": 1_000_000.0,
        "answer": answer(),
        **changes,
    }
    return json.dumps(record).encode()


DAMAGE = {
    "truncated": rewrite()[:-20],
    "empty": b"",
    "not json": b"\x00\xff",
    "list": b"[]",
    "nested": b"[" * 200_000,
    "schema": rewrite(schema=2),
    "from the future": rewrite(confirmed_s=1_000_600.0),
    "odd instant": rewrite(confirmed_s="now"),
    "other daemon": rewrite(url="http://elsewhere"),
    "other project": rewrite(project="other"),
    "odd answer": rewrite(answer={"schema": 1}),
    "no answer": rewrite(answer=None),
}


@pytest.mark.parametrize("kind", ["intact", *DAMAGE])
def test_a_damaged_copy_is_ignored(
    shop: GatingSet, daemon: ScriptedDaemon, clock: Clock, tmp_path: Path, kind: str
) -> None:
    """A copy that is damaged, foreign or from the future counts as none."""
    shop.is_gating("x")
    (copy,) = (tmp_path / "cache").iterdir()
    content = DAMAGE.get(kind, rewrite())
    copy.write_bytes(content.replace(b"{url}", daemon.url.encode()))
    fail(daemon)
    clock.now += 10
    assert reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky") is (kind != "intact")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of files are a POSIX matter")
def test_a_copy_others_may_write_is_ignored(
    shop: GatingSet, daemon: ScriptedDaemon, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that is another user's, that others may write, or that is a link, counts as none."""
    shop.is_gating("x")
    fail(daemon)
    (copy,) = (tmp_path / "cache").iterdir()
    copy.chmod(0o622)
    assert reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")
    copy.chmod(0o600)
    assert not reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")
    with monkeypatch.context() as context:
        context.setattr(os, "geteuid", lambda: copy.stat().st_uid + 1)
        assert reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")
    copy.rename(tmp_path / "elsewhere")
    copy.symlink_to(tmp_path / "elsewhere")
    assert reopened(shop, tmp_path, clock).is_gating("tests.test_a::test_flaky")


def test_a_cache_that_cannot_be_written(daemon: ScriptedDaemon, clock: Clock, tmp_path: Path) -> None:
    """Without a place for the copy, look-ups still work."""
    (tmp_path / "file").write_text("")
    serve(daemon, answer())
    shop = GatingSet(daemon.url, "shop", cache_dir=tmp_path / "file" / "below", clock=clock)
    assert not shop.is_gating("tests.test_a::test_flaky")


def test_a_machine_that_slept(shop: GatingSet, daemon: ScriptedDaemon, tmp_path: Path) -> None:
    """When the wall clock moved on more than the monotonic one, the age goes by the wall clock."""
    wall = Clock()
    sleeper = GatingSet(shop.target.url, "shop", cache_dir=tmp_path / "other", clock=wall)
    assert not sleeper.is_gating("tests.test_a::test_flaky")
    fail(daemon)
    wall.now += 4000
    sleeper.refresh()
    assert sleeper.is_gating("tests.test_a::test_flaky")


def test_threads_ask_once_between_them(shop: GatingSet, daemon: ScriptedDaemon) -> None:
    """Threads that start together all get the right answer from one question."""
    answers: list[bool] = []
    start = threading.Barrier(8)

    def look_up() -> None:
        start.wait()
        answers.append(shop.is_gating("tests.test_a::test_flaky"))

    threads = [threading.Thread(target=look_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [False] * 8
    assert len(daemon.requests) == 1


def test_other_threads_go_on_while_one_asks(shop: GatingSet, daemon: ScriptedDaemon, clock: Clock) -> None:
    """While a refresh is under way, a snapshot that is young enough answers without waiting for it."""
    shop.is_gating("x")
    asked, go_on = threading.Event(), threading.Event()

    def slow(_request: Request) -> Answer:
        asked.set()
        go_on.wait(10)
        return Answer(200, {}, json.dumps(answer("s2", not_gating={})).encode())

    daemon.script = slow
    clock.now += 61
    asker = threading.Thread(target=shop.is_gating, args=("x",))
    asker.start()
    assert asked.wait(10)
    assert not shop.is_gating("tests.test_a::test_flaky")
    go_on.set()
    asker.join()
    assert shop.is_gating("tests.test_a::test_flaky")


def test_module_function_reads_the_environment(
    daemon: ScriptedDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module's function uses one gating set, named by the environment."""
    import quarantine

    serve(daemon, answer())
    monkeypatch.setattr(gating, "_default", None)
    monkeypatch.setenv("QUARANTINE_URL", daemon.url)
    monkeypatch.setenv("QUARANTINE_PROJECT", "shop")
    monkeypatch.setenv("QUARANTINE_TOKEN", "secret")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not quarantine.is_gating("tests.test_a::test_flaky")
    assert gating.is_gating("tests.test_a::test_windows", LINUX)
    assert not gating.is_gating("tests.test_a::test_windows", WINDOWS)
    assert gating.is_gating("tests.test_a::test_windows")
    assert len(daemon.requests) == 1
    assert [path.parent.name for path in tmp_path.rglob("gating-*.json")] == ["quarantine"]


@pytest.mark.parametrize("missing", ["QUARANTINE_URL", "QUARANTINE_PROJECT"])
def test_missing_configuration(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """A missing variable is an error of its own that names the variable, each time."""
    monkeypatch.setattr(gating, "_default", None)
    monkeypatch.setenv("QUARANTINE_URL", "http://localhost")
    monkeypatch.setenv("QUARANTINE_PROJECT", "shop")
    monkeypatch.delenv(missing)
    for _ in range(2):
        with pytest.raises(ClientConfigurationError, match=missing):
            gating.is_gating("x")


@pytest.mark.parametrize(
    ("url", "project", "token"),
    [
        ("", "shop", None),
        ("localhost:8080", "shop", None),
        ("ftp://localhost", "shop", None),
        ("http://", "shop", None),
        ("http://localhost:port", "shop", None),
        ("http://localhost:99999", "shop", None),
        ("http://user:pass@localhost", "shop", None),
        ("http://localhost/?a=b", "shop", None),
        ("http://localhost/\nX: y", "shop", None),
        ("http://[::1", "shop", None),
        ("http://localhost", "", None),
        ("http://localhost", "a/b", None),
        ("http://localhost", "a b", None),
        ("http://localhost", "shop", "to ken"),
        ("http://localhost", "shop", "tok\nen"),
        ("http://localhost", "shop", "tökén"),
    ],
)
def test_ill_formed_configuration(url: str, project: str, token: str | None) -> None:
    """An address, a project or a token that cannot be used is refused before anything is sent."""
    with pytest.raises(ClientConfigurationError):
        Target(url, project, token)


def test_target_keeps_the_path_and_quotes_the_project() -> None:
    """A daemon behind a path is asked below it, and a project's name cannot leave its place in the path."""
    target = Target("https://ci.example.org:8443/quarantine/", "größe?x=..", "secret")
    assert target.path("gating") == "/quarantine/v1/projects/gr%C3%B6%C3%9Fe%3Fx%3D../gating"
    assert (target.scheme, target.host, target.port) == ("https", "ci.example.org", 8443)


def test_the_token_is_never_in_the_copy(shop: GatingSet, tmp_path: Path) -> None:
    """The copy on disk holds no token."""
    shop.is_gating("x")
    (copy,) = (tmp_path / "cache").iterdir()
    assert b"secret" not in copy.read_bytes()


def test_caches_of_two_projects_are_apart(tmp_path: Path) -> None:
    """Each daemon and project has a copy of its own."""
    names = {
        SnapshotCache(Target(url, project), tmp_path).path
        for url in ("http://a", "http://b")
        for project in ("shop", "mill")
    }
    assert len(names) == 4


def test_importing_the_client_is_light() -> None:
    """Importing the package loads nothing heavy, and the gating module no HTTP, no typing of dataclasses."""
    code = (
        "import sys; bare = set(sys.modules); import quarantine.client; first = set(sys.modules) - bare;"
        "import quarantine.client.gating; second = set(sys.modules) - bare;"
        "print(sorted(m for m in first if not m.startswith('quarantine')));"
        "print(sorted(second & {'http.client', 'ssl', 'dataclasses', 'inspect', 'email', 'sqlite3', 'subprocess'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = done.stdout.splitlines()
    assert first == "[]"
    assert second == "[]"
