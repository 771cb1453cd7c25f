"""What a page says of what has just been done: kept in a sealed cookie for one look, so that no link can say it."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from quarantine.web.sealing import SAID_LIVES, Seal
from quarantine.web.showing import line

COOKIE = "quarantine_said"
_CHARACTERS = 400
"""A cookie holds some four thousand bytes, and a character may take six of them."""


@dataclass(frozen=True, slots=True)
class Said:
    """Says sentences of one reader of one project.

    Attributes:
        seal: of that reader.
        slug: the project.
    """

    seal: Seal
    slug: str

    def then(self, request: Request, path: str, sentence: str, *, query: str = "") -> Response:
        """Go on to the page at `path`, below the root, which will say it once; `query` begins with its `?`."""
        root: str = request.scope.get("root_path", "")
        answer = RedirectResponse(f"{root}{path}{query}", 303)
        kept = self.seal.closed(f"said {path}", {"said": line(sentence, _CHARACTERS)})
        answer.set_cookie(
            COOKIE,
            kept,
            max_age=int(SAID_LIVES.total_seconds()),
            path=self._path(root),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    def of(self, request: Request, path: str) -> str:
        """Return what the page at `path` is to say; "" for nothing."""
        found = self.seal.opened(f"said {path}", request.cookies.get(COOKIE, ""))
        return str(found["said"]) if found is not None and self.seal.is_fresh(found, SAID_LIVES) else ""

    def forget(self, request: Request, answer: Response) -> None:
        """Let the page that said it be the last one."""
        root: str = request.scope.get("root_path", "")
        secure = request.url.scheme == "https"
        answer.delete_cookie(COOKIE, path=self._path(root), httponly=True, samesite="strict", secure=secure)

    def _path(self, root: str) -> str:
        return f"{root}/projects/{self.slug}"
