"""Reports that are built to hurt: refused with a stable code, or shortened, within bounds of time and memory."""

import gc
import gzip
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from quarantine.junit import DEFAULT, Document, Limits, Upload, counts, read_one, read_together

Read = Callable[..., Upload]

SUITE = '<testsuites><testsuite name="s">{}</testsuite></testsuites>'
CASE = '<testcase classname="c" name="t"/>'


def refused(xml: str | bytes, **limits: int) -> str | None:
    data = xml.encode() if isinstance(xml, str) else xml
    return read_one(Document("x", data), limits=replace(DEFAULT, **limits)).readings[0].code


@pytest.mark.parametrize(
    "subset",
    [
        '<!ENTITY a "b">',
        '<!ENTITY a SYSTEM "file:///etc/passwd">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;',
        '<!ATTLIST testcase status CDATA "skipped">',
    ],
)
def test_a_doctype_that_declares_something_is_refused(subset: str) -> None:
    assert refused(f"<!DOCTYPE testsuites [{subset}]>{SUITE.format(CASE)}") == "doctype"


def test_a_bare_doctype_is_passed_over_and_nothing_is_fetched() -> None:
    for kind in ("", ' SYSTEM "http://127.0.0.1:9/x.dtd"', ' PUBLIC "-//x" "file:///etc/passwd"'):
        assert refused(f"<!DOCTYPE testsuites{kind}>{SUITE.format(CASE)}") is None


def test_depth_is_bounded() -> None:
    def nested(depth: int) -> str:
        return '<testsuite name="d">' * depth + CASE + "</testsuite>" * depth

    assert refused(nested(300)) is None
    assert refused(nested(600)) == "too-deep"
    assert refused(SUITE.format('<testcase name="c">' * 600 + "</testcase>" * 600)) == "too-deep"


def test_attributes_are_bounded() -> None:
    many = " ".join(f'a{number}="x"' for number in range(1_100))
    assert refused(SUITE.format(f'<testcase name="t" {many}/>')) == "too-many-attributes"
    assert refused(f'<testsuites {many}><testsuite name="s"/></testsuites>') == "too-many-attributes"


@pytest.mark.parametrize("markup", ['<testcase name="{}"/>', "<!--{}-->", "<{}/>"])
def test_one_tag_is_bounded(markup: str) -> None:
    assert refused(SUITE.format(markup.format("a" * 3_000_000))) == "tag-too-long"


def test_one_tag_is_bounded_in_salvage_too() -> None:
    assert refused(SUITE.format('\x01<testcase name="' + "a" * 3_000_000 + '"/>')) == "tag-too-long"


def test_cases_are_bounded_over_the_whole_upload() -> None:
    documents = [Document(str(n), SUITE.format(CASE * 4 + "<error/>").encode() + b" " * n) for n in range(3)]
    upload = read_together(documents, limits=Limits(cases=11))
    assert [reading.code for reading in upload.readings] == [None, None, "too-many-cases"]
    assert counts(upload.runs, upload.events).tests == 10


def test_suite_names_that_are_joined_too_often_are_refused() -> None:
    inner = "".join(f'<testsuite name="{number}">{CASE}</testsuite>' for number in range(100))
    assert refused(f'<testsuite name="{"x" * 10_000}">{inner}</testsuite>', path_bytes=2_000_000) == "too-deep"
    assert refused(f'<testsuite name="{"x" * 100}">{inner}</testsuite>', path_bytes=2_000_000) is None


def test_sizes_are_bounded_before_and_after_gunzip() -> None:
    xml = SUITE.format(CASE * 10_000).encode()
    assert refused(xml, upload_bytes=100_000) == "upload-too-big"
    assert refused(gzip.compress(xml), decompressed_bytes=100_000) == "decompressed-too-big"
    assert refused(gzip.compress(xml), gzip_ratio=10, gzip_grace_bytes=1_000) == "gzip-ratio"
    assert refused(gzip.compress(gzip.compress(xml))) == "nested-gzip"
    assert refused(gzip.compress(xml)) is None


def test_results_of_one_case_are_counted_beyond_the_limit() -> None:
    upload = read_one(
        Document("x", SUITE.format(f'<testcase name="t">{"<failure>f</failure>" * 70}</testcase>').encode())
    )
    (run,) = upload.runs
    assert [problem.code for problem in upload.readings[0].problems] == ["results-capped"]
    assert run.results[0].detail.endswith("[... and 20 more results in this case ...]")
    assert run.results[0].detail.count("f\n") == 50


def test_many_outputs_do_not_hide_a_failure() -> None:
    inside = "<system-out>o</system-out>" * 200 + "<failure/>"
    upload = read_one(Document("x", SUITE.format(f'<testcase name="t">{inside}</testcase>').encode()))
    assert upload.runs[0].outcome == "failed"


def test_head_and_tail_of_a_long_text_are_kept() -> None:
    text = "BEGIN" + "x" * 500_000 + "END"
    upload = read_one(Document("x", SUITE.format(f'<testcase name="t"><failure>{text}</failure></testcase>').encode()))
    detail = upload.runs[0].results[0].detail
    assert detail.startswith("BEGIN")
    assert detail.endswith("END")
    assert "[... 468008 characters left out ...]" in detail
    assert len(upload.runs[0].results[0].message) < 5_000


def test_all_texts_together_are_bounded() -> None:
    failures = "".join(
        f'<testcase name="t{n}"><failure message="m">{"x" * 10_000}</failure></testcase>' for n in range(50)
    )
    upload = read_one(Document("x", SUITE.format(failures).encode()), limits=replace(DEFAULT, text_chars=100_000))
    assert sum(len(run.results[0].detail) for run in upload.runs) < 120_000
    assert {run.outcome for run in upload.runs} == {"failed"}
    assert "texts-shortened" in [problem.code for problem in upload.readings[0].problems]


