"""Numbers as reports write them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.junit import Document, read_one
from quarantine.junit.quantities import count, duration_s, line_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0.0), ("0.123", 0.123), ("1.7e-05", 1.7e-05), (" 2.5 ", 2.5), (".5", 0.5), ("3.", 3.0),
        ("1,234.5", 1234.5), ("1,234,567", None), ("12,345.678", 12345.678), ("1.234,5", 1234.5), ("0,03", 0.03),
        ("0,030574321", 0.030574321), ("0,039", None), ("1,234", None), ("1,23,4", None),
        ("", None), (None, None), ("NaN", None), ("inf", None), ("-Infinity", None), ("-5", None), ("12ms", None),
        ("4 s", None), ("whatever", None), ("1_000", None), ("0x10", None), ("1e400", None), ("٣", None),
        ("999638317", None), ("86400", 86400.0), ("o99,999.881", None),
    ],
)  # fmt: skip
def test_durations(text: str | None, expected: float | None) -> None:
    """Readable in one way only, finite, from 0 to a day; everything else is unknown."""
    assert duration_s(text) == expected


@given(st.text(max_size=30))
def test_no_text_makes_a_duration_that_cannot_be_summed(text: str) -> None:
    value = duration_s(text)
    assert value is None or (math.isfinite(value) and 0 <= value <= 86_400)


@given(st.floats(min_value=0, max_value=86_400, allow_nan=False))
def test_what_python_writes_is_read_back(value: float) -> None:
    assert duration_s(f"{value:.9f}") == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12", 12), ("0", None), ("-1", None), ("1.0", None), ("9" * 30, None), ("²", None), ("", None)],
)
def test_lines_are_bounded(text: str, expected: int | None) -> None:
    assert line_number(text) == expected


def test_counts_are_plain_numbers() -> None:
    assert [count(text) for text in ("0", "12", "1,002", "a99", None)] == [0, 12, None, None, None]


def test_absurd_times_never_spoil_a_case(recorded: Path) -> None:
    path = recorded / "hostile" / "22-absurd-times.xml"
    runs = read_one(Document(path.name, path.read_bytes())).runs
    durations = [run.results[0].duration_s for run in runs]
    assert len(runs) == 11
    assert all(duration is None or 0 <= duration <= 86_400 for duration in durations)
