"""The documents as they were received: kept compressed as evidence, and for a week when they were refused."""

import gzip
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from quarantine.domain.build import Build
from quarantine.junit import Document, Reading
from quarantine.store import builds

GZIP_MAGIC = b"\x1f\x8b"
REFUSED_DAYS = timedelta(days=7)
REFUSED_BYTES_EACH = 1024 * 1024
REFUSED_BYTES_IN_ALL = 64 * 1024 * 1024
_NAME_CHARACTERS = 500
_CHUNK_BYTES = 256 * 1024


def compressed(document: Document) -> bytes:
    """Return the document as gzip; one that was sent as gzip stays byte for byte as it came."""
    if isinstance(document.data, bytes):
        is_packed = document.data.startswith(GZIP_MAGIC)
        return document.data if is_packed else gzip.compress(document.data, compresslevel=1, mtime=0)
    document.data.seek(0)
    begun = document.data.read(_CHUNK_BYTES)
    if begun.startswith(GZIP_MAGIC):
        return begun + document.data.read()
    packer = zlib.compressobj(level=1, wbits=31)
    packed = [packer.compress(begun)]
    while chunk := document.data.read(_CHUNK_BYTES):
        packed.append(packer.compress(chunk))
    return b"".join([*packed, packer.flush()])


@dataclass(frozen=True, slots=True)
class Kept:
    """The documents of one upload beside what was read of each."""

    readings: tuple[Reading, ...]
    bodies: tuple[bytes, ...]

    @classmethod
    def of(cls, documents: Sequence[Document], readings: Sequence[Reading]) -> "Kept":
        """Compress each document once, before any transaction begins."""
        return cls(tuple(readings), tuple(compressed(document) for document in documents))

    @property
    def accepted(self) -> set[str]:
        """The SHA-256 of every document that could be read."""
        return {reading.sha256 for reading in self.readings if reading.status != "rejected"}

    def without(self, documents: Sequence[Document], stored: set[str]) -> list[Document]:
        """Return the readable documents whose SHA-256 is not among those stored."""
        pairs = zip(documents, self.readings, strict=True)
        return [document for document, reading in pairs if reading.sha256 in self.accepted - stored]

    def record(self, seq: int, build: Build) -> dict[str, Any]:
        """Return what the audit keeps of the upload."""
        documents = [[reading.name[:_NAME_CHARACTERS], reading.sha256, reading.status] for reading in self.readings]
        return {"build": seq, "lane": build.lane.value, "reports": documents}


def store(
    connection: Connection, project_id: int, seq: int, kept: Kept, *, now: datetime, token_id: str | None
) -> None:
    """Store the accepted documents of a build and, with their reasons, the refused ones."""
    rows, bodies = [], []
    for reading, body in zip(kept.readings, kept.bodies, strict=True):
        if reading.status == "rejected":
            continue
        rows.append(
            {
                "project_id": project_id,
                "build_seq": seq,
                "sha256": reading.sha256,
                "name": reading.name[:_NAME_CHARACTERS],
                "status": reading.status,
                "size_bytes": len(body),
                "problems": [list(problem) for problem in reading.problems],
                "received_at": now,
            }
        )
        bodies.append({"project_id": project_id, "sha256": reading.sha256, "body": body})
    builds.add_reports(connection, rows, bodies)
    store_refused(connection, project_id, kept, now=now, token_id=token_id)


def store_refused(connection: Connection, project_id: int, kept: Kept, *, now: datetime, token_id: str | None) -> None:
    """Store the refused documents with their reasons; the bytes only below the caps."""
    rejected = [pair for pair in zip(kept.readings, kept.bodies, strict=True) if pair[0].status == "rejected"]
    if not rejected:
        return
    room = REFUSED_BYTES_IN_ALL - builds.refused_bytes(connection, project_id)
    for reading, body in rejected:
        keeps = len(body) <= min(REFUSED_BYTES_EACH, room)
        room -= len(body) if keeps else 0
        row = {
            "project_id": project_id,
            "sha256": reading.sha256,
            "name": reading.name[:_NAME_CHARACTERS],
            "code": reading.code,
            "sentence": reading.sentence,
            "size_bytes": len(body),
            "received_at": now,
            "token_id": token_id,
            "body": body if keeps else None,
        }
        builds.add_refused(connection, [row])
