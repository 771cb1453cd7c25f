"""A multipart body in pieces: build part, question if there is one, reports; larger ones compressed on the way."""

import gzip
import json
import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, NamedTuple, Self

__all__ = ["Body", "NamedReport"]

COMPRESSED_FROM_BYTES = 4 * 1024
"""Reports of at least this size are compressed; smaller ones gain nothing."""
_GZIP_MAGIC = b"\x1f\x8b"
_PIECE_BYTES = 256 * 1024
_MEMORY_BYTES = 4 * 1024 * 1024


class NamedReport(NamedTuple):
    """A report file and the name it is sent under."""

    path: Path
    name: str


class Body:
    """The body of one upload. It holds temporary files, so it is used in a `with` statement.

    Args:
        build_part: which build it is about.
        reports: in this order; none for a question about a run that left no report.
        question: what is asked about the build; None for a plain upload.

    Raises, when made: OSError, when a report cannot be read.
    """

    def __init__(
        self,
        build_part: Mapping[str, Any],
        reports: Sequence[NamedReport],
        question: Mapping[str, Any] | None = None,
    ) -> None:
        self._boundary = uuid.uuid4().hex
        self._pieces: list[tuple[bytes, IO[bytes] | None]] = []
        try:
            self._add('name="build"', "application/json", json.dumps(build_part).encode())
            if question is not None:
                self._add('name="question"', "application/json", json.dumps(question).encode())
            for report in reports:
                self._add_report(report)
        except OSError:
            self.close()
            raise
        self._pieces.append((f"--{self._boundary}--\r\n".encode(), None))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        for _, stream in self._pieces:
            if stream is not None:
                stream.close()

    @property
    def headers(self) -> dict[str, str]:
        """The headers that describe the body, its exact length among them."""
        size = sum(len(head) + (_size(stream) + 2 if stream else 0) for head, stream in self._pieces)
        kind = f"multipart/form-data; boundary={self._boundary}"
        return {"Content-Type": kind, "Content-Length": str(size)}

    def __iter__(self) -> Iterator[bytes]:
        """Yield the bytes from the start."""
        for head, stream in self._pieces:
            yield head
            if stream is not None:
                stream.seek(0)
                while piece := stream.read(_PIECE_BYTES):
                    yield piece
                yield b"\r\n"

    def _add(self, disposition: str, kind: str, content: bytes) -> None:
        head = (
            f"--{self._boundary}\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {kind}\r\n\r\n"
        ).encode()
        self._pieces.append((head + content + b"\r\n" * bool(content), None))

    def _add_report(self, report: NamedReport) -> None:
        stream = report.path.open("rb")
        try:
            magic = stream.read(len(_GZIP_MAGIC))
            stream.seek(0)
            is_large = _size(stream) >= COMPRESSED_FROM_BYTES
            compressed = _compressed(stream) if is_large and magic != _GZIP_MAGIC else stream
        except OSError:
            stream.close()
            raise
        kind = "application/gzip" if is_large or magic == _GZIP_MAGIC else "application/xml"
        self._add(f'name="report"; filename="{_quoted(report.name)}"', kind, b"")
        self._pieces[-1] = (self._pieces[-1][0], compressed)


def _compressed(stream: IO[bytes]) -> IO[bytes]:
    """Return a temporary file with the stream compressed, the same bytes each time; closes the stream."""
    copy = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115 - the body closes it
    with stream, gzip.GzipFile(filename="", mode="wb", fileobj=copy, mtime=0) as packed:
        while piece := stream.read(_PIECE_BYTES):
            packed.write(piece)
    return copy


def _size(stream: IO[bytes]) -> int:
    position = stream.tell()
    size = stream.seek(0, os.SEEK_END)
    stream.seek(position)
    return size


def _quoted(name: str) -> str:
    """Escape a file name as browsers do."""
    printable = name.encode("utf-8", "backslashreplace").decode()
    return printable.replace("\\", "/").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
