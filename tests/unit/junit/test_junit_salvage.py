"""What is not well-formed, cut off, or several documents in one file."""

import gzip
import io
from collections.abc import Callable

import pytest

from quarantine.junit import Document, Upload, read_together
from quarantine.junit.source import CHUNK_BYTES

Read = Callable[..., Upload]

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
ONE = (
    HEAD
    + '<testsuite name="s"><testcase name="a"/>'
    + '<testcase name="b"><failure message="m">x</failure></testcase></testsuite>'
)


def named(upload: Upload) -> dict[str, str]:
    return {run.test.name: str(run.outcome) for run in upload.runs}


def codes(upload: Upload) -> set[str]:
    return {problem.code for problem in upload.readings[0].problems}


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"a\x00b", "a\ufffdb"),
        (b"a\x1b[31mb", "a\ufffd[31mb"),
        (b"a&#0;b", "a\ufffdb"),
        (b"a&#x1b;b", "a\ufffdb"),
        (b"a&#xD800;b", "a\ufffdb"),
        (b"a&#99999999;b", "a\ufffdb"),
        (b"a\xffb", "a\ufffdb"),
        (b"a\xef\xbf\xbfb", "a\ufffdb"),
    ],
)
def test_illegal_characters_are_replaced(read: Read, raw: bytes, name: str) -> None:
    """jest-junit, node:test, behave and libtest write these today; one of them must not lose the report."""
    upload = read(b'<testsuite name="s"><testcase name="' + raw + b'"/></testsuite>')
    assert (named(upload), upload.readings[0].status, upload.complete) == ({name: "passed"}, "salvaged", True)


def test_legal_references_survive_salvage(read: Read) -> None:
    upload = read(b'<testsuite name="s"><testcase name="\x01 &#228;&lt;&#x1F600;&amp;#0;"/></testsuite>')
    assert named(upload) == {"\ufffd ä<😀&#0;": "passed"}


@pytest.mark.parametrize("at", range(-14, 3))
def test_a_reference_across_two_chunks_is_one(read: Read, at: int) -> None:
    start = b'<testsuite name="s"><testcase name="\x01"/><!--'
    padding = b"x" * (CHUNK_BYTES + at - len(start) - len(b'--><testcase name="'))
    upload = read(start + padding + b'--><testcase name="a&#x0000001b;b"/></testsuite>')
    assert set(named(upload)) == {"\ufffd", "a\ufffdb"}


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16", "utf-8"),
        ("latin-1", "ISO-8859-1"),
        ("cp1252", "windows-1252"),
        ("utf-8-sig", "utf-8"),
    ],
)
def test_encodings(read: Read, encoding: str, declared: str) -> None:
    """A byte order mark is believed over the declaration."""
    text = f'<?xml version="1.0" encoding="{declared}"?><testsuite name="s"><testcase name="ä"/></testsuite>'
    assert named(read(text.encode(encoding))) == {"ä": "passed"}


def test_an_8_bit_encoding_is_kept_in_salvage(read: Read) -> None:
    text = '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite name="s"><testcase name="ä\x01"/></testsuite>'
    assert named(read(text.encode("latin-1"))) == {"ä\ufffd": "passed"}


@pytest.mark.parametrize("encoding", ["utf-7", "x-klingon", "utf-32", "rot13", "idna"])
def test_other_encodings_are_refused(read: Read, encoding: str) -> None:
    upload = read(f'<?xml version="1.0" encoding="{encoding}"?><testsuite name="s"><testcase name="a"/></testsuite>')
    assert upload.readings[0].code == "encoding-unsupported"


@pytest.mark.parametrize(
    "start", ["\n", "  \n\ufeff", "Running tests...\n", "a < b & c\n", "\x00\x01binary\x02", '{"log": 1}\n']
)
def test_what_stands_before_the_report_is_passed_over(read: Read, start: str) -> None:
    upload = read(start + ONE)
    assert (named(upload), upload.complete) == ({"a": "passed", "b": "failed"}, True)


def test_what_stands_after_the_report_is_passed_over(read: Read) -> None:
    upload = read(ONE + "\nBye. exit status 1\n")
    assert (named(upload), upload.readings[0].status, upload.complete) == (
        {"a": "passed", "b": "failed"},
        "salvaged",
        True,
    )


