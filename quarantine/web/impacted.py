"""The route that says which tests a change can touch."""

import json
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quarantine.domain.build import ChangedPart
from quarantine.errors import BadInput
from quarantine.reach.columns import PARTS
from quarantine.services.app import App
from quarantine.services.impacted import Impacted, impacted_by
from quarantine.web.auth import Gatekeeper
from quarantine.web.problems import TooLarge
from quarantine.web.uploads import bounded_body

MAX_BYTES = 16 * 1024 * 1024
_FIELDS = {"changed", "base_commit"}
_MEND = 'Send {"changed": [["shop/cart.py", "body", "HASH"]], "base_commit": "..."}; the hash is null for what is gone.'


class ImpactedApi:
    """The handler."""

    def __init__(self, app: App, gatekeeper: Gatekeeper) -> None:
        self.app = app
        self.gatekeeper = gatekeeper

    def routes(self) -> list[Route]:
        """Return the route."""
        at = "/v1/projects/{project}"
        return [Route(f"{at}/impacted", self.post_impacted, methods=["POST"])]

    async def post_impacted(self, request: Request) -> Response:
        """Say which tests a change can touch."""
        slug = await self.gatekeeper.reader(request)
        said = f"The request's body is larger than {MAX_BYTES // 1024**2} MiB."
        content = await bounded_body(request, MAX_BYTES, TooLarge(said, mend="Is the base the right commit?"))
        changed, base_commit = _question(content)
        told = await run_in_threadpool(impacted_by, self.app, slug, changed, base_commit=base_commit)
        return JSONResponse(impacted_json(told))


def impacted_json(told: Impacted) -> dict[str, Any]:
    """Return the wire form, schema 1."""
    return {
        "schema": 1,
        "impacted": told.impacted,
        "unknown": told.unknown,
        "untouched": told.untouched,
        "of": told.of,
        "everything": told.everything,
        "why": told.why,
    }


def _question(content: bytes) -> tuple[list[ChangedPart], str | None]:
    """Return what changed and the base; raises BadInput naming what cannot be used."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("changed"), list):
        raise BadInput("The request's body is no JSON object with a list `changed`.", mend=_MEND)
    if body.keys() - _FIELDS:
        raise BadInput(f"There is no field {', '.join(sorted(body.keys() - _FIELDS))}.", mend=_MEND)
    for number, part in enumerate(body["changed"], start=1):
        if not _is_part(part):
            raise BadInput(f"Entry {number} of `changed` is no [path, part, hash].", mend=_MEND)
    base_commit = body.get("base_commit")
    if base_commit is not None and not isinstance(base_commit, str):
        raise BadInput("`base_commit` is no commit.", mend=_MEND)
    return [(path, part, found) for path, part, found in body["changed"]], base_commit


def _is_part(part: Any) -> bool:
    match part:
        case [str(), str() as kind, str() | None]:
            return kind in PARTS
    return False
