"""What changes from run to run goes; what an assertion is about stays."""

import pytest

from quarantine.record.noise import calm, is_comparison, settled, shape, tidy

ROOT = "/home/me/trees/7f3a"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("no file /tmp/pytest-of-root/pytest-12/test_x0/out.txt here", "no file <tmp>/test_x0/out.txt here"),
        ("'/tmp/tmpab12cd34/f.db'", "'<tmp>/f.db'"),
        ("/var/folders/x1/abc_d/T/tmpq1w2e3r4/f", "<tmp>/f"),
        ("/private/tmp/f.txt", "<tmp>/f.txt"),
        (r"C:\Users\me\AppData\Local\Temp\tmpab12cd34\f", r"<tmp>\f"),
        ("<function load at 0x7f7db7abe980>", "<function load at <address>>"),
        ("com.acme.Order@1b2c3d4e", "com.acme.Order@<address>"),
        (f'File "{ROOT}/shop/cart.py", line 3', 'File "shop/cart.py", line 3'),
        (f"{ROOT}: not clean", ": not clean"),
        (f"{ROOT}2/shop", f"{ROOT}2/shop"),
        ("assert hex(255) == '0xfe'", "assert hex(255) == '0xfe'"),
        (
            "assert '2026-01-01T10:00:00' == '2026-01-02T10:00:00'",
            "assert '2026-01-01T10:00:00' == '2026-01-02T10:00:00'",
        ),
        ("assert 8080 == 8081", "assert 8080 == 8081"),
    ],
)
def test_tidy_takes_out_what_no_assertion_is_about(text: str, shown: str) -> None:
    """The root, temporary folders and addresses go; times and numbers may be the point, and stay."""
    assert tidy(text, ROOT) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-11-30T12:00:01.123Z INFO up", "<time> INFO up"),
        ("12:00:01,123 up", "<time> up"),
        ("took 0.34s, then 12 ms", "took <duration>, then <duration>"),
        ("user 123e4567-e89b-42d3-a456-426614174000", "user <uuid>"),
        ("pid 4711, process=12, Thread-7", "pid <pid>, process=<pid>, Thread-<pid>"),
        ("127.0.0.1:54321 and localhost:8080 on port 99", "127.0.0.1:<port> and localhost:<port> on port <port>"),
        ("object at 0xdead, id deadbeef01", "object at <address>, id <hex>"),
        ("3 of 4 items, version 1.2.3", "3 of 4 items, version 1.2.3"),
    ],
)
def test_calm_takes_out_what_differs_between_two_runs_of_the_same(text: str, shown: str) -> None:
    """Times, durations, UUIDs, process ids, ports."""
    assert calm(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("TimeoutError: pid 4711 gave up after 5.03s", "TimeoutError: pid <pid> gave up after <duration>"),
        ("KeyError: '2026-01-01'", "KeyError: '2026-01-01'"),
        (
            'refused by 127.0.0.1:54321 at 12:00:01, asked for "a 3s break"',
            'refused by 127.0.0.1:<port> at <time>, asked for "a 3s break"',
        ),
        ("no commit deadbeef01", "no commit deadbeef01"),
    ],
)
def test_settled_leaves_what_a_program_put_in_quotation_marks(text: str, shown: str) -> None:
    """A key or a literal is what the program worked with; the rest of a message is where and when."""
    assert settled(text) == shown


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["AssertionError: 12:00:01 != 12:00:02"], True),
        (["it broke", "- a"], True),
        (["expected 3s to be 4s"], True),
        (["KeyError: 'a'"], False),
        (["timed out - after 3s"], False),
    ],
)
def test_a_comparison_is_told_from_another_message(lines: list[str], answer: bool) -> None:  # noqa: FBT001 - a table
    """By its operator, its words, or its difference."""
    assert is_comparison(lines) is answer


def test_shape_is_the_same_for_other_literals_and_numbers() -> None:
    """And differs for other words."""
    assert shape("assert 'a' == 3.5") == shape('assert "bc" == 17')
    assert shape("KeyError: 'a'") != shape("ValueError: 'a'")
