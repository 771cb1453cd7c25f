"""A figure, and how it is taken: rounds of both sides in turn, so that a slow moment hits both alike."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; lower is better, and it should be at most `limit`."""

    name: str
    value: float
    limit: float
    unit: str
    note: str = ""

    def to_json(self) -> dict[str, float | str]:
        """Return what build/bench.json holds under the name."""
        return {key: value for key, value in asdict(self).items() if key in ("value", "limit", "unit")}


def cpu_s(work: Callable[[], object]) -> float:
    """Return the CPU seconds of this process, all its threads, that the work took."""
    gc.collect()
    begun = time.process_time()
    work()
    return time.process_time() - begun


def ratio(mine: Callable[[], object], base: Callable[[], object], *, rounds: int) -> float:
    """Return the ratio of the median CPU of `mine` to that of `base`, taken in turn; one round of each warms up."""
    mine(), base()
    pairs = [(cpu_s(mine), cpu_s(base)) for _ in range(rounds)]
    return statistics.median(one for one, _ in pairs) / statistics.median(other for _, other in pairs)
