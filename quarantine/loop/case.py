"""A tree, and what is run on it."""

from collections.abc import Sequence
from typing import NamedTuple

from quarantine.client.changed_lines import ChangedLines
from quarantine.client.parts import Part
from quarantine.loop.judged import UNKNOWN, Spent
from quarantine.loop.patch import Patch
from quarantine.loop.subset import Subset
from quarantine.loop.ticket import Ticket
from quarantine.loop.workspace import Workspace

__all__ = ["Case"]


class Case(NamedTuple):
    """A tree, and what is run on it.

    Attributes:
        patch: None for the base itself.
        number: of the attempt.
        changed: the parts in which the tree differs from the base.
        lines: the same by functions and lines.
    """

    workspace: Workspace
    ticket: Ticket
    patch: Patch | None
    number: int
    changed: Sequence[Part]
    subset: Subset
    spent: Spent = UNKNOWN
    lines: Sequence[ChangedLines] = ()

    @property
    def on_base(self) -> "Case":
        """The same tests on the base."""
        return self._replace(patch=None, changed=(), lines=())
