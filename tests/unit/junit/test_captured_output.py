"""What a failed test printed stays beside its failure, and is no part of how it failed."""

import pytest

from quarantine.domain.report import Result
from quarantine.junit import Document, read_one, signature

CASE = """<testsuite><testcase classname="a" name="b"><failure message="{message}">{text}</failure>{output}</testcase>
</testsuite>"""
TEXT = "def test_b():\n&gt;   assert total() == 2\nE   assert 1 == 2\ntest_b.py:4: AssertionError"
PYTEST = "------------------------------ Captured Log ------------------------------\nERROR rate missing"


def failed(*, message: str = "Failed", text: str = TEXT, output: str = "") -> Result:
    """Return the only try of the only test."""
    [run] = read_one(Document("x", CASE.format(message=message, text=text, output=output).encode())).runs
    return run.results[0]


def test_the_output_follows_the_failures_own_text() -> None:
    """Both streams, led by a line that says what they are."""
    result = failed(output="<system-out>tax is 0</system-out><system-err>no rate</system-err>")
    own, _, printed = result.detail.partition("---- Captured output ----\n")
    assert own.rstrip().endswith("test_b.py:4: AssertionError")
    assert [line for line in printed.splitlines() if line] == ["tax is 0", "no rate"]


def test_pytests_own_headings_stay_as_they_are() -> None:
    """No second heading is put above them."""
    detail = failed(output=f"<system-out>{PYTEST}</system-out>").detail
    assert detail.endswith(PYTEST)
    assert "Captured output" not in detail


def test_a_long_output_keeps_its_head_and_tail_and_never_costs_the_assertion() -> None:
    """The failure's own text is bounded apart from what was printed."""
    lines = "\n".join(f"line {number}" for number in range(20_000))
    detail = failed(output=f"<system-out>{lines}</system-out>").detail
    assert "E   assert 1 == 2" in detail
    assert "line 0\n" in detail
    assert detail.endswith("line 19999")
    assert len(detail) < 5_000


@pytest.mark.parametrize("message", ["Failed", "assert 1 == 2"])
def test_what_it_printed_does_not_make_it_another_failure(message: str) -> None:
    """The signature is the same whatever was printed, also where the message says nothing."""
    outputs = ["", "<system-out>tax is 0</system-out>", f"<system-out>{PYTEST}</system-out>"]
    assert len({signature(failed(message=message, output=output)) for output in outputs}) == 1


def test_where_a_failure_has_no_text_the_output_is_its_text() -> None:
    """The only evidence that some tools give."""
    assert failed(text="", output="<system-out>core dumped</system-out>").detail == "core dumped"
