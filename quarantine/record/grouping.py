"""Failures that one cause seems to have broken, together.

Four levels, each coarser than the one before, for when there is no room to name every group of the finer:

0. the same exception at the same place in the repository, its message the same but for literals and numbers;
1. the same exception at the same place;
2. the same exception in the same test file or class, the message of the same shape;
3. the same exception.

Failures of different kinds (a test's own, its fixture's, a run event, one with another note) never share a group.
"""

import re
from collections.abc import Sequence
from functools import cached_property

from quarantine.record.anatomy import Anatomy, Frame, Raised
from quarantine.record.noise import calm, is_comparison, settled, shape, tidy
from quarantine.record.places import repository_frames
from quarantine.record.reading import phase, read
from quarantine.record.values import Event, Failed

LEVELS = 4
ALIKE = ("for the same reason", "at the same place", "of the same kind", "with the same exception")
EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.$\\]*)(?: \[\w+\])?(?::|$)")


class Case:
    """One failure or run event, read once.

    Attributes:
        name: as the report has it.
        label: what goes with the id: the note, the phase of a fixture, the kind of a run event.
        tries: as in `Failed`.
        is_event: whether it is a run event.
    """

    def __init__(self, source: Failed | Event, root: str) -> None:
        self._source = source
        self._root = root
        self.is_event = isinstance(source, Event)
        if isinstance(source, Event):
            self.name, self.label, self.tries, self._kind = source.where, source.kind.replace("-", " "), "", ""
        else:
            labels = (f"in {phase(source.message)}" if phase(source.message) else "", source.note)
            self.name, self.tries, self._kind = source.name, source.tries, source.kind
            self.label = "; ".join(filter(None, labels))

    @cached_property
    def anatomy(self) -> Anatomy:
        """What it is made of, without the tested tree's root, temporary folders and addresses."""
        source = self._source
        whole = read(self._kind, source.message, source.detail)
        return Anatomy(tuple([self._tidied(link) for link in whole.chain]), whole.outputs)

    def _tidied(self, link: Raised) -> Raised:
        frames = repository_frames(link.frames, self._root, self.name)
        cleaned = tidy if is_comparison([link.headline, *link.details]) else settled
        return Raised(
            cleaned(link.headline, self._root),
            tuple([cleaned(line, self._root) for line in link.details]),
            tuple([frame._replace(code=tidy(frame.code, self._root)) for frame in frames]),
            link.relation,
        )

    @property
    def cause(self) -> str:
        """The one line that says what went wrong."""
        return self.anatomy.chain[0].headline

    @cached_property
    def frames(self) -> tuple[Frame, ...]:
        """All frames in the repository, each once, the innermost of the root cause last."""
        return tuple(dict.fromkeys([frame for link in self.anatomy.chain for frame in link.frames]))

    @cached_property
    def exception(self) -> str:
        """The exception's type, without its package; empty when the text names none."""
        match = EXCEPTION.match(self.cause)
        return re.split(r"[.\\$]", match["type"] if match else self._kind)[-1]

    def kin(self, level: int) -> tuple[str, ...]:
        """Return what it shares with the others of its group; see the module's docstring."""
        common = (str(self.is_event), self.label, self.exception)
        place = self.frames[-1].place if self.frames else ""
        if level == 0:
            return (*common, self.tries, place, self._shape)
        if level == 1:
            return (*common, place or self._shape)
        return (*common, self.name.split("::")[0], self._shape) if level == 2 else common  # noqa: PLR2004 - a level

    @cached_property
    def _shape(self) -> str:
        return shape(self.cause)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """What cases are sorted by: everything that can differ, so that the order they came in does not matter."""
        source = self._source
        return (self.name, self.label, source.message, source.detail, self._kind, self.tries)

    @property
    def essence(self) -> str:
        """What two records must agree on to be the same record: id and failure, calm, no line numbers."""
        first = self.anatomy.chain[0]
        said = "\n".join([first.headline, *first.details])
        path = self.frames[-1].path if self.frames else ""
        return "\0".join([self.name, self.label, path, calm(said)])


Group = tuple[Case, ...]


def groups_of(cases: Sequence[Case], level: int) -> list[Group]:
    """Return the groups, run events first, then the largest; each case in order of its name."""
    ordered = sorted(cases, key=lambda case: case.order)
    by_kin: dict[tuple[str, ...], list[Case]] = {}
    for case in ordered:
        by_kin.setdefault(case.kin(level), []).append(case)
    groups = [tuple(members) for members in by_kin.values()]
    return sorted(groups, key=lambda group: (not group[0].is_event, -len(group), group[0].order))
