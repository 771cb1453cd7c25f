"""Uploads: what goes over the wire, what waits on disk, and what is sent the next time."""

import email
import email.policy
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from quarantine.client.spool import Spool, spool_folder
from quarantine.client.target import Target
from quarantine.client.upload import Answer, flush_spool, post_reports
from tests.unit.client.conftest import Answer as Reply
from tests.unit.client.conftest import Request, ScriptedDaemon

BUILD = {"schema": 1, "build": "b1", "note": "größe"}
SMALL = b"<testsuite tests='1'/>"
RECEIPT = {"build": 1, "new": True, "reports": []}
PROBLEM = {"Content-Type": "application/problem+json"}
LARGE = b"<testsuite>" + b"<testcase name='a'/>" * 1000 + b"</testsuite>"


@pytest.fixture
def target(daemon: ScriptedDaemon) -> Target:
    take(daemon)
    return Target(daemon.url, "shop", "secret")


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "junit.xml").write_bytes(SMALL)
    (folder / 'odd "größe".xml').write_bytes(LARGE)
    (folder / "packed.xml.gz").write_bytes(gzip.compress(SMALL))
    return sorted(folder.iterdir())


def take(daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request: Reply(202, {}, json.dumps(RECEIPT).encode())


def refuse(daemon: ScriptedDaemon, status: int, **problem: Any) -> None:
    daemon.script = lambda _request: Reply(status, PROBLEM, json.dumps({"status": status} | problem).encode())


def posted(request: Request) -> list[tuple[str, str | None, str, bytes]]:
    """The parts of a request: field, file name, content type, content."""
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    message = email.message_from_bytes(head + request.body, policy=email.policy.HTTP)
    assert not message.defects
    parts = []
    for part in message.iter_parts():
        field = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        assert isinstance(content, bytes)
        parts.append((str(field), part.get_filename(), part.get_content_type(), content))
    return parts


def builds(daemon: ScriptedDaemon) -> list[str]:
    return [json.loads(posted(request)[0][3])["build"] for request in daemon.requests]


def post(target: Target, reports: list[Path], spool: Path, build: str = "b1") -> Answer:
    return post_reports(target, {**BUILD, "build": build}, reports, spool_dir=spool, timeout_s=5)


def test_what_goes_over_the_wire(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The build part and every report arrive whole, larger reports compressed, with their names and the token."""
    answer = post(target, reports, tmp_path / "spool")
    assert (answer.status, answer.body) == ("sent", RECEIPT)
    (request,) = daemon.requests
    assert (request.method, request.path) == ("POST", "/v1/projects/shop/reports")
    assert request.headers["authorization"] == "Bearer secret"
    assert int(request.headers["content-length"]) == len(request.body)
    build, *sent = posted(request)
    assert build[:3] == ("build", None, "application/json")
    assert json.loads(build[3]) == BUILD
    assert [(field, kind) for field, _, kind, _ in sent] == [
        ("report", "application/xml"),
        ("report", "application/gzip"),
        ("report", "application/gzip"),
    ]
    assert [name for _, name, _, _ in sent] == ["junit.xml", "odd %22größe%22.xml", "packed.xml.gz"]
    assert sent[0][3] == SMALL
    assert gzip.decompress(sent[1][3]) == LARGE
    assert gzip.decompress(sent[2][3]) == SMALL
    assert not (tmp_path / "spool").exists()
    assert capsys.readouterr().err == ""


def test_the_servers_own_reader_takes_it(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """The body is one that the multipart reader of the daemon reads in full."""
    from starlette.applications import Starlette
    from starlette.datastructures import UploadFile
    from starlette.requests import Request as StarletteRequest
    from starlette.responses import JSONResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    post(target, reports, tmp_path / "spool")
    (request,) = daemon.requests

    async def read(incoming: StarletteRequest) -> JSONResponse:
        async with incoming.form() as form:
            files = [item for item in form.getlist("report") if isinstance(item, UploadFile)]
            sizes = [len(await item.read()) for item in files]
            return JSONResponse([form["build"], [item.filename for item in files], sizes])

    client = TestClient(Starlette(routes=[Route("/", read, methods=["POST"])]))
    build, names, sizes = client.post(
        "/", content=request.body, headers={"content-type": request.headers["content-type"]}
    ).json()
    assert json.loads(build) == BUILD
    assert names == ["junit.xml", "odd %22größe%22.xml", "packed.xml.gz"]
    assert sizes == [len(content) for _, _, _, content in posted(request)[1:]]


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 408])
def test_what_cannot_be_taken_now_waits(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path, *, status: int
) -> None:
    """An upload that the daemon cannot take now waits on disk, and goes first the next time, unchanged."""
    refuse(daemon, status, detail="The disk is full.")
    answer = post(target, reports, tmp_path / "spool", "b1")
    assert answer.status == "spooled"
    assert "The disk is full." in answer.sentence
    first = posted(daemon.requests[0])
    daemon.requests.clear()
    take(daemon)
    reports[0].write_bytes(b"<testsuite tests='2'/>")
    assert post(target, reports, tmp_path / "spool", "b2").status == "sent"
    assert builds(daemon) == ["b1", "b2"]
    assert posted(daemon.requests[0]) == first
    assert flush_spool(target, spool_dir=tmp_path / "spool") == []


def test_an_unreachable_daemon(reports: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is raised when nobody answers; stderr says where the upload waits."""
    nobody = Target("http://127.0.0.1:1", "shop")
    answer = post(nobody, reports, tmp_path / "spool")
    assert answer.status == "spooled"
    assert str(tmp_path / "spool") in capsys.readouterr().err


def test_uploads_wait_in_order(target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path) -> None:
    """While the daemon is away each upload asks once, with the oldest; then they arrive in the order they were made."""
    refuse(daemon, 503)
    for number in range(3):
        assert post(target, reports, tmp_path / "spool", f"b{number}").status == "spooled"
    assert builds(daemon) == ["b0", "b0", "b0"]
    daemon.requests.clear()
    take(daemon)
    assert [answer.status for answer in flush_spool(target, spool_dir=tmp_path / "spool")] == ["sent"] * 3
    assert builds(daemon) == ["b0", "b1", "b2"]


def test_the_same_upload_waits_once(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """An upload that is tried twice while the daemon is away is one entry."""
    refuse(daemon, 503)
    post(target, reports, tmp_path / "spool")
    post(target, reports, tmp_path / "spool")
    assert len(list(Spool(target, tmp_path / "spool").waiting())) == 1


def test_an_entry_the_daemon_fails_on_holds_up_nothing(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """One upload that crashes the daemon each time is kept, and the others get through."""
    receipt = json.dumps(RECEIPT).encode()
    daemon.script = lambda request: Reply(500 if b'"poison"' in request.body else 202, {}, receipt)
    assert post(target, reports, tmp_path / "spool", "poison").status == "spooled"
    assert post(target, reports, tmp_path / "spool", "b2").status == "sent"
    assert [entry.build_part["build"] for entry in Spool(target, tmp_path / "spool").waiting()] == ["poison"]


def test_a_refusal(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A refused upload is not kept, and the daemon's own sentences say why."""
    refuse(
        daemon, 422, title="Cannot be used", detail="The build part is not schema 1.", mend="See the docs.", code="x"
    )
    answer = post(target, reports, tmp_path / "spool")
    assert answer.status == "refused"
    assert answer.sentence.endswith("The build part is not schema 1. See the docs.")
    assert answer.body["code"] == "x"
    assert answer.sentence in capsys.readouterr().err
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize(("problem", "said"), [({}, "status 400."), ({"title": "No"}, "No."), ({"detail": 1}, "400.")])
def test_a_refusal_without_a_reason(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path, *, problem: dict[str, Any], said: str
) -> None:
    """Whatever a problem document leaves out, the sentence says something."""
    refuse(daemon, 400, **problem)
    answer = post(target, reports, tmp_path / "spool")
    assert answer.status == "refused"
    assert answer.sentence.endswith(said)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"<html>Welcome</html>"),
        (200, b'{"ok": true}'),
        (200, b'{"build": "7", "reports": []}'),
        (202, b'{"build": true, "reports": []}'),
        (202, b'{"build": 7}'),
        (204, b""),
        (201, json.dumps(RECEIPT).encode()),
        (302, b""),
        (400, b"<html>"),
        (403, b'{"error": "sign in"}'),
        (404, b"[]"),
        (413, b"<html>"),
    ],
)
def test_whatever_is_not_the_daemon_delivers_nothing(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path, *, status: int, body: bytes
) -> None:
    """A proxy's or a portal's answer, whatever its status, loses no report: all wait for the daemon itself."""
    refuse(daemon, 503)
    post(target, reports, tmp_path / "spool", "b1")
    daemon.script = lambda _request: Reply(status, {}, body)
    answer = post(target, reports, tmp_path / "spool", "b2")
    assert answer.status == "spooled"
    assert f"What answers at {target.url} is not the daemon: status {status}." in answer.sentence
    daemon.requests.clear()
    take(daemon)
    assert [answer.status for answer in flush_spool(target, spool_dir=tmp_path / "spool")] == ["sent"] * 2
    assert builds(daemon) == ["b1", "b2"]


def test_a_spooled_upload_that_is_refused_later(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """An entry that the daemon will never take is put aside with the reason, and does not block the next ones."""
    refuse(daemon, 503)
    post(target, reports, tmp_path / "spool", "bad")
    post(target, reports, tmp_path / "spool", "good")
    both = json.dumps(RECEIPT | {"code": "odd", "detail": "It is odd."}).encode()
    daemon.script = lambda request: Reply(422 if b'"bad"' in request.body else 202, {}, both)
    assert [answer.status for answer in flush_spool(target, spool_dir=tmp_path / "spool")] == ["refused", "sent"]
    (reason,) = (tmp_path / "spool").rglob("reason.txt")
    assert "It is odd." in reason.read_text()
    assert (reason.parent / "build.json").exists()
    assert flush_spool(target, spool_dir=tmp_path / "spool") == []


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_token_leaves_the_spool_alone(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path, *, status: int
) -> None:
    """Entries outlast a wrong setting: they wait for the right one."""
    refuse(daemon, 503)
    post(target, reports, tmp_path / "spool")
    refuse(daemon, status)
    assert [answer.status for answer in flush_spool(target, spool_dir=tmp_path / "spool")] == ["refused"]
    take(daemon)
    assert [answer.status for answer in flush_spool(target, spool_dir=tmp_path / "spool")] == ["sent"]


def test_another_token_never_delivers_it(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """What one token could not deliver is never sent with another: the token decides the lane."""
    refuse(daemon, 503)
    post(target, reports, tmp_path / "spool", "agents")
    take(daemon)
    daemon.requests.clear()
    trunk = Target(target.url, "shop", "trunk-token")
    assert post(trunk, reports, tmp_path / "spool", "trunks").status == "sent"
    assert builds(daemon) == ["trunks"]


def test_the_spool_is_private_and_holds_no_token(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """Nobody else can look into the spool, and the token is nowhere in it."""
    refuse(daemon, 503)
    post(target, reports, tmp_path / "spool")
    (entry,) = Spool(target, tmp_path / "spool").waiting()
    assert entry.folder.stat().st_mode & 0o077 == 0
    files = [path for path in (tmp_path / "spool").rglob("*") if path.is_file()]
    assert len(files) == 4
    assert not any(b"secret" in path.read_bytes() for path in files)


def test_half_an_entry_is_never_sent(
    target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path
) -> None:
    """What a crash left half made is not sent; an entry that was damaged is put aside."""
    spool = Spool(target, tmp_path / "spool")
    folder = spool.add(BUILD, reports)
    (folder.parent.parent / ".new-abc").mkdir()
    (folder / "build.json").write_text("{")
    assert flush_spool(target, spool_dir=tmp_path / "spool") == []
    assert daemon.requests == []
    assert len(list((tmp_path / "spool").rglob("refused/*/reports/*"))) == 3


def test_long_names_fit(target: Target, daemon: ScriptedDaemon, tmp_path: Path) -> None:
    """A report whose name is as long as the file system allows can wait too."""
    report = tmp_path / ("n" * 251 + ".xml")
    report.write_bytes(SMALL)
    refuse(daemon, 503)
    assert post(target, [report], tmp_path / "spool").status == "spooled"
    take(daemon)
    assert flush_spool(target, spool_dir=tmp_path / "spool")[0].status == "sent"
    name = posted(daemon.requests[-1])[1][1]
    assert name is not None
    assert name.endswith("nnn.xml")


def test_a_disk_that_takes_nothing(target: Target, daemon: ScriptedDaemon, reports: list[Path], tmp_path: Path) -> None:
    """An upload that can neither be sent nor kept is called lost, and nothing is raised."""
    refuse(daemon, 503)
    (tmp_path / "file").write_text("")
    assert post(target, reports, tmp_path / "file" / "below").status == "lost"


def test_a_report_that_is_not_there(target: Target, tmp_path: Path) -> None:
    """A report that cannot be read is an error: there is nothing to send."""
    with pytest.raises(FileNotFoundError):
        post(target, [tmp_path / "none.xml"], tmp_path / "spool")


def test_an_empty_report_arrives_empty(target: Target, daemon: ScriptedDaemon, tmp_path: Path) -> None:
    """An empty file is sent as it is: the daemon decides what it means."""
    (tmp_path / "empty.xml").write_bytes(b"")
    post(target, [tmp_path / "empty.xml"], tmp_path / "spool")
    assert posted(daemon.requests[0])[1][1:] == ("empty.xml", "application/xml", b"")


def test_a_build_without_a_report(target: Target, daemon: ScriptedDaemon, tmp_path: Path) -> None:
    """The word that a runner wrote none is an upload like another: it waits, and goes with the next one."""
    refuse(daemon, 503)
    answer = post(target, [], tmp_path / "spool")
    assert answer.status == "spooled"
    daemon.requests.clear()
    take(daemon)
    assert post(target, [], tmp_path / "spool", "b2").sentence == f"{target.url} has taken the build without a report."
    assert builds(daemon) == ["b1", "b2"]
    assert [len(posted(request)) for request in daemon.requests] == [1, 1]
    assert not list((tmp_path / "spool").rglob("refused/*"))


def test_where_the_spool_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The spool's place is named by the environment, or follows the system's custom."""
    monkeypatch.setenv("QUARANTINE_SPOOL", str(tmp_path / "a"))
    assert spool_folder() == tmp_path / "a"
    monkeypatch.delenv("QUARANTINE_SPOOL")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert spool_folder() == tmp_path / "quarantine" / "spool"
    monkeypatch.delenv("XDG_STATE_HOME")
    assert spool_folder() == Path(os.path.expanduser("~/.local/state/quarantine/spool"))  # noqa: PTH111 - an oracle
