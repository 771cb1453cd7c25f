"""Columns, which reach is made of, and the 64-bit values they have in one tree."""

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BLOB",
    "BODY",
    "MODULE",
    "PARTS",
    "Column",
    "Values",
    "column_value",
    "column_values",
    "whole_tree_fingerprint",
]

Column = tuple[str, str]
"""(path, part): the path from the root of the tree, with `/`, and `body`, `module` or `blob`."""

Values = NDArray[np.uint64]
"""One unsigned 64-bit value per column or per test; sums wrap modulo 2^64."""

BODY, MODULE, BLOB = "body", "module", "blob"
PARTS = (BODY, MODULE, BLOB)
_DIGEST_BYTES = 8


def column_value(secret: bytes, column: Column, part_hash: str | None) -> int:
    """Return H(path, part, hash): 64 bits of BLAKE2b keyed with the server's secret; 0 for a part that is absent.

    The fields are length-prefixed, so that no two columns share their bytes. The key keeps whoever may choose file
    contents from choosing values that cancel in a sum.
    """
    if part_hash is None:
        return 0
    encoded = [field.encode("utf-8", "surrogatepass") for field in (*column, part_hash)]
    content = b"".join(len(field).to_bytes(4, "big") + field for field in encoded)
    return int.from_bytes(hashlib.blake2b(content, key=secret, digest_size=_DIGEST_BYTES).digest(), "big")


def column_values(secret: bytes, columns: Sequence[Column], hashes: Mapping[Column, str | None]) -> Values:
    """Return the values of columns in a tree that has these part hashes, shape (len(columns),); absent parts give 0."""
    values = (column_value(secret, column, hashes.get(column)) for column in columns)
    return np.fromiter(values, np.uint64, len(columns))


def whole_tree_fingerprint(secret: bytes, tree: str) -> int:
    """Return the fingerprint of a test that reaches everything: 64 bits of keyed BLAKE2b over the tree."""
    return int.from_bytes(hashlib.blake2b(tree.encode(), key=secret, digest_size=_DIGEST_BYTES).digest(), "big")
