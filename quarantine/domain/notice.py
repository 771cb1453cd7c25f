"""A notice: what people are told about one cause, in words and numbers, before any channel's form of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from quarantine.domain.chart import SizeChart

__all__ = ["Action", "Notice", "NoticeKind", "NoticeTest", "Section"]


class NoticeKind(StrEnum):
    """What a notice is about; one thread holds one kind."""

    ENTRIES = "entries"
    """Tests entered quarantine, in one day; their releases and returns follow in its thread."""
    REGRESSION = "regression"
    """A quarantined test failed in a way that its flaking does not explain."""
    BROKEN = "broken"
    """Tests broke on trunk in one range of commits."""
    HELD = "held"
    """The evidence for quarantine is there, but the cap or a rule keeps tests gating."""
    STORM = "storm"
    """Builds failed for one cause outside the tests."""
    ESCALATION = "escalation"
    """Tests have stayed in quarantine too long for their owner not to be told."""
    WEEKLY = "weekly"
    """How large the quarantine is and what became of it within a week."""
    TROUBLE = "trouble"
    """The daemon itself cannot do its work as it should."""


class Action(StrEnum):
    """What a person can answer, by a button or on the page."""

    ACKNOWLEDGE = "acknowledge"
    SNOOZE = "snooze"
    OWN = "own"
    RELEASE = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeTest:
    """One test of a notice.

    Attributes:
        id, name: its opaque id, and its name as people read it: text from reports, trusted nowhere.
        path: its page, below the server's address.
        state: one or two words for how it stands now, such as `quarantined` or `released`.
        sentence: why, with the numbers; it may quote reports.
    """

    id: str
    name: str
    path: str
    state: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """What shares one cause within a notice.

    Attributes:
        title: the cause in a few words; empty when there is only one.
        text: sentences about it.
        tests: the tests, the most telling first.
        left_out: how many further tests are not listed.
        facts: (label, value) pairs, such as ("age", "34 days").
        answers: what can be answered about `tests`; only given where there is exactly one.
    """

    title: str = ""
    text: tuple[str, ...] = ()
    tests: tuple[NoticeTest, ...] = ()
    left_out: int = 0
    facts: tuple[tuple[str, str], ...] = ()
    answers: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What is told, once, or as the first message of a thread that is written anew when the state changes.

    Attributes:
        kind: what it is about.
        project: the project's slug.
        title: one line that can stand alone in a notification.
        lead: a sentence or two.
        sections: by cause.
        path: the page to read on, below the server's address; empty for none.
        mentions: Slack ids of the people and groups who are called; never taken from a report.
        small: lines in small print, such as where an owner was found.
        chart: what is drawn below the lead; ways that take no picture give it in words.
    """

    kind: NoticeKind
    project: str
    title: str
    lead: str = ""
    sections: tuple[Section, ...] = ()
    path: str = ""
    mentions: tuple[str, ...] = ()
    small: tuple[str, ...] = field(default=())
    chart: SizeChart | None = None

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json` takes back."""
        return asdict(self) | {"kind": self.kind.value}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the notice that `to_json` wrote."""
        plain = {name: values[name] for name in ("project", "title", "lead", "path")}
        return cls(
            kind=NoticeKind(values["kind"]),
            sections=tuple(_section(section) for section in values["sections"]),
            mentions=tuple(values["mentions"]),
            small=tuple(values["small"]),
            chart=SizeChart.from_json(values["chart"]) if values.get("chart") else None,
            **plain,
        )


def _section(values: Mapping[str, Any]) -> Section:
    pairs: Sequence[Sequence[str]] = values["facts"]
    return Section(
        title=values["title"],
        text=tuple(values["text"]),
        tests=tuple(NoticeTest(**test) for test in values["tests"]),
        left_out=values["left_out"],
        facts=tuple((label, value) for label, value in pairs),
        answers=tuple(Action(answer) for answer in values["answers"]),
    )
