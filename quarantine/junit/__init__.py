"""Reads JUnit XML as some sixty-five tools write it: bytes in, runs and problems out; no bad document raises."""

from quarantine.junit.counts import Counts, counts
from quarantine.junit.documents import DEFAULT, Document, Limits, Reading, Upload
from quarantine.junit.reading import read_one, read_together

__all__ = [
    "DEFAULT",
    "Counts",
    "Document",
    "Limits",
    "Reading",
    "Upload",
    "counts",
    "read_one",
    "read_together",
]
