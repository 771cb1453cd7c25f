"""Errors as RFC 9457 problem documents. The status follows from the error's place in the tree, nothing else."""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from quarantine.errors import BadInput, Busy, Conflict, NotAllowed, NotFound, QuarantineError

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 5
UNAUTHORIZED, BUSY = 401, 503
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
_REFUSED = {404: "There is nothing at this address.", 405: "This address does not answer that method."}


def title_of(status: int) -> str:
    """Return what a status is called."""
    return _TITLES.get(status, "Error")


def problem(status: int, code: str, detail: str, **more: Any) -> Response:
    """Return a problem document; `more` adds members of our own."""
    headers = {"Retry-After": str(RETRY_AFTER_S)} if status == BUSY else {}
    if status == UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    body = {
        "type": _TYPE + code,
        "title": title_of(status),
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


def of_our_error(error: QuarantineError) -> Response:
    """Return the answer to one of our own errors."""
    return problem(status_of(error), error.code, error.message, **({"mend": error.mend} if error.mend else {}))


def of_http_error(error: HTTPException) -> Response:
    """Return the answer to what the framework refuses before a handler sees it."""
    answer = problem(error.status_code, title_of(error.status_code).lower().replace(" ", "-"), http_message(error))
    answer.headers.update(error.headers or {})
    return answer


def http_message(error: HTTPException) -> str:
    """Return what the framework refused as a sentence."""
    return _REFUSED.get(error.status_code) or f"{error.detail.rstrip('.')}."


def of_crash(error: Exception) -> Response:
    """Return the answer to an error nobody expected."""
    return problem(500, "our-mistake", crash_message(error))


def crash_message(error: Exception) -> str:
    """Return what is said of a crash: the log has it, the answer says nothing of our insides."""
    return (
        f"The server failed on this request ({type(error).__name__}); its log says more. What was sent may be sent "
        "again: nothing is counted twice."
    )
