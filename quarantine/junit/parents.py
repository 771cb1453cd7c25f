"""The name a parametrised test shares with its cases."""

import re

PARAMETERS = re.compile(r"[\[(/]")


def parent(name: str) -> str:
    """Return the part of a test's name before its parameters: before the first `[`, `(` or `/`, without blanks there.

    Positions such as `[2]`, `/0` and `(String)[2]` move when parameters are added, so history is also looked for under
    the parent. A name that begins with its parameters, or has none, is its own parent.
    """
    match = PARAMETERS.search(name)
    return (name[: match.start()].rstrip() if match else name) or name
