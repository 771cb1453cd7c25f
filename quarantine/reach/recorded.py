"""A recorded map as it is stored: the reach, and beside it which functions ran, each readable without the other."""

from typing import NamedTuple

from quarantine.errors import BadReach
from quarantine.reach.reach_map import ReachMap

__all__ = ["Recorded", "functions_in", "reach_in"]

_MAGIC = b"reach-map-2\n"
_LENGTH = 8


class Recorded(NamedTuple):
    """What one recording says.

    Attributes:
        reach: what each test reaches.
        functions: which functions it ran, see `quarantine.reach.functions`; None when the recording does not say.
    """

    reach: ReachMap
    functions: ReachMap | None = None

    def to_bytes(self) -> bytes:
        """Return it as bytes; without functions the same as those of its reach."""
        reach = self.reach.to_bytes()
        if self.functions is None:
            return reach
        return b"".join([_MAGIC, len(reach).to_bytes(_LENGTH, "big"), reach, self.functions.to_bytes()])


def reach_in(stored: bytes) -> ReachMap:
    """Return the reach that `Recorded.to_bytes` wrote; raises BadReach when the bytes are no intact map."""
    return ReachMap.from_bytes(_halves(stored)[0])


def functions_in(stored: bytes) -> ReachMap | None:
    """Return the functions that `Recorded.to_bytes` wrote; None when it had none. Raises as `reach_in`."""
    functions = _halves(stored)[1]
    return ReachMap.from_bytes(functions) if functions is not None else None


def _halves(stored: bytes) -> tuple[bytes, bytes | None]:
    if not stored.startswith(_MAGIC):
        return stored, None
    start = len(_MAGIC) + _LENGTH
    end = start + int.from_bytes(stored[len(_MAGIC) : start], "big")
    if end > len(stored):
        raise BadReach("A stored reach map cannot be read: it is cut off.", mend="Upload the map again.")
    return stored[start:end], stored[end:]
