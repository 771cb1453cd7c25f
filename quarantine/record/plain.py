r"""Text from reports made fit to be quoted, and ids made fit to be copied.

The quoting rule of ids: an id stands as it is when all its characters are printable and none is a blank, a quotation
mark (single quotes are none) or a backslash. Any other id is written as a JSON string, with every character that is
not printable as `\uXXXX`, so that a JSON parser gives the id back. An id of more than `LONGEST_ID` characters keeps
its head and tail around a note with the number of characters between them and a hash of the whole.
"""

import json
import re
from hashlib import blake2b

TERMINAL = re.compile(
    r"\x1b\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)"  # titles and hyperlinks
    r"|(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # colours and cursor
    r"|(?:\ufffd|\\x1b|\\u001b|#x1B)\[(?:[0-9;]{1,32}[A-HJKSTfhlmnsu]|m)"  # the same, replaced or spelt out
    r"|\x1b[ -/]{0,8}[0-~]"
)
TERMINAL_CUES = ("\x1b", "\x9b", "\ufffd[", "x1b[", "x1B[", "u001b[")
LINE_ENDS = re.compile(r"\r\n?|\x85|\u2028|\u2029")
LEADING_TABS = re.compile(r"^[ ]*\t[ \t]*", re.MULTILINE)
TAB_AMID_BLANKS = re.compile(r"(?<= )\t|\t(?=\s)|\t$", re.MULTILINE)
UNPRINTABLE = re.compile(r"[^\n\x20-\x7e]")
BLANKS = re.compile(r"\s+")
LONGEST_ID = 160
TAB = 4


def plain(text: str) -> str:
    r"""Return `text` with line feeds as its only control character.

    Terminal sequences are removed, tabs that indent or stand beside a blank become blanks and other tabs `\t`, and any
    other character that is not printable is spelt out, such as `<U+0000>` or, mistaken for a blank else, `<U+00A0>`.
    """
    if any(cue in text for cue in TERMINAL_CUES):
        text = TERMINAL.sub("", text)
    text = LINE_ENDS.sub("\n", text)
    if "\t" in text:
        text = LEADING_TABS.sub(lambda match: match[0].expandtabs(TAB), text)
        text = TAB_AMID_BLANKS.sub(" ", text).replace("\t", "\\t")
    return UNPRINTABLE.sub(_spelt, text)


def _spelt(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else f"<U+{ord(character):04X}>"


def one_line(text: str) -> str:
    """Return `plain(text)` on one line, runs of blanks as one."""
    return BLANKS.sub(" ", plain(text)).strip()


def quoted_id(name: str) -> str:
    """Return `name` as the record spells ids; see the module's docstring for the rule."""
    return quoted(name, _bounded(name))


def quoted(name: str, shown: str) -> str:
    """Return `shown` by the quoting rule of ids, as `name` needs it."""
    if name and name.isprintable() and not any(character in name for character in ' "\\'):
        return shown
    return f'"{"".join([_json(character) for character in shown])}"'


def _json(character: str) -> str:
    if character.isprintable():
        return json.dumps(character, ensure_ascii=False)[1:-1]
    return json.dumps(character)[1:-1]


def _bounded(name: str) -> str:
    if len(name) <= LONGEST_ID:
        return name
    half = LONGEST_ID // 2
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{name[:half]}[...{len(name) - 2 * half}_characters_{digest}...]{name[-half:]}"
