"""Text of others as it may be shown: without what is not seen, on one line, in so many characters. Not escaped."""

import unicodedata

__all__ = ["clean", "cut", "one_line"]

_ALLOWED_CONTROL = "\n\t"


def clean(text: str) -> str:
    """Return the text without what is not seen: controls, bidirectional overrides, halves of surrogate pairs.

    Zero-width joiners stay, for they make letters and pictures of several code points.
    """
    return "".join(character for character in text.replace("\r\n", "\n") if _is_shown(character))


def _is_shown(character: str) -> bool:
    category = unicodedata.category(character)
    if category in ("Cc", "Cs"):
        return character in _ALLOWED_CONTROL
    return not (category == "Cf" and unicodedata.bidirectional(character) in _BIDI)


_BIDI = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def one_line(text: str) -> str:
    """Return the text cleaned and on one line."""
    return " ".join(clean(text).split())


def cut(text: str, most: int) -> str:
    """Return the text in at most `most` characters, saying how many are left out where some are.

    A joined picture or an accent is never torn from what it belongs to.
    """
    if len(text) <= most:
        return text
    kept = text[: max(0, most - 32)]
    while kept and unicodedata.category(text[len(kept)]) in ("Mn", "Me", "Cf"):
        kept = kept[:-1]
    kept = kept.rstrip()
    return f"{kept}… ({len(text) - len(kept):,} more characters)"
