"""Reads JUnit XML as some sixty-five tools write it: bytes in, runs and problems out; no bad document raises."""

from quarantine.junit.counts import Counts, counts
from quarantine.junit.documents import DEFAULT, Document, Limits, Reading, Upload
from quarantine.junit.parents import parent
from quarantine.junit.reading import read_one, read_together
from quarantine.junit.signature import normalised, signature
from quarantine.junit.texts import plain_text

__all__ = [
    "DEFAULT",
    "Counts",
    "Document",
    "Limits",
    "Reading",
    "Upload",
    "counts",
    "normalised",
    "parent",
    "plain_text",
    "read_one",
    "read_together",
    "signature",
]
