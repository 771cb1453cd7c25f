"""What the text of a failure is made of, whichever tool wrote it."""

from typing import NamedTuple


class Frame(NamedTuple):
    """One place in a traceback.

    Attributes:
        path: as reported, or what stands for it when only a class is known.
        line: from 1; None when not reported.
        function: may be empty.
        code: the statement, on one line; empty when not reported.
        owner: the qualified class, where the tool reports classes and no paths; else empty.
    """

    path: str
    line: int | None = None
    function: str = ""
    code: str = ""
    owner: str = ""

    @property
    def place(self) -> str:
        """Path and line, as editors take them."""
        return self.path if self.line is None else f"{self.path}:{self.line}"


class Raised(NamedTuple):
    """One exception or failed assertion.

    Attributes:
        headline: the exception and the first line of what it says; never blank, save when the report says nothing.
        details: the lines that follow: expected and actual, differences, notes.
        frames: every frame reported, innermost last.
        relation: how it stands to what was reported before it, such as "caused by"; empty for the first of a chain.
    """

    headline: str
    details: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    relation: str = ""


class Output(NamedTuple):
    """What was captured while the test ran, such as `captured stdout call`."""

    title: str
    lines: tuple[str, ...]


class Anatomy(NamedTuple):
    """A failure taken apart.

    Attributes:
        chain: what was reported first, then what caused it or what it holds, the root last; at least one.
        outputs: in the order of the report.
    """

    chain: tuple[Raised, ...]
    outputs: tuple[Output, ...] = ()
