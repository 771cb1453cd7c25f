"""Real figures to draw from: how often causes of flaking strike and whom, how much fails, how much a change touches."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

__all__ = ["FLAKY_SHARE", "Cause", "causes", "changed_files", "failing_tests"]

Generator = np.random.Generator
FLAKY_SHARE = 811 / 22_245
"""Tests that both failed and passed among all that were rerun some 10,000 times (`data/causes.csv`)."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of flaking: how many tests it strikes together, and the share of runs in which it does."""

    tests: int
    rate: float


@cache
def causes() -> tuple[Cause, ...]:
    """Return every cause of the data, the rarest first; those that always strike are no flakes and not among them."""
    return tuple(Cause(row["tests"], row["failures"] / row["runs"]) for row in _rows("causes"))


def failing_tests(dice: Generator, count: int) -> NDArray[np.int64]:
    """Draw how many tests failed in so many failing suite runs."""
    return _drawn(dice, "failing", count)


def changed_files(dice: Generator, count: int) -> NDArray[np.int64]:
    """Draw how many files so many changes touched."""
    return _drawn(dice, "changed", count)


def _drawn(dice: Generator, name: str, count: int) -> NDArray[np.int64]:
    rows = _rows(name)
    builds = np.array([row["builds"] for row in rows], np.float64)
    sizes = np.array([row["size"] for row in rows], np.int64)
    return dice.choice(sizes, count, p=builds / builds.sum())


@cache
def _rows(name: str) -> tuple[dict[str, int], ...]:
    text = files(__package__).joinpath("data", f"{name}.csv").read_text(encoding="utf-8")
    return tuple({key: int(value) for key, value in row.items()} for row in csv.DictReader(text.splitlines()))
