"""What a document that is no JUnit XML looks like, so that the answer can say it."""

import re
from collections.abc import Mapping

from quarantine.errors import BadReport

JUNIT_ROOTS = frozenset({"testsuites", "testsuite", "testrun"})

ROOTS = {
    "test-run": "an NUnit 3 report",
    "test-results": "an NUnit 2 report",
    "TestRun": "a CppUnit report",
    "Site": "a CTest Test.xml",
    "TestLog": "a Boost.Test log",
    "TestResult": "a Boost.Test result",
    "TestCase": "a QtTest report in its own format",
    "Result": "an Android CTS report",
    "robot": "a Robot Framework output.xml",
    "assemblies": "an xUnit.net report",
    "CUNIT_TEST_RUN_REPORT": "a CUnit report",
    "gtester": "a GLib gtester report",
    "testng-results": "a TestNG report in its own format",
    "testExecutions": "a SonarQube test report",
    "doctest": "a doctest report in its own format",
    "Catch2TestRun": "a Catch2 report in its own format",
    "Catch": "a Catch2 report in its own format",
    "coverage": "a coverage report",
    "report": "a JaCoCo coverage report",
    "checkstyle": "a Checkstyle report",
    "html": "an HTML page",
    "plist": "an Apple property list",
    "svg": "a picture (SVG)",
}
"""Root element to what its document is."""

MENDS = {
    "a Robot Framework output.xml": "Run robot with --xunit.",
    "a CTest Test.xml": "Run ctest with --output-junit.",
    "a Boost.Test log": "Run the tests with --log_format=JUNIT.",
    "a QtTest report in its own format": "Run the tests with -o report.xml,junitxml.",
    "a VSTest TRX file": "Use the logger JunitXml.TestLogger.",
    "TAP output": "Pipe it through tap-xunit, or let the runner write JUnit XML.",
    "an HTML page": "This is often a proxy's or a server's error page saved in place of the report.",
}

STARTS = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "an executable"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"SQLite format 3", "an SQLite database"),
)

FIRST_ELEMENT = re.compile(r"<(?![?!])(?:[\w.-]+:)?([\w.-]+)")
TEXTS = (
    (re.compile(r"(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL), "an HTML page"),
    (re.compile(r"[{\[]"), "JSON"),
    (re.compile(r"TAP version [0-9]+|(?:not )?ok [0-9]+\b|[0-9]+\.\.[0-9]+\s*$", re.MULTILINE), "TAP output"),
)
"""How a text starts to what it is."""

ALLOWED_ENCODING = re.compile(
    r"utf-?8|utf-?16(?:-?[lb]e)?|iso-?8859-?[0-9]{1,2}|latin-?1|(?:windows-|cp)125[0-9]|(?:us-)?ascii", re.IGNORECASE
)

MOST_PRINTABLE = 0.7


def is_allowed_encoding(name: str) -> bool:
    """Whether a declared encoding is one of UTF-8, UTF-16, ISO-8859-*, windows-125* and ASCII."""
    return ALLOWED_ENCODING.fullmatch(name.strip().replace("_", "-")) is not None


def check_root(tag: str, attributes: Mapping[str, str]) -> None:
    """Return when a document with this root element may be JUnit XML.

    Raises:
        BadReport: when it is something else; the sentence says what it looks like.
    """
    namespace = attributes.get("xmlns", "")
    if tag not in JUNIT_ROOTS or "check.sourceforge.net" in namespace:
        raise not_junit(_root_name(tag, namespace))


def _root_name(tag: str, namespace: str) -> str:
    if "check.sourceforge.net" in namespace:
        return "a Check report in its own format"
    if tag == "TestRun" and "microsoft.com" in namespace:
        return "a VSTest TRX file"
    return ROOTS.get(tag) or ROOTS.get(tag.lower()) or f"XML with the root element <{tag[:60]}>"


def not_junit(look: str) -> BadReport:
    """Return the error for a document that looks like `look`."""
    mend = MENDS.get(look, "Let the test runner write JUnit XML.")
    return BadReport(f"It looks like {look}, not like JUnit XML.", mend=mend, code="not-junit")


def unreadable(head: bytes) -> BadReport:
    """Return the error for a document of which no JUnit XML could be read, by its first bytes."""
    if not head:
        return BadReport(
            "The file is empty.", mend="Did the test runner crash before it wrote the report?", code="empty"
        )
    for start, look in STARTS:
        if head.startswith(start):
            return not_junit(look)
    text = head.decode("utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig", "replace")
    if not text.strip("\ufeff \t\r\n\0"):
        return BadReport(
            "The file holds only blanks.", mend="Did the test runner crash before it wrote the report?", code="blank"
        )
    return _unreadable_text(text)


def _unreadable_text(text: str) -> BadReport:
    stripped = text.lstrip()
    for pattern, look in TEXTS:
        if pattern.match(stripped):
            return not_junit(look)
    printable = sum([character.isprintable() or character in "\t\r\n" for character in text if character != "\ufffd"])
    if printable < MOST_PRINTABLE * len(text):
        return not_junit("binary data")
    if not stripped.startswith("<"):
        return not_junit("plain text")
    return _unreadable_xml(stripped)


def _unreadable_xml(text: str) -> BadReport:
    root = FIRST_ELEMENT.search(text)
    if root is None:
        return not_junit("an XML declaration or DTD without content")
    if root[1] not in JUNIT_ROOTS:
        return not_junit(_root_name(root[1], text))
    return BadReport(
        "It begins like JUnit XML, but breaks off or is damaged before the first whole test case.",
        mend="Did the test runner crash while it wrote the report?",
        code="broken-xml",
    )
