"""How errors are answered: as pages to people, as problem documents to programs."""

from collections.abc import Awaitable, Callable
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from quarantine.errors import NotAllowed, QuarantineError
from quarantine.web import problems
from quarantine.web.auth import COOKIE
from quarantine.web.headers import HEADERS
from quarantine.web.problems import TokenNeeded
from quarantine.web.rendering import Renderer

_MENDS = {404: "Check the address, or begin at the list of projects.", 405: "Open the page with a link."}


def path_of(request: Request) -> str:
    """Return the path a request asks for, without the prefix a proxy added, with its query."""
    path = quote(request.scope["path"].removeprefix(request.scope.get("root_path", "")), safe="/:")
    return f"{path}?{request.url.query}" if request.url.query else path


def wants_page(request: Request) -> bool:
    """Return whether a person asks: a browser, and none of the routes that are for programs."""
    path = path_of(request)
    return not path.startswith(("/v1/", "/healthz")) and "text/html" in request.headers.get("accept", "")


class Refusals:
    """The handlers of errors."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    def handlers(self) -> dict[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]:
        """Return the handler of each kind of error."""
        return {QuarantineError: self._on_our_error, HTTPException: self._on_http_error, Exception: self._on_crash}

    async def _on_our_error(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, QuarantineError):
            raise error
        if not wants_page(request):
            return problems.of_our_error(error)
        if isinstance(error, TokenNeeded) and request.method in ("GET", "HEAD"):
            root = request.scope.get("root_path", "")
            return RedirectResponse(f"{root}/sign-in?next={quote(path_of(request), safe='')}", 303)
        status = problems.status_of(error)
        answer = self._page(request, status, error.message, error.mend, may_sign_in=isinstance(error, NotAllowed))
        if status == problems.BUSY:
            answer.headers["Retry-After"] = str(problems.RETRY_AFTER_S)
        return answer

    async def _on_http_error(self, request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            raise error
        if not wants_page(request):
            return problems.of_http_error(error)
        answer = self._page(request, error.status_code, problems.http_message(error), _MENDS.get(error.status_code, ""))
        answer.headers.update(error.headers or {})
        return answer

    async def _on_crash(self, request: Request, error: Exception) -> Response:
        message = problems.crash_message(error)
        answer = self._page(request, 500, message, "") if wants_page(request) else problems.of_crash(error)
        answer.headers.update(HEADERS)
        return answer

    def _page(self, request: Request, status: int, message: str, mend: str, *, may_sign_in: bool = False) -> Response:
        return self._renderer.page(
            request,
            "error.html",
            status=status,
            signed_in=COOKIE in request.cookies,
            code=status,
            title=problems.title_of(status),
            message=message,
            mend=mend,
            sign_in_for=path_of(request) if may_sign_in else None,
        )
