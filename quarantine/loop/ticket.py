"""What a loop is asked to do: a text for the agent, and the tests that must pass when it is done."""

from typing import NamedTuple

__all__ = ["Ticket"]


class Ticket(NamedTuple):
    """One ticket.

    Attributes:
        id: its name, at most 200 characters; the change that the harness's token is bound to.
        text: what is wrong or wanted, as the agent reads it.
        must_pass: the tests that fail now and must pass afterwards (FAIL_TO_PASS), as the runner names them.
    """

    id: str
    text: str
    must_pass: tuple[str, ...] = ()
