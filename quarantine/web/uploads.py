"""Reading a multipart upload within bounds: a `build` part and any number of `report` parts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

from quarantine.errors import BadBuildPart, BadInput
from quarantine.junit import Document
from quarantine.services.build_part import MAX_BYTES, BuildPart, parse_build_part
from quarantine.services.question import MAX_BYTES as MAX_QUESTION_BYTES
from quarantine.web.problems import TooLarge

MAX_UPLOAD_BYTES = 256 * 1024 * 1024
MAX_REPORTS = 2_000
_AGAIN = "Send it again."
_SPLIT = "Send the reports in several uploads of one build."


@dataclass(frozen=True, slots=True)
class Upload:
    """The parts of one multipart request; `question` is None when there is no such part."""

    part: BuildPart
    documents: tuple[Document, ...]
    question: bytes | None = None


@asynccontextmanager
async def multipart(request: Request) -> AsyncIterator[FormData]:
    """Read the form, spooled to disk beyond a megabyte; raises TooLarge or BadInput naming what is wrong."""
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data"):
        raise BadInput(
            f"The request is {kind or 'of no content type'}, not multipart/form-data.",
            mend="Send a `build` part (JSON) and one or more `report` parts.",
        )
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_UPLOAD_BYTES:
        raise TooLarge(_too_large(), mend=_SPLIT)
    body = _Body(request.receive)
    request._receive = body.receive  # noqa: SLF001 - Starlette offers no other place to bound a body
    try:
        form = await request.form(max_files=MAX_REPORTS + 2, max_fields=10, max_part_size=MAX_BYTES)
    except HTTPException as error:
        raise BadInput(f"The multipart body cannot be read: {error.detail.rstrip('.')}.", mend=_AGAIN) from error
    try:
        yield form
    finally:
        await form.close()


async def bounded_body(request: Request, most_bytes: int, too_large: TooLarge) -> bytes:
    """Return the request's body; raises `too_large` once more than `most_bytes` have come in."""
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > most_bytes:
            raise too_large
    return bytes(raw)


def _too_large() -> str:
    return f"The upload is larger than {MAX_UPLOAD_BYTES // 1024**2} MiB."


class _Body:
    """A body as it arrives: bounded, and known by its last bytes to be whole.

    The parser takes a part that breaks off for no part at all, so a report would be missing without a word.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read = 0
        self._tail = b""

    async def receive(self) -> Message:
        """Return the next message; raises TooLarge, and BadInput when it is the last one and no boundary ends it."""
        message = await self._receive()
        chunk = message.get("body", b"")
        self._read += len(chunk)
        self._tail = (self._tail + chunk)[-16:]
        if self._read > MAX_UPLOAD_BYTES:
            raise TooLarge(_too_large(), mend=_SPLIT)
        is_last = message["type"] == "http.request" and not message.get("more_body", False)
        if is_last and not self._tail.rstrip().endswith(b"--"):
            raise BadInput("The multipart body breaks off before its last boundary.", mend=_AGAIN)
        return message


async def upload_of(form: FormData) -> Upload:
    """Return the parts of an upload of reports; raises BadBuildPart or BadInput naming what is missing or wrong."""
    upload = await _upload_of(form, {"build", "report"})
    if not upload.documents and upload.part.exit_code is None:
        raise BadInput("The upload is not taken: it has no `report` part.", mend=_AS_FILE)
    return upload


async def asking_of(form: FormData) -> Upload:
    """Return the parts of a question, reports or none; raises as `upload_of`."""
    return await _upload_of(form, {"build", "report", "question"})


_AS_FILE = "Send each report as a file."


async def _upload_of(form: FormData, known: set[str]) -> Upload:
    part = parse_build_part(await _build_bytes(form))
    parts = form.getlist("report")
    files = [item for item in parts if isinstance(item, UploadFile)]
    strays = sorted({name for name in form if name not in known})
    if strays:
        raise BadInput(
            f"The upload has parts named {', '.join(map(repr, strays[:5]))}.",
            mend="Name them `report`, and the build part `build`.",
        )
    if len(files) < len(parts):
        nameless = f"{len(parts) - len(files)} of its `report` parts have no file name"
        raise BadInput(f"The upload is not taken: {nameless}.", mend=_AS_FILE)
    documents = tuple(Document(item.filename or f"report-{n}", item.file) for n, item in enumerate(files, 1))
    return Upload(part, documents, await _question_bytes(form))


async def _question_bytes(form: FormData) -> bytes | None:
    parts = form.getlist("question")
    if len(parts) > 1:
        raise BadInput(f"The upload has {len(parts)} `question` parts; at most one is read.", mend="Send one.")
    return await _bytes_of(parts[0], MAX_QUESTION_BYTES) if parts else None


async def _build_bytes(form: FormData) -> bytes:
    parts = form.getlist("build")
    if len(parts) != 1:
        raise BadBuildPart(
            f"The upload has {len(parts)} `build` parts; exactly one says which build the reports are of.",
            mend='The least is {"schema": 1, "build": "NAME"}.',
        )
    return await _bytes_of(parts[0], MAX_BYTES)


async def _bytes_of(item: UploadFile | str, most: int) -> bytes:
    return item.encode() if isinstance(item, str) else await item.read(most + 1)
