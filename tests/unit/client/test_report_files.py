"""Which files are reports of one execution: what it wrote, and nothing that lay there before."""

import os
from pathlib import Path

import pytest

from quarantine.client.executing import execute, suite_environment
from quarantine.client.report_files import flaw, matching, old_reports, reads_like_junit

SUITE = b"<?xml version='1.0'?>\n<testsuites><testsuite/></testsuites>"
YESTERDAY_S = 86400.0


def made_old(path: Path) -> None:
    """Give a file yesterday's time stamp."""
    status = path.stat()
    os.utime(path, (status.st_atime - YESTERDAY_S, status.st_mtime - YESTERDAY_S))


def run(command: str, folder: Path, *patterns: str) -> tuple[list[str], list[str]]:
    """Run a command and return the names of what it wrote and of what is stale."""
    ran = execute(command, folder, patterns or ("**/*.xml",), environment=suite_environment(None))
    return [path.name for path in ran.reports], [path.name for path in ran.stale]


def test_only_what_was_written_counts(tmp_path: Path) -> None:
    """New files and files written again, with the same bytes too; a report that lay there does not."""
    for name in ("kept.xml", "again.xml"):
        (tmp_path / name).write_bytes(SUITE)
        made_old(tmp_path / name)
    command = (
        "cp again.xml x; cat x > again.xml; mkdir sub; cp x sub/new.xml; echo '<other/>' > other.xml; : > void.xml"
    )
    assert run(command, tmp_path) == (["again.xml", "new.xml"], [])
    assert run("true", tmp_path) == ([], [])


def test_every_file_that_a_named_glob_finds_counts(tmp_path: Path) -> None:
    """Whoever names the reports means them, whatever they look like."""
    assert run("echo '{}' > a.json; : > b.xml", tmp_path, "*.json", "b.xml") == (["a.json", "b.xml"], [])


def test_yesterdays_report_is_none_of_todays(tmp_path: Path) -> None:
    """A report that is put there with its old time stamp is named as stale."""
    cached = tmp_path / "cached"
    cached.write_bytes(SUITE)
    made_old(cached)
    assert run("cp -p cached junit.xml", tmp_path) == ([], ["junit.xml"])


def test_names_with_the_characters_of_globs(tmp_path: Path) -> None:
    """A file of exactly that name is meant first; an absolute path and an absolute glob find theirs."""
    (tmp_path / "a[1].xml").write_bytes(SUITE)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "r.xml").write_bytes(SUITE)
    assert matching(tmp_path, ["a[1].xml"]) == [tmp_path / "a[1].xml"]
    assert matching(tmp_path / "absent", [str(outside / "*.xml"), str(outside / "r.xml")]) == [outside / "r.xml"]
    assert matching(tmp_path, ["absent.xml", "absent/*"]) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_junit_is_known_by_its_first_element(tmp_path: Path, encoding: str) -> None:
    """In the encodings that reports come in; other XML is not."""
    path = tmp_path / "r.xml"
    for text, expected in (("<testsuite>", True), ("<n:testsuites n='1'/>", True), ("<coverage/>", False), ("", False)):
        path.write_text(text, encoding=encoding)
        assert reads_like_junit(path) is expected


def test_old_reports_are_those_no_commit_knows(tmp_path: Path) -> None:
    """A fixture of the repository stays a part of the tree."""
    for name in ("fixture.xml", "left.xml"):
        (tmp_path / name).write_bytes(SUITE)
    assert old_reports(tmp_path, ["*.xml"], frozenset({tmp_path / "fixture.xml"})) == [tmp_path / "left.xml"]


def test_what_is_wrong_with_a_report_is_said(tmp_path: Path) -> None:
    """Not there, empty, or of an earlier run."""
    path = tmp_path / "r.xml"
    assert "No such file" in flaw(path)
    path.touch()
    assert "is empty" in flaw(path)
    path.write_bytes(SUITE)
    now_s = path.stat().st_mtime
    assert flaw(path) == flaw(path, now_s) == flaw(path, now_s - YESTERDAY_S) == ""
    assert "of another run" in flaw(path, now_s + YESTERDAY_S)


def test_an_exit_code_is_the_shells(tmp_path: Path) -> None:
    """A signal shows as 128 and its number; a command whose time is up has none."""
    environment = suite_environment(None)

    def ended(command: str, timeout_s: float = 60) -> int | None:
        return execute(command, tmp_path, (), environment=environment, timeout_s=timeout_s).exit_code

    assert [ended("exit 7"), ended("kill -9 $$"), ended("sleep 60", 0.05)] == [7, 137, None]
