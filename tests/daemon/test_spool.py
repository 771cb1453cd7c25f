"""A spool folder: what is taken in, what is refused with its reason beside it, and what is never lost or doubled."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NoReturn

import pytest

from quarantine.daemon.spool import Spool
from quarantine.domain.outcome import Lane
from quarantine.errors import BadConfiguration
from tests.daemon.conftest import Folder, aged
from tests.world import World, junit

HOLDER = """
import fcntl, sys, time
lock = open(sys.argv[1], "ab")
fcntl.flock(lock, fcntl.LOCK_EX)
print("locked", flush=True)
time.sleep(600)
"""


def builds(world: World) -> list[dict[str, object]]:
    """Return the builds that are stored, the oldest first."""
    found: list[dict[str, object]] = world.summary()["latest_builds"][::-1]
    return found


def names(world: World) -> list[object]:
    """Return the names of the builds that are stored, the oldest first."""
    return [build["build"] for build in builds(world)]


@pytest.mark.parametrize("lane", list(Lane))
def test_an_entry_is_taken_in_on_the_lane_of_its_folder(world: World, folder: Folder, lane: Lane) -> None:
    """Its build part is believed in everything but the lane, which is the folder's; then it lies in done."""
    folder.entry("b1", {"t1": "P", "t2": "F"}, {"t3": "S"}, job="nightly", change="PR-1")
    assert replace(folder.spool, lane=lane).drain() == 1
    [build] = builds(world)
    assert [build[key] for key in ("build", "job", "passed", "failed", "skipped")] == ["b1", "nightly", 1, 1, 1]
    assert build["lane"] == lane.value
    assert (folder.listed(), folder.listed("claimed"), folder.listed("done")) == ([], [], ["b1"])
    assert sorted(path.name for path in (folder.path / "done" / "b1").iterdir()) == ["1.xml", "2.xml", "build.json"]


def test_an_agents_change_is_its_own_whatever_it_says(world: World, folder: Folder) -> None:
    """In a folder of the agent lane no build part chooses the change it votes for."""
    folder.entry("b1", {"t1": "P"}, change="PR-1")
    folder.entry("b2", {"t1": "P"}, change="PR-2")
    replace(folder.spool, lane=Lane.AGENT).drain()
    changes = {build["change"] for build in builds(world)}
    assert len(changes) == 1
    assert not changes & {"PR-1", "PR-2"}


def test_a_bare_report_is_a_build_named_by_its_bytes(world: World, folder: Folder) -> None:
    """The same bytes under another name are the same build, and count once."""
    folder.bare("a.xml", {"t1": "P"})
    folder.bare("b.xml", {"t1": "F"})
    folder.bare("again.xml", {"t1": "P"})
    assert folder.spool.drain() == 3
    assert sorted(re.sub("[0-9a-f]{32}", "...", str(name)) for name in names(world)) == ["spool:...", "spool:..."]
    assert folder.listed("done") == ["a.xml", "again.xml", "b.xml"]


def test_an_entry_without_a_report_is_a_build_that_left_none(world: World, folder: Folder) -> None:
    """Where its build part says how the runner ended; without that it is refused with the reason."""
    folder.entry("crashed", exit_code=139)
    folder.entry("empty")
    assert folder.spool.drain() == 2
    assert names(world) == ["crashed"]
    assert (folder.listed("done"), folder.listed("rejected")) == (["crashed"], ["empty", "empty.reason.txt"])
    assert "no report" in (folder.path / "rejected" / "empty.reason.txt").read_text()


def test_a_bare_report_that_is_still_written_to_waits(world: World, folder: Folder) -> None:
    """One that changed a moment ago, and one whose name begins with a dot, are somebody's drafts."""
    half = folder.path / "half.xml"
    half.write_bytes(junit({"t1": "P"})[:40])
    folder.bare(".draft.xml", {"t1": "P"})
    assert folder.spool.drain() == 0
    assert folder.listed() == [".draft.xml", "half.xml"]
    half.write_bytes(junit({"t1": "P"}))
    aged(half)
    assert folder.spool.drain() == 1
    assert folder.listed("done") == ["half.xml"]
    assert [build["passed"] for build in builds(world)] == [1]


