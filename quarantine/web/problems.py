"""Errors as RFC 9457 problem documents. The status follows from the error's place in the tree, nothing else."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from quarantine.errors import BadInput, Busy, Conflict, NotAllowed, NotFound, QuarantineError

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
_TYPE = "https://quarantine.invalid/problems/"
_STATUSES: tuple[tuple[type[QuarantineError], int], ...] = (
    (NotAllowed, 403),
    (NotFound, 404),
    (Conflict, 409),
    (Busy, 503),
    (BadInput, 422),
)
_TITLES = {
    400: "Bad request",
    401: "Token needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    422: "Cannot be used as it is",
    500: "Our mistake",
    503: "Busy",
}


def problem(status: int, code: str, detail: str, **more: Any) -> Response:
    """Return a problem document; `more` adds members of our own."""
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == 503 else {}  # noqa: PLR2004 - it is what the RFC calls it
    if status == 401:  # noqa: PLR2004 - the same
        headers["WWW-Authenticate"] = "Bearer"
    body = {
        "type": _TYPE + code,
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "code": code,
        "detail": detail,
    }
    return JSONResponse(body | more, status, headers, MEDIA_TYPE)


class TokenNeeded(NotAllowed):
    """No token, or one that is unknown, expired or revoked."""

    code = "token-needed"


class TooLarge(BadInput):
    """The request is larger than the server reads."""

    code = "too-large"


def status_of(error: QuarantineError) -> int:
    """Return the HTTP status of one of our errors."""
    if isinstance(error, TokenNeeded):
        return 401
    if isinstance(error, TooLarge):
        return 413
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


async def on_our_error(_request: Request, error: Exception) -> Response:
    """Answer one of our own errors."""
    if not isinstance(error, QuarantineError):
        raise error
    return problem(status_of(error), error.code, error.message, **({"mend": error.mend} if error.mend else {}))


async def on_http_error(_request: Request, error: Exception) -> Response:
    """Answer what the framework refuses before a handler sees it."""
    if not isinstance(error, HTTPException):
        raise error
    code = _TITLES.get(error.status_code, "error").lower().replace(" ", "-")
    return problem(error.status_code, code, str(error.detail))


async def on_crash(_request: Request, error: Exception) -> Response:
    """Answer an error nobody expected: the log has it, the answer says nothing of our insides."""
    return problem(
        500,
        "our-mistake",
        f"The server failed on this request ({type(error).__name__}). Nothing of it was stored; its log says more.",
    )
