"""What a mail says, before it is written to anybody."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from quarantine.domain.chart import SizeChart

__all__ = ["PICTURE", "MailContent"]

PICTURE = "cid:chart@quarantine"
"""What the HTML of a mail names its picture by: `<img src="cid:chart@quarantine">`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailContent:
    """The same said twice, for those who read plain text and for those who read HTML.

    Attributes:
        subject: one line.
        text: the whole in words.
        html: a whole document. Whoever makes it has escaped what comes from reports.
        chart: drawn when it is sent; the HTML shows it by the address `PICTURE`.
    """

    subject: str
    text: str
    html: str
    chart: SizeChart | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes back."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the content that `to_json` wrote."""
        chart = SizeChart.from_json(values["chart"]) if values.get("chart") else None
        return cls(subject=values["subject"], text=values["text"], html=values["html"], chart=chart)
