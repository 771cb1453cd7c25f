"""Reading a form that a page of ours sent: small, of the one kind our pages send, and from our own page."""

from collections.abc import Collection
from urllib.parse import parse_qsl, urlsplit

from starlette.exceptions import HTTPException
from starlette.requests import Request

from quarantine.web.auth import origin_host
from quarantine.web.problems import TooLarge
from quarantine.web.uploads import bounded_body

MOST_BYTES = 64 * 1024
_MOST_FIELDS = 300
_FORM = "application/x-www-form-urlencoded"
_OWN_SITES = ("same-origin", "none")


def require_own(request: Request, address: str) -> None:
    """Raise HTTPException when a browser says that the request comes from a page that is not ours.

    A page of another port of this machine counts as another: it is the same site to a browser, so it gets the cookie.

    Args:
        request: what came in.
        address: where people reach this server by the settings, for a proxy that calls it by another name.
    """
    site, origin = request.headers.get("sec-fetch-site"), origin_host(request)
    if site is not None:
        is_own = site in _OWN_SITES
    else:
        hosts = {request.headers.get("host", "").lower(), urlsplit(address).netloc.lower()} - {""}
        is_own = origin is None or origin in hosts
    if not is_own:
        raise HTTPException(403, "The form was sent from another site")


async def posted(request: Request, *, several: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the fields of a form; of those in `several` any number of values, of any other exactly one.

    Raises:
        HTTPException: it is no form, cannot be read, or repeats a field.
        TooLarge: it is longer than any form of ours.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, "The form was not sent as a form")
    too_large = TooLarge(f"The form is larger than {MOST_BYTES // 1024} KiB.", mend="Say it shorter.")
    raw = await bounded_body(request, MOST_BYTES, too_large)
    try:
        pairs = parse_qsl(
            raw.decode(), keep_blank_values=True, strict_parsing=bool(raw), errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError as error:
        raise HTTPException(400, "The form cannot be read") from error
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in found and name not in several:
            raise HTTPException(400, "The form says one thing twice")
        found.setdefault(name, []).append(value.replace("\r\n", "\n"))
    return found
