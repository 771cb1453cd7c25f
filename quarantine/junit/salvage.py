"""Reading what is not well-formed, because tools that people use write such reports today.

The bytes are decoded again (byte order mark, then the declaration, then UTF-8 with replacement), characters and
references that XML does not allow become U+FFFD, and the parser starts at the first `<?xml` or suite. Where it stops
after a whole document it starts again at the next one; where it stops inside a document, the complete cases are kept
and the document is incomplete. Everything is streamed: no more than two chunks are held.
"""

import codecs
import re
import sys
from collections.abc import Iterator
from xml.parsers import expat

from quarantine.domain.report import Problem
from quarantine.errors import BadReport
from quarantine.junit.documents import Limits
from quarantine.junit.formats import is_allowed_encoding
from quarantine.junit.handlers import Handlers
from quarantine.junit.source import Source
from quarantine.junit.texts import ILLEGAL, REPLACEMENT

MOST_DOCUMENTS = 1_000
LONGEST_START = 80  # characters that may have to be seen together to know where a document starts
LONGEST_REFERENCE = 12

BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})[\"']")
REFERENCE = re.compile(r"&#(?:x([0-9a-fA-F]{1,8})|([0-9]{1,10}));?")
DECLARATION = re.compile(rb"<\?xml\b")
START = re.compile(rb"<\?xml\b|<(?:[\w.-]{1,40}:)?(?:testsuites|testsuite|testrun)\b")


class Salvage:
    """One attempt to read a document by repairing it; `problems` says what was done."""

    def __init__(self, handlers: Handlers, limits: Limits) -> None:
        self.problems: list[Problem] = []
        self._handlers = handlers
        self._limits = limits
        self._parser: expat.XMLParserType | None = None
        self._documents = 0
        self._parsed = 0
        self._previous = b""
        self._start = START

    def read(self, source: Source) -> None:
        """Read what can be read into the handlers.

        Raises:
            BadReport: when the document is not to be read at all (not JUnit XML, or over a limit).
        """
        repaired = Repaired(source)
        waiting = b""
        try:
            for piece in repaired.pieces():
                waiting = self._read_piece(waiting + piece)
                if self._documents > MOST_DOCUMENTS:
                    break
            self._finish()
        finally:
            self._handlers.release()
        self._note(repaired)

    def _read_piece(self, data: bytes) -> bytes:
        """Parse `data` as far as it goes; return what must be seen again together with the next piece."""
        while data:
            if self._parser is None:
                match = self._start.search(data)
                if match is None:
                    return data[-LONGEST_START:]
                data = data[match.start() :]
                self._begin()
            rest = self._parse(data)
            if rest is None:
                break
            data = rest
        return b""

    def _begin(self) -> None:
        self._documents += 1
        self._parser = expat.ParserCreate("utf-8")
        self._handlers.attach(self._parser)
        self._parsed = 0
        self._previous = b""

    def _parse(self, data: bytes) -> bytes | None:
        """Parse one piece; return what follows when the document ended or broke off in it, else None."""
        parser = self._parser
        assert parser is not None  # noqa: S101 - begun by the only caller
        try:
            parser.Parse(data, False)
        except expat.ExpatError:
            known = self._previous + data
            stopped = parser.ErrorByteIndex - (self._parsed - len(self._previous))
            self._end_document()
            return known[max(stopped, 0 if self._previous else 1) :]  # never the same start again
        except BadReport as refused:
            if refused.code != "not-junit" or self._documents == 1:
                raise
            self.problems.append(
                Problem("other-document", f"Another document in the file was left out. {refused.message}")
            )
            self._parser = None
            return b""
        self._parsed += len(data)
        self._previous = data
        check_tag_length(parser, self._parsed, self._limits)
        return None

    def _end_document(self) -> None:
        """Close the present document: whole when its root was closed, broken off otherwise."""
        parser = self._parser
        self._parser = None
        self._start = START
        if parser is None or self._handlers.is_closed:
            return
        self._handlers.finish_cut_off()
        self._start = DECLARATION  # inside a damaged document only a declaration is a safe place to start again
        reason = expat.ErrorString(parser.ErrorCode) or "damaged"
        sentence = f"It breaks off at line {parser.ErrorLineNumber} ({reason}): tests after that are missing."
        self.problems.append(Problem("breaks-off", sentence))

    def _finish(self) -> None:
        if self._parser is None:
            return
        try:
            self._parser.Parse(b"", True)
        except expat.ExpatError:
            self._end_document()

    def _note(self, repaired: "Repaired") -> None:
        if repaired.replaced:
            text = f"{repaired.replaced} characters or references that XML does not allow were replaced by U+FFFD."
            self.problems.append(Problem("illegal-characters", text))
        if self._documents > 1:
            self.problems.append(
                Problem("several-documents", f"The file holds {self._documents} documents; all were read.")
            )
        self.problems.append(
            Problem("repaired", f"It is not well-formed XML and was read as {repaired.encoding} after repair.")
        )


class Repaired:
    """The pieces of a source as legal UTF-8.

    Attributes:
        encoding: how it was decoded; known once reading has begun.
        replaced: characters and references replaced so far.
    """

    def __init__(self, source: Source) -> None:
        self.encoding = "utf-8"
        self.replaced = 0
        self._source = source

    def pieces(self) -> Iterator[bytes]:
        """Yield the whole source, decoded, repaired and encoded again."""
        chunks = self._source.chunks()
        head = next(chunks, b"")
        self.encoding, mark = encoding_of(head)
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        waiting = decoder.decode(head[len(mark) :])
        for chunk in chunks:
            text, waiting = split_before_reference(waiting)
            yield self._repair(text)
            waiting += decoder.decode(chunk)
        yield self._repair(waiting + decoder.decode(b"", final=True))

    def _repair(self, text: str) -> bytes:
        legal, characters = ILLEGAL.subn(REPLACEMENT, REFERENCE.sub(self._legal_reference, text))
        self.replaced += characters
        return legal.encode()

    def _legal_reference(self, match: re.Match[str]) -> str:
        code = int(match[1], 16) if match[1] else int(match[2])
        if code <= sys.maxunicode and not ILLEGAL.match(chr(code)):
            return match[0]
        self.replaced += 1
        return REPLACEMENT


def check_tag_length(parser: expat.XMLParserType, parsed: int, limits: Limits) -> None:
    """Raise BadReport when the parser has been waiting for the end of one tag for more bytes than allowed."""
    if parsed - parser.CurrentByteIndex > limits.tag_bytes:
        raise BadReport(
            f"It holds a single tag or attribute of more than {limits.tag_bytes:,} bytes.",
            mend="Leave captured output out of names and attributes.",
            code="tag-too-long",
        )


def encoding_of(head: bytes) -> tuple[str, bytes]:
    """Return (codec, byte order mark) of a document by its mark, else its declaration, else UTF-8."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding, mark
    for start, encoding in ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be")):
        if head.startswith(start):
            return encoding, b""
    match = DECLARED.search(head[:1_000])
    declared = match[1].decode("ascii") if match else "utf-8"
    is_plain = is_allowed_encoding(declared) and not declared.lower().startswith("utf")
    return (_known_codec(declared) if is_plain else "utf-8"), b""


def _known_codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "utf-8"


def split_before_reference(text: str) -> tuple[str, str]:
    """Split off a character reference that may go on in the next chunk."""
    at = text.rfind("&", max(len(text) - LONGEST_REFERENCE, 0))
    return (text, "") if at < 0 or ";" in text[at:] else (text[:at], text[at:])
