"""What a test is called, and in which way it was run.

A test id is opaque and stable: `v1:` and 32 hexadecimal digits, the first 128 bits of BLAKE2b over the
length-prefixed parts (stream, each suite, classname, name). Length prefixes make the joining injective: no two
different lists of parts give the same bytes. Nothing is folded, trimmed or normalised on the way in, so that names
which differ in any code point are different tests.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple, NewType

TestId = NewType("TestId", str)
VariantHash = NewType("VariantHash", str)

ID_PREFIX = "v1:"
ID_DIGEST_BYTES = 16

VariantKeys = tuple[tuple[str, str], ...]
"""Key-value pairs that say one way to run a test, sorted by key."""


class TestName(NamedTuple):
    """The parts a test id is made of, after the producer's rule has cleaned them (see the junit room)."""

    suite: tuple[str, ...]
    classname: str
    name: str

    @property
    def display(self) -> str:
        """The name as people read it: `classname::name`, led by the suites when there is no classname."""
        return (
            "::".join([self.classname or "/".join(self.suite), self.name])
            if self.classname or self.suite
            else self.name
        )


def test_digest(stream: str, test: TestName) -> bytes:
    """Return the 16 bytes under the test id; see the module's docstring for the rule."""
    parts = (stream, *test.suite, test.classname, test.name)
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = ",".join([str(len(part)) for part in encoded])
    return hashlib.blake2b(lengths.encode() + b":" + b"".join(encoded), digest_size=ID_DIGEST_BYTES).digest()


def test_id(stream: str, test: TestName) -> TestId:
    """Return the opaque, stable id of a test of one stream (one project or one module of it)."""
    return TestId(ID_PREFIX + test_digest(stream, test).hex())


def variant_keys(keys: Mapping[str, str]) -> VariantKeys:
    """Return the pairs of a variant sorted by key, the one order everything else relies on."""
    return tuple(sorted(keys.items()))


def variant_hash(keys: VariantKeys) -> VariantHash:
    """Return 16 hexadecimal digits that name a variant whatever the order its keys came in.

    The hash is the first 64 bits of SHA-256 over the compact JSON object with sorted keys, non-ASCII kept as UTF-8.
    """
    canonical = json.dumps(dict(sorted(keys)), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return VariantHash(hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[:16])


# pytest collects names that begin with "test" or "Test"; these are the product's own words.
TestName.__test__ = False  # type: ignore[attr-defined]  # a marker pytest looks for on the class
test_digest.__test__ = False  # type: ignore[attr-defined]  # the same
test_id.__test__ = False  # type: ignore[attr-defined]  # the same
