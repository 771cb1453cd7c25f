"""`quarantine junit`: counts a line, sentences for people, exit codes for scripts."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from quarantine.cli.junit import command

GOOD = (
    '<testsuite name="s"><testcase name="a"/><testcase name="b"><failure message="m"/></testcase><error/></testsuite>'
)
CUT = GOOD[:-30]
SUREFIRE = '<testsuite name="c" x="surefire" xsi:noNamespaceSchemaLocation="surefire-test-report.xsd">{}</testsuite>'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.xml").write_text(GOOD)
    (tmp_path / "cut.xml").write_text(CUT)
    (tmp_path / "page.xml").write_text("<html><body>502</body></html>")
    (tmp_path / "first.xml").write_text(
        SUREFIRE.format('<testcase classname="c" name="t"><failure/></testcase><testcase name="u"/>')
    )
    (tmp_path / "later.xml").write_text(SUREFIRE.format('<testcase classname="c" name="t"/>'))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


@pytest.mark.usefixtures("folder")
def test_one_object_a_line_and_file() -> None:
    result = run("--json", "good.xml", "page.xml")
    good, page = map(json.loads, result.output.splitlines())
    assert good == {
        "file": "good.xml", "status": "ok", "code": None, "tests": 3, "passed": 1, "failed": 1, "error": 1,
        "skipped": 0, "flaky": 0, "run_events": 1, "complete": True, "problems": [],
    }  # fmt: skip
    assert (page["status"], page["code"], page["tests"]) == ("rejected", "not-junit", 0)
    assert page["problems"][0]["message"].startswith("It looks like an HTML page")
    assert result.exit_code == 1


@pytest.mark.usefixtures("folder")
def test_together_recognises_retries_across_files() -> None:
    apart = [json.loads(line) for line in run("--json", "first.xml", "later.xml").output.splitlines()]
    assert [(report["failed"], report["passed"], report["flaky"]) for report in apart] == [(1, 1, 0), (0, 1, 0)]
    result = run("--json", "--together", "first.xml", "later.xml")
    (report,) = map(json.loads, result.output.splitlines())
    assert (report["tests"], report["passed"], report["failed"], report["flaky"]) == (2, 1, 0, 1)
    assert [file["file"] for file in report["files"]] == ["first.xml", "later.xml"]
    assert set(report["files"][0]) == {"file", "status", "code", "problems"}
    assert result.exit_code == 0


@pytest.mark.usefixtures("folder")
def test_the_table_and_the_sentences() -> None:
    result = run("good.xml", "cut.xml", "page.xml")
    assert result.output == (
        "status    tests  passed  failed  error  skipped  flaky  events  file\n"
        "ok            3       1       1      1        0      0       1  good.xml\n"
        "salvaged      2       1       1      0        0      0       0  cut.xml\n"
        "rejected      0       0       0      0        0      0       0  page.xml\n"
        "cut.xml: It breaks off at line 1 (unclosed token): tests after that are missing.\n"
        "cut.xml: It is not well-formed XML and was read as utf-8 after repair.\n"
        "page.xml: It looks like an HTML page, not like JUnit XML. "
        "This is often a proxy's or a server's error page saved in place of the report.\n"
    )


@pytest.mark.usefixtures("folder")
def test_the_joint_table() -> None:
    assert run("--together", "first.xml", "later.xml").output == (
        "status    tests  passed  failed  error  skipped  flaky  events  file\n"
        "ok                                                              first.xml\n"
        "ok                                                              later.xml\n"
        "together      2       1       0      0        0      1       0\n"
    )


@pytest.mark.usefixtures("folder")
def test_exit_codes() -> None:
    """0 when all could be read, 1 when one was rejected, 2 for wrong usage."""
    assert run("good.xml", "cut.xml").exit_code == 0
    assert run("good.xml", "page.xml").exit_code == 1
    assert run("--together", "good.xml", "page.xml").exit_code == 1
    assert run("absent.xml").exit_code == 2
    assert run().exit_code == 2
    assert run(".").exit_code == 2


def test_help_says_what_the_keys_and_exit_codes_are() -> None:
    text = run("--help").output
    assert all(word in text for word in ("--together", "run_events", "problems", "Exit code"))


def test_names_of_files_cannot_act_on_the_terminal(folder: Path) -> None:
    (folder / "a\x1b[31mb.xml").write_text("")
    assert "\x1b" not in run("a\x1b[31mb.xml").output
