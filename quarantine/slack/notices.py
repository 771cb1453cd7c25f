"""A notice as Slack's blocks."""

from collections.abc import Iterator, Sequence

from quarantine.domain.notice import Action, Notice, NoticeTest, Section
from quarantine.slack.cutting import pieces
from quarantine.slack.messages import (
    Block,
    Button,
    Code,
    Link,
    Mention,
    Message,
    Plain,
    Span,
    Strong,
    actions,
    bullets,
    context,
    divider,
    header,
    paragraph,
    picture,
)
from quarantine.slack.sending import Capabilities
from quarantine.slack.text import cut, one_line

__all__ = ["ACTION_PREFIX", "messages_of", "value_of", "value_read"]

ACTION_PREFIX = "quarantine:"
_NAME_CHARACTERS = 160
_SENTENCE_CHARACTERS = 600
_LABELS = {
    Action.ACKNOWLEDGE: "Seen it",
    Action.SNOOZE: "Snooze…",
    Action.OWN: "I own it…",
    Action.RELEASE: "Let it gate…",
}


def value_of(project: str, test_id: str) -> str:
    """Return what a button carries: which test of which project it is about."""
    return f"{project} {test_id}"


def value_read(value: str) -> tuple[str, str]:
    """Return the project and the test's id that a button carried; raises ValueError for anything else."""
    project, _, test = value.partition(" ")
    if not project or not test or " " in test:
        raise ValueError("this is no button of ours")
    return project, test


def messages_of(
    notice: Notice, address: str, *, can: Capabilities, picture_id: str = "", why: str = ""
) -> list[Message]:
    """Return the notice as a message, and what does not fit it as replies.

    Args:
        notice: what is said.
        address: where people reach the server, without a slash at its end; without one there are no links.
        can: what the way to Slack can do.
        picture_id: Slack's name for the picture of the notice's chart; without one the chart is given in words.
        why: why there is no picture where there might be one, and what helps; it stands in the small print.
    """
    return pieces(Message.of(notice.title, *_blocks(notice, address, can, picture_id, why)))


def _blocks(notice: Notice, address: str, can: Capabilities, picture_id: str, why: str) -> Iterator[Block]:
    yield header(notice.title)
    called: list[Span] = [span for slack_id in notice.mentions for span in (Mention(slack_id), Plain(" "))]
    if called or notice.lead:
        yield paragraph(*called, Plain(notice.lead))
    if notice.chart is not None:
        told = notice.chart.alternative
        yield picture(picture_id, told) if picture_id else paragraph(Plain(cut(one_line(told), _SENTENCE_CHARACTERS)))
    for number, section in enumerate(notice.sections):
        if number:
            yield divider()
        yield from _section(notice, section, address, can)
    if notice.path and address:
        yield paragraph(Link(f"{address}{notice.path}", "Read on"))
    if any(one_line(line) for line in (why, *notice.small)):
        yield context(why, *notice.small)


def _section(notice: Notice, section: Section, address: str, can: Capabilities) -> Iterator[Block]:
    if section.title:
        yield paragraph(Strong(section.title))
    for line in section.text:
        yield paragraph(Plain(cut(one_line(line), _SENTENCE_CHARACTERS)))
    tests = [_test(test, address) for test in section.tests]
    if len(tests) == 1:
        yield paragraph(*tests[0])
    elif tests:
        yield bullets(tests)
    if section.left_out and section.tests:
        yield paragraph(Plain(f"and {section.left_out:,} more"))
    if section.facts:
        yield bullets(
            [[Strong(f"{label} "), Plain(cut(one_line(value), _SENTENCE_CHARACTERS))] for label, value in section.facts]
        )
    if section.answers and section.tests:
        if can.buttons:
            yield actions(*(_button(notice, section.tests[0], answer) for answer in section.answers))
        elif address:
            yield paragraph(*_links(section.tests[0], section.answers, address))


def _test(test: NoticeTest, address: str) -> list[Span]:
    name = cut(one_line(test.name), _NAME_CHARACTERS)
    shown: Span = Link(f"{address}{test.path}", name, is_code=True) if address else Code(name)
    said = cut(one_line(test.sentence), _SENTENCE_CHARACTERS)
    return [shown, Plain(f" {test.state}"), Plain(f". {said}" if said else "")]


def _links(test: NoticeTest, answers: Sequence[Action], address: str) -> Iterator[Span]:
    """Yield, where buttons cannot be had, the addresses of the forms on the test's page that do the same."""
    yield Plain("Answer on its page: ")
    for number, answer in enumerate(answers):
        if number:
            yield Plain(" \N{MIDDLE DOT} ")
        yield Link(
            f"{address}{test.path}?answer={answer.value}#answer", _LABELS[answer].rstrip("\N{HORIZONTAL ELLIPSIS}")
        )


def _button(notice: Notice, test: NoticeTest, answer: Action) -> Button:
    return Button(
        label=_LABELS[answer],
        action=f"{ACTION_PREFIX}{answer.value}",
        value=value_of(notice.project, test.id),
        style="danger" if answer is Action.RELEASE else "",
    )
