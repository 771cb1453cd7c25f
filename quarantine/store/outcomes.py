"""Outcome columns: one byte a test for what it did in one build, one bit for whether that counted."""

import zlib

import numpy as np
from numpy.typing import NDArray

from quarantine.domain.outcome import Outcome

CODES = {Outcome.PASSED: 1, Outcome.FAILED: 2, Outcome.ERRORED: 3, Outcome.SKIPPED: 4}
ABSENT, PASSED, FAILED, ERRORED, SKIPPED = range(5)

Codes = NDArray[np.uint8]
Mask = NDArray[np.bool_]


def pack(codes: Codes) -> bytes:
    """Return the column compressed; `unpack` is the inverse."""
    return zlib.compress(codes.astype(np.uint8).tobytes(), level=1)


def unpack(data: bytes, tests: int) -> Codes:
    """Return the column, padded with ABSENT to at least `tests` entries."""
    codes = np.frombuffer(zlib.decompress(data), np.uint8)
    return np.pad(codes, (0, max(0, tests - len(codes)))).astype(np.uint8)


def pack_mask(mask: Mask) -> bytes:
    """Return the bits compressed; `unpack_mask` is the inverse."""
    return zlib.compress(np.packbits(mask).tobytes(), level=1)


def unpack_mask(data: bytes, tests: int) -> Mask:
    """Return the mask, padded with False to at least `tests` entries."""
    bits = np.unpackbits(np.frombuffer(zlib.decompress(data), np.uint8)).astype(np.bool_)
    return np.pad(bits, (0, max(0, tests - len(bits))))


def first(codes: Codes) -> Codes:
    """Return the code of each test's first try."""
    return codes & np.uint8(15)


def last(codes: Codes) -> Codes:
    """Return the code of each test's last try."""
    return codes >> np.uint8(4)


def is_failure(codes: Codes) -> Mask:
    """Return which of these one-try codes are failures."""
    return np.logical_or(codes == FAILED, codes == ERRORED)
