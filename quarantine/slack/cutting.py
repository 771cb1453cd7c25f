"""Cutting a message to what Slack takes: so many blocks and characters, the rest as replies in its thread."""

from collections.abc import Iterator
from typing import Any

from quarantine.slack.messages import Block, Message

__all__ = ["BLOCKS", "CHARACTERS", "length", "pieces"]

BLOCKS = 50
CHARACTERS = 12_000
"""Of all texts of one message. Slack documents no total; beyond some 13,200 it answers `msg_blocks_too_long`."""
_COUNTED = ("text", "url", "value")


def length(block: Any) -> int:
    """Return how many characters a block holds, addresses and values of buttons included."""
    if isinstance(block, dict):
        own = sum(len(block[name]) for name in _COUNTED if isinstance(block.get(name), str))
        return own + sum(length(value) for value in block.values() if isinstance(value, (dict, list)))
    return sum(length(item) for item in block) if isinstance(block, list) else 0


def pieces(message: Message) -> list[Message]:
    """Return the message, and after it what did not fit, each for a reply in its thread."""
    groups: list[list[Block]] = [[]]
    size = 0
    for block in _split(message.blocks):
        more = length(block)
        if groups[-1] and (len(groups[-1]) == BLOCKS or size + more > CHARACTERS):
            groups.append([])
            size = 0
        groups[-1].append(block)
        size += more
    return [Message(message.text, tuple(group)) for group in groups]


def _split(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """Yield the blocks, a list that is too long for one message as several."""
    for block in blocks:
        lists = [element for element in block.get("elements", ()) if element.get("type") == "rich_text_list"]
        if length(block) <= CHARACTERS or not lists:
            yield block
            continue
        for part in _shorter(lists[0]["elements"]):
            yield {"type": "rich_text", "elements": [{**lists[0], "elements": part}]}


def _shorter(lines: list[Block]) -> Iterator[list[Block]]:
    part: list[Block] = []
    for line in lines:
        if part and length([*part, line]) > CHARACTERS:
            yield part
            part = []
        part.append(line)
    yield part
