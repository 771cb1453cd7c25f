"""Text from reports: kept within bounds, made legal, and made fit to be shown."""

import re
from collections.abc import Iterable

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow."""

TERMINAL = re.compile(
    r"\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # titles and hyperlinks
    r"|\ufffd\]8;[^\ufffd]{0,2000}\ufffd\\?"  # hyperlinks whose escapes were replaced
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # colours and cursor
    r"|(?:\ufffd|\\x1b|\\u001b|#x1B)\[(?:[0-9;]{1,32}[A-HJKSTfhlmnsu]|m)"  # the same, replaced or spelt out
    r"|\x1b[ -/]{0,8}[0-~]"
)
"""Terminal sequences, also where the escape character has been replaced or spelt out by the report's writer."""

CAPTURED = re.compile(r"-{3,} ?Captured [A-Za-z ]{2,40}?-{3,} *(?:\n|$)")
"""The line that pytest writes above what a test printed; ours is spelled alike."""

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
BIDIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def legal(text: str) -> str:
    """Return `text` with every character that XML 1.0 does not allow replaced by U+FFFD."""
    return ILLEGAL.sub(REPLACEMENT, text)


def plain_text(text: str) -> str:
    """Return `text` as it may be shown to people: no terminal sequences, no control or direction characters.

    Terminal sequences are removed, other control characters become U+FFFD (tab and newline stay), and characters
    that change the reading direction are spelt out as `<U+202E>`. It is not escaped for HTML, Slack or a shell.
    """
    plain = one_newline(TERMINAL.sub("", text))
    plain = CONTROLS.sub(REPLACEMENT, plain)
    return BIDIRECTIONAL.sub(lambda match: f"<U+{ord(match[0]):04X}>", plain)


def one_newline(text: str) -> str:
    """Return `text` with every kind of line end as a line feed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def clip(text: str, head: int, tail: int) -> str:
    """Return `text`, or its first `head` and last `tail` characters around a note of how many are left out."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[... {left_out} characters left out ...]\n{end}"


def first_line(text: str) -> str:
    """Return the first line of `text` that is not blank, without surrounding blanks; empty when there is none."""
    stripped = text.lstrip()
    return stripped[: stripped.find("\n") % (len(stripped) + 1)].rstrip()


class BoundedText:
    """Text that arrives in pieces and of which only the head and the tail are kept, however long it gets."""

    __slots__ = ("_head", "_kept", "_left_out", "_pieces", "_tail")

    def __init__(self, head: int, tail: int) -> None:
        self._head = head
        self._tail = tail
        self._pieces: list[str] = []
        self._kept = 0
        self._left_out = 0

    def append(self, piece: str) -> None:
        """Add a piece at the end."""
        self._pieces.append(piece)
        self._kept += len(piece)
        if self._kept > 4 * (self._head + self._tail):
            self._compact()

    def _compact(self) -> None:
        text = "".join(self._pieces)
        surplus = len(text) - self._head - self._tail
        self._left_out += surplus
        self._pieces = [text[: self._head], text[self._head + surplus :]]
        self._kept = self._head + self._tail

    def text(self) -> str:
        """Return what was kept, with a note where something is left out."""
        text = "".join(self._pieces)
        if not self._left_out:
            return clip(text, self._head, self._tail)
        left_out = self._left_out + len(text) - self._head - self._tail
        end = text[len(text) - self._tail :]
        return f"{text[: self._head]}\n[... {left_out} characters left out ...]\n{end}"


def joined(texts: Iterable[str]) -> str:
    """Return the texts that are not blank, an empty line between two of them."""
    return "\n\n".join(text for text in texts if text.strip())
