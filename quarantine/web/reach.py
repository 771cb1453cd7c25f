"""The routes by which reach maps and manifests come in: JSON lines, gzip allowed, bounded."""

import zlib

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.errors import BadInput
from quarantine.services import reaching
from quarantine.services.app import App
from quarantine.web.auth import Gatekeeper
from quarantine.web.problems import TooLarge
from quarantine.web.uploads import bounded_body

MAX_SENT_BYTES = 64 * 1024 * 1024
MAX_UNPACKED_BYTES = 512 * 1024 * 1024
_TREE_DIGITS = 64


class ReachApi:
    """The handlers."""

    def __init__(self, app: App, gatekeeper: Gatekeeper) -> None:
        self.app = app
        self.gatekeeper = gatekeeper

    def routes(self) -> list[Route]:
        """Return the routes."""
        at = "/v1/projects/{project}"
        return [
            Route(f"{at}/reach", self.post_reach, methods=["POST"]),
            Route(f"{at}/manifests/{{manifest}}", self.put_manifest, methods=["PUT"]),
        ]

    async def post_reach(self, request: Request) -> Response:
        """Take a reach map in."""
        slug, bearer = await self.gatekeeper.caller(request)
        reaching.require_trunk(bearer)
        tree = request.query_params.get("tree")
        if tree is not None and (len(tree) != _TREE_DIGITS or set(tree) - set("0123456789abcdef")):
            raise BadInput("`tree` is no tree hash.", mend="Leave it out, or send 64 hexadecimal digits.")
        lines = (await _content(request)).splitlines()
        told = await run_in_threadpool(reaching.add_reach, self.app, slug, bearer, lines, tree=tree)
        return JSONResponse(told, 201)

    async def put_manifest(self, request: Request) -> Response:
        """Take the part hashes of a trunk commit in."""
        slug, bearer = await self.gatekeeper.caller(request)
        reaching.require_trunk(bearer)
        content = await _content(request)
        name = request.path_params["manifest"]
        told = await run_in_threadpool(reaching.add_manifest, self.app, slug, bearer, name, content)
        return JSONResponse(told, 201)


async def _content(request: Request) -> bytes:
    """Return the request's body, unpacked; raises TooLarge beyond the bounds and BadInput for broken gzip."""
    said = f"The body is larger than {MAX_SENT_BYTES // 1024**2} MiB."
    sent = await bounded_body(request, MAX_SENT_BYTES, TooLarge(said, mend="Send it as gzip."))
    if request.headers.get("content-encoding", "identity") == "identity":
        return sent
    if request.headers["content-encoding"] != "gzip":
        raise BadInput("Only gzip is understood as a content encoding.", mend="Send it plain or as gzip.")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        content = unpacker.decompress(sent, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise BadInput("The body is no gzip.", mend="Send it again.") from error
    if not unpacker.eof and len(content) == MAX_UNPACKED_BYTES:
        raise TooLarge(f"The body unpacks to more than {MAX_UNPACKED_BYTES // 1024**2} MiB.", mend="Send less.")
    if not unpacker.eof or unpacker.unused_data:
        raise BadInput("The body is cut off, or more than one gzip stream.", mend="Send it again, as one stream.")
    return content
