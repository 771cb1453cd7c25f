"""JSON bodies of requests: bounded, and of the shape that was asked for."""

import json
import re
from typing import Any

from starlette.requests import Request

from quarantine.errors import BadInput
from quarantine.web.problems import TooLarge
from quarantine.web.uploads import bounded_body

MAX_JSON_BYTES = 64 * 1024


async def json_body(request: Request, *keys: str) -> dict[str, str]:
    """Return a JSON object that has each of `keys` as a text; raises TooLarge and BadInput."""
    too_large = TooLarge(f"The request's body is larger than {MAX_JSON_BYTES // 1024} KiB.", mend="Say it shorter.")
    raw = await bounded_body(request, MAX_JSON_BYTES, too_large)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        body = None
    for key in keys:
        if not isinstance(body, dict) or not _is_text(body.get(key)):
            raise BadInput(
                f"The request's body is no JSON object with a text `{key}`.", mend=f'Send {{"{key}": "..."}}.'
            )
    return dict(body or {})


def _is_text(value: Any) -> bool:
    """Return whether the value is a text that can be stored: JSON can spell halves of characters."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff\0]", value)
