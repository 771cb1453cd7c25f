"""Messages as Slack's blocks. All words are rich text, which is shown as it is: no span of it is ever parsed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quarantine.slack.text import clean, cut, escaped, one_line

__all__ = [
    "BUTTON_CHARACTERS",
    "Block",
    "Button",
    "Code",
    "Link",
    "Mention",
    "Message",
    "Plain",
    "Span",
    "Strong",
    "actions",
    "bullets",
    "context",
    "divider",
    "header",
    "paragraph",
    "picture",
    "question",
]

Block = dict[str, Any]
TEXT_CHARACTERS = 3_000
HEADER_CHARACTERS = 150
BUTTON_CHARACTERS = 75
VALUE_CHARACTERS = 2_000
ALTERNATIVE_CHARACTERS = 2_000
FALLBACK_CHARACTERS = 4_000
_ESCAPED_AT_MOST = 5
"""How long one character may become: `&amp;`. The cut is made before, for one made after it could tear an entity."""
CONTEXT_ELEMENTS = 10


@dataclass(frozen=True, slots=True)
class Plain:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A name, or a line of a failure: in a fixed width."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """An address of ours and what it is called; any other scheme than http and https is shown as words."""

    url: str
    label: str
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Mention:
    """A person (U, W), a group (S) or a channel (C, G) by its Slack id, which comes from the settings."""

    slack_id: str


Span = Plain | Strong | Code | Link | Mention


@dataclass(frozen=True, slots=True)
class Message:
    """One message: the line of its notification, already escaped, and its blocks."""

    text: str
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, text: str, *blocks: Block) -> "Message":
        """Return the message with this line, as words, for its notification."""
        return cls(escaped(cut(one_line(text), FALLBACK_CHARACTERS // _ESCAPED_AT_MOST)), blocks)


@dataclass(frozen=True, slots=True)
class Button:
    """A button. `action` and `value` come back signed when it is pressed; `confirm` is asked before, if anything."""

    label: str
    action: str
    value: str
    style: str = ""
    confirm: str = ""


def header(text: str) -> Block:
    """Return a heading."""
    return {"type": "header", "text": _plain(cut(one_line(text), HEADER_CHARACTERS) or "-")}


def paragraph(*spans: Span) -> Block:
    """Return words in a row."""
    return {"type": "rich_text", "elements": [_section(spans)]}


def bullets(lines: Sequence[Sequence[Span]]) -> Block:
    """Return a list of lines."""
    elements = [_section(line) for line in lines]
    return {"type": "rich_text", "elements": [{"type": "rich_text_list", "style": "bullet", "elements": elements}]}


def context(*lines: str) -> Block:
    """Return small print."""
    said = [line for line in map(one_line, lines) if line][:CONTEXT_ELEMENTS]
    most = TEXT_CHARACTERS // max(1, len(said))
    return {"type": "context", "elements": [_plain(cut(line, most)) for line in said]}


def divider() -> Block:
    """Return a line across."""
    return {"type": "divider"}


def picture(file_id: str, alternative: str) -> Block:
    """Return a picture that was uploaded before, with its words for whoever does not see it."""
    told = cut(one_line(alternative), ALTERNATIVE_CHARACTERS) or "-"
    return {"type": "image", "slack_file": {"id": file_id}, "alt_text": told}


def actions(*buttons: Button) -> Block:
    """Return a row of buttons."""
    return {"type": "actions", "elements": [_button(button) for button in buttons]}


def question(title: str, *, callback: str, private: str, reason_label: str, days: tuple[str, int] | None) -> Block:
    """Return a dialogue that asks for a reason, and for a number of days where `days` names it and its most."""
    blocks: list[Block] = []
    if days is not None:
        label, most = days
        number = {"type": "number_input", "action_id": "days", "is_decimal_allowed": False, "min_value": "1"}
        element = number | {"max_value": str(most), "initial_value": str(min(7, most))}
        blocks.append({"type": "input", "block_id": "days", "label": _plain(label), "element": element})
    written = {"type": "plain_text_input", "action_id": "reason", "multiline": True, "max_length": 1_000}
    blocks.append({"type": "input", "block_id": "reason", "label": _plain(reason_label), "element": written})
    return {
        "type": "modal",
        "callback_id": callback,
        "private_metadata": private[:VALUE_CHARACTERS],
        "title": _plain(cut(one_line(title), 24)),
        "submit": _plain("Send"),
        "close": _plain("Cancel"),
        "blocks": blocks,
    }


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text, "emoji": False}


def _button(button: Button) -> Block:
    made: Block = {
        "type": "button",
        "text": _plain(cut(button.label, BUTTON_CHARACTERS)),
        "action_id": button.action,
        "value": button.value[:VALUE_CHARACTERS],
    }
    if button.style:
        made["style"] = button.style
    if button.confirm:
        asked = {"title": _plain("Are you sure?"), "text": _plain(cut(button.confirm, 300))}
        made["confirm"] = asked | {"confirm": _plain("Yes"), "deny": _plain("No")}
    return made


def _section(spans: Sequence[Span]) -> Block:
    words = sum(
        len(span.label if isinstance(span, Link) else span.text) for span in spans if not isinstance(span, Mention)
    )
    most = TEXT_CHARACTERS if words <= TEXT_CHARACTERS else TEXT_CHARACTERS // len(spans)
    elements = [_span(span, most) for span in spans]
    return {"type": "rich_text_section", "elements": [element for element in elements if element.get("text") != ""]}


def _span(span: Span, most: int) -> Block:
    if isinstance(span, Mention):
        kind = {"U": "user", "W": "user", "S": "usergroup"}.get(span.slack_id[:1], "channel")
        return {"type": kind, f"{kind}_id": span.slack_id}
    if isinstance(span, Link):
        return _link(span, most)
    element: Block = {"type": "text", "text": cut(clean(span.text), most)}
    if isinstance(span, Strong):
        element["style"] = {"bold": True}
    elif isinstance(span, Code):
        element["style"] = {"code": True}
    return element


def _link(link: Link, most: int) -> Block:
    label = cut(clean(link.label), most)
    style = {"style": {"code": True}} if link.is_code else {}
    if not link.url.startswith(("https://", "http://")):
        return {"type": "text", "text": label} | style
    return {"type": "link", "url": link.url[:TEXT_CHARACTERS], "text": label} | style
