"""The bytes of a document, in chunks: counted, hashed, and gunzipped once under a size and a ratio cap."""

import hashlib
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from quarantine.errors import BadReport
from quarantine.junit.documents import MIB, Document, Limits

CHUNK_BYTES = 1 << 16
HASHED_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
GZIP_MEMBERS = 1_000
WINDOW_BITS = 31  # zlib's way to say: expect a gzip header


class Source:
    """A document that can be read more than once, a chunk at a time.

    Attributes:
        head: the first bytes after gunzip, known once reading has begun; enough to tell what the thing looks like.
        cut_short: whether a compressed document ended early or was damaged; what came out before is given.
    """

    def __init__(self, document: Document, limits: Limits) -> None:
        self.head = b""
        self.cut_short = False
        self._limits = limits
        self._received_bytes = 0
        self._file = seekable(document.data, limits.upload_bytes + 1)
        self._start = self._file.tell()

    def sha256(self) -> str:
        """Return the hash over all bytes as received, as 64 hexadecimal digits."""
        self._file.seek(self._start)
        digest = hashlib.sha256()
        while chunk := self._file.read(HASHED_BYTES):
            digest.update(chunk)
        return digest.hexdigest()

    def chunks(self) -> Iterator[bytes]:
        """Yield the document from its start, decompressed.

        Raises:
            BadReport: when it is larger than allowed, compressed twice, or a decompression bomb.
        """
        received = self._received()
        first = next(received, b"")
        if not first.startswith(GZIP_MAGIC):
            self.head = first
            if first:
                yield first
            yield from received
            return
        plain = self._gunzip(first, received)
        self.head = next(plain, b"")
        if self.head.startswith(GZIP_MAGIC):
            raise BadReport(
                "It is compressed twice: inside the gzip is another gzip.",
                mend="Send it compressed once.",
                code="nested-gzip",
            )
        if self.head:
            yield self.head
        yield from plain

    def _received(self) -> Iterator[bytes]:
        self._file.seek(self._start)
        self._received_bytes = 0
        while chunk := self._file.read(CHUNK_BYTES):
            self._received_bytes += len(chunk)
            if self._received_bytes > self._limits.upload_bytes:
                raise BadReport(
                    f"It is larger than the {self._limits.upload_bytes // MIB} MiB that one report may have.",
                    mend="Split the report, or leave captured output out of it.",
                    code="upload-too-big",
                )
            yield chunk

    def _gunzip(self, first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
        expanded = 0
        for plain in self._inflate(first, rest):
            expanded += len(plain)
            self._check_expansion(expanded)
            if plain:
                yield plain

    def _inflate(self, chunk: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
        """Yield what comes out, at most a chunk at a time; a gzip file may hold several members after each other."""
        inflater = zlib.decompressobj(WINDOW_BITS)
        members = 1
        try:
            while chunk:
                yield inflater.decompress(chunk, CHUNK_BYTES)
                while inflater.unconsumed_tail:
                    yield inflater.decompress(inflater.unconsumed_tail, CHUNK_BYTES)
                chunk = (inflater.unused_data if inflater.eof else b"") or next(rest, b"")
                if inflater.eof and chunk.startswith(GZIP_MAGIC) and members < GZIP_MEMBERS:
                    inflater = zlib.decompressobj(WINDOW_BITS)
                    members += 1
                elif inflater.eof:
                    break
        except zlib.error:
            self.cut_short = True
        self.cut_short = self.cut_short or not inflater.eof or members == GZIP_MEMBERS

    def _check_expansion(self, expanded: int) -> None:
        limits, received = self._limits, self._received_bytes
        if expanded > limits.decompressed_bytes:
            raise BadReport(
                f"Decompressed it is larger than the {limits.decompressed_bytes // MIB} MiB that one report may have.",
                mend="Split the report, or leave captured output out of it.",
                code="decompressed-too-big",
            )
        if expanded > limits.gzip_grace_bytes and expanded > limits.gzip_ratio * received:
            raise BadReport(
                f"It decompresses to more than {limits.gzip_ratio} times its size, as only decompression bombs do.",
                mend="Send it uncompressed.",
                code="gzip-ratio",
            )


def seekable(data: bytes | BinaryIO, most_bytes: int) -> BinaryIO:
    """Return a binary file over `data` that can be rewound; of a pipe at most `most_bytes` are read."""
    if isinstance(data, bytes):
        return io.BytesIO(data)
    return data if data.seekable() else io.BytesIO(data.read(most_bytes))
