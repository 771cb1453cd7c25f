"""How many tokens a text costs its reader, estimated on the safe side without any tokenizer.

A text is cut into pieces much as byte-pair tokenizers cut it before they look anything up, and each piece is charged
what an unlucky one costs: five lower-case letters to a token, and a token for each letter after the twelfth (no word,
then); capitals, three to two tokens; two digits, or two of the same mark, to one; every other mark one; each line feed
one; sixteen blanks one, but nothing for a single blank before anything but a digit. A character beyond ASCII is
charged one token less than it has UTF-8 bytes. No piece is charged more than its bytes, which is what a tokenizer that
falls back to bytes can need at most. The estimate is additive over lines.
"""

import re

PIECES = re.compile(
    r"(?P<word>[A-Z]?[a-z]+)|(?P<capitals>[A-Z]+)|(?P<digits>[0-9]+)|(?P<single> (?![0-9 \t\r\f\v]))"
    r"|(?P<blanks>[ \t\r\f\v]+)|(?P<beyond>[^\x00-\x7f]+)|(?P<same>([\x00-\x7f])\8*)"
)
LETTERS_PER_TOKEN = 5
LONGEST_WORD = 12
BLANKS_PER_TOKEN = 16


def estimate_tokens(text: str) -> int:
    """Return an estimate, on the safe side, of the tokens in `text`; see the module's docstring."""
    return sum([_cost(match.lastgroup, match[0]) for match in PIECES.finditer(text)])


def _cost(piece: str | None, text: str) -> int:
    length = len(text)
    if piece == "word":
        return -(-min(length, LONGEST_WORD) // LETTERS_PER_TOKEN) + max(length - LONGEST_WORD, 0)
    if piece == "single":
        return 0
    if piece == "blanks":
        return -(-length // BLANKS_PER_TOKEN)
    if piece == "beyond":
        return len(text.encode("utf-8", "surrogatepass")) - length
    if piece == "capitals":
        return -(-length * 2 // 3)
    return length if text[0] == "\n" else -(-length // 2)
