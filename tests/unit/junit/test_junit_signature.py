"""Failures that read the same but for what changes from run to run have one signature."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.domain.outcome import Outcome
from quarantine.domain.report import Result
from quarantine.junit import normalised, signature


def failure(message: str, *, kind: str = "", detail: str = "") -> Result:
    return Result(Outcome.FAILED, None, kind, message, detail)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("assert 17 == 18", "assert <n> == <n>"),
        ("took 1,234.5ms, limit -3e-05", "took <n>ms, limit <n>"),
        ("<Foo object at 0x7f3a5c9d2e10>", "<Foo object at <address>>"),
        ("java.lang.Object@1b6d3586", "java.lang.Object<address>"),
        ("id 123e4567-e89b-42d3-a456-426614174000 gone", "id <uuid> gone"),
        ("at 2026-11-30T20:09:50.861310+00:00 late", "at <time> late"),
        ("2026-11-30 20:09:50,123 late", "<time> late"),
        ("no such file: '/tmp/pytest-of-ci/pytest-31/test_x0/out.txt'", "no such file: '<tmp>'"),
        ("/var/folders/zz/abc123/T/tmpk2j3 missing", "<tmp> missing"),
        ("C:\\Users\\me\\AppData\\Local\\Temp\\tmp12\\x missing", "<tmp> missing"),
        ("commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "commit <hex>"),
        ("/home/a/src/app/mod.py:12: AssertionError", "mod.py: AssertionError"),
        ("/ci/b/src/app/mod.py:345:7: AssertionError", "mod.py: AssertionError"),
        ('File "/x/y/mod.py", line 12, in f', 'File "mod.py", in f'),
        ("at Paren.php(123)", "at Paren.php"),
        ("\x1b[31mexpected\x1b[0m\n   1  got 2", "expected <n> got <n>"),
        ("utf8 and sha256 stay", "utf8 and sha256 stay"),
        ("deadbeef", "deadbeef"),
        ("", ""),
    ],
)
def test_normalised_text(text: str, plain: str) -> None:
    assert normalised(text) == plain


def test_two_runs_of_one_failure_have_one_signature() -> None:
    first = failure("TimeoutError: 127.0.0.1:53412 after 30.01s (/tmp/a1/sock)", kind="TimeoutError")
    second = failure("TimeoutError: 127.0.0.1:60111 after 30.94s (/tmp/b7/sock)", kind="TimeoutError")
    assert signature(first) == signature(second)


@pytest.mark.parametrize(
    "other",
    [
        failure("assert 1 == 2", kind="ValueError"),
        failure("assert 1 != 2", kind="AssertionError"),
        failure("", kind="AssertionError"),
        failure("assert 1 == 2"),
    ],
)
def test_another_type_or_text_is_another_signature(other: Result) -> None:
    assert signature(other) != signature(failure("assert 1 == 2", kind="AssertionError"))


def test_type_and_text_cannot_be_shifted_into_each_other() -> None:
    assert signature(failure("bc", kind="a")) != signature(failure("c", kind="ab"))


def test_a_message_that_says_nothing_gives_way_to_the_detail() -> None:
    """The message of gotestsum always is `Failed`."""
    one = failure("Failed", detail="=== RUN TestA\n    a_test.go:12: want 1\n")
    moved = failure("Failed", detail="=== RUN TestA\n    a_test.go:99: want 2\n")
    other = failure("Failed", detail="=== RUN TestA\n    panic: boom\n")
    assert signature(one) == signature(moved) != signature(other)


def test_the_detail_does_not_matter_where_the_message_says_something() -> None:
    assert signature(failure("boom", detail="a\nb")) == signature(failure("boom", detail="c"))


def test_what_is_unknown_has_no_signature() -> None:
    """Failures of which nothing is known are not alike; passes have none either."""
    assert signature(failure("")) == ""
    assert signature(Result(Outcome.PASSED)) == ""
    assert signature(Result(Outcome.SKIPPED, message="later")) == ""


def test_the_algorithm_is_fixed() -> None:
    """Signatures are stored: if this vector changes, the prefix must change too."""
    assert signature(failure("assert 17 == 18", kind="AssertionError")) == "s1:200bd398d82b169a"


@given(st.text(), st.text())
def test_any_text_has_a_signature_of_one_shape(message: str, kind: str) -> None:
    found = signature(failure(message, kind=kind))
    assert found == "" or (found.startswith("s1:") and len(found) == 19)


@given(st.text())
def test_normalising_is_bounded(text: str) -> None:
    assert len(normalised(text * 50)) <= 2_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part", ["C:\\", "/a", "1,", "a:1", "\x1b[", "\ufffd]8;", "-1e", "0x", "/run/user/", "(1,1", "2026-11-"]
)
def test_no_text_is_slow(part: str) -> None:
    """The longest text of every awkward kind is read to its end; a pattern that backtracked would never get there."""
    text = part * 8_000
    assert len(normalised(text)) <= len(text) * 8
