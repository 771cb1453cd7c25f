"""A figure, and how it is taken: rounds of both sides in turn, so that a slow moment hits both alike."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

LIMITS = {
    "ingest-5000-cases": 4.0,
    "ingest-10-times-the-tests": 11.0,
    "ingest-at-100000-builds": 1.2,
    "gate-5000-cases": 1.5,
    "gate-5000-names": 1.6,
    "memory-200000-cases": 100.0,
    "client-is-gating": 3.0,
    "http-is-gating": 1.18,
    "import-quarantine": 1.5,
    "shell-is-gating": 5.0,
    "loop-workspace": 1.5,
    "impacted-5-files": 50.0,
    "page-2000-quarantined": 3.5,
    "page-of-the-project": 2.5,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; lower is better."""

    name: str
    value: float
    unit: str
    note: str = ""

    @property
    def limit(self) -> float:
        """What the value should be at most."""
        return LIMITS[self.name]

    def to_json(self) -> dict[str, float | str]:
        """Return what build/bench.json holds under the name."""
        return {"value": self.value, "limit": self.limit, "unit": self.unit}


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
