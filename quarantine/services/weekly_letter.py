"""A weekly report as a letter: its message in HTML for those who read that, and the whole report in plain text."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from quarantine.domain.mail_content import PICTURE, MailContent
from quarantine.domain.plain import one_line
from quarantine.services.weekly_notice import weekly_notice
from quarantine.services.weekly_text import markdown
from quarantine.shipped import resource


def letter_of(report: Mapping[str, Any], *, address: str, missed: Sequence[str] = ()) -> MailContent:
    """Return the letter of a report as `weekly.report_of` returns it.

    Args:
        report: the report.
        address: where people reach the server; without one there are no links.
        missed: weeks that were made good.
    """
    notice = weekly_notice(report, missed=missed)
    html = _templates().get_template("letter.html").render(notice=notice, address=address, picture=PICTURE)
    return MailContent(subject=notice.title, text=markdown(report, address=address), html=html, chart=notice.chart)


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
    """Return a text on one line and without what is not seen; anything else as it is."""
    return one_line(value) if type(value) is str else value  # what is marked as safe is a str of another type