@pytest.mark.parametrize("between", ["", "\n", "\nlog line <b> & more\n", "x" * (2 * CHUNK_BYTES)])
def test_several_documents_are_all_read(read: Read, between: str) -> None:
    """The Rust harness writes one document for each test binary, and people concatenate files."""
    other = ONE.replace('name="s"', 'name="z"')
    bare = '<testsuite name="y"><testcase name="c"/></testsuite>'
    upload = read(ONE + between + other + between + bare)
    assert ([run.test.suite[0] for run in upload.runs], upload.complete) == (["s", "s", "z", "z", "y"], True)
    assert codes(upload) == {"several-documents", "repaired"}


def test_a_declaration_inside_cdata_is_no_document(read: Read) -> None:
    text = ONE.replace(">x<", "><![CDATA[" + HEAD + "<testsuite/>]]>\x01<")
    assert named(read(text)) == {"a": "passed", "b": "failed"}


@pytest.mark.parametrize("cut", [1, 5, 12, 30])
def test_a_cut_off_case_without_a_result_has_no_outcome(read: Read, cut: int) -> None:
    """Complete cases are kept; the one that was being written is neither passed nor failed."""
    text = ONE.removesuffix("</testsuite>") + '<testcase name="cut" classname="somewhere"/>'
    upload = read(text[:-cut])
    assert (named(upload), upload.complete) == ({"a": "passed", "b": "failed"}, False)
    assert "breaks-off" in codes(upload)


def test_a_cut_off_case_whose_failure_had_begun_failed(read: Read) -> None:
    upload = read(ONE[: ONE.index("x</failure>") + 1])
    assert (named(upload), upload.complete) == ({"a": "passed", "b": "failed"}, False)
    assert upload.runs[1].results[0].detail == "x"


def test_a_retry_that_had_begun_says_nothing_about_the_end(read: Read) -> None:
    upload = read(HEAD + '<testsuite name="s"><testcase name="a"/><testcase name="b"><flakyFailure>x')
    assert (named(upload), upload.complete) == ({"a": "passed"}, False)


def test_the_whole_document_after_a_cut_off_one_is_read(read: Read) -> None:
    upload = read(ONE[:-30] + "\n" + ONE.replace('name="s"', 'name="z"'))
    assert [run.test.suite[0] for run in upload.runs] == ["s", "s", "z", "z"]
    assert not upload.complete


@pytest.mark.parametrize("damage", ["</wrong>", "<a b=1/>", '<a b="1" b="2"/>', "&nbsp;", "<<"])
def test_damage_in_the_middle_keeps_what_came_before(read: Read, damage: str) -> None:
    upload = read(ONE.replace("</testcase></testsuite>", f"</testcase>{damage}<testcase name='c'/></testsuite>"))
    assert (named(upload), upload.complete) == ({"a": "passed", "b": "failed"}, False)


@pytest.mark.parametrize("text", [HEAD + "<testsuites>", HEAD + '<testsuite name="s"><testcase na', "<testsuite"])
def test_nothing_whole_is_a_refusal_and_no_empty_run(read: Read, text: str) -> None:
    upload = read(text)
    assert (upload.readings[0].status, upload.readings[0].code) == ("rejected", "broken-xml")


@pytest.mark.parametrize(
    "text", ["<testsuites/>", '<testsuite name="s" tests="0"/>', HEAD + "<testsuites></testsuites>"]
)
def test_an_empty_report_is_a_report(read: Read, text: str) -> None:
    upload = read(text)
    assert (upload.readings[0].status, upload.runs, upload.complete) == ("ok", (), True)
    assert upload.readings[0].sentence == "Read: no tests."