def test_the_oldest_is_taken_first(world: World, folder: Folder) -> None:
    """Reports count in the order they were put there."""
    for name, age_s in (("late", 10), ("early", 30), ("middle", 20)):
        aged(folder.entry(name, {"t1": "P"}), by_s=age_s)
    assert folder.spool.drain() == 3
    assert names(world) == ["early", "middle", "late"]


def test_what_a_killed_daemon_had_claimed_is_taken_up(world: World, folder: Folder) -> None:
    """While a daemon lives the folder is its own; when it is killed, the next one takes in what it had claimed."""
    folder.entry("b1", {"t1": "P"}).rename(folder.path / "claimed" / "b1")
    command = [sys.executable, "-c", HOLDER, str(folder.path / ".lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        assert folder.spool.drain() == 0
        assert folder.listed("claimed") == ["b1"]
        other.send_signal(signal.SIGKILL)
    assert folder.spool.drain() == 1
    assert names(world) == ["b1"]
    assert (folder.listed("claimed"), folder.listed("done")) == ([], ["b1"])


def test_killed_between_storing_and_putting_aside_counts_once(world: World, folder: Folder) -> None:
    """An entry that is stored already and still claimed is taken up, found stored, and put aside."""
    folder.entry("b1", {"t1": "P"})
    folder.spool.drain()
    stored = world.summary()
    (folder.path / "done" / "b1").rename(folder.path / "claimed" / "b1")
    assert folder.spool.drain() == 1
    assert folder.listed("done") == ["b1"]
    assert world.summary() == stored


def test_two_daemons_on_one_folder_take_each_entry_once(world: World, folder: Folder) -> None:
    """Together they take in everything, each entry one of them, and neither stumbles over the other."""
    for number in range(12):
        folder.entry(f"b{number}", {"t1": "P"})
    start = threading.Barrier(2)

    def drain(spool: Spool) -> int:
        start.wait()
        return sum(spool.drain() for _ in range(50))

    with ThreadPoolExecutor(2) as threads:
        taken = list(threads.map(drain, [folder.spool, replace(folder.spool)]))
    assert sum(taken) == 12
    assert len(builds(world)) == 12
    assert len(folder.listed("done")) == 12
    assert folder.listed("rejected") == []


def test_a_busy_store_leaves_it_waiting(world: World, folder: Folder) -> None:
    """Nothing is refused because somebody else writes: the entries wait under their names and are taken later."""
    folder.entry("b1", {"t1": "P"})
    folder.entry("b2", {"t1": "P"})
    with closing(sqlite3.connect(str(world.app.engine.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert folder.spool.drain() == 0
        assert (folder.listed(), folder.listed("claimed"), folder.listed("rejected")) == (["b1", "b2"], [], [])
    assert folder.spool.drain() == 2
    assert sorted(map(str, names(world))) == ["b1", "b2"]


def test_it_stops_between_two_entries(world: World, folder: Folder) -> None:
    """A daemon that is told to stop finishes the entry it has, and leaves the others."""
    folder.entry("b1", {"t1": "P"})
    folder.entry("b2", {"t1": "P"})
    answers = iter([False, True])
    assert folder.spool.drain(lambda: next(answers)) == 1
    assert len(names(world)) == len(folder.listed()) == 1


@pytest.mark.parametrize(
    ("build", "said"),
    [
        ("{", "The build part is not schema 1"),
        ('{"schema": 1}', "`build`: field required"),
        ('{"schema": 1, "build": "b", "lane": "trunk"}', "`lane`"),
        (b"\xff\xfe\x00", "The build part is not schema 1"),
        (" " * (16 * 1024 * 1024 + 2), "at most"),
    ],
)
def test_a_build_part_that_cannot_be_read_is_refused(
    world: World, folder: Folder, build: str | bytes, said: str
) -> None:
    """The reason beside the entry names the field and where to read about it; nothing is stored."""
    folder.raw_entry("b1", build, {"t1": "P"})
    assert folder.spool.drain() == 1
    assert said in folder.reason("b1")
    assert folder.listed("rejected") == ["b1", "b1.reason.txt"]
    assert builds(world) == []


def test_an_entry_needs_a_build_part_and_a_report(world: World, folder: Folder) -> None:
    """Whichever is missing is said."""
    (folder.entry("no-part", {"t1": "P"}) / "build.json").unlink()
    folder.entry("no-report")
    folder.entry("no-junit", b"<html>502</html>")
    assert folder.spool.drain() == 3
    assert "has no build.json" in folder.reason("no-part")
    assert "holds no report" in folder.reason("no-report")
    assert "HTML page" in folder.reason("no-junit")
    assert builds(world) == []


def test_an_unknown_project_is_named(world: World, folder: Folder) -> None:
    """A folder whose project is not there refuses by its name, and keeps what it was given."""
    folder.entry("b1", {"t1": "P"})
    assert replace(folder.spool, project="nowhere").drain() == 1
    assert "'nowhere'" in folder.reason("b1")
    (folder.path / "rejected" / "b1").rename(folder.path / "b1")
    assert folder.spool.drain() == 1
    assert names(world) == ["b1"]


def test_links_are_never_followed(world: World, folder: Folder, tmp_path: Path) -> None:
    """A link as an entry, in an entry, or for its build part is refused, and what it leads to is left alone."""
    secret = tmp_path / "secret.xml"
    secret.write_bytes(junit({"t1": "P"}))
    aged(secret)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "build.json").write_text('{"schema": 1, "build": "b"}')
    (outside / "r.xml").write_bytes(junit({"t1": "P"}))
    aged_link = folder.path / "file.xml"
    aged_link.symlink_to(secret)
    aged(aged_link)
    (folder.path / "folder").symlink_to(outside)
    (folder.entry("inside") / "r.xml").symlink_to(secret)
    part = folder.entry("part", {"t1": "P"}) / "build.json"
    part.unlink()
    part.symlink_to(outside / "build.json")
    assert folder.spool.drain() == 4
    assert "symbolic link" in folder.reason("file.xml")
    assert "symbolic link" in folder.reason("folder")
    assert "'r.xml' is no plain file" in folder.reason("inside")
    assert "has no build.json" in folder.reason("part")
    assert builds(world) == []
    assert secret.read_bytes() == junit({"t1": "P"})
    assert sorted(path.name for path in outside.iterdir()) == ["build.json", "r.xml"]


def test_what_is_no_plain_file_is_refused(world: World, folder: Folder) -> None:
    """Folders and pipes in an entry, and a pipe as one, are refused without waiting for what they would say."""
    (folder.entry("deep", {"t1": "P"}) / "more").mkdir()
    os.mkfifo(folder.entry("piped") / "r.xml")
    os.mkfifo(folder.path / "pipe.xml")
    aged(folder.path / "pipe.xml")
    assert folder.spool.drain() == 3
    assert "'more' is no plain file" in folder.reason("deep")
    assert "'r.xml' is no plain file" in folder.reason("piped")
    assert "cannot be read" in folder.reason("pipe.xml")
    assert builds(world) == []


def test_names_that_come_again_are_kept_apart(world: World, folder: Folder) -> None:
    """Neither done nor rejected ever loses an entry to a later one of the same name; each reason is its own."""
    for build in ("x", "y"):
        folder.entry("same", {"t1": "P"}, build=f'{{"schema": 1, "build": "{build}"}}')
        assert folder.spool.drain() == 1
    for report in (b"<html/>", b""):
        folder.bare("r.xml", report)
        assert folder.spool.drain() == 1
    folder.bare("r.xml.2.reason.txt", b"<html/>")
    assert folder.spool.drain() == 1
    assert folder.listed("done") == ["same", "same.2"]
    assert len(builds(world)) == 2
    assert "HTML" in folder.reason("r.xml")
    assert "empty" in folder.reason("r.xml.2")
    assert (folder.path / "rejected" / "r.xml.2").read_bytes() == b""
    assert "HTML" in folder.reason("r.xml.2.reason.txt.2")


def test_names_that_are_long_or_no_text_do_no_harm(world: World, folder: Folder) -> None:
    """A name of the length the file system allows, and one that is not UTF-8, are taken in and put aside."""
    folder.bare("x" * 251 + ".xml", b"<html/>")
    odd = Path(os.fsdecode(os.fsencode(folder.path) + b"/\xff.xml"))
    odd.write_bytes(junit({"t1": "P"}))
    aged(odd)
    assert folder.spool.drain() == 2
    assert [build["passed"] for build in builds(world)] == [1]
    assert "HTML" in folder.reason("x" * 200)
    assert folder.listed() == []


def test_a_mistake_of_ours_holds_nothing_up(world: World, folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    """An entry on which we fail is put aside whole, the log has the whole story, and the next is taken in."""
    right = world.app.clock

    def broken() -> NoReturn:
        world.app.clock = right
        raise ZeroDivisionError("nobody expected this")

    aged(folder.entry("b1", {"t1": "P"}))
    folder.entry("b2", {"t1": "P"})
    world.app.clock = broken
    assert folder.spool.drain() == 2
    assert "The daemon failed on it (ZeroDivisionError)" in folder.reason("b1")
    assert list((folder.path / "claimed").iterdir()) == []
    assert "nobody expected this" in caplog.text
    assert names(world) == ["b2"]
    (folder.path / "rejected" / "b1").rename(folder.path / "b1")
    assert folder.spool.drain() == 1
    assert names(world) == ["b2", "b1"]


def test_what_is_done_is_kept_for_a_week_and_what_was_refused_for_a_month(folder: Folder) -> None:
    """Counted from when it was stored, not from when it was written; what was refused waits thirty for a person."""
    aged(folder.entry("entry", {"t1": "P"}), by_s=30 * 86_400)
    aged(folder.bare("old.xml", {"t2": "P"}), by_s=30 * 86_400)
    aged(folder.bare("bad.xml", b"<html/>"), by_s=30 * 86_400)
    folder.spool.drain()
    folder.spool.sweep()
    assert folder.listed("done") == ["entry", "old.xml"]
    for name in ("done/entry", "done/old.xml", "rejected/bad.xml"):
        aged(folder.path / name, by_s=8 * 86_400)
    folder.spool.sweep()
    assert folder.listed("done") == []
    assert folder.listed("rejected") == ["bad.xml", "bad.xml.reason.txt"]
    for name in folder.listed("rejected"):
        aged(folder.path / "rejected" / name, by_s=31 * 86_400)
    folder.spool.sweep()
    assert folder.listed("rejected") == []


def test_a_folder_that_cannot_be_used_is_a_mistake_of_configuration(folder: Folder, tmp_path: Path) -> None:
    """The daemon does not start with a spool it could never take anything from."""
    (tmp_path / "file").touch()
    with pytest.raises(BadConfiguration, match=r"The spool .*file/spool cannot be used: Not a directory\."):
        replace(folder.spool, directory=tmp_path / "file" / "spool").prepare()


def test_the_arrival_is_the_daemons_clock(world: World, folder: Folder) -> None:
    """When an entry was written says nothing about when it counts."""
    aged(folder.entry("b1", {"t1": "P"}), by_s=86_400)
    folder.spool.drain()
    [build] = builds(world)
    assert datetime.fromisoformat(str(build["received_at"])) == world.clock()
