"""Turning a chart into a picture: SVG by a template of ours, and PNG of that with the fonts that ship with us."""

import unicodedata
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from quarantine.domain.chart import SizeChart
from quarantine.pictures.size import WIDTH, drawn
from quarantine.shipped import resource

__all__ = ["Ground", "png_of", "svg_of"]

Ground = Literal["light", "dark", "page"]
"""What a picture stands on: light or dark paper of its own, or a page whose sheet gives it its colours."""
SCALE = 2
_FONTS = Path(__file__).parent / "fonts"
_COLOURS = {
    "light": {
        "paper": "#ffffff", "ink": "#1c1d21", "soft": "#5b5f69", "line": "#e2dfd8",
        "day": "#dead60", "last": "#d08a1c", "entered": "#9a5a00", "left": "#27704e",
    },
    "dark": {
        "paper": "#1c1e22", "ink": "#e8e7e3", "soft": "#a2a6b0", "line": "#3a3e46",
        "day": "#a07535", "last": "#d99a3d", "entered": "#e6b366", "left": "#6cc498",
    },
}  # fmt: skip


def svg_of(chart: SizeChart, *, ground: Ground) -> Markup:
    """Return the chart as an SVG document.

    On a page it is as wide as there is room and has no title above it, for the page has its own heading.
    """
    on_page = ground == "page"
    drawing = drawn(chart, gutter=11 if on_page else 6.5, ticks=4 if on_page else 9, digit=3.4 if on_page else 1.5)
    template = _templates().get_template("size.svg")
    text = template.render(
        chart=chart, drawing=drawing, colours=_COLOURS.get(ground), width="100%" if on_page else WIDTH
    )
    return Markup(text)  # noqa: S704 - the template escapes what it is given


def png_of(svg: str) -> bytes:
    """Return a picture of an SVG document, twice as large and on white. No font of the machine is used."""
    import resvg_py  # noqa: PLC0415 - only whoever sends a picture pays for it

    return resvg_py.svg_to_bytes(
        svg_string=str(svg),
        background="#ffffff",
        zoom=SCALE,
        skip_system_fonts=True,
        font_files=[str(path) for path in sorted(_FONTS.glob("*.ttf"))],
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
    )


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(resource("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Return a text on one line and without what XML may not hold; anything else as it is."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return "".join(character for character in " ".join(value.split()) if unicodedata.category(character) not in _UNSEEN)


_UNSEEN = ("Cc", "Cf", "Cs", "Cn", "Co")
