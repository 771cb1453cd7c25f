"""What a loop is asked to do: a text for the agent, and the tests that must pass when it is done."""

from typing import NamedTuple

__all__ = ["Ticket"]


class Ticket(NamedTuple):
    """One ticket.

    Attributes:
        id: its name, at most 200 characters; the change that the harness's token is bound to.
        text: what is wrong or wanted, as the agent reads it.
        must_pass: the tests that must pass afterwards, as the runner names them; mostly they fail now (FAIL_TO_PASS).
    """

    id: str
    text: str
    must_pass: tuple[str, ...] = ()
