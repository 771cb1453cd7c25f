"""Putting every try of every test into the JUnit file that pytest has written.

pytest knows one try of a test. pytest-rerunfailures makes an empty record of each failed one, which reads like a pass,
and what is run again after the last test is in no record at all. Each test that was tried more than once gets one
record here, in the words that Surefire and Playwright use and many tools read:

- it passed in the end: a `flakyFailure` or `flakyError` for each failed try, and no failure; where the session failed
  on it, its failure stays beside them, so that the file does not look better than the exit status;
- it never passed: the first try as `failure` or `error`, a `rerunFailure` or `rerunError` for each further one.

A try that was skipped says nothing and is left out, unless nothing else happened. Records of tests that were tried
once stay as pytest wrote them; so do those of a test that had passed before it ran again, for that is no retry.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring, tostring

from quarantine.pytest_plugin.tries import Try

__all__ = ["Name", "correct"]

Name = tuple[str, str]
"""(classname, name), as in the file."""

_RESULTS = frozenset({"failure", "error", "skipped"})
_NO_XML = re.compile("[^\t\n\r -\x7e\x80-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MESSAGE_CHARACTERS = 1_000


def correct(file: Path, tries: Mapping[Name, Sequence[Try]], excused: Collection[Name]) -> list[Name]:
    """Rewrite the records of tests that were tried more than once, and return those whose record was not found.

    Args:
        file: written by pytest; replaced in one step.
        tries: all tries of each such test, the first one first.
        excused: the tests on whose failure the session did not fail.

    Raises:
        OSError: the file cannot be read or written.
        ValueError: it is not XML.
    """
    try:
        root = fromstring(file.read_bytes())  # noqa: S314 - pytest has just written it
    except ParseError as error:
        raise ValueError(f"it is not XML: {error}") from error
    retried = {
        name: _telling(made) for name, made in tries.items() if all(one.is_failure for one in _telling(made)[:-1])
    }
    missing = set(retried)
    for suite in root.iter("testsuite"):
        missing -= _correct_suite(suite, retried, excused)
    text = '<?xml version="1.0" encoding="utf-8"?>' + tostring(root, encoding="unicode")
    draft = file.with_name(f".{file.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)
    return sorted(missing)


def _correct_suite(suite: Element, tries: Mapping[Name, Sequence[Try]], excused: Collection[Name]) -> set[Name]:
    records: dict[Name, list[Element]] = {}
    for case in suite.findall("testcase"):
        name = (case.get("classname", ""), case.get("name", ""))
        if name in tries:
            records.setdefault(name, []).append(case)
    for name, cases in records.items():
        for case in cases[1:]:
            suite.remove(case)
        if tries[name]:
            _merge(cases, tries[name], keep_failure=name not in excused)
    if records:
        _count(suite)
    return set(records)


def _telling(tries: Iterable[Try]) -> list[Try]:
    return [one for one in tries if one.outcome != "skipped"]


def _merge(cases: Sequence[Element], tries: Sequence[Try], *, keep_failure: bool) -> None:
    """Make the first of a test's records the only one."""
    record = cases[0]
    children = [child for case in cases for child in case]
    failures = [child for child in children if child.tag in ("failure", "error")]
    for case in cases:
        for child in list(case):
            case.remove(child)
    properties = [child for child in children if child.tag == "properties"]
    record.extend(properties[-1:])
    if any(one.outcome == "passed" for one in tries):
        record.extend(failures if keep_failure else ())
        _add(record, "flaky", [one for one in tries if one.is_failure])
        record.set("time", f"{tries[-1].seconds:.3f}")
    else:
        first, *others = tries
        record.append(_result("error" if first.outcome == "errored" else "failure", first))
        _add(record, "rerun", others)
        record.set("time", f"{first.seconds:.3f}")
    record.extend(child for child in children if child.tag not in _RESULTS and child.tag != "properties")


def _add(record: Element, kind: str, tries: Iterable[Try]) -> None:
    for one in tries:
        element = _result(f"{kind}Error" if one.outcome == "errored" else f"{kind}Failure", one)
        element.text = None
        element.set("time", f"{one.seconds:.3f}")
        SubElement(element, "stackTrace").text = _xml(one.text)
        record.append(element)


def _result(tag: str, one: Try) -> Element:
    element = Element(tag, message=_xml(one.message[:_MESSAGE_CHARACTERS]))
    element.text = _xml(one.text)
    return element


def _xml(text: str) -> str:
    """Return text that XML can hold; other characters are shown as pytest shows them, such as `#x1B`."""
    return _NO_XML.sub(lambda match: f"#x{ord(match[0]):02X}", text)


def _count(suite: Element) -> None:
    """Let the suite's own counts say what its records say."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(len(case.findall(tag)) for case in cases)))
