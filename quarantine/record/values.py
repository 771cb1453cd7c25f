"""What goes into a failure record and what comes out."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One failure that is the business of whoever wrote the patch.

    Attributes:
        name: the test's display name, in any characters.
        kind: the exception type or the report's `type`; may be empty.
        message: the report's `message`; may be empty, or a copy of what stands in the detail.
        detail: the failure's text as the report has it, of any length and in any tool's format.
        tries: how often it failed, such as "3 of 3 runs failed"; may be empty.
        note: a label that goes with the id, such as "nondeterministic under this change"; may be empty.
    """

    name: str
    kind: str = ""
    message: str = ""
    detail: str = ""
    tries: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What made the run red and is no test: a collection error, a hook, a crash.

    Attributes:
        kind: a kebab-case word, such as `collection-error`.
        where: the file, class or suite it belongs to.
        message: as in `Failed`.
        detail: as in `Failed`.
    """

    kind: str
    where: str
    message: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The text to hand to whoever wrote the patch, and how much it stands for.

    Attributes:
        text: printable characters and line feeds only.
        tokens: `estimate_tokens(text)`, never above the budget.
        failures: how many failures it speaks of.
        left_out: how many of them are counted in the text and not named there.
        key: 16 hexadecimal digits, the same for two records that say the same but for noise: times, addresses,
            temporary paths, line numbers, captured output, and what the budget left room for do not count.
    """

    text: str
    tokens: int
    failures: int
    left_out: int
    key: str