@pytest.mark.parametrize(
    ("data", "code", "look"),
    [
        (b"", "empty", "empty"),
        (b" \n\t\r\n", "blank", "blanks"),
        (b"\xef\xbb\xbf", "blank", "blanks"),
        (b"\xff\xfe\n\x00", "blank", "blanks"),
        (b"<!DOCTYPE html><html><body><h1>502</h1><hr></body></html>", "not-junit", "HTML"),
        (b"<html><head><meta charset=x></head></html>", "not-junit", "HTML"),
        (b'{"tests": 3}', "not-junit", "JSON"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not-junit", "PNG"),
        (b"PK\x03\x04....", "not-junit", "ZIP"),
        (bytes(range(256)) * 8, "not-junit", "binary"),
        (b"TAP version 13\n1..2\nok 1\n", "not-junit", "TAP"),
        (b"1..2\nok 1\nnot ok 2\n", "not-junit", "TAP"),
        (b"this is not an XML!", "not-junit", "plain text"),
        (b'<test-run id="2"><test-suite/></test-run>', "not-junit", "NUnit 3"),
        (b'<test-results total="1"/>', "not-junit", "NUnit 2"),
        (b'<TestRun xmlns="http://microsoft.com/schemas/VisualStudio/TeamTest/2010"/>', "not-junit", "TRX"),
        (b"<TestRun><FailedTests/></TestRun>", "not-junit", "CppUnit"),
        (b"<Site><Testing/></Site>", "not-junit", "CTest"),
        (b"<TestLog/>", "not-junit", "Boost.Test"),
        (b'<robot generator="Robot 7"/>', "not-junit", "Robot Framework"),
        (b"<assemblies/>", "not-junit", "xUnit.net"),
        (b"<testsuites><suite><test/></suite></testsuites>", "not-junit", "no suite"),
        (b"<testrun/>", "not-junit", "no suite"),
        (b"<testcase name='a'/>", "not-junit", "<testcase>"),
        (b"<test-run><a></b>", "not-junit", "NUnit 3"),
        (b"<coverage line-rate='1'/>", "not-junit", "coverage"),
    ],
)
def test_what_is_no_junit_is_named(read: Read, data: bytes, code: str, look: str) -> None:
    upload = read(data)
    reading = upload.readings[0]
    assert (reading.status, reading.code, upload.complete) == ("rejected", code, False)
    assert look in reading.sentence


def test_another_kind_of_document_behind_a_report_is_left_out(read: Read) -> None:
    upload = read(ONE + "<?xml version='1.0'?><testsuites><suite/></testsuites>")
    assert named(upload) == {"a": "passed", "b": "failed"}
    assert "other-document" in codes(upload)


def test_a_refused_document_never_loses_the_others(read: Read) -> None:
    upload = read(b"", ONE, "<test-run/>", ONE[:-20].replace('name="s"', 'name="z"'))
    assert [reading.status for reading in upload.readings] == ["rejected", "ok", "rejected", "salvaged"]
    assert len(upload.runs) == 4
    assert not upload.complete


def test_gzip_is_read_once_and_hashed_as_received(read: Read) -> None:
    data = gzip.compress(ONE.encode())
    upload = read(data)
    assert named(upload) == {"a": "passed", "b": "failed"}
    assert upload.readings[0].status == "ok"
    assert upload.readings[0].sha256 != read(ONE).readings[0].sha256


def test_gzip_members_after_each_other_are_one_report(read: Read) -> None:
    half = len(ONE) // 2
    assert len(read(gzip.compress(ONE[:half].encode()) + gzip.compress(ONE[half:].encode())).runs) == 2


def test_a_cut_off_gzip_is_salvaged(read: Read) -> None:
    cases = "".join(f'<testcase name="t{number}"/>' for number in range(20_000))
    whole = gzip.compress(f"<testsuites><testsuite name='s'>{cases}</testsuite></testsuites>".encode())
    upload = read(whole[: len(whole) // 2])
    assert 100 < len(upload.runs) < 20_000
    assert not upload.complete
    assert {"broken-gzip", "breaks-off"} <= codes(upload)


def test_counts_that_lie_are_noted_and_not_believed(read: Read) -> None:
    upload = read('<testsuite name="s" tests="999999999" failures="-3"><testcase name="a"/></testsuite>')
    assert (len(upload.runs), codes(upload), upload.readings[0].status) == (1, {"counts-disagree"}, "ok")


def test_a_file_is_read_from_where_it_stands() -> None:
    file = io.BytesIO(b"skipped" + ONE.encode())
    file.seek(7)
    assert len(read_together([Document("f", file)]).runs) == 2
