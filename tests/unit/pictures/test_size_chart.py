"""The chart of a weekly report as a picture."""

import os
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarantine.domain.chart import MOST_WEEKS, SizeChart, SizeWeek
from quarantine.pictures import Ground, png_of, svg_of
from quarantine.pictures.size import HEADROOM, SIZE_HEIGHT, drawn

COUNTS = st.one_of(st.integers(0, 30), st.integers(0, 10**7))
WEEKS = st.lists(st.builds(SizeWeek, st.just("5 Jan"), COUNTS, COUNTS, COUNTS), min_size=1, max_size=MOST_WEEKS)
GROUNDS: tuple[Ground, ...] = ("light", "dark", "page")
SVG = "{http://www.w3.org/2000/svg}"


def chart(*sizes: int, title: str = "Ledger") -> SizeChart:
    return SizeChart(title, tuple(SizeWeek(f"{number} Jan", size, size, 1) for number, size in enumerate(sizes, 1)))


@given(WEEKS)
def test_whatever_the_numbers_everything_stands_inside(weeks: list[SizeWeek]) -> None:
    """Bars and labels of any counts are within the drawing, and bars do not touch each other."""
    drawing = drawn(SizeChart("x", tuple(weeks)), gutter=11, ticks=4, digit=3.4)
    for week in drawing.weeks:
        for mark in (week.size, week.entered, week.left):
            assert drawing.left <= mark.x
            assert mark.x + mark.width <= 100
            assert 0 <= mark.y <= mark.y + mark.height <= drawing.height
    for one, other in pairwise(drawing.weeks):
        assert one.size.x + one.size.width < other.size.x
    assert 10 < drawing.last.y < HEADROOM + SIZE_HEIGHT
    assert [tick.x for tick in drawing.ticks] == sorted(tick.x for tick in drawing.ticks)
    assert len(drawing.ticks) <= 4


@given(WEEKS)
def test_what_is_there_can_be_seen_and_nothing_is_no_bar(weeks: list[SizeWeek]) -> None:
    """One test beside a hundred thousand has a bar of its own."""
    drawing = drawn(SizeChart("x", tuple(weeks)), gutter=6, ticks=9, digit=1.5)
    for week, shown in zip(weeks, drawing.weeks, strict=True):
        counts = (week.size, week.entered, week.left)
        heights = (shown.size.height, shown.entered.height, shown.left.height)
        assert [count > 0 for count in counts] == [height >= 2 for height in heights]
        assert [count == 0 for count in counts] == [height == 0 for height in heights]


@pytest.mark.parametrize(
    ("most", "labels"),
    [
        (0, ["0", "1", "2"]), (1, ["0", "1", "2"]), (4, ["0", "1", "2", "3", "4"]), (5, ["0", "2", "4", "6"]),
        (12, ["0", "5", "10", "15"]), (20, ["0", "5", "10", "15", "20"]), (21, ["0", "10", "20", "30"]),
        (900, ["0", "500", "1,000"]), (4_812, ["0", "2,000", "4,000", "6,000"]), (100_000, ["0", "50k", "100k"]),
        (3_000_001, ["0", "1M", "2M", "3M", "4M"]),
    ],
)  # fmt: skip
def test_the_axis_has_few_and_round_numbers(most: int, labels: list[str]) -> None:
    """Steps are 1, 2 or 5 times a power of ten; the highest line is no lower than the highest bar."""
    assert [line.text for line in drawn(chart(most), gutter=6, ticks=9, digit=1.5).grid] == labels


def test_the_last_value_stands_above_what_it_would_run_into() -> None:
    """A long number over a narrow bar is lifted above the bars beside it."""
    high, low = drawn(chart(*[900] * 26, 100), gutter=11, ticks=4, digit=3.4), 900
    assert high.last.text == "100"
    assert high.last.y < min(week.size.y for week in high.weeks)
    assert drawn(chart(low, 100), gutter=6, ticks=9, digit=1.5).last.anchor == "middle"


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_picture_is_sound_xml_and_says_what_it_shows(ground: Ground) -> None:
    """It has its words for whoever does not see it, and text of others stays text."""
    hostile = '<script>alert(1)</script> & "quotes"\x00\x1b[31m \u202e'
    made = ET.fromstring(svg_of(SizeChart(hostile, (SizeWeek(hostile, 3, 2, 1),)), ground=ground))  # noqa: S314 - our own
    assert made.tag == f"{SVG}svg"
    assert made.get("role") == "img"
    assert (made.get("aria-label") or "").startswith("<script>alert(1)</script> & ")
    assert made.find(f"{SVG}title") is not None
    assert not list(made.iter(f"{SVG}script"))
    assert "3" in [text.text for text in made.iter(f"{SVG}text")]


def test_on_a_page_the_sheet_gives_the_colours() -> None:
    """The pages' policy allows no style in the text; a picture by itself brings its own colours and no class."""
    page, alone = svg_of(chart(1, 2), ground="page"), svg_of(chart(1, 2), ground="light")
    assert "style=" not in page + alone
    assert "#" not in page
    assert "class=" not in alone
    assert svg_of(chart(1, 2), ground="dark") != alone


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize("sizes", [(0,), (1,), (0,) * 27, (100_000, 1, 0), tuple(range(27))], ids=str)
def test_any_chart_becomes_a_png_of_one_size(sizes: tuple[int, ...]) -> None:
    """Twice the drawing's own size, for screens that show two pixels where one was."""
    width, height = size_of(png_of(svg_of(chart(*sizes), ground="light")))
    assert width == 2 * 760
    assert 500 < height < 800


def test_words_are_drawn_with_the_fonts_that_ship() -> None:
    """Another title makes another picture, so that text is there at all."""
    assert png_of(svg_of(chart(1, title="One"), ground="light")) != png_of(
        svg_of(chart(1, title="Two"), ground="light")
    )


def test_a_machine_without_fonts_makes_the_same_picture(tmp_path: Path) -> None:
    """No font of the machine, no home and no locale has a say in it."""
    code = (
        "import sys\nfrom tests.unit.pictures.test_size_chart import chart\n"
        "from quarantine.pictures import png_of, svg_of\n"
        "sys.stdout.buffer.write(png_of(svg_of(chart(3, 1, 2), ground='light')))"
    )
    (tmp_path / "fonts.conf").write_text("<fontconfig/>")
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FONTCONFIG_FILE": str(tmp_path / "fonts.conf")}
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=alone, cwd=root)
    assert done.stdout == png_of(svg_of(chart(3, 1, 2), ground="light"))
