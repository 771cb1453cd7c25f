"""What goes into the reader and what comes out: a document, the limits, what became of it, and the whole upload."""

from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from quarantine.domain.report import Problem, Run, RunEvent

MIB = 1 << 20


class Document(NamedTuple):
    """One uploaded file.

    Attributes:
        name: what to call it in messages. Never opened, joined to a path or used as a file name.
        data: its bytes as received, or a binary file. A file is read from where it stands, and rewound to there
            when a second reading is needed; one that cannot seek is first read into memory.
    """

    name: str
    data: bytes | BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a document is read before it is refused or shortened.

    Attributes:
        upload_bytes: of one document as received; beyond it the document is refused.
        decompressed_bytes: of one document after gunzip; beyond it the document is refused.
        gzip_ratio: decompressed over received bytes, looked at once `gzip_grace_bytes` came out.
        gzip_grace_bytes: short reports compress well: below this the ratio is not looked at.
        depth: of nested elements; beyond it the document is refused.
        tag_bytes: of one tag with all its attributes; beyond it the document is refused. It is what bounds the
            length of an attribute, and checked at every chunk, so that no longer tag is ever held.
        attributes: of one element; beyond it the document is refused.
        cases: test cases and run events of all the documents of one upload; the document that crosses it is refused.
        path_bytes: work spent on joining suite names, over one document; only a report built to be slow reaches it.
        results_per_case: `<failure>`, `<rerunFailure>` and the like kept of one case; the rest is counted.
        name_chars: of exception types and file names that are only shown.
        message_chars: of a message.
        head_chars: kept from the start of a longer text.
        tail_chars: kept from its end.
        text_chars: of all texts of one document; beyond it further failures keep a short message only.
    """

    upload_bytes: int = 256 * MIB
    decompressed_bytes: int = 512 * MIB
    gzip_ratio: int = 200
    gzip_grace_bytes: int = 8 * MIB
    depth: int = 512
    tag_bytes: int = 2 * MIB
    attributes: int = 1_000
    cases: int = 500_000
    path_bytes: int = 128 * MIB
    results_per_case: int = 50
    name_chars: int = 1_000
    message_chars: int = 4_000
    head_chars: int = 16_000
    tail_chars: int = 16_000
    text_chars: int = 64 * MIB


DEFAULT = Limits()


class Reading(NamedTuple):
    """What became of one document.

    Attributes:
        name: as in the document.
        status: `ok`; `salvaged` when it was not well-formed XML (or several documents in one) and had to be repaired;
            `rejected` when nothing of it was used.
        code: why it was rejected, a stable kebab-case word; None otherwise.
        sentence: one sentence for a person.
        sha256: 64 hexadecimal digits, over the bytes as received (before gunzip).
        problems: what was not as it should be, and what was done about it.
    """

    name: str
    status: str
    code: str | None
    sentence: str
    sha256: str
    problems: tuple[Problem, ...] = ()


class Upload(NamedTuple):
    """All the documents of one job attempt, read together.

    Attributes:
        readings: one for each document, in the order given.
        runs: all tries of each test. No two runs share both digest and variant.
        events: the records that are no tests.
        complete: False when tests may be missing: a document was rejected, or breaks off.
    """

    readings: tuple[Reading, ...]
    runs: tuple[Run, ...]
    events: tuple[RunEvent, ...]
    complete: bool
