"""Text as Slack may be shown it. What comes from a report is data: nothing in it ever works as a link or a mention.

Messages are made of rich text (see `messages`), which Slack shows as it is and never parses. What is left is the line
of a notification, which it does parse: there the three characters that begin anything are escaped, and markup is off.
"""

from quarantine.domain.plain import clean, cut, one_line

__all__ = ["clean", "cut", "escaped", "one_line"]


def escaped(text: str) -> str:
    """Return the text for a field that Slack parses: a notification's line."""
    return one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