def test_a_stream_that_cannot_seek_is_read() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    assert len(read_one(Document("pipe", Pipe(SUITE.format(CASE).encode()))).runs) == 1


# The recorded hostile files: (name, code or None, tests, runs)

SMALL = [
    ("01-billion-laughs", "doctype", 0),
    ("02-quadratic-blowup", "doctype", 0),
    ("03-xxe-file", "doctype", 0),
    ("04-xxe-http-and-parameter-entity", "doctype", 0),
    ("05-benign-doctype-internal-entity", "doctype", 0),
    ("06-deep-300-suites", None, 1),
    ("07-truncated-mid-tag", None, 24),
    ("08-truncated-mid-attribute", None, 9),
    ("09-two-documents-one-file", None, 80),
    ("10-binary-garbage", "not-junit", 0),
    ("11-png-renamed", "not-junit", 0),
    ("12-html-error-page", "not-junit", 0),
    ("13-json-instead", "not-junit", 0),
    ("14-null-bytes", None, 2),
    ("15-control-chars-and-ansi", None, 1),
    ("16-illegal-char-refs", None, 3),
    ("17-latin1-declared-utf8", None, 1),
    ("18-utf16-declared-utf8", None, 1),
    ("19-unknown-encoding", "encoding-unsupported", 0),
    ("20-utf7-encoding", "encoding-unsupported", 0),
    ("21-duplicate-attributes", "broken-xml", 0),
    ("22-absurd-times", None, 11),
    ("23-name-100k", None, 1),
    ("24-name-newlines-and-blanks", None, 8),
    ("25-rtl-emoji-homoglyph", None, 9),
    ("26-path-traversal", None, 4),
    ("27-html-js-injection", None, 2),
    ("28-slack-markdown-injection", None, 2),
    ("29-sql-shell-csv-injection", None, 6),
    ("30-id-collision", None, 8),
    ("31-counts-lie", None, 1),
    ("32-xml-1.1", None, 1),
    ("33-xinclude-and-stylesheet", None, 1),
    ("34-whitespace-only", "blank", 0),
    ("35-bom-only", "blank", 0),
    ("36-many-results-in-one-case", None, 1),
]


@pytest.mark.parametrize(("name", "code", "tests"), SMALL)
def test_recorded_hostile_files(recorded: Path, name: str, code: str | None, tests: int) -> None:
    path = recorded / "hostile" / f"{name}.xml"
    upload = read_one(Document(path.name, path.read_bytes()))
    assert (upload.readings[0].code, counts(upload.runs, upload.events).tests) == (code, tests)
    assert "root:" not in repr(upload)


@pytest.mark.parametrize("name", ["24-name-newlines-and-blanks", "25-rtl-emoji-homoglyph", "30-id-collision"])
def test_distinct_hostile_names_stay_distinct(recorded: Path, name: str) -> None:
    path = recorded / "hostile" / f"{name}.xml"
    upload = read_one(Document(path.name, path.read_bytes()))
    assert all(run.origin.unique for run in upload.runs)
    assert len({run.digest for run in upload.runs}) == len(upload.runs)


BIG = [
    ("deep-1e6", "too-deep", 0),
    ("attr-50mb", "tag-too-long", 0),
    ("text-200mb", None, 2),
    ("gzip-bomb", "gzip-ratio", 0),
    ("gzip-nested", "nested-gzip", 0),
    ("cases-3e6", "too-many-cases", 0),
    ("attrs-1e5", "too-many-attributes", 0),
    ("entities-many", None, 1),
]

MEASURED = """
import json, re, resource, sys
from quarantine.junit import Document, counts, read_one
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
with open(sys.argv[1], "rb") as file:
    upload = read_one(Document("big", file))
print(json.dumps({
    "code": upload.readings[0].code,
    "tests": counts(upload.runs, upload.events).tests,
    "peak_mib": int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024,
}))
"""
"""Asked of the kernel for this program alone: `ru_maxrss` also counts the process that started it."""


@pytest.fixture
def big(recorded: Path, tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    path = tmp_path / "big.bin"

    def generate(name: str) -> Path:
        with path.open("wb") as out:
            subprocess.run([sys.executable, str(recorded / "hostile" / "gen_big.py"), name], stdout=out, check=True)
        return path

    yield generate
    path.unlink(missing_ok=True)


@pytest.mark.parametrize(("name", "code", "tests"), BIG)
def test_big_hostile_files(big: Callable[[str], Path], name: str, code: str | None, tests: int) -> None:
    """Each is answered before the kernel stops it at 20 s of CPU (it takes a few), and well below 500 MiB."""
    answer = subprocess.run(
        [sys.executable, "-c", MEASURED, str(big(name))], capture_output=True, text=True, check=True
    ).stdout
    measured = json.loads(answer)
    assert (measured["code"], measured["tests"]) == (code, tests)
    assert measured["peak_mib"] < 500


@pytest.mark.parametrize("ending", ["</testsuite></testsuites>", "", "<wrong"])
def test_a_reading_leaves_nothing_to_the_garbage_collector(ending: str) -> None:
    """Parser and handlers hold each other; a daemon must not keep whole reports until a collection comes along."""
    data = f'<testsuites><testsuite name="s">{CASE * 5_000}{ending}'.encode()
    read_one(Document("x", data))
    gc.collect()
    gc.disable()
    try:
        assert len(read_one(Document("x", data)).runs) == 1
        assert gc.collect() < 100
    finally:
        gc.enable()
